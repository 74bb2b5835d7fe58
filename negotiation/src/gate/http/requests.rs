//! Requests and notifications: which era they are of, and what their headers must say.

use super::headers::{Named, VersionHeader, routing_is_fine, version_agrees, version_header};
use super::{HttpAnswer, HttpGate, SESSIONS_MOST, hear, tell};
use crate::codes::{self, ErrorCode};
use crate::envelope::Request;
use crate::gate::{
    BareRequest, Gate, GateEvent, HeaderOrder, InitializeHeader, InitializeWithMeta, MissingHeader,
    NotificationHeaders, readable,
};
use crate::headers::SESSION_ID;
use crate::http::RequestHead;
use crate::issue::IssueSink;
use crate::json::Raw;
use crate::meta::{RequestMeta, read_request_meta};
use crate::version::{Era, era_of};
use std::sync::Arc;

/// A POST whose body is a request.
struct Post<'a> {
    head: &'a RequestHead<'a>,
    body: &'a [u8],
    request: &'a Request<'a>,
    meta: RequestMeta<'a>,
    version: VersionHeader<'a>,
}

impl HttpGate {
    pub(super) fn request(
        &mut self,
        head: &RequestHead<'_>,
        body: &[u8],
        request: &Request<'_>,
        buf: &mut Vec<u8>,
    ) -> HttpAnswer {
        let meta = read_request_meta(body, request.params, &mut IssueSink::new());
        let version = version_header(head, self.policy().repeated_header);
        let post = Post { head, body, request, meta, version };
        let keyed = meta.version_present || meta.capabilities_present;
        let initialize = request.method.eq_str("initialize");
        let as_modern = self.is_modern()
            && keyed
            && self.prepared.policy.initialize_with_meta == InitializeWithMeta::Modern;
        match (self.is_modern(), self.is_legacy()) {
            (_, true) if initialize && !as_modern => self.handshake(&post, buf),
            (true, false) => self.modern(&post, buf),
            // ERA-14: by how the client opens. A legacy version header over a body without `_meta` is legacy (LEG-05).
            (true, true) if keyed || self.names_modern(version) => self.modern(&post, buf),
            _ => self.legacy(&post, buf),
        }
    }

    fn names_modern(&self, version: VersionHeader<'_>) -> bool {
        let VersionHeader::Is(version) = version else { return false };
        self.prepared.policy.modern.iter().any(|ours| ours.as_str() == version)
            || era_of(version) == Some(Era::Modern)
    }

    fn names_legacy(&self, version: VersionHeader<'_>) -> Option<usize> {
        let VersionHeader::Is(version) = version else { return None };
        self.prepared.policy.legacy.iter().position(|ours| ours.as_str() == version)
    }

    /// NEG-10: each modern request stands by itself.
    fn modern(&mut self, post: &Post<'_>, buf: &mut Vec<u8>) -> HttpAnswer {
        let fine = self.headers_are_fine(post);
        if !fine && self.policy().header_order == HeaderOrder::HeadersFirst {
            return self.refuse_headers(post, buf);
        }
        let start = buf.len();
        let answer = self.by_itself(post.body, buf);
        if !fine && !matches!(answer.event, Some(GateEvent::Refused(_))) {
            buf.truncate(start);
            return self.refuse_headers(post, buf);
        }
        answer
    }

    fn headers_are_fine(&self, post: &Post<'_>) -> bool {
        if self.deviations.ignore_headers {
            return true;
        }
        let version = match post.version {
            // AMB-19 is about servers that have legacy clients (HTTP-11, HTTP-12).
            VersionHeader::Absent => {
                self.is_legacy() && self.policy().missing_header == MissingHeader::ReadBody
            }
            VersionHeader::Malformed => false,
            VersionHeader::Is(version) => version_agrees(version, &post.meta),
        };
        version && routing_is_fine(post.head, post.request)
    }

    /// HTTP-18. An `initialize` is told the versions all the same (ERA-13).
    fn refuse_headers(&mut self, post: &Post<'_>, buf: &mut Vec<u8>) -> HttpAnswer {
        if post.request.method.eq_str("initialize") {
            self.single.refuse_initialize_as(post.request, codes::HEADER_MISMATCH);
        } else {
            self.single.refuse(&readable(post.request.id), codes::HEADER_MISMATCH);
        }
        self.said(buf)
    }

    fn refused(&mut self, post: &Post<'_>, code: ErrorCode, status: u16, buf: &mut Vec<u8>) -> HttpAnswer {
        self.single.refuse(&readable(post.request.id), code);
        HttpAnswer { status, ..self.said(buf) }
    }

