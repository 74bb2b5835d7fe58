//! The answer to one request over HTTP: from what the gate says and what quirks make of it to the steps that are done.

use mcp_parley_negotiation::gate::{AnswerForm, GateEvent, HttpAnswer};
use mcp_parley_negotiation::version::Era;

use super::{ResponseHead, sse};
use crate::act::{Answer, Asked, text_for};
use crate::doc::Doc;
use crate::http::{Header, Hold, Http, HttpAct};
use crate::persona::Act;
use crate::wire::Wire;

/// What is done on one exchange.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Head(ResponseHead),
    Body(Vec<u8>),
    End,
    Close,
    Reset,
    Raw(Vec<u8>),
}

/// An answer: what is done at once, and what waits if the answer waits.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) at_once: Vec<Step>,
    pub(super) then: Vec<Step>,
}

/// What the gate says, and the quirks that act on it.
pub(super) struct Composer<'a> {
    pub(super) http: &'a Http,
    pub(super) wire: &'a Wire,
    pub(super) acts: &'a [&'a Act],
    pub(super) asked: &'a Asked<'a>,
    pub(super) form: AnswerForm,
    /// The persona has sessions or eras in which an error comes with 200.
    pub(super) legacy: bool,
}

impl Composer<'_> {
    /// `said`: the gate's answer and its body; `None` from a server that says nothing.
    pub(super) fn plan(&self, said: Option<(HttpAnswer, Vec<u8>)>) -> Plan {
        let acts = || self.acts.iter().filter_map(|act| act.http.as_ref());
        if let Some(raw) = acts().find_map(|act| act.raw.as_ref()) {
            return Plan { then: vec![Step::Raw(text_for(raw, self.asked)), Step::Close], ..Plan::default() };
        }
        if let Some(cut) = acts().find_map(|act| act.cut.filter(|cut| cut.after_bytes.is_none())) {
            return Plan { then: vec![if cut.reset { Step::Reset } else { Step::Close }], ..Plan::default() };
        }
        if self.acts.iter().any(|act| act.close) {
            return Plan { then: vec![Step::Close], ..Plan::default() };
        }
        let (gate, own) = match said {
            Some((answer, body)) => (answer, Answer::Doc(Doc::Whole(body))),
            None => return Plan::default(),
        };
        let has_message = gate.body.is_some();
        let own = if has_message { own } else { Answer::None };
        let answer = self.acts.iter().fold(own, |answer, act| answer.acted_on(act, self.asked)).into_line();
        let silent = self.acts.iter().any(|act| act.silence);
        match acts().find_map(|act| act.hold).or(silent.then_some(Hold::Head)) {
            Some(Hold::Head) => return Plan::default(),
            Some(Hold::Stream) => {
                let head = self.head(200, &gate, Some("text/event-stream"), None);
                return Plan { at_once: vec![Step::Head(head)], ..Plan::default() };
            }
            None => {}
        }
        self.written(&gate, answer)
    }

    fn written(&self, gate: &HttpAnswer, answer: Option<Vec<u8>>) -> Plan {
        let acts = || self.acts.iter().filter_map(|act| act.http.as_ref());
        let status = acts().rev().find_map(|act| act.status).unwrap_or_else(|| self.status(gate, &answer));
        if let Some(body) = acts().find_map(|act| act.body.as_ref()) {
            let kind = (body.size() > 0).then_some("text/plain");
            return self.whole(status, gate, kind, text_for(body, self.asked));
        }
        let before = || self.acts.iter().flat_map(|act| &act.before).map(|text| text_for(text, self.asked));
        let behind = self.acts.iter().flat_map(|act| &act.behind).map(|text| text_for(text, self.asked));
        let twice = answer.as_ref().filter(|_| self.acts.iter().any(|act| act.twice)).cloned();
        let late: Vec<Vec<u8>> = answer.into_iter().chain(twice).chain(behind).collect();
        let asked_for = acts().rev().find_map(|act| act.form);
        let own_form = if status == 200 { self.form } else { AnswerForm::Json };
        let as_stream = asked_for.unwrap_or(own_form) == AnswerForm::EventStream && !late.is_empty();
        if gate.stream || as_stream || late.len() > 1 || before().next().is_some() {
            return self.stream(status, gate, &before().collect::<Vec<_>>(), &late);
        }
        match late.into_iter().next() {
            Some(message) => self.whole(status, gate, Some("application/json"), message),
            None => self.whole(status, gate, None, Vec::new()),
        }
    }

    /// The gate's status, unless a quirk has made an error of the answer or the other way round.
    fn status(&self, gate: &HttpAnswer, answer: &Option<Vec<u8>>) -> u16 {
        let replaced = |act: &&Act| {
            act.error.is_some() || act.result.is_some() || (act.line.is_some() && answer.is_some())
        };
        let Some(act) = self.acts.iter().rev().copied().find(replaced) else { return gate.status };
        let modern = matches!(gate.event, Some(GateEvent::Served { era: Era::Modern, .. }));
        let in_session =
            gate.status == 200 && !modern && !matches!(gate.event, Some(GateEvent::HandshakeDone(_)));
        match &act.error {
            None => 200,
            Some(_) if in_session => 200,
            Some(error) => match error.code.integer() {
                Some(-32601) if !self.legacy => 404,
                Some(-32603) if !self.legacy => 500,
                _ => 400,
            },
        }
    }

    /// A body that comes whole and at once, unless the wire cuts it.
    fn whole(&self, status: u16, gate: &HttpAnswer, kind: Option<&str>, body: Vec<u8>) -> Plan {
        let cut = self
            .acts
            .iter()
            .filter_map(|act| act.http.as_ref()?.cut)
            .find_map(|cut| Some((cut.after_bytes?, cut)));
        let in_pieces = self.wire.chunk_bytes.is_some() && !body.is_empty();
        let body = self.marked(body);
        let length = (!in_pieces).then_some(body.len());
        let mut then = vec![Step::Head(self.head(status, gate, kind, length))];
        if let Some((bytes, cut)) = cut {
            let kept = body.get(..bytes as usize).unwrap_or(&body).to_vec();
            then.push(Step::Body(kept));
            then.push(if cut.reset { Step::Reset } else { Step::Close });
            return Plan { then, ..Plan::default() };
        }
        self.pieces(body, &mut then);
        then.push(Step::End);
        Plan { then, ..Plan::default() }
    }

    fn stream(&self, status: u16, gate: &HttpAnswer, before: &[Vec<u8>], late: &[Vec<u8>]) -> Plan {
        let framing = &self.http.sse;
        let mut at_once = vec![Step::Head(self.head(status, gate, Some("text/event-stream"), None))];
        sse::preamble(framing).into_iter().for_each(|event| self.pieces(event, &mut at_once));
        for message in before {
            self.pieces(sse::event(framing, message, false), &mut at_once);
        }
        let mut then = Vec::new();
        for (at, message) in late.iter().enumerate() {
            self.pieces(sse::event(framing, message, at + 1 == late.len()), &mut then);
        }
        if !framing.keep_open && !gate.stream {
            then.push(Step::End);
        }
        Plan { at_once, then }
    }

    fn marked(&self, body: Vec<u8>) -> Vec<u8> {
        if self.wire.byte_order_mark && !body.is_empty() {
            return [&b"\xef\xbb\xbf"[..], &body].concat();
        }
        body
    }

    fn pieces(&self, body: Vec<u8>, steps: &mut Vec<Step>) {
        match self.wire.chunk_bytes {
            Some(size) => {
                steps.extend(body.chunks(size.max(1) as usize).map(|piece| Step::Body(piece.to_vec())))
            }
            None if body.is_empty() => {}
            None => steps.push(Step::Body(body)),
        }
    }

    fn head(
        &self,
        status: u16,
        gate: &HttpAnswer,
        kind: Option<&str>,
        length: Option<usize>,
    ) -> ResponseHead {
        let mut headers: Vec<(String, String)> = Vec::new();
        if let Some(kind) = kind {
            headers.push(("content-type".to_owned(), kind.to_owned()));
        }
        headers.extend(gate.headers.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        self.http.headers.iter().for_each(|header| set(&mut headers, header));
        for act in self.acts.iter().filter_map(|act| act.http.as_ref()) {
            edit(act, &mut headers);
        }
        ResponseHead { status, headers, length }
    }
}

fn edit(act: &HttpAct, headers: &mut Vec<(String, String)>) {
    act.headers.iter().for_each(|header| set(headers, header));
    headers.retain(|(name, _)| !act.drop_headers.iter().any(|drop| drop.eq_ignore_ascii_case(name)));
    for name in &act.double_headers {
        let twice = headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).cloned();
        headers.extend(twice);
    }
}

/// Replaces in its place, or adds at the end.
fn set(headers: &mut Vec<(String, String)>, header: &Header) {
    let new = (header.name.clone(), header.value.clone());
    match headers.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case(&header.name)) {
        Some(old) => *old = new,
        None => headers.push(new),
    }
}
