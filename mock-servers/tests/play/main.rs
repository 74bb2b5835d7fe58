//! Personas played: what each quirk does, when it does it, and what a correct server says.

#![expect(clippy::panic, clippy::unwrap_used, reason = "these helpers are part of the tests")]

mod acts;
mod healthy;
mod hostile;
mod personas;
mod selectors;
mod support;
mod wire;
