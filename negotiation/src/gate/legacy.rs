//! The legacy era: the handshake, and requests of its session.

use super::{EraChange, Gate, GateEvent, InitializeCode, UnknownInitialize, VersionData, readable};
use crate::codes::{self, ErrorCode};
use crate::envelope::Request;
use crate::json::RawStr;
use crate::version::Era;

impl Gate {
    /// LEG-02, LEG-03, ERA-22: a version of ours is echoed, any other is countered, a modern one never agreed on.
    pub(super) fn on_initialize(&mut self, request: &Request<'_>) {
        match self.policy().era_change {
            EraChange::Refuse if self.was_modern => return self.refuse_change(request),
            EraChange::Refuse if self.session.is_some() => {
                return self.refuse(&request.id, codes::INVALID_REQUEST);
            }
            EraChange::Refuse | EraChange::Allow => {}
        }
        let Some(asked) = asked(request) else { return self.refuse(&request.id, codes::INVALID_PARAMS) };
        let legacy = &self.prepared.policy.legacy;
        let known = legacy.iter().position(|ours| asked.eq_str(ours.as_str()));
        let agreed = match self.policy().unknown_initialize {
            UnknownInitialize::CounterOffer => known.or(Some(0)),
            UnknownInitialize::Refuse => known,
        };
        let Some((place, name)) = agreed.and_then(|place| Some((place, self.prepared.legacy.get(place)?)))
        else {
            let data = VersionData { supported: &self.prepared.listed_legacy, requested: Some(asked.raw()) };
            let (code, message) = (codes::INVALID_PARAMS.code, codes::UNSUPPORTED_VERSION.message);
            return self.out.error(&request.id, code, message, Some(data));
        };
        let members = ["\"protocolVersion\":", name, &self.prepared.initialize];
        self.out.result(&request.id, &members, GateEvent::HandshakeDone(place));
        self.session = Some(place);
    }

    /// AMB-18. By now the process is modern only, and names the versions that are left (ERA-13).
    fn refuse_change(&mut self, request: &Request<'_>) {
        let requested = asked(request).map(|version| version.raw());
        let data = VersionData { supported: &self.prepared.listed, requested };
        let code = codes::INVALID_REQUEST;
        self.out.error(&request.id, code.code, code.message, Some(data));
    }

    /// ERA-13, ERA-17, AMB-26: `initialize` at a modern-only server. The data names the versions served here.
    pub(super) fn refuse_initialize(&mut self, request: &Request<'_>) {
        let asked = asked(request);
        // -32022 must say which version was asked for, and must not list the one that it refuses (ERR-03).
        let listed = |asked: RawStr<'_>| self.policy().modern.iter().any(|ours| asked.eq_str(ours.as_str()));
        let code = match self.policy().initialize_code {
            InitializeCode::UnsupportedVersion if asked.is_some_and(|asked| !listed(asked)) => {
                codes::UNSUPPORTED_VERSION
            }
            InitializeCode::UnsupportedVersion | InitializeCode::MethodNotFound => codes::METHOD_NOT_FOUND,
            InitializeCode::InvalidParams => codes::INVALID_PARAMS,
        };
        self.refuse_initialize_as(request, code);
    }

    /// The same with this code.
    pub(super) fn refuse_initialize_as(&mut self, request: &Request<'_>, code: ErrorCode) {
        let requested = asked(request).map(|version| version.raw());
        let data = VersionData { supported: &self.prepared.listed, requested };
        self.out.error(&readable(request.id), code.code, code.message, Some(data));
    }

    /// Takes this version, by its place in the policy, for agreed (LEG-16).
    pub(super) fn assume(&mut self, place: usize) {
        self.session = Some(place);
    }

    /// Requests without modern `_meta` at a legacy server, or in the session of a dual-era one.
    pub(super) fn on_legacy(&mut self, request: &Request<'_>) {
        let served = |method| GateEvent::Served { era: Era::Legacy, method };
        if request.method.eq_str("ping") {
            return self.out.result(&request.id, &[], served(None));
        }
        let Some(place) = self.method(request) else {
            return self.refuse(&request.id, codes::METHOD_NOT_FOUND);
        };
        if self.session.is_none() {
            let code = codes::INVALID_REQUEST.code;
            return self.out.error(&request.id, code, "Server not initialized", None);
        }
        let members = self.prepared.methods.get(place).map_or("", |method| &method.legacy);
        self.out.result(&request.id, &[members], served(Some(place)));
    }
}

fn asked<'a>(request: &Request<'a>) -> Option<RawStr<'a>> {
    request.params?.get("protocolVersion")?.as_str()
}
