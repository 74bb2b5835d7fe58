//! A persona is the same on every host: twelve conversations with each, played by the engine alone (the reference), by the simulator
//! without faults, by the real hosts in this process, and by the real command. Compared are messages, heads and ends, byte by byte.
#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::panic, reason = "these helpers are part of the tests")]

mod allowed;
mod distinct;
mod engine;
mod kills;
mod noticed;
mod pipes;
mod real;
mod scripts;
mod simulated;
mod sockets;
mod transcript;
mod world;
