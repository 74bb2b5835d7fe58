//! The comparison itself: hosts with one fault are told apart from the engine, by the part that is wrong, and one that only writes other
//! pieces is not.

use std::collections::VecDeque;
use std::sync::Arc;

use mcp_parley_hosts::{PersonaPlayer, Play, PlayInput, PlayOutput, PlaySite, Record};
use mcp_parley_mock_servers::{Played, Site, SiteInput, SiteOutput, persona};
use mcp_parley_negotiation::Time;

use crate::scripts::{played, scripts};
use crate::transcript::{Part, differences};
use crate::{engine, pipes, sockets};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    OneByte,
    DropsHeader,
    EndsOtherwise,
    SaysMore,
    OtherPieces,
}

/// A player with a fault.
struct Faulty<P, O> {
    inner: P,
    fault: Fault,
    waiting: VecDeque<(O, Vec<u8>)>,
}

impl<P, O> Faulty<P, O> {
    fn new(inner: P, fault: Fault) -> Self {
        Self { inner, fault, waiting: VecDeque::new() }
    }
}

impl Play for Faulty<PersonaPlayer, ()> {
    fn handle_input(&mut self, now: Time, input: PlayInput<'_>) -> Result<(), String> {
        self.inner.handle_input(now, input)
    }

    fn poll_output(&mut self, buf: &mut Vec<u8>) -> Option<PlayOutput> {
        let start = buf.len();
        if let Some(((), rest)) = self.waiting.pop_front() {
            buf.extend(rest);
            return Some(PlayOutput::Write(start..buf.len()));
        }
        let output = self.inner.poll_output(buf)?;
        match (self.fault, &output) {
            (Fault::OneByte, PlayOutput::Write(range)) => buf[range.start] ^= 1,
            (Fault::SaysMore, PlayOutput::Write(range)) => {
                let first = buf.split_off(range.start);
                self.waiting.push_back(((), first));
                buf.extend_from_slice(b"{}\n");
                return Some(PlayOutput::Write(start..buf.len()));
            }
            (Fault::OtherPieces, PlayOutput::Write(range)) => {
                let rest = buf.split_off(range.start + range.len() / 2);
                self.waiting.push_back(((), rest));
                return Some(PlayOutput::Write(range.start..buf.len()));
            }
            (Fault::EndsOtherwise, PlayOutput::Exit(code)) => return Some(PlayOutput::Exit(code + 1)),
            _ => {}
        }
        Some(output)
    }
}

impl PlaySite for Faulty<Site, SiteOutput> {
    fn handle_input(&mut self, now: Time, input: SiteInput<'_>) {
        self.inner.handle_input(now, input);
    }

    fn poll_output(&mut self, buf: &mut Vec<u8>) -> Option<SiteOutput> {
        if let Some((SiteOutput::Body(exchange, _), rest)) = self.waiting.pop_front() {
            let start = buf.len();
            buf.extend(rest);
            return Some(SiteOutput::Body(exchange, start..buf.len()));
        }
        let mut output = self.inner.poll_output(buf)?;
        match (self.fault, &mut output) {
            (Fault::OneByte, SiteOutput::Body(_, range)) => buf[range.start] ^= 1,
            (Fault::DropsHeader, SiteOutput::Head(_, head)) => drop(head.headers.pop()),
            // Behind a whole body nobody could tell.
            (Fault::EndsOtherwise, SiteOutput::Body(exchange, _)) => {
                return Some(SiteOutput::Reset(*exchange));
            }
            (Fault::OtherPieces, SiteOutput::Body(exchange, range)) => {
                let (exchange, start) = (*exchange, range.start);
                let rest = buf.split_off(start + range.len() / 2);
                self.waiting.push_back((SiteOutput::Body(exchange, 0..0), rest));
                return Some(SiteOutput::Body(exchange, start..buf.len()));
            }
            _ => {}
        }
        Some(output)
    }
}

fn modern() -> Arc<Played> {
    played(persona("modern").unwrap(), &[])
}

/// In which parts a host with this fault differs from the engine.
async fn over_stdio(fault: Fault) -> Vec<Part> {
    let opening = &scripts()[1].stdio;
    let reference = engine::over_stdio(modern(), 0, opening);
    let player = Faulty::new(PersonaPlayer::new(modern(), 0), fault);
    let other = pipes::hosted(player, Record::Nothing, opening, &reference.marks).await;
    differences(&reference.transcript, &other).into_keys().collect()
}

async fn over_http(fault: Fault) -> Vec<Part> {
    let opening = &scripts()[1].http;
    let reference = engine::over_http(modern(), opening);
    let other = sockets::hosted(Faulty::new(Site::start(modern()), fault), opening, &reference.marks).await;
    differences(&reference.transcript, &other).into_keys().collect()
}

#[tokio::test]
async fn a_host_with_one_fault_over_stdio_is_noticed_and_other_pieces_are_not() {
    assert_eq!(over_stdio(Fault::None).await, []);
    assert_eq!(over_stdio(Fault::OneByte).await, [Part::Bytes]);
    assert_eq!(over_stdio(Fault::SaysMore).await, [Part::Bytes]);
    assert_eq!(over_stdio(Fault::EndsOtherwise).await, [Part::Exit]);
    assert_eq!(over_stdio(Fault::OtherPieces).await, []);
}

#[tokio::test]
async fn a_host_with_one_fault_over_http_is_noticed_and_other_pieces_are_not() {
    assert_eq!(over_http(Fault::None).await, []);
    assert_eq!(over_http(Fault::OneByte).await, [Part::Bytes]);
    assert_eq!(over_http(Fault::DropsHeader).await, [Part::Head]);
    assert_eq!(over_http(Fault::EndsOtherwise).await, [Part::Bytes, Part::End]);
    assert_eq!(over_http(Fault::OtherPieces).await, []);
}
