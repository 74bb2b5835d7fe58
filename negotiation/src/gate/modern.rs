//! Modern requests: each is accepted or refused by itself (NEG-10).

use super::{CheckOrder, Gate, GateEvent, LegacyByMeta, NestedTypes, RemovedMethod, VersionData};
use crate::codes::{self, ErrorCode};
use crate::envelope::Request;
use crate::issue::IssueId;
use crate::meta::RequestMeta;
use crate::version::Era;

impl Gate {
    pub(super) fn on_modern(&mut self, request: &Request<'_>, meta: &RequestMeta<'_>) {
        let version = self.check_version(meta);
        let fields = self.check_fields(meta);
        let method = self.check_method(request);
        // AMB-14: any of them is right where its own condition holds; the policy says which wins.
        let refusal = match self.policy().check_order {
            CheckOrder::MetaFirst => fields.or(version).or(method),
            CheckOrder::VersionFirst => version.or(fields).or(method),
            CheckOrder::MethodFirst => method.or(fields).or(version),
        };
        match refusal {
            None => self.serve_modern(request),
            Some(codes::UNSUPPORTED_VERSION) => self.refuse_version(request, meta),
            Some(code) => self.refuse(&request.id, code),
        }
    }

    /// NEG-02. A version that is missing or no string is not refused here, but as a missing field.
    fn check_version(&self, meta: &RequestMeta<'_>) -> Option<ErrorCode> {
        let version = meta.version?;
        let policy = self.policy();
        let by_meta = policy.legacy.iter().filter(|_| policy.legacy_by_meta == LegacyByMeta::Serve);
        let served = policy.modern.iter().chain(by_meta).any(|ours| version.eq_str(ours.as_str()));
        let unlisted = self.deviations.serve_unlisted.as_deref().is_some_and(|name| version.eq_str(name));
        (!served && !unlisted).then_some(codes::UNSUPPORTED_VERSION)
    }

    /// META-02, META-20, META-22; AMB-15 for what is nested or optional.
    fn check_fields(&self, meta: &RequestMeta<'_>) -> Option<ErrorCode> {
        let nested = [IssueId::InfoWrongType, IssueId::CapabilitiesWrongType];
        let refused = self.policy().nested_types == NestedTypes::Strict && self.has_any(&nested);
        let whole = meta.version.is_some() && meta.capabilities.is_some() || self.deviations.serve_incomplete;
        let fine = whole && meta.log_level_fine && !refused;
        (!fine).then_some(codes::INVALID_PARAMS)
    }

    /// AMB-41 for `ping`.
    fn check_method(&self, request: &Request<'_>) -> Option<ErrorCode> {
        let ping = request.method.eq_str("ping") && self.policy().removed_method == RemovedMethod::Serve;
        let known = ping || request.method.eq_str("server/discover") || self.method(request).is_some();
        (!known).then_some(codes::METHOD_NOT_FOUND)
    }

    fn serve_modern(&mut self, request: &Request<'_>) {
        self.was_modern = true;
        let discover = request.method.eq_str("server/discover");
        let method = self.method(request).filter(|_| !discover);
        let own = method.and_then(|method| self.prepared.methods.get(method));
        let members = match own {
            _ if discover => &self.prepared.discover,
            Some(own) => &own.modern,
            None => &self.prepared.empty,
        };
        let result_type = if self.deviations.omit_result_type { "" } else { "\"resultType\":\"complete\"," };
        let event = GateEvent::Served { era: Era::Modern, method };
        self.out.result(&request.id, &[result_type, members], event);
    }

    fn refuse_version(&mut self, request: &Request<'_>, meta: &RequestMeta<'_>) {
        let requested = meta.version.map(|version| version.raw());
        let data = VersionData {
            supported: &self.prepared.listed,
            requested: requested.filter(|_| !self.deviations.omit_requested),
        };
        let code = self.deviations.unsupported_code.unwrap_or(codes::UNSUPPORTED_VERSION.code);
        self.out.error(&request.id, code, codes::UNSUPPORTED_VERSION.message, Some(data));
    }
}
