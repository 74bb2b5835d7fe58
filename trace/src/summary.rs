//! One message in a few words. The words may hold wire text as it came: whoever shows them escapes them.

use serde_json::{Map, Value};

/// A longer message is not looked into: a diagram has no room for what it says.
const MAX_BYTES: usize = 1 << 20;
const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

pub(crate) fn summary(bytes: &[u8]) -> Vec<u8> {
    if bytes.is_empty() {
        return b"(blank line)".to_vec();
    }
    if bytes.len() > MAX_BYTES {
        return format!("({} bytes)", bytes.len()).into_bytes();
    }
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(message)) => of_message(&message).into_bytes(),
        Ok(Value::Array(members)) => format!("batch of {}", members.len()).into_bytes(),
        Ok(_) => [b"no message: ", bytes].concat(),
        Err(_) => [b"not JSON: ", bytes].concat(),
    }
}

fn of_message(message: &Map<String, Value>) -> String {
    let id = message.get("id").map_or(String::new(), |id| format!(" id={id}"));
    let params = message.get("params");
    if let Some(method) = message.get("method") {
        return format!("{}{id}{}{}", word(method), version_of(params), reason_of(params));
    }
    match (message.get("result"), message.get("error")) {
        (Some(result), None) => format!("result{id}{}", of_result(result)),
        (None, Some(error)) => format!("error {}{id}{}", code_of(error), of_error(error)),
        (Some(_), Some(error)) => format!("result and error {}{id}", code_of(error)),
        (None, None) => format!("no message: {}", Value::Object(message.clone())),
    }
}

fn version_of(params: Option<&Value>) -> String {
    let meta = params.and_then(|p| p.get("_meta")).and_then(|meta| meta.get(META_VERSION));
    let plain = params.and_then(|p| p.get("protocolVersion"));
    meta.or(plain).map_or(String::new(), |version| format!(" v={}", word(version)))
}

fn reason_of(params: Option<&Value>) -> String {
    params.and_then(|p| p.get("requestId")).map_or(String::new(), |id| format!(" requestId={id}"))
}

fn of_result(result: &Value) -> String {
    let Some(members) = result.as_object() else { return format!(" {result}") };
    let mut out = String::new();
    let mut others = Vec::new();
    for (name, value) in members {
        match name.as_str() {
            "protocolVersion" => out += &format!(" v={}", word(value)),
            "supportedVersions" => out += &format!(" supportedVersions={}", words(value)),
            "resultType" if value == "complete" => {}
            "resultType" => out += &format!(" resultType={}", word(value)),
            "_meta" | "serverInfo" => {}
            other => others.push(other),
        }
    }
    if others.is_empty() { out } else { format!("{out} {{{}}}", others.join(", ")) }
}

fn code_of(error: &Value) -> String {
    error.get("code").map_or("without code".into(), Value::to_string)
}

fn of_error(error: &Value) -> String {
    let data = error.get("data");
    let member = |name: &str| data.and_then(|data| data.get(name));
    let supported = member("supported").map_or(String::new(), |list| format!(" supported={}", words(list)));
    let requested = member("requested").map_or(String::new(), |v| format!(" requested={}", word(v)));
    let message = error.get("message").map_or(String::new(), |m| format!(" \"{}\"", word(m)));
    format!("{supported}{requested}{message}")
}

fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn words(value: &Value) -> String {
    match value {
        Value::Array(members) => format!("[{}]", members.iter().map(word).collect::<Vec<_>>().join(", ")),
        other => word(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> String {
        String::from_utf8(summary(text.as_bytes())).unwrap()
    }

    #[test]
    fn says_what_a_negotiation_turns_on() {
        assert_eq!(
            of(
                r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#
            ),
            "server/discover id=1 v=2026-07-28"
        );
        assert_eq!(
            of(
                r#"{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#
            ),
            r#"initialize id="a" v=2025-11-25"#
        );
        assert_eq!(
            of(
                r#"{"id":1,"error":{"code":-32022,"message":"no","data":{"supported":["a","b"],"requested":"c"}}}"#
            ),
            r#"error -32022 id=1 supported=[a, b] requested=c "no""#
        );
        assert_eq!(
            of(r#"{"id":1,"result":{"resultType":"odd","supportedVersions":["a"],"capabilities":{}}}"#),
            "result id=1 resultType=odd supportedVersions=[a] {capabilities}"
        );
        assert_eq!(
            of(r#"{"method":"notifications/cancelled","params":{"requestId":7}}"#),
            "notifications/cancelled requestId=7"
        );
    }

    #[test]
    fn says_what_is_no_message() {
        assert_eq!(of(""), "(blank line)");
        assert_eq!(of("starting\u{1b}"), "not JSON: starting\u{1b}");
        assert_eq!(of("[{},{}]"), "batch of 2");
        assert_eq!(of(r#"{"a":1}"#), r#"no message: {"a":1}"#);
        assert_eq!(of(r#"{"id":null,"error":null}"#), "error without code id=null");
        assert_eq!(of(r#"{"id":1,"result":{},"error":{"code":1}}"#), "result and error 1 id=1");
        assert_eq!(of(&"[".repeat(100_000)).len(), 100_000 + "not JSON: ".len());
        assert_eq!(of(&" ".repeat(MAX_BYTES + 1)), "(1048577 bytes)");
    }
}
