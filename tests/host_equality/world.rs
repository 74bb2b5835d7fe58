//! The simulator without faults: what its client has seen.

use std::sync::Arc;

use mcp_parley_mock_clients::Conversation;
use mcp_parley_mock_servers::Played;
use mcp_parley_negotiation::gate::GateDeviations;
use mcp_parley_sim::{Case, Chooser, ClientSide, ServerSide, Site, World};
use mcp_parley_trace::{Channel, Event, Kind, Node, Recording, Subject, Transport};

use crate::transcript::{End, Exit, Seen, Transcript};

/// The simplest choice everywhere: no fault.
struct Simplest;

impl Chooser for Simplest {
    fn choose(&mut self, _: Site, _: u32) -> u32 {
        0
    }
}

/// The transcript of a run that came to its end.
pub(crate) fn run(played: Arc<Played>, conversation: &Arc<Conversation>, transport: Transport) -> Transcript {
    let client = ClientSide::Conversation(Arc::clone(conversation));
    let declared = Arc::new(client.declared());
    let server = ServerSide { played, deviations: GateDeviations::default() };
    let case = Case { subject: Subject::Server, transport, client, declared, server };
    let mut world = World::new();
    world.run(&case, Simplest);
    let recording = &world.recording;
    let complete = recording.events().iter().any(|event| event.kind == Kind::End(true));
    assert!(complete, "{} was cut off", conversation.id);
    match transport {
        Transport::Stdio => pipes(recording, conversation.steps.len()),
        Transport::Http => answers(recording, conversation.steps.len()),
    }
}

fn bytes(recording: &Recording, fits: impl Fn(&Event) -> bool) -> Vec<u8> {
    recording
        .events()
        .iter()
        .filter(|event| fits(event))
        .flat_map(|event| recording.bytes(event))
        .copied()
        .collect()
}

fn exit(recording: &Recording) -> Option<Exit> {
    let server = recording.events().iter().filter(|event| event.node == Node::Server);
    server.fold(None, |exit, event| match event.kind {
        Kind::Exit(code) => Some(Exit::Code(code)),
        Kind::Signal(signal) => Some(Exit::Signal(signal)),
        Kind::Up => None,
        _ => exit,
    })
}

fn pipes(recording: &Recording, steps: usize) -> Transcript {
    let client = || recording.events().iter().filter(|event| event.node == Node::Client);
    let ended = client().position(|event| event.kind == Kind::Eof);
    let written = |upto| client().take(upto).filter(|event| event.kind == Kind::Write).count();
    let end = End::Step(ended.map_or(steps, |at| written(at) - 1));
    let out = bytes(recording, |event| event.node == Node::Client && event.kind == Kind::Read);
    let err = bytes(recording, |event| event.kind == Kind::Stderr);
    let seen = vec![Seen { bytes: out, end, ..Seen::NOTHING }, Seen { bytes: err, ..Seen::NOTHING }];
    Transcript { seen, exit: exit(recording) }
}

fn answers(recording: &Recording, steps: usize) -> Transcript {
    let seen = (0..steps as u32).map(|number| {
        let own = |event: &&Event| event.node == Node::Client && event.channel == Channel::Exchange(number);
        let of = |kind| bytes(recording, |event| own(&event) && event.kind == kind);
        let end = recording.events().iter().filter(own).fold(End::Open, |end, event| match event.kind {
            Kind::ReadEnd => End::Complete,
            Kind::Eof if recording.bytes(event) == b"reset" => End::Reset,
            Kind::Eof => End::Closed,
            Kind::Refused => End::Refused,
            _ => end,
        });
        Seen { head: of(Kind::ReadHead), bytes: of(Kind::Read), end }
    });
    Transcript { seen: seen.collect(), exit: exit(recording) }
}
