//! The legacy era: the handshake, and requests of its session.

use super::{EraChange, Gate, InitializeCode, UnknownInitialize, write};
use crate::codes::{self, ErrorCode};
use crate::envelope::Request;
use crate::json::{Kind, RawStr};

impl Gate {
    /// LEG-02, LEG-03, ERA-22: a version of ours is echoed, any other is countered, a modern one never agreed on.
    pub(super) fn on_initialize(&mut self, request: &Request<'_>) {
        let again = self.session.is_some() || self.was_modern;
        if again && self.policy().era_change == EraChange::Refuse {
            return self.refuse(&request.id, codes::INVALID_REQUEST);
        }
        let Some(asked) = asked(request) else { return self.refuse(&request.id, codes::INVALID_PARAMS) };
        let policy = self.policy();
        let known = policy.legacy.iter().find(|ours| asked.eq_str(ours.as_str()));
        let agreed = match (known, policy.unknown_initialize) {
            (Some(version), _) => version.as_str(),
            (None, UnknownInitialize::CounterOffer) => match policy.legacy.first() {
                Some(best) => best.as_str(),
                None => return self.refuse(&request.id, codes::INTERNAL_ERROR),
            },
            (None, UnknownInitialize::Refuse) => {
                let listed = write::version_array(policy.legacy.iter());
                let data = self.version_data(&listed, asked.raw(), false);
                return self.write_error(
                    &request.id,
                    codes::INVALID_PARAMS.code,
                    "Unsupported protocol version",
                    Some(&data),
                );
            }
        };
        let agreed: Box<str> = agreed.into();
        self.write_initialize_result(&request.id, &agreed);
        self.session = Some(agreed);
    }

    /// ERA-13, ERA-17, AMB-26: `initialize` at a modern-only server. The data names the versions served here.
    pub(super) fn refuse_initialize(&mut self, request: &Request<'_>) {
        let asked = asked(request);
        let requested = asked.map(|version| version.raw()).unwrap_or_default();
        // -32022 must say which version was asked for, and must not list the one that it refuses (ERR-03).
        let listed =
            asked.is_some_and(|asked| self.policy().modern.iter().any(|ours| asked.eq_str(ours.as_str())));
        let code: ErrorCode = match self.policy().initialize_code {
            InitializeCode::UnsupportedVersion if asked.is_some() && !listed => codes::UNSUPPORTED_VERSION,
            InitializeCode::UnsupportedVersion | InitializeCode::MethodNotFound => codes::METHOD_NOT_FOUND,
            InitializeCode::InvalidParams => codes::INVALID_PARAMS,
        };
        let data = self.version_data(&self.prepared.listed, requested, asked.is_none());
        self.write_error(&request.id, code.code, code.message, Some(&data));
    }

    /// Requests without modern `_meta` at a legacy server, or in the session of a dual-era one.
    pub(super) fn on_legacy(&mut self, request: &Request<'_>) {
        if request.method.eq_str("ping") {
            return self.write_legacy_result(&request.id, "");
        }
        match self.method(request) {
            None => self.refuse(&request.id, codes::METHOD_NOT_FOUND),
            Some(_) if self.session.is_none() => {
                self.write_error(&request.id, codes::INVALID_REQUEST.code, "Server not initialized", None);
            }
            Some(method) => {
                let result = self.prepared.policy.methods.get(method).map(|method| method.result.clone());
                self.write_legacy_result(&request.id, &result.unwrap_or_default());
            }
        }
    }
}

fn asked<'a>(request: &Request<'a>) -> Option<RawStr<'a>> {
    request.params.filter(|params| params.kind() == Kind::Object)?.get("protocolVersion")?.as_str()
}