    /// ERA-21, LEG-19.
    fn handshake(&mut self, post: &Post<'_>, buf: &mut Vec<u8>) -> HttpAnswer {
        let strict = self.policy().initialize_header == InitializeHeader::Check;
        if strict && post.version != VersionHeader::Absent && self.names_legacy(post.version).is_none() {
            return self.refused(post, codes::INVALID_REQUEST, 400, buf);
        }
        let mut gate = self.session_gate();
        tell(&mut gate, post.body);
        let (body, event) = hear(&mut gate, buf, b'\n');
        let mut answer = HttpAnswer { body, event, ..HttpAnswer::empty(200) };
        match event {
            Some(GateEvent::HandshakeDone(_)) if self.has_sessions() => {
                self.opened = self.opened.saturating_add(1);
                if self.sessions.len() >= SESSIONS_MOST {
                    self.sessions.pop_first();
                }
                self.sessions.insert(self.opened, gate);
                answer.headers.push((SESSION_ID, self.session_id(self.opened)));
            }
            Some(GateEvent::HandshakeDone(_)) => {}
            // LEG-28 has no status: there is no session in which it would be an answer.
            _ => answer.status = 400,
        }
        answer
    }

    fn session_gate(&self) -> Gate {
        let gate = Gate::new(Arc::clone(&self.prepared));
        #[cfg(feature = "deviations")]
        let gate = gate.with_deviations(self.deviations.clone());
        gate
    }

    /// A request of the legacy era that is no `initialize`.
    fn legacy(&mut self, post: &Post<'_>, buf: &mut Vec<u8>) -> HttpAnswer {
        let named = self.names_legacy(post.version);
        // LEG-05.
        if post.version != VersionHeader::Absent && named.is_none() {
            return self.refused(post, codes::INVALID_REQUEST, 400, buf);
        }
        if !self.has_sessions() {
            // LEG-16.
            let mut gate = self.session_gate();
            gate.assume(named.or_else(|| self.names_legacy(VersionHeader::Is("2025-03-26"))).unwrap_or(0));
            return in_session(&mut gate, post.body, buf);
        }
        match self.session_named(post.head) {
            Named::Known(number) => match self.sessions.get_mut(&number) {
                Some(gate) => in_session(gate, post.body, buf),
                None => HttpAnswer::empty(404),
            },
            // LEG-21.
            Named::Unknown => self.refused(post, codes::INVALID_REQUEST, 404, buf),
            // AMB-13; LEG-20.
            Named::Absent => {
                let malformed_modern = self.is_modern()
                    && post.version == VersionHeader::Absent
                    && self.prepared.policy.bare_request == BareRequest::InvalidParams;
                let code = if malformed_modern { codes::INVALID_PARAMS } else { codes::INVALID_REQUEST };
                self.refused(post, code, 400, buf)
            }
        }
    }

    /// HTTP-05, LEG-24: accepted with 202, or an error status.
    pub(super) fn notification(
        &mut self,
        head: &RequestHead<'_>,
        body: &[u8],
        params: Option<Raw<'_>>,
    ) -> HttpAnswer {
        if let Some(status) = self.deviations.notification_status {
            return HttpAnswer::empty(status);
        }
        let version = version_header(head, self.policy().repeated_header);
        let meta = read_request_meta(body, params, &mut IssueSink::new());
        let keyed = meta.version_present || meta.capabilities_present;
        if self.is_modern() && (keyed || !self.is_legacy() || self.names_modern(version)) {
            // AMB-20, AMB-25.
            let strict = self.policy().notification_headers == NotificationHeaders::Check;
            let agrees = matches!(version, VersionHeader::Is(name)
                if self.names_modern(version) && version_agrees(name, &meta));
            return HttpAnswer::empty(if strict && !agrees { 400 } else { 202 });
        }
        if version != VersionHeader::Absent && self.names_legacy(version).is_none() {
            return HttpAnswer::empty(400);
        }
        match self.session_named(head) {
            _ if !self.has_sessions() => HttpAnswer::empty(202),
            Named::Known(_) => HttpAnswer::empty(202),
            Named::Unknown => HttpAnswer::empty(404),
            // At a dual-era server it may be a modern one, whose headers nobody has to look at.
            Named::Absent if self.is_modern() => HttpAnswer::empty(202),
            Named::Absent => HttpAnswer::empty(400),
        }
    }
}

/// Within a session, also an error comes with 200.
fn in_session(gate: &mut Gate, body: &[u8], buf: &mut Vec<u8>) -> HttpAnswer {
    tell(gate, body);
    let (body, event) = hear(gate, buf, b'\n');
    HttpAnswer { body, event, ..HttpAnswer::empty(200) }
}
