//! The one line that a client driver prints, as `docs/driver.md` has it.

use mcp_parley_trace::Era;
use serde::Deserialize;

/// Longest output of a driver in bytes; the line of a good one is a hundredth of it.
pub(crate) const MAX_OUTPUT_BYTES: usize = 256 << 10;
/// A driver's exit status for "this SDK has no such mode".
pub(crate) const UNSUPPORTED_STATUS: i32 = 89;
const SCHEMA: u32 = 1;
const TIMED_OUT: &str = "driver time-out";

/// What a driver says of its run.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriverLine {
    /// Always 1.
    pub schema: u32,
    /// The SDK's package.
    pub sdk: String,
    /// Its version, as installed.
    pub version: String,
    /// The SDK's connect succeeded.
    pub connected: bool,
    /// The era, as the SDK says.
    #[serde(deserialize_with = "Option::deserialize")]
    pub era: Option<Era>,
    /// The version that the SDK says it speaks.
    #[serde(deserialize_with = "Option::deserialize")]
    pub protocol_version: Option<String>,
    /// How many tools the list call returned.
    #[serde(deserialize_with = "Option::deserialize")]
    pub tools: Option<u64>,
    /// The first failure.
    #[serde(deserialize_with = "Option::deserialize")]
    pub error: Option<DriverError>,
}

/// The first failure that a driver met.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriverError {
    /// The step that failed.
    pub stage: Stage,
    /// For people.
    pub message: String,
}

/// A step of a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// The SDK's connect.
    Connect,
    /// The call of tools/list.
    Call,
    /// The SDK's close.
    Close,
}

impl DriverLine {
    /// Reads a driver's whole output; the error is a sentence that says what is wrong with it.
    pub(crate) fn parse(output: &[u8]) -> Result<Self, String> {
        if output.len() > MAX_OUTPUT_BYTES {
            return Err(format!("it printed more than {MAX_OUTPUT_BYTES} bytes"));
        }
        let line = output.trim_ascii();
        if line.is_empty() {
            return Err("it printed no line".into());
        }
        if line.contains(&b'\n') {
            return Err("it printed more than one line".into());
        }
        let parsed: Self =
            serde_json::from_slice(line).map_err(|error| format!("its line cannot be read: {error}"))?;
        if parsed.schema != SCHEMA {
            return Err(format!("its line has schema {}, this version reads {SCHEMA}", parsed.schema));
        }
        Ok(parsed)
    }

    /// True if the driver's own watchdog ended the run.
    pub fn timed_out(&self) -> bool {
        self.error.as_ref().is_some_and(|error| error.message.starts_with(TIMED_OUT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"schema":1,"sdk":"s","version":"2","connected":true,"era":"modern","protocol_version":"2026-07-28","tools":1,"error":null}"#;

    #[test]
    fn good_line_is_read() {
        let line = DriverLine::parse(format!("{GOOD}\n").as_bytes()).unwrap();
        assert_eq!((line.era, line.tools, line.timed_out()), (Some(Era::Modern), Some(1), false));
        let late = GOOD
            .replace(r#""error":null"#, r#""error":{"stage":"call","message":"driver time-out after 5 ms"}"#);
        assert!(DriverLine::parse(late.as_bytes()).unwrap().timed_out());
    }

    #[test]
    fn every_other_output_is_refused_with_a_reason() {
        let refused = |output: &str, why: &str| {
            let said = DriverLine::parse(output.as_bytes()).unwrap_err();
            assert!(said.contains(why), "{said}");
        };
        refused("\n", "no line");
        refused(&format!("{GOOD}\n{GOOD}\n"), "more than one line");
        refused(&GOOD.replace(r#""schema":1"#, r#""schema":2"#), "schema 2");
        refused(&GOOD.replace(r#""tools":1,"#, ""), "missing field `tools`");
        refused(&GOOD.replace(r#""tools":1"#, r#""tools":1,"mood":1"#), "unknown field `mood`");
        refused("hello", "cannot be read");
        refused(&" ".repeat(MAX_OUTPUT_BYTES + 1), "more than");
    }
}
