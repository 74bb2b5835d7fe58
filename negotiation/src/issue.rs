//! What is wrong with a message, and where.

macro_rules! issue_ids {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What is wrong. The name says it; the comment gives the requirement that the sender breaks.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum IssueId {
            $($(#[$doc])* $name,)*
        }

        impl IssueId {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];
        }
    };
}

issue_ids! {
    /// Not JSON (BASE-01), at the first byte that does not fit.
    NotJson,
    /// Longer than [`Limits::message_bytes`](crate::limits::Limits), at the first byte past it.
    TooLong,
    /// Nested deeper than [`Limits::depth`](crate::limits::Limits), at the first bracket past it.
    TooDeep,
    /// Not UTF-8 (BASE-13).
    NotUtf8,
    /// A byte-order mark before the message (AMB-07).
    ByteOrderMark,
    /// `NaN`, `Infinity` or `inf`, in any case and with any sign: no JSON, but often written for a number.
    NotANumber,
    /// An escape that stands for half a character.
    LoneSurrogate,
    /// JSON, but no object (BASE-01).
    NotAnObject,
    /// An array of messages (BASE-19, LEG-13).
    Batch,
    /// The same known member twice, at the later key; the last one counts, as in most parsers.
    DuplicateKey,
    /// No `jsonrpc` member.
    JsonrpcMissing,
    /// `jsonrpc` is not the string "2.0".
    JsonrpcWrong,
    /// A result without `id` (BASE-04). An error may lack it (BASE-18).
    IdMissing,
    /// `id` is null (BASE-03, AMB-27).
    IdNull,
    /// `id` is a number with a fraction or exponent that is no integer (BASE-02).
    IdFractional,
    /// `id` is an integer that does not fit 64 bits, or longer than [`Limits::id_bytes`](crate::limits::Limits).
    IdHuge,
    /// `id` is neither string nor number.
    IdWrongType,
    /// Both `result` and `error` (LEG-34), at the value of `error`.
    ResultAndError,
    /// Neither `result` nor `error`, nor `method`. With an `id` it is read as a broken response, without one as nothing.
    NeitherResultNorError,
    /// `method` together with `result` or `error`, at the value of the latter. It is read as a broken response.
    MethodAndOutcome,
    /// `method` is no string.
    MethodWrongType,
    /// `params` is no object.
    ParamsWrongType,
    /// `result` is no object (BASE-14).
    ResultWrongType,
    /// `error` is null.
    ErrorNull,
    /// `error` is no object.
    ErrorWrongType,
    /// `error` has no `code` (BASE-06).
    CodeMissing,
    /// `code` is a string.
    CodeString,
    /// `code` has a fraction (BASE-07).
    CodeFractional,
    /// `code` is an integer that does not fit 64 bits.
    CodeHuge,
    /// `code` is of another type.
    CodeWrongType,
    /// `error` has no `message` (BASE-06).
    MessageMissing,
    /// `message` is no string.
    MessageWrongType,
    /// A modern result without `resultType` (BASE-08).
    ResultTypeMissing,
    /// `resultType` is no string.
    ResultTypeWrongType,
    /// A `resultType` that nobody announced (BASE-15).
    ResultTypeUnknown,
    /// `input_required` in answer to `server/discover` (MRTR-01).
    ResultTypeInputRequired,
    /// No `supportedVersions` (DISC-02), or no `supported` in the data of -32022 (NEG-06).
    VersionsMissing,
    /// The list of versions is no array.
    VersionsWrongType,
    /// The list of versions is empty.
    VersionsEmpty,
    /// A member of the list is no string.
    VersionWrongType,
    /// A version stands in the list twice, at the later one. Looked for among the first 32 strings of the list.
    VersionDuplicate,
    /// No `capabilities` (DISC-02).
    CapabilitiesMissing,
    /// `capabilities` is no object, or something in it is not of its type (DISC-07).
    CapabilitiesWrongType,
    /// No `ttlMs` (CACHE-01).
    TtlMissing,
    /// `ttlMs` is no number.
    TtlWrongType,
    /// `ttlMs` is negative (CACHE-02).
    TtlNegative,
    /// `ttlMs` has a fraction (CACHE-02).
    TtlFractional,
    /// No `cacheScope` (CACHE-01).
    ScopeMissing,
    /// `cacheScope` is neither "public" nor "private" (CACHE-03).
    ScopeUnknown,
    /// No `serverInfo` in the answer to `initialize` (LEG-08).
    InfoMissing,
    /// `serverInfo` or `clientInfo` is no object with the strings `name` and `version` (DISC-08).
    InfoWrongType,
    /// `instructions` is no string (DISC-02, LEG-08).
    InstructionsWrongType,
    /// No `protocolVersion` in the answer to `initialize` (LEG-08).
    ProtocolVersionMissing,
    /// `protocolVersion` is no string (LEG-08).
    ProtocolVersionWrongType,
    /// -32022 without `data` (NEG-06).
    DataMissing,
    /// `data` of -32022 is no object (NEG-06).
    DataWrongType,
    /// -32022 without `requested` (NEG-06).
    RequestedMissing,
    /// `requested` is no string (NEG-06).
    RequestedWrongType,
    /// -32022 whose `supported` lists the version that it refuses (ERR-03).
    RefusedVersionListed,
    /// `_meta` is missing in a modern request (META-20).
    MetaMissing,
    /// `_meta` is no object.
    MetaWrongType,
    /// A key that breaks the grammar (META-13).
    MetaKeyInvalid,
    /// No `io.modelcontextprotocol/protocolVersion` (META-01).
    MetaVersionMissing,
    /// …of a wrong type.
    MetaVersionWrongType,
    /// No `io.modelcontextprotocol/clientCapabilities` (META-01).
    MetaCapabilitiesMissing,
    /// …of a wrong type.
    MetaCapabilitiesWrongType,
    /// `io.modelcontextprotocol/logLevel` is no known level (META-22).
    LogLevelUnknown,
    /// A carriage return before the line end (AMB-07).
    CarriageReturn,
}

