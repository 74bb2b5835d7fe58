//! Every issue: a message that has it and nothing else, at the exact byte, and the nearest message that has none.

#![expect(clippy::panic, clippy::unwrap_used, reason = "these helpers are part of the tests")]

use mcp_parley_negotiation::classify::{classify_reply, read_initialize_result};
use mcp_parley_negotiation::envelope::{Message, Outcome, read_message};
use mcp_parley_negotiation::issue::IssueId::{self, *};
use mcp_parley_negotiation::issue::{Issue, IssueSink};
use mcp_parley_negotiation::limits::Limits;
use mcp_parley_negotiation::meta::read_request_meta;
use mcp_parley_negotiation::version::Preferences;

const LIMITS: Limits = Limits { message_bytes: 600, depth: 5, id_bytes: 40, ..Limits::DEFAULT };

/// A good message of each kind, which a case changes in one place.
const REQUEST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"roots":{}},"io.modelcontextprotocol/logLevel":"info"}}}"#;
const DISCOVERED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28","2025-11-25"],"capabilities":{"tools":{"listChanged":true},"x.y/z":0},"ttlMs":0,"cacheScope":"public","instructions":"","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}}"#;
const UNSUPPORTED: &str = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"],"requested":"1900-01-01"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}"#;

/// The issue; the good message and the text in it that is replaced, by what has the issue and by what has not; the text that
/// stands at the issue's offset.
type Case = (IssueId, &'static str, &'static str, &'static str, &'static str, &'static str);

#[rustfmt::skip]
const ENVELOPE: &[Case] = &[
    (NotJson, REQUEST, "2026", "2026\t", "2026\\t", "\t"),
    (NotJson, REQUEST, r#""id":1"#, r#""id":01"#, r#""id":10"#, r#"1,"method"#),
    (NotJson, REQUEST, r#""info"}}}"#, r#""info"}}}]"#, r#""info"}}} "#, "]"),
    (NotJson, REQUEST, r#""id":1,"#, r#""id":1,,"#, r#""id":1 , "#, r#","method"#),
    (TooDeep, REQUEST, r#""roots":{}"#, r#""x":{"y":[0]}"#, r#""x":{"y":0}"#, "[0]"),
    (ByteOrderMark, REQUEST, r#"{"jsonrpc"#, "\u{feff}{\"jsonrpc", "\n{\"jsonrpc", "\u{feff}"),
    (NotANumber, DISCOVERED, r#""ttlMs":0"#, r#""ttlMs":NaN"#, r#""ttlMs":0.0"#, "NaN"),
    (NotANumber, DISCOVERED, r#""ttlMs":0"#, r#""ttlMs":-Infinity"#, r#""ttlMs":-0"#, "-Inf"),
    (NotJson, DISCOVERED, r#""ttlMs":0"#, r#""ttlMs":nul"#, r#""ttlMs":0 "#, r#","cacheScope"#),
    (LoneSurrogate, DISCOVERED, r#""instructions":"""#, r#""instructions":"\ud800\u0041""#, r#""instructions":"\ud800\uDC00""#, "\\ud800"),
    (LoneSurrogate, DISCOVERED, r#""instructions":"""#, r#""instructions":"\uDFFF""#, r#""instructions":"\\uDFFF""#, "\\uDFFF"),
    (CarriageReturn, REQUEST, r#""info"}}}"#, "\"info\"}}}\r", "\"info\"}}}\r ", "\r"),
    (NotAnObject, REQUEST, REQUEST, " 1", REQUEST, "1"),
    (Batch, REQUEST, REQUEST, " [{}]", REQUEST, "[{}]"),
    (DuplicateKey, REQUEST, r#""id":1"#, r#""id":1,"\u0069d":2"#, r#""id":1,"ID":2"#, "\"\\u0069d"),
    (DuplicateKey, UNSUPPORTED, r#""message":"no""#, r#""message":"no","message" :"no""#, r#""message":"no","x":1,"x":2"#, r#""message" "#),
    (JsonrpcMissing, REQUEST, r#"{"jsonrpc":"2.0","#, "{", r#"{"jsonrpc":"\u0032.0","#, r#"{"id"#),
    (JsonrpcWrong, REQUEST, r#""2.0""#, "2.0", r#" "2.0""#, "2.0"),
    (JsonrpcWrong, DISCOVERED, r#""2.0""#, r#""1.0""#, r#""2.0""#, "\"1.0"),
    (IdMissing, DISCOVERED, r#""id":1,"#, "", r#""id":"","#, r#"{"jsonrpc"#),
    (IdNull, UNSUPPORTED, r#""id":1"#, r#""id":null"#, r#""id":"null""#, "null"),
    (IdFractional, REQUEST, r#""id":1"#, r#""id":1.5"#, r#""id":1.50e1"#, "1.5"),
    (IdHuge, REQUEST, r#""id":1"#, r#""id":9223372036854775808"#, r#""id":9223372036854775807"#, "9223"),
    (IdHuge, REQUEST, r#""id":1"#, r#""id":"0123456789012345678901234567890123456789""#, r#""id":"01234567890123456789012345678901234567""#, "\"0123"),
    (IdWrongType, REQUEST, r#""id":1"#, r#""id":[1]"#, r#""id":-1"#, "[1]"),
    (ResultAndError, UNSUPPORTED, r#""id":1,"#, r#""id":1,"result":{},"#, r#""id":1,"results":{},"#, r#"{"code"#),
    (NeitherResultNorError, DISCOVERED, r#""result":"#, r#""Result":"#, r#""result":"#, r#"{"jsonrpc"#),
    (MethodAndOutcome, DISCOVERED, r#""id":1,"#, r#""id":1,"method":"x","#, r#""id":1,"methods":"x","#, r#"{"resultType"#),
    (MethodWrongType, REQUEST, r#""tools/call""#, "77", r#""""#, "77"),
    (ParamsWrongType, r#"{"jsonrpc":"2.0","method":"x","params":{}}"#, "{}", "[]", "{ }", "[]"),
    (ResultWrongType, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "{}", "null", "{ }", "null"),
    (ErrorNull, UNSUPPORTED, r#""error":{"#, r#""error":null,"x":{"#, r#""error":{"#, "null"),
    (ErrorWrongType, UNSUPPORTED, r#""error":{"#, r#""error":"e","x":{"#, r#""error":{"#, "\"e\""),
    (CodeMissing, UNSUPPORTED, r#""code":-32022,"#, "", r#""code":-3.2022e4,"#, r#"{"message"#),
    (CodeString, UNSUPPORTED, "-32022", "\"-32022\"", "-32022.0", "\"-32022"),
    (CodeFractional, UNSUPPORTED, "-32022", "-32022.5", "-320220e-1", "-32022.5"),
    (CodeHuge, UNSUPPORTED, "-32022", "-9223372036854775809", "-9223372036854775808", "-922"),
    (CodeWrongType, UNSUPPORTED, "-32022", "true", "0", "true"),
    (MessageMissing, UNSUPPORTED, r#","message":"no""#, "", r#","message":"""#, r#"{"code"#),
    (MessageWrongType, UNSUPPORTED, r#""no""#, "{}", r#""\n""#, "{},"),
];

#[rustfmt::skip]
const REPLY: &[Case] = &[
    (ResultTypeMissing, DISCOVERED, r#""resultType":"complete","#, "", r#""resultType":"complete","#, r#"{"supportedVersions"#),
    (ResultTypeWrongType, DISCOVERED, r#""complete""#, "1", r#""\u0063omplete""#, "1,\"supportedVersions"),
    (ResultTypeUnknown, DISCOVERED, r#""complete""#, r#""Complete""#, r#" "complete""#, "\"Complete"),
    (ResultTypeInputRequired, DISCOVERED, r#""complete""#, r#""input_required""#, r#""complete""#, "\"input"),
    (VersionsMissing, DISCOVERED, r#""supportedVersions""#, r#""supported""#, r#""x":0,"supportedVersions""#, r#"{"resultType"#),
    (VersionsWrongType, DISCOVERED, r#"["2026-07-28","2025-11-25"]"#, r#""2026-07-28""#, r#"["2026-07-28"]"#, "\"2026"),
    (VersionsEmpty, DISCOVERED, r#"["2026-07-28","2025-11-25"]"#, "[ ]", r#"[""]"#, "[ ]"),
    (VersionWrongType, DISCOVERED, r#"["2026-07-28","2025-11-25"]"#, r#"["2026-07-28",20251125]"#, r#"["2026-07-28","20251125"]"#, "20251125"),
    (VersionDuplicate, DISCOVERED, r#","2025-11-25""#, r#", "\u0032026-07-28""#, r#","2026-07-28 ""#, "\"\\u0032"),
    (VersionDuplicate, DISCOVERED, r#","2025-11-25""#, r#","x", "x""#, r#","x","X""#, "\"x\"]"),
    (CapabilitiesMissing, DISCOVERED, r#""capabilities""#, r#""Capabilities""#, r#""x":0,"capabilities""#, r#"{"resultType"#),
    (CapabilitiesWrongType, DISCOVERED, r#""capabilities":{"#, r#""capabilities":null,"x":{"#, r#""capabilities":{"#, "null"),
    (CapabilitiesWrongType, DISCOVERED, r#"{"listChanged":true}"#, "true", "{}", "true"),
    (CapabilitiesWrongType, DISCOVERED, r#""listChanged":true"#, r#""listChanged":1"#, r#""listchanged":1"#, "1},\"x"),
    (CapabilitiesWrongType, DISCOVERED, r#"{"tools""#, r#"{"extensions":{"a.b/c":[]},"tools""#, r#"{"Extensions":{"a.b/c":[]},"tools""#, "[]}"),
    (TtlMissing, DISCOVERED, r#""ttlMs":0,"#, "", r#""ttlMs":1e400,"#, r#"{"resultType"#),
    (TtlWrongType, DISCOVERED, r#""ttlMs":0"#, r#""ttlMs":"0""#, r#""ttlMs":0e9"#, "\"0\""),
    (TtlNegative, DISCOVERED, r#""ttlMs":0"#, r#""ttlMs":-1"#, r#""ttlMs":-0"#, "-1,"),
    (TtlNegative, DISCOVERED, r#""ttlMs":0"#, r#""ttlMs":-1e400"#, r#""ttlMs":1e400"#, "-1e"),
    (TtlFractional, DISCOVERED, r#""ttlMs":0"#, r#""ttlMs":0.5"#, r#""ttlMs":0.5e1"#, "0.5"),
    (ScopeMissing, DISCOVERED, r#""cacheScope""#, r#""cachescope""#, r#""x":0,"cacheScope""#, r#"{"resultType"#),
    (ScopeUnknown, DISCOVERED, r#""public""#, r#""Public""#, r#""private""#, "\"Public"),
    (ScopeUnknown, DISCOVERED, r#""public""#, "null", r#""priv\u0061te""#, "null"),
    (InfoWrongType, DISCOVERED, r#"{"name":"s","version":"1"}"#, r#"{"name":"s","version":1}"#, r#"{"version":"1","name":""}"#, r#"{"name":"s""#),
    (InstructionsWrongType, DISCOVERED, r#""instructions":"""#, r#""instructions":null"#, r#""instructions":"null""#, "null"),
    (MetaWrongType, DISCOVERED, r#""_meta":{"#, r#""_meta":[],"x":{"#, r#""_meta":{"#, "[]"),
    (MetaKeyInvalid, DISCOVERED, r#""_meta":{"#, r#""_meta":{"-":0,"#, r#""_meta":{"":0,"#, "\"-\""),
    (DuplicateKey, DISCOVERED, r#""ttlMs":0"#, r#""ttlMs":0, "ttlMs":0"#, r#""ttlMs":0,"ttlms":0"#, "\"ttlMs\":0,\"cache"),
    (DataMissing, UNSUPPORTED, r#","data":{"#, r#","Data":{"#, r#","data":{"#, r#"{"code"#),
    (DataWrongType, UNSUPPORTED, r#""data":{"#, r#""data":["2026-07-28"],"x":{"#, r#""data":{"#, r#"["2026-07-28"],"x"#),
    (VersionsMissing, UNSUPPORTED, r#""supported""#, r#""supportedVersions""#, r#""supported""#, r#"{"supportedVersions"#),
    (VersionsWrongType, UNSUPPORTED, r#"["2026-07-28"]"#, "{}", r#"["2026"]"#, "{}"),
    (RequestedMissing, UNSUPPORTED, r#","requested":"1900-01-01""#, "", r#","requested":"""#, r#"{"supported"#),
    (RequestedWrongType, UNSUPPORTED, r#""1900-01-01""#, "null", r#""null""#, "null"),
    (RefusedVersionListed, UNSUPPORTED, r#""1900-01-01""#, r#""2026-07-2\u0038""#, r#""2026-07-2\u0039""#, "\"2026-07-28"),
];

#[rustfmt::skip]
const INITIALIZE: &[Case] = &[
    (ProtocolVersionMissing, INITIALIZED, r#""protocolVersion""#, r#""supportedVersions""#, r#""x":0,"protocolVersion""#, r#"{"supportedVersions"#),
    (ProtocolVersionWrongType, INITIALIZED, r#""2025-11-25""#, "20251125", r#""20251125""#, "20251125"),
    (InfoMissing, INITIALIZED, r#""serverInfo""#, r#""clientInfo""#, r#""x":0,"serverInfo""#, r#"{"protocolVersion"#),
    (InfoWrongType, INITIALIZED, r#""serverInfo":{"#, r#""serverInfo":{},"x":{"#, r#""serverInfo":{"x":{},"#, "{},"),
    (CapabilitiesMissing, INITIALIZED, r#""capabilities""#, r#""x""#, r#""capabilities""#, r#"{"protocolVersion"#),
    (CapabilitiesWrongType, INITIALIZED, r#"{"tools":{}}"#, r#"{"tools":false}"#, r#"{"Tools":false}"#, "false"),
];

#[rustfmt::skip]
const META: &[Case] = &[
    (MetaMissing, REQUEST, r#""_meta""#, r#""meta""#, r#""_meta""#, r#"{"meta"#),
    (MetaMissing, REQUEST, r#","params":{"#, r#","Params":{"#, r#","params":{"#, r#"{"jsonrpc"#),
    (MetaWrongType, REQUEST, r#""_meta":{"#, r#""_meta":null,"x":{"#, r#""_meta":{"#, "null"),
    (MetaKeyInvalid, REQUEST, r#""_meta":{"#, r#""_meta":{"1a/b":0,"#, r#""_meta":{"a1/b":0,"#, "\"1a/b"),
    (MetaVersionMissing, REQUEST, "/protocolVersion", "/protocolversion", "/protocolVersion", r#"{"io.modelcontextprotocol/protocolversion"#),
    (MetaVersionWrongType, REQUEST, r#""2026-07-28""#, "null", r#""null""#, "null"),
    (MetaCapabilitiesMissing, REQUEST, "/clientCapabilities", "/capabilities", "/clientCapabilities", r#"{"io.modelcontextprotocol/protocolVersion"#),
    (MetaCapabilitiesWrongType, REQUEST, r#"{"roots":{}}"#, "[]", "{}", "[]"),
    (CapabilitiesWrongType, REQUEST, r#"{"roots":{}}"#, r#"{"sampling":{"tools":0}}"#, r#"{"sampling":{"tool":0}}"#, "0}}"),
    (InfoWrongType, REQUEST, r#"{"name":"c","version":"1"}"#, r#"{"name":"c"}"#, r#"{"name":"c","version":""}"#, r#"{"name"#),
    (LogLevelUnknown, REQUEST, r#""info""#, r#""trace""#, r#""\u0064ebug""#, "\"trace"),
    (LogLevelUnknown, REQUEST, r#""info""#, "3", r#""emergency""#, "3}"),
    (DuplicateKey, REQUEST, r#""_meta":{"#, r#""_meta":1, "_meta":{"#, r#""_Meta":1,"_meta":{"#, r#""_meta":{"#),
    (DuplicateKey, REQUEST, r#""io.modelcontextprotocol/logLevel":"info""#, r#""io.modelcontextprotocol/logLevel":1,"io.modelcontextprotocol\/logLevel":"info""#, r#""io.modelcontextprotocol\/logLevel":"info""#, r#""io.modelcontextprotocol\/"#),
];

fn read_envelope(bytes: &[u8], issues: &mut IssueSink) {
    read_message(bytes, &LIMITS, issues);
}

fn read_reply(bytes: &[u8], issues: &mut IssueSink) {
    classify_reply(bytes, &Preferences::all(), &LIMITS, issues);
}

fn read_initialize(bytes: &[u8], issues: &mut IssueSink) {
    let Message::Response(response) = read_message(bytes, &LIMITS, issues) else { panic!("no response") };
    let Outcome::Result(result) = response.outcome else { panic!("no result") };
    read_initialize_result(bytes, result, issues);
}

fn read_meta(bytes: &[u8], issues: &mut IssueSink) {
    let Message::Request(request) = read_message(bytes, &LIMITS, issues) else { panic!("no request") };
    read_request_meta(bytes, request.params, issues);
}

fn run(cases: &[Case], read: impl Fn(&[u8], &mut IssueSink)) {
    for (id, message, from, bad, good, at) in cases {
        assert_eq!(message.matches(from).count(), 1, "{id:?}: {from} must stand once in {message}");
        let (bad, good) = (message.replace(from, bad), message.replace(from, good));
        assert_eq!(bad.matches(at).count(), 1, "{id:?}: {at} must stand once in {bad}");
        let mut issues = IssueSink::new();
        read(bad.as_bytes(), &mut issues);
        let expected = Issue { id: *id, offset: u32::try_from(bad.find(at).unwrap()).unwrap() };
        assert_eq!(issues.issues(), [expected], "{bad}");
        assert!(issues.has(*id));
        issues.clear();
        read(good.as_bytes(), &mut issues);
        assert_eq!(issues.issues(), [], "{good}");
    }
}

#[test]
fn envelope() {
    run(ENVELOPE, read_envelope);
}

#[test]
fn reply() {
    run(REPLY, read_reply);
}

#[test]
fn initialize() {
    run(INITIALIZE, read_initialize);
}

#[test]
fn meta() {
    run(META, read_meta);
}

#[test]
fn too_long() {
    let mut message = REQUEST.as_bytes().to_vec();
    message.resize(LIMITS.message_bytes, b' ');
    let mut issues = IssueSink::new();
    read_envelope(&message, &mut issues);
    assert_eq!(issues.issues(), []);
    message.push(b' ');
    read_envelope(&message, &mut issues);
    assert_eq!(issues.issues(), [Issue { id: TooLong, offset: 600 }]);
}

#[test]
fn not_utf8() {
    let mut issues = IssueSink::new();
    read_envelope(b"{\"jsonrpc\":\"2.0\",\"method\":\"\xc3\xa9\"}", &mut issues);
    assert_eq!(issues.issues(), []);
    read_envelope(b"{\"jsonrpc\":\"2.0\",\"method\":\"\xc3\xc3\"}", &mut issues);
    assert_eq!(issues.issues(), [Issue { id: NotUtf8, offset: 27 }]);
}

#[test]
fn every_issue_has_a_case() {
    let cases = || [ENVELOPE, REPLY, INITIALIZE, META].into_iter().flatten();
    for id in IssueId::ALL {
        let elsewhere = [TooLong, NotUtf8].contains(id);
        assert!(elsewhere || cases().any(|case| case.0 == *id), "{id:?}");
    }
}

#[test]
fn the_sink_keeps_32_and_forgets_none() {
    let surrogates = r"\ud800".repeat(40);
    let message = format!(r#"{{"jsonrpc":"2.0","id":null,"method":"{surrogates}"}}"#);
    let mut issues = IssueSink::new();
    read_envelope(message.as_bytes(), &mut issues);
    assert_eq!((issues.issues().len(), issues.count()), (32, 41));
    assert!(issues.has(IdNull) && !issues.has(IdHuge));
}
