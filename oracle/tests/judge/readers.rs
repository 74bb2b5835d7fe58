//! What is read from lines that two readers may take for different things: the client's own, and the oracle's.

use crate::careful::{breaks, judged};
use crate::support::{View, expand};
use mcp_parley_trace::Outcome;

/// The files of the fuzz corpus that both readers are held to: what the reader of the reference client takes for a broken
/// answer, no judge may take for silence or for noise, and the other way round.
fn corpus(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../corpus/fuzz/classify/named");
    std::fs::read_to_string(format!("{folder}/{name}.json"))
        .expect("a file of the corpus")
        .trim_end()
        .to_owned()
}

#[test]
fn what_can_only_be_meant_as_an_answer_ends_the_wait_for_it() {
    for name in ["id-only", "method-and-result", "odd-method-and-error", "code-huge"] {
        // Whatever the client makes of it (AMB-04): it falls back at once, …
        let text =
            format!("C> $PROBE(1)\nS> {}\nC> $INITIALIZE(2)\nS> $AGREED(2)\nC> $READY\n", corpus(name));
        breaks(&text, &[]);
        let odd_success = judged(&text, View::Both).get("AMB-02").map(|verdict| verdict.outcome);
        assert_eq!(odd_success, Some(Outcome::NotApplicable), "{name} is no success");
        // … also with the probe's id, which is free again, …
        breaks(&text.replace("$INITIALIZE(2)", "$INITIALIZE(1)").replace("$AGREED(2)", "$AGREED(1)"), &[]);
        // … or gives up, …
        breaks(&format!("C> $PROBE(1)\nS> {}\n-- failed odd\n", corpus(name)), &[]);
        // … or waits on, and takes a good answer.
        let text = format!("C> $PROBE(1)\nS> {}\nS> $FOUND(1)\nC> $LIST(2)\nS> $TOOLS(2)\n", corpus(name));
        breaks(&text, &[]);
    }
    // Without its id, or without any sign of JSON-RPC, it is no answer to anything.
    for noise in [corpus("id-only").replace(",\"id\":1", ""), corpus("log-line-with-id")] {
        breaks(&format!("C> $PROBE(1)\nS> {noise}\nC> $INITIALIZE(1)\n"), &["BASE-12"]);
    }
}

#[test]
fn who_sends_what_is_no_message_breaks_the_rule() {
    for (name, expected) in [
        ("id-only", &["BASE-01", "STDIO-02"][..]),
        ("log-line-with-id", &["BASE-01", "STDIO-02"]),
        ("method-and-result", &["BASE-01"]),
        ("odd-method-and-error", &["BASE-01"]),
        ("code-huge", &[]),
        // Read as a -32022, it names another version than was asked for.
        ("code-decimal", &["NEG-06"]),
    ] {
        let text =
            format!("subject: server\nC> $PROBE(1)\nS> {}\nC> $PROBE(2)\nS> $FOUND(2)\n", corpus(name));
        breaks(&text, expected);
    }
}

/// Found by the Rust SDK, whose type for codes takes no fraction: what it makes of one is open (AMB-04).
#[test]
fn a_code_that_is_written_as_a_fraction_need_not_be_read_as_the_integer_that_it_is() {
    let text = |line: &str| format!("C> $PROBE(1)\nS> {line}\nC> $INITIALIZE(2)\nS> $AGREED(2)\nC> $READY\n");
    breaks(&text(&corpus("code-decimal")), &[]);
    breaks(&text("$REFUSED(1)"), &["ERA-04", "ERA-02", "ERA-20"]);
}

#[test]
fn what_is_made_of_a_line_beyond_all_measure_is_not_judged() {
    let found = expand("$FOUND(1)");
    let padded = |size: usize| {
        format!("{}{}}}", found.strip_suffix('}').expect("an object"), " ".repeat(size - found.len()))
    };
    let falls_back = |size| format!("C> $PROBE(1)\nS> {}\nC> $INITIALIZE(2)\n", padded(size));
    breaks(&falls_back(1 << 20), &["ERA-03", "ERA-20"]);
    breaks(&falls_back((1 << 20) + 1), &[]);
    // Nor is it wrong to read it.
    breaks(&format!("C> $PROBE(1)\nS> {}\nC> $LIST(2)\nS> $TOOLS(2)\n", padded((1 << 20) + 1)), &[]);
}

/// Found by a hunt against `alternating-lists`: the refusal came in answer to a request of the legacy session.
#[test]
fn a_modern_error_to_a_request_that_names_a_legacy_version_proves_nothing() {
    let session = |version: &str| {
        format!(
            "mode: unknown\nmodern: unknown\nC> $INITIALIZE(1)\nS> $AGREED(1)\nC> $READY\nC> $LIST(2,{version})\nS> $REFUSED(2)\n-- exit 1\n-- start\nC> $INITIALIZE(3)\nS> $AGREED(3)\nC> $READY\n"
        )
    };
    breaks(&session("2025-11-25"), &[]);
    let modern = judged(&session("2026-07-28"), View::Both);
    assert!(modern.get("ERA-02").is_some_and(|verdict| verdict.is_broken()));
}
