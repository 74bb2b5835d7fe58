//! Persona and peer files.

use super::harness::{Bench, repeat};
use super::{DEEP, LONG};

const HEAD: &str = "schema = 1\nid = \"p\"\ntitle = \"t\"\nsource = []\nprofile = \"modern\"\n";

/// Every command that takes a persona file says the same of a bad one.
#[track_caller]
fn refused(bench: &Bench, line: &str) {
    bench.refused(&["hunt", "--server", "p.toml"], line);
    bench.refused(&["serve", "stdio", "--persona", "p.toml"], line);
    bench.refused(&["client", "--persona-file", "p.toml", "--", "true", "{server}"], line);
}

#[test]
fn an_unknown_key() {
    let bench = Bench::new();
    bench.file("p.toml", |out| writeln!(out, "{HEAD}quirk = 1").unwrap());
    let allowed = "expected one of `schema`, `id`, `title`, `source`, `profile`, `policy`, `wire`, `http`, `not_over_http`, `not_over_stdio`, `process`, `quirks`";
    refused(&bench, &format!("p.toml: line 6: unknown field `quirk`, {allowed}"));
    bench.file("peer.toml", |out| writeln!(out, "schema = 1\nrole = \"client\"\nmood = 1").unwrap());
    let allowed = "`schema`, `name`, `role`, `sdk`, `version`, `command`, `http_command`, `install`, `modes`, `declares`";
    let line = format!("peer.toml: line 3: unknown field `mood`, expected one of {allowed}");
    bench.refused(&["client", "--peer", "peer.toml"], &line);
}

#[test]
fn another_schema() {
    let bench = Bench::new();
    bench.file("p.toml", |out| writeln!(out, "schema = 9").unwrap());
    refused(&bench, "p.toml: line 1: this file has schema 9, this version reads schema 1");
}

#[test]
fn a_file_that_is_absent() {
    let bench = Bench::new();
    let absent = "no/p.toml: cannot be read: No such file or directory (os error 2)";
    bench.refused(&["client", "--persona-file", "no/p.toml", "--", "true", "{server}"], absent);
    bench.refused(&["client", "--peer", "no/p.toml"], absent);
    let neither =
        "there is no persona named no/p.toml, and no such file; `mcp-parley list personas` shows all";
    bench.refused(&["serve", "stdio", "--persona", "no/p.toml"], neither);
}

#[test]
fn invalid_utf_8() {
    let bench = Bench::new();
    bench.file("p.toml", |out| out.write_all(&[HEAD.as_bytes(), b"# caf\xe9\n"].concat()).unwrap());
    let said = "line 6: this is not UTF-8: save the file as UTF-8";
    refused(&bench, &format!("p.toml: {said}"));
    bench.refused(&["client", "--peer", "p.toml"], &format!("p.toml: {said}"));
}

#[test]
fn a_line_of_100_mb() {
    let bench = Bench::new();
    for piece in ["# comment ", "0, "] {
        bench.file("p.toml", |out| {
            write!(out, "{HEAD}source = [").unwrap();
            repeat(out, piece.as_bytes(), LONG);
            writeln!(out, "]").unwrap();
        });
        let said = "p.toml: cannot be read: it is larger than 256 KiB";
        refused(&bench, said);
        bench.refused(&["client", "--peer", "p.toml"], said);
    }
}

#[test]
fn one_hundred_thousand_levels_of_nesting() {
    let bench = Bench::new();
    for nested in [
        format!("quirks = {}{}\n", "[".repeat(DEEP), "]".repeat(DEEP)),
        format!("quirks{} = 1\n", ".q".repeat(DEEP)),
        format!("[quirks{}]\n", ".q".repeat(DEEP)),
    ] {
        bench.file("p.toml", |out| write!(out, "{HEAD}{nested}").unwrap());
        refused(&bench, "p.toml: line 6: nested deeper than 80 levels");
    }
}

/// Short values take most memory: the largest file that is read, full of them.
#[test]
fn the_largest_file() {
    let bench = Bench::new();
    let values = "0,".repeat(((256 << 10) - 400) / 2);
    bench.file("p.toml", |out| {
        writeln!(out, "{HEAD}[[quirks]]\nact = {{ result = {{ x = [{values}] }} }}").unwrap();
    });
    let ended = bench.run(&["hunt", "--server", "p.toml", "--seeds", "0..50"]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{}", ended.out);
}

/// Each choice of an open value is tried when the file is read.
#[test]
fn many_choices() {
    let bench = Bench::new();
    let values = "1,".repeat(100_000);
    bench.file("p.toml", |out| {
        writeln!(out, "{HEAD}[[quirks]]\nact = {{ delay_ms = {{ one_of = [{values}] }} }}").unwrap();
    });
    refused(
        &bench,
        "p.toml: line 7: more than 256 choices in one file: give each open value fewer, or make two files",
    );
}
