//! Modern requests: each is accepted or refused by itself (NEG-10).

use super::{CheckOrder, Gate, LegacyByMeta, NestedTypes, RemovedMethod};
use crate::codes::{self, ErrorCode};
use crate::envelope::Request;
use crate::issue::IssueId;
use crate::meta::RequestMeta;

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
            Some(code) if code == codes::UNSUPPORTED_VERSION => self.refuse_version(request, meta),
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

    /// META-02, META-20, META-22, AMB-15.
    fn check_fields(&self, meta: &RequestMeta<'_>) -> Option<ErrorCode> {
        let strict =
            self.policy().nested_types == NestedTypes::Strict && self.issues.has(IssueId::InfoWrongType);
        let fine = meta.version.is_some() && meta.capabilities.is_some() && meta.log_level_fine && !strict;
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
        if request.method.eq_str("server/discover") {
            return self.write_discover_result(&request.id);
        }
        match self.method(request) {
            Some(method) => self.write_modern_result(&request.id, method),
            None => self.write_modern_empty(&request.id),
        }
    }

    fn refuse_version(&mut self, request: &Request<'_>, meta: &RequestMeta<'_>) {
        let requested = meta.version.map(|version| version.raw()).unwrap_or_default();
        let data = self.version_data(&self.prepared.listed, requested, self.deviations.omit_requested);
        let code = self.deviations.unsupported_code.unwrap_or(codes::UNSUPPORTED_VERSION.code);
        self.write_error(&request.id, code, codes::UNSUPPORTED_VERSION.message, Some(&data));
    }
}
