//! Personas played as HTTP servers: what each word of a file does to an answer.

#![expect(clippy::unwrap_used, reason = "helpers of tests may be blunt")]

use std::sync::Arc;

use mcp_parley_mock_servers::{Persona, Played, Site, SiteInput, SiteOutput};
use mcp_parley_negotiation::Time;
use mcp_parley_negotiation::http::{Exchange, RequestHead};

const JSON: &str = "content-type: application/json\naccept: application/json, text/event-stream\n";
const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

struct Stage {
    site: Site,
    next: u32,
    now_ms: u64,
}

fn stage(profile: &str, rest: &str) -> Stage {
    let text = format!("schema = 1\nid = \"x\"\ntitle = \"x\"\nsource = []\nprofile = \"{profile}\"\n{rest}");
    let persona: Persona = toml::from_str(&text).unwrap();
    let mut stage = Stage { site: Site::start(Arc::new(Played::new(persona).unwrap())), next: 0, now_ms: 0 };
    assert_eq!(stage.tell(SiteInput::Start), [""; 0]);
    stage
}

impl Stage {
    /// Everything that it does, a line each: `0 200 content-type=… length=N`, `0 | body`, `0 end`.
    fn tell(&mut self, input: SiteInput<'_>) -> Vec<String> {
        self.site.handle_input(Time(self.now_ms * 1000), input);
        let (mut buf, mut lines) = (Vec::new(), Vec::new());
        while let Some(output) = self.site.poll_output(&mut buf) {
            let text = |range: std::ops::Range<usize>| String::from_utf8_lossy(&buf[range]).into_owned();
            lines.push(match output {
                SiteOutput::Head(Exchange(n), head) => {
                    let headers: Vec<String> =
                        head.headers.iter().map(|(k, v)| format!(" {k}={v}")).collect();
                    let length = head.length.map_or("chunks".to_owned(), |length| length.to_string());
                    format!("{n} {}{} {length}", head.status, headers.concat())
                }
                SiteOutput::Body(Exchange(n), range) => format!("{n} | {}", text(range)),
                SiteOutput::Raw(Exchange(n), range) => format!("{n} raw {}", text(range)),
                SiteOutput::End(Exchange(n)) => format!("{n} end"),
                SiteOutput::Close(Exchange(n)) => format!("{n} close"),
                SiteOutput::Reset(Exchange(n)) => format!("{n} reset"),
                SiteOutput::Exit(code) => format!("exit {code}"),
                SiteOutput::Up => "up".to_owned(),
                SiteOutput::WakeAt(None) => continue,
                SiteOutput::WakeAt(Some(at)) => format!("wake {}", at.0 / 1000),
            });
        }
        lines
    }

    fn send(&mut self, verb: &str, headers: &str, body: &str) -> Vec<String> {
        let headers: Vec<(&[u8], &[u8])> = headers
            .lines()
            .map(|line| line.split_once(": ").unwrap())
            .map(|(name, value)| (name.as_bytes(), value.as_bytes()))
            .collect();
        let exchange = Exchange(self.next);
        self.next += 1;
        self.tell(SiteInput::Request(
            exchange,
            RequestHead { verb, target: "/mcp", headers: &headers },
            body.as_bytes(),
        ))
    }

    fn modern(&mut self, method: &str) -> Vec<String> {
        let headers = format!("{JSON}mcp-protocol-version: 2026-07-28\nmcp-method: {method}\n");
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{META}}}}}"#);
        self.send("POST", &headers, &body)
    }

    fn initialize(&mut self) -> Vec<String> {
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
        self.send("POST", JSON, body)
    }

    fn at(&mut self, ms: u64) -> Vec<String> {
        self.now_ms = ms;
        self.tell(SiteInput::Timeout)
    }
}

fn statuses(lines: &[String]) -> Vec<&str> {
    lines
        .iter()
        .map(|line| line.split(" content-type").next().unwrap())
        .filter(|line| !line.contains('|'))
        .collect()
}

const PROBE: &str = "[[quirks]]\nwhen = { method = [\"server/discover\"] }\n";

#[test]
fn unmodified_profiles_answer_by_the_gate() {
    let mut modern = stage("modern", "");
    let said = modern.modern("server/discover");
    assert!(said[0].starts_with("0 200 content-type=application/json "), "{said:?}");
    assert!(said[1].contains("supportedVersions"), "{said:?}");
    assert_eq!(said[2..], ["0 end"]);
    assert_eq!(statuses(&modern.initialize()), ["1 400", "1 end"]);
    assert_eq!(modern.send("GET", JSON, ""), ["2 405 allow=POST 0", "2 end"]);

    let mut legacy = stage("legacy", "");
    assert_eq!(statuses(&legacy.modern("server/discover")), ["0 400", "0 end"]);
    let said = legacy.initialize();
    assert!(said[0].contains(" mcp-session-id=session-0-1 "), "{said:?}");
    let note = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let named = format!("{JSON}mcp-session-id: session-0-1\n");
    assert_eq!(legacy.send("POST", &named, note), ["2 202 0", "2 end"]);

    assert_eq!(stage("silent", "").modern("server/discover"), [""; 0]);
    assert_eq!(stage("silent", "").send("GET", "", ""), [""; 0]);
}

