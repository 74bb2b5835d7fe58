//! What the player does: recorded, and handed to its connection.

use std::collections::BTreeMap;

use mcp_parley_mock_servers::{ResponseHead, SiteOutput};
use mcp_parley_negotiation::http::Exchange;
use mcp_parley_trace::{Channel, Kind};

use super::answer::Answer;
use super::connection::Act;
use super::stage::{Open, Phase, PlaySite, Stage, Trouble, channel};
use crate::frames::MAX_EVENT_BYTES;

impl<P: PlaySite> Stage<'_, P> {
    /// Does what the player does about what it was told, as long as not too much waits.
    pub(super) fn hear_out(&mut self) -> Result<(), Trouble> {
        while !self.is_heard_out && self.pending.bytes() < self.socket.bounds.pending_bytes {
            self.buffer.clear();
            let mut buffer = std::mem::take(&mut self.buffer);
            let output = self.player.poll_output(&mut buffer);
            let done = match &output {
                Some(output) => self.act(output, &buffer),
                None => {
                    self.is_heard_out = true;
                    Ok(())
                }
            };
            self.buffer = buffer;
            done?;
        }
        Ok(())
    }

    fn act(&mut self, output: &SiteOutput, buffer: &[u8]) -> Result<(), Trouble> {
        match output {
            SiteOutput::Head(exchange, head) => self.write_head(*exchange, head),
            SiteOutput::Body(exchange, range) => {
                // One event holds no more.
                for piece in buffer.get(range.clone()).unwrap_or_default().chunks(MAX_EVENT_BYTES) {
                    self.write(*exchange, piece, Answer::body)?;
                }
                Ok(())
            }
            SiteOutput::Raw(exchange, range) => {
                for piece in buffer.get(range.clone()).unwrap_or_default().chunks(MAX_EVENT_BYTES) {
                    self.write(*exchange, piece, Answer::raw)?;
                }
                Ok(())
            }
            SiteOutput::End(exchange) => self.end(*exchange),
            SiteOutput::Close(exchange) => self.drop_exchange(*exchange, Kind::Close, Act::Close),
            SiteOutput::Reset(exchange) => self.drop_exchange(*exchange, Kind::Reset, Act::Reset),
            SiteOutput::Exit(code) => {
                let process = Channel::Process(self.process);
                self.record.server(process, Kind::Exit(*code), self.cause, b"")?;
                self.exit = Some(*code);
                self.socket.shut();
                // Each connection writes what it was told, and closes.
                self.open.clear();
                self.exchanges.clear();
                self.held_bytes = 0;
                Ok(())
            }
            SiteOutput::Up => {
                self.process = self.process.wrapping_add(1);
                self.exit = None;
                let failed = |error| Trouble::Host(format!("cannot listen on the same port again: {error}"));
                self.record.up(self.process)?;
                self.socket.reopen().map_err(failed)
            }
            SiteOutput::WakeAt(at) => {
                self.wake_at = *at;
                Ok(())
            }
        }
    }

    fn write_head(&mut self, exchange: Exchange, head: &ResponseHead) -> Result<(), Trouble> {
        let Some(open) = answering(&self.exchanges, &mut self.open, exchange) else { return Ok(()) };
        let Phase::Answering { answer, traits } = &mut open.phase else { return Ok(()) };
        let bytes = answer.head(head, *traits);
        self.record.server(channel(exchange), Kind::WriteHead, self.cause, &bytes)?;
        open.act(Act::Write(self.pending.load(bytes)));
        Ok(())
    }

    fn write(
        &mut self,
        exchange: Exchange,
        bytes: &[u8],
        framed: impl Fn(&mut Answer, &[u8]) -> Option<Vec<u8>>,
    ) -> Result<(), Trouble> {
        let Some(open) = answering(&self.exchanges, &mut self.open, exchange) else { return Ok(()) };
        let Phase::Answering { answer, .. } = &mut open.phase else { return Ok(()) };
        if let Some(framed) = framed(answer, bytes) {
            self.record.server(channel(exchange), Kind::Write, self.cause, bytes)?;
            open.act(Act::Write(self.pending.load(framed)));
        }
        Ok(())
    }

    fn end(&mut self, exchange: Exchange) -> Result<(), Trouble> {
        let Some(open) = answering(&self.exchanges, &mut self.open, exchange) else { return Ok(()) };
        self.exchanges.remove(&exchange);
        let Phase::Answering { answer, .. } = std::mem::replace(&mut open.phase, Phase::Idle) else {
            return Ok(());
        };
        self.record.server(channel(exchange), Kind::WriteEnd, self.cause, b"")?;
        open.act(Act::Write(self.pending.load(answer.end().to_vec())));
        open.act(if answer.keeps_alive() { Act::Next } else { Act::Close });
        Ok(())
    }

    fn drop_exchange(&mut self, exchange: Exchange, kind: Kind, act: Act) -> Result<(), Trouble> {
        let Some(open) = answering(&self.exchanges, &mut self.open, exchange) else { return Ok(()) };
        self.exchanges.remove(&exchange);
        open.phase = Phase::Refused;
        self.record.server(channel(exchange), kind, self.cause, b"")?;
        open.act(act);
        Ok(())
    }
}

/// The connection of an open exchange. None if that is gone, also if we are to hear of it only later.
fn answering<'a>(
    exchanges: &BTreeMap<Exchange, u32>,
    open: &'a mut BTreeMap<u32, Open>,
    exchange: Exchange,
) -> Option<&'a mut Open> {
    open.get_mut(exchanges.get(&exchange)?).filter(|open| !open.acts.is_closed())
}
