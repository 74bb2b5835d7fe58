//! A persona's engine as a player: the same inputs and outputs under the names of this crate.

use std::sync::Arc;

use mcp_parley_mock_servers::{Played, Server, ServerInput, ServerOutput, Site, SiteInput, SiteOutput};
use mcp_parley_negotiation::Time;

use crate::serve::{Play, PlayInput, PlayOutput};
use crate::site::PlaySite;

/// Plays one process of a persona.
#[derive(Debug)]
pub struct PersonaPlayer(Server);

impl PersonaPlayer {
    /// The process of this number, counted from 0.
    pub fn new(played: Arc<Played>, process: u32) -> Self {
        Self(Server::start(played, process))
    }
}

impl Play for PersonaPlayer {
    fn handle_input(&mut self, now: Time, input: PlayInput<'_>) -> Result<(), String> {
        self.0.handle_input(
            now,
            match input {
                PlayInput::Start => ServerInput::Start,
                PlayInput::Bytes(bytes) => ServerInput::Bytes(bytes),
                PlayInput::Eof => ServerInput::Eof,
                PlayInput::Timeout => ServerInput::Timeout,
            },
        );
        Ok(())
    }

    fn poll_output(&mut self, buf: &mut Vec<u8>) -> Option<PlayOutput> {
        Some(match self.0.poll_output(buf)? {
            ServerOutput::Write(range) => PlayOutput::Write(range),
            ServerOutput::Stderr(range) => PlayOutput::Stderr(range),
            ServerOutput::CloseOutput => PlayOutput::Close,
            ServerOutput::Exit(code) => PlayOutput::Exit(code),
            ServerOutput::Signal(signal) => PlayOutput::Signal(signal),
            ServerOutput::WakeAt(time) => PlayOutput::WakeAt(time),
        })
    }
}

impl PlaySite for Site {
    fn handle_input(&mut self, now: Time, input: SiteInput<'_>) {
        Self::handle_input(self, now, input);
    }

    fn poll_output(&mut self, buf: &mut Vec<u8>) -> Option<SiteOutput> {
        Self::poll_output(self, buf)
    }
}