#[test]
fn an_exiting_server_takes_its_port_with_it_unless_its_file_says_otherwise() {
    let mut gone = stage("exiting", "");
    assert_eq!(gone.modern("server/discover"), ["exit 1"]);
    assert_eq!(gone.initialize(), [""; 0]);
    let mut again = stage("exiting", "[http]\nrestart_ms = 0\n[[process]]\nfrom = 2\nprofile = \"modern\"");
    assert_eq!(again.modern("server/discover"), ["exit 1", "up"]);
    assert_eq!(statuses(&again.modern("server/discover")), ["1 200", "1 end"]);
    let mut later = stage("exiting", "[http]\nrestart_ms = 50");
    assert_eq!(later.modern("server/discover"), ["exit 1", "wake 50"]);
    assert_eq!(later.initialize(), ["wake 50"]);
    assert_eq!(later.at(50), ["up"]);
    assert_eq!(statuses(&later.initialize())[0].split(' ').nth(1), Some("200"));
}

#[test]
fn statuses_headers_and_bodies_are_the_files() {
    let html = format!(
        "{PROBE}act = {{ http = {{ status = 502, body = \"<p>x\", headers = [{{ name = \"Content-Type\", value = \"text/html\" }}] }} }}"
    );
    assert_eq!(
        stage("dual", &html).modern("server/discover"),
        ["0 502 Content-Type=text/html 4", "0 | <p>x", "0 end"]
    );
    let empty = format!("{PROBE}act = {{ http = {{ status = 400, body = \"\" }} }}");
    assert_eq!(stage("dual", &empty).modern("server/discover"), ["0 400 0", "0 end"]);
    // An error of the file's own has the status of its code; in a legacy server the one of before a session.
    let error = |code: i32| format!("{PROBE}act = {{ error = {{ code = {code} }} }}");
    for (profile, code, status) in
        [("dual", -32601, "404"), ("dual", -32603, "500"), ("dual", -32022, "400"), ("legacy", -32601, "400")]
    {
        let said = stage(profile, &error(code)).modern("server/discover");
        assert_eq!(said[0].split(' ').nth(1), Some(status), "{profile} {code} {said:?}");
    }
    let session = "[[quirks]]\nwhen = { method = [\"initialize\"] }\nact = { http = { drop_headers = [\"Mcp-Session-Id\"], double_headers = [\"content-type\"] } }";
    let said = stage("legacy", session).initialize();
    assert!(
        said[0].starts_with("0 200 content-type=application/json content-type=application/json "),
        "{said:?}"
    );
    assert!(!said[0].contains("session"), "{said:?}");
    let everywhere = "[http]\nheaders = [{ name = \"X-Accel-Buffering\", value = \"no\" }]";
    assert!(stage("modern", everywhere).modern("tools/list")[0].contains("X-Accel-Buffering=no"));
}

#[test]
fn what_surrounds_an_answer_makes_it_an_event_stream() {
    let around = format!(
        "{PROBE}act = {{ before = ['{{\"b\":1}}'], error = {{ code = -1 }}, behind = ['{{\"c\":1}}'], delay_ms = 10 }}"
    );
    let mut site = stage("dual", &around);
    assert_eq!(
        site.modern("server/discover"),
        ["0 400 content-type=text/event-stream chunks", "0 | data: {\"b\":1}\n\n", "wake 10"]
    );
    let said = site.at(10);
    assert!(said[0].starts_with("0 | data: {\"jsonrpc\""), "{said:?}");
    assert_eq!(said[1..], ["0 | data: {\"c\":1}\n\n", "0 end"]);
    let form =
        "[policy]\nhttp = { answer_form = \"event-stream\" }\n[http.sse]\nkeep_open = true\npriming = true";
    let said = stage("modern", form).modern("tools/list");
    assert_eq!(said[1], "0 | id: 0\ndata: \n\n");
    assert_eq!(said.len(), 3, "{said:?}");
}