/// One issue: what, and at which byte of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issue {
    /// What is wrong.
    pub id: IssueId,
    /// Byte offset in the message: the start of the value that is wrong, or of the object that lacks a member.
    pub offset: u32,
}

/// Keeps the first 32 issues, counts the rest, and knows of each [`IssueId`] whether it was among them all.
#[derive(Clone, Debug)]
pub struct IssueSink {
    kept: [Issue; Self::KEPT],
    count: u32,
    /// One bit an id.
    seen: u128,
}

const _: () = assert!(IssueId::ALL.len() <= u128::BITS as usize);

impl IssueSink {
    /// How many are kept.
    pub const KEPT: usize = 32;

    /// An empty sink.
    pub const fn new() -> Self {
        Self { kept: [Issue { id: IssueId::NotJson, offset: 0 }; Self::KEPT], count: 0, seen: 0 }
    }

    /// Adds an issue.
    pub fn push(&mut self, id: IssueId, offset: usize) {
        if let Some(slot) = self.kept.get_mut(self.count as usize) {
            *slot = Issue { id, offset: u32::try_from(offset).unwrap_or(u32::MAX) };
        }
        self.count = self.count.saturating_add(1);
        self.seen |= 1 << id as u32;
    }

    /// The issues that were kept, in the order in which they were found.
    pub fn issues(&self) -> &[Issue] {
        &self.kept[..(self.count as usize).min(Self::KEPT)]
    }

    /// How many there were in all.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// True if this issue was found, kept or not.
    pub fn has(&self, id: IssueId) -> bool {
        self.seen & 1 << id as u32 != 0
    }

    /// Takes over what another one holds.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        let kept = other.issues();
        self.kept[..kept.len()].copy_from_slice(kept);
        (self.count, self.seen) = (other.count, other.seen);
    }

    /// Forgets them all.
    pub fn clear(&mut self) {
        self.count = 0;
        self.seen = 0;
    }
}

impl Default for IssueSink {
    fn default() -> Self {
        Self::new()
    }
}
