//! The good request behind an odd input: the proof that the server lives.

use crate::opening::{Good, Message, Step, Wait};

/// The first id of the good requests; no opening uses it.
pub(crate) const FIRST_ID: i64 = 9001;

const HANDSHAKE: &str = r#""protocolVersion":"2025-11-25",$CLIENT"#;

/// What the steps before have left.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Before {
    /// `initialize` was answered well.
    pub(crate) shaken: bool,
    /// `notifications/initialized` was sent.
    pub(crate) initialized: bool,
}

/// Over HTTP a modern server is asked for the handshake as well: whether it serves older clients decides what it may refuse (HTTP-12).
pub(crate) fn steps(good: Good, before: Before, over_http: bool) -> Vec<Step> {
    let list = |id: i64, meta: Option<&str>| request(id, "tools/list", None, meta);
    let initialized = || Step { send: Some(message("notifications/initialized")), ..Step::default() };
    match good {
        _ if before.shaken && before.initialized => vec![list(FIRST_ID, None)],
        _ if before.shaken => vec![initialized(), list(FIRST_ID, None)],
        Good::Modern => {
            let discover = request(FIRST_ID, "server/discover", None, Some("modern"));
            let older = over_http.then(|| request(FIRST_ID + 2, "initialize", Some(HANDSHAKE), None));
            [discover, list(FIRST_ID + 1, Some("modern"))].into_iter().chain(older).collect()
        }
        Good::Legacy => {
            let initialize = request(FIRST_ID, "initialize", Some(HANDSHAKE), None);
            vec![initialize, initialized(), list(FIRST_ID + 1, None)]
        }
    }
}

fn message(method: &str) -> Message {
    Message { id: None, method: method.to_owned(), params: None, meta: None }
}

fn request(id: i64, method: &str, params: Option<&str>, meta: Option<&str>) -> Step {
    let (params, meta) = (params.map(str::to_owned), meta.map(str::to_owned));
    let send = Message { id: Some(id.into()), params, meta, ..message(method) };
    Step { send: Some(send), wait: Wait::Answer, ..Step::default() }
}