#[test]
fn silence_has_two_forms_and_a_client_that_leaves_is_forgotten() {
    let hold = |how: &str| format!("{PROBE}act = {{ http = {{ hold = \"{how}\" }} }}");
    assert_eq!(stage("modern", &hold("head")).modern("server/discover"), [""; 0]);
    let stream = ["0 200 content-type=text/event-stream chunks"];
    assert_eq!(stage("modern", &hold("stream")).modern("server/discover"), stream);
    assert_eq!(
        stage("modern", &format!("{PROBE}act = {{ silence = true }}")).modern("server/discover"),
        [""; 0]
    );

    let late = format!("{PROBE}act = {{ until = \"initialize\" }}");
    let mut site = stage("dual", &late);
    assert_eq!(site.modern("server/discover"), [""; 0]);
    assert_eq!(statuses(&site.initialize())[..2], ["0 200", "0 end"]);
    let mut site = stage("dual", &late);
    assert_eq!(site.modern("server/discover"), [""; 0]);
    assert_eq!(site.tell(SiteInput::Gone(Exchange(0))), [""; 0]);
    assert!(site.initialize().iter().all(|line| line.starts_with("1 ")));
}

#[test]
fn connections_break_where_the_file_says() {
    let cut = |how: &str| format!("{PROBE}act = {{ http = {{ cut = {{ {how} }} }} }}");
    assert_eq!(stage("dual", &cut("")).modern("server/discover"), ["0 close"]);
    assert_eq!(stage("dual", &cut("reset = true")).modern("server/discover"), ["0 reset"]);
    let said = stage("dual", &cut("after_bytes = 9, reset = true")).modern("server/discover");
    assert_eq!(said[1..], ["0 | {\"jsonrpc", "0 reset"]);
    assert!(!said[0].ends_with(" 9") && !said[0].ends_with("chunks"), "{said:?}");
    assert_eq!(
        stage("dual", &format!("{PROBE}act = {{ silence = true, close = true }}")).modern("server/discover"),
        ["0 close"]
    );
    let raw = format!("{PROBE}act = {{ http = {{ raw = \"HTTP/9\" }} }}");
    assert_eq!(stage("dual", &raw).modern("server/discover"), ["0 raw HTTP/9", "0 close"]);
}

#[test]
fn bodies_come_in_pieces_with_pauses() {
    let said = stage("modern", "[wire]\nchunk_bytes = 200\ngap_ms = 5").modern("server/discover");
    assert!(said[0].ends_with(" chunks") && said[1].len() == 204, "{said:?}");
    assert_eq!(said[2], "wake 5");
}

#[test]
fn quirks_select_by_verb_and_header() {
    let quirks = "[[quirks]]\nwhen = { verb = [\"GET\"] }\nact = { http = { status = 404 } }\n[[quirks]]\nwhen = { header = { name = \"authorization\", value = \"Bearer x\" } }\nact = { http = { status = 403 } }\n[[quirks]]\nwhen = { lacks_header = \"Authorization\" }\nact = { http = { status = 401 } }";
    let mut site = stage("legacy", quirks);
    assert_eq!(site.send("GET", "", "")[0], "0 404 allow=POST, DELETE 0");
    assert_eq!(site.send("POST", JSON, "{")[0].split(' ').nth(1), Some("401"));
    assert_eq!(
        site.send("POST", &format!("{JSON}Authorization: Bearer x\n"), "{")[0].split(' ').nth(1),
        Some("403")
    );
    assert_eq!(
        site.send("POST", &format!("{JSON}Authorization: y\n"), "{")[0].split(' ').nth(1),
        Some("400")
    );
    assert_eq!(site.send("DELETE", "", ""), ["4 400 0", "4 end"]);
}

#[test]
fn what_cannot_be_is_refused() {
    let wrong = |rest: &str| {
        let text = format!("schema = 1\nid = \"x\"\ntitle = \"x\"\nsource = []\nprofile = \"dual\"\n{rest}");
        Played::new(toml::from_str(&text).unwrap()).unwrap_err().to_string()
    };
    let act = |act: &str| format!("[[quirks]]\nact = {{ http = {{ {act} }} }}");
    for (file, word) in [
        (act("status = 199"), "status"),
        (act("headers = [{ name = \"a b\", value = \"\" }]"), "name"),
        (act("headers = [{ name = \"a\", value = \"\\n\" }]"), "value"),
        ("not_over_http = \"\"".to_owned(), "reason"),
    ] {
        assert!(wrong(&file).contains(word), "{file}: {}", wrong(&file));
    }
}

#[test]
fn a_persona_says_which_transport_it_cannot_play() {
    for draft in mcp_parley_mock_servers::personas() {
        let persona = draft.resolve(&[]).unwrap();
        // What is only implied is for files of users; ours say it in words.
        assert_eq!(persona.refuses_http(), persona.not_over_http.as_deref(), "{}", draft.id());
        assert!(persona.refuses_http().is_none() || persona.refuses_stdio().is_none(), "{}", draft.id());
    }
}
