//! What a real client does to `client`.

use super::DEEP;
use super::harness::{Bench, Ended};

/// Puts a client in the shell through one persona.
fn tried(script: &str) -> Ended {
    Bench::new().run(&["client", "--persona", "dual", "--", "sh", "-c", script, "sh", "{server}"])
}

/// The run proves nothing, and this is why.
#[track_caller]
fn unjudged(script: &str, why: &str) {
    let ended = tried(script);
    assert_eq!((ended.code, ended.err.as_str()), (Some(4), ""), "{}", ended.out);
    assert_eq!(ended.out.lines().nth(2), Some(&*format!("  dual: {why}")), "{}", ended.out);
}

#[test]
fn a_missing_command() {
    let bench = Bench::new();
    let absent =
        "cannot start /no/such/client: No such file or directory (os error 2); check the client's command";
    bench.refused(&["client", "--persona", "dual", "--", "/no/such/client", "{server}"], absent);
    bench.refused(
        &["client", "--persona", "dual", "--", "sh", "-c", "true"],
        "the client's command has no argument {server}: put it where the command of the server belongs (or {mcp-json}, for the path of a file that names it)",
    );
    bench.refused(
        &["client"],
        "say which client: --peer FILE, or -- CMD… with {server} in it (over HTTP: {url})",
    );
}

const NEVER: &str =
    "the client never started the server: it must run what stands for {server} in its command";

#[test]
fn a_client_that_ends_without_connecting() {
    unjudged("exit 0", NEVER);
}

#[test]
#[ignore = "takes 45 seconds; the first lines of main.rs say how to run it"]
fn a_client_that_never_connects_and_never_ends() {
    unjudged("sleep 1000 & wait", NEVER);
}

#[test]
#[cfg_attr(debug_assertions, ignore = "slow without optimisation")]
fn a_flood() {
    let bytes = "too much traffic for a negotiation: more than 16777216 bytes were exchanged";
    unjudged(r#"yes '' | "$@" >/dev/null"#, bytes);
    unjudged(r#"yes noise | "$@" >/dev/null"#, "too much traffic for a negotiation: more than 100000 events");
}

#[test]
#[cfg_attr(debug_assertions, ignore = "slow without optimisation")]
fn a_flood_of_servers() {
    let processes = "too much traffic for a negotiation: more than 64 processes were started";
    unjudged(r#"while :; do "$@" </dev/null >/dev/null; done"#, processes);
    unjudged(r#"while :; do sleep 1000 | "$@" >/dev/null & done; wait"#, processes);
}

#[test]
fn a_line_of_100_mb() {
    let bytes = "too much traffic for a negotiation: more than 16777216 bytes were exchanged";
    for piece in ["a", "[0],"] {
        let script = format!(
            r#"(printf '{{"method":['; yes '{piece}' | tr -d '\n' | head -c 104857600) | "$@" >/dev/null"#
        );
        unjudged(&script, bytes);
    }
}

/// This is the client's fault, and is found.
#[test]
fn invalid_utf_8() {
    let ended = tried(r#"printf '{\042caf\351\042:1}\n' | "$@" >/dev/null"#);
    assert_eq!((ended.code, ended.err.as_str()), (Some(1), ""), "{}", ended.out);
    assert!(ended.out.contains("STDIO-03 broken by the client at event 1: "), "{}", ended.out);
    assert!(
        ended.out.contains(r"not JSON: {\042caf\xe9\042:1}".replace(r"\042", "\"").as_str()),
        "{}",
        ended.out
    );
}

/// No judge reads so deep: the message is left unjudged, and the run goes on.
#[test]
fn one_hundred_thousand_levels_of_nesting() {
    let ended = tried(&format!(r#"(head -c {DEEP} /dev/zero | tr '\0' '['; echo) | "$@" >/dev/null"#));
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{}", ended.out);
}
