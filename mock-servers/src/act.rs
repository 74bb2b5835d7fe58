//! What a quirk does to an answer.

use mcp_parley_negotiation::envelope::Id;
use mcp_parley_negotiation::issue::IssueSink;
use mcp_parley_negotiation::json::{self, write_id};
use mcp_parley_negotiation::limits::Limits;
use serde_json::Value;

use crate::doc::Doc;
use crate::persona::{Act, IdForm};

/// The answer to one message while quirks act on it: a line without its end, or none.
pub(crate) type Answer = Option<Vec<u8>>;

/// The id of an answer that names a request which nobody sent.
const FOREIGN_ID: &str = "\"nobody-asked\"";

/// Replaces and edits the answer. `id` is the request's, `None` for a notification, which only a `line` answers.
pub(crate) fn apply(act: &Act, id: Option<&Id<'_>>, answer: Answer) -> Answer {
    let mut answer = replaced(act, id, answer);
    let edits = !act.omit.is_empty() || !act.set.is_empty() || !act.double.is_empty() || act.id.is_some();
    if edits && let Some(mut doc) = answer.as_deref().and_then(parse) {
        edit(act, id, &mut doc);
        let mut bytes = Vec::new();
        doc.write(&mut bytes);
        answer = Some(bytes);
    }
    if act.silence { None } else { answer }
}

fn replaced(act: &Act, id: Option<&Id<'_>>, answer: Answer) -> Answer {
    if let Some(line) = &act.line {
        return Some(line.clone().into_bytes());
    }
    let Some(id) = id else { return answer };
    let mut members = Vec::new();
    if let Some(result) = &act.result {
        members.push(("result".to_owned(), Doc::from_value(result)));
    }
    if let Some(error) = &act.error {
        let mut inner = vec![
            ("code".to_owned(), Doc::from_value(&error.code)),
            ("message".to_owned(), Doc::from_value(&error.message)),
        ];
        inner.extend(error.data.as_ref().map(|data| ("data".to_owned(), Doc::from_value(data))));
        members.push(("error".to_owned(), Doc::Object(inner)));
    }
    if members.is_empty() {
        return answer;
    }
    let mut whole =
        vec![("jsonrpc".to_owned(), Doc::string("2.0")), ("id".to_owned(), Doc::Raw(id_text(id)))];
    whole.append(&mut members);
    let mut bytes = Vec::new();
    Doc::Object(whole).write(&mut bytes);
    Some(bytes)
}

fn edit(act: &Act, id: Option<&Id<'_>>, doc: &mut Doc) {
    for place in &act.omit {
        doc.omit(place);
    }
    for set in &act.set {
        let value = match (&set.raw, &set.to) {
            (Some(raw), _) => Doc::Raw(raw.clone()),
            (None, Some(value)) => Doc::from_value(value),
            (None, None) => Doc::null(),
        };
        doc.set(&set.at, value);
    }
    for place in &act.double {
        doc.double(place);
    }
    match &act.id {
        None => {}
        Some(IdForm::Missing) => doc.omit("/id"),
        Some(IdForm::Null) => doc.set("/id", Doc::null()),
        Some(IdForm::Foreign) => doc.set("/id", Doc::Raw(FOREIGN_ID.into())),
        Some(IdForm::Constant(value)) => doc.set("/id", Doc::from_value(value)),
        Some(IdForm::OtherType) => doc.set("/id", Doc::Raw(other_type(id))),
    }
}

/// `7` for `"7"` and the other way round; text that is no number becomes 0.
fn other_type(id: Option<&Id<'_>>) -> String {
    match id {
        Some(Id::String(text)) => text.raw().parse::<i64>().unwrap_or(0).to_string(),
        Some(id) => Value::from(id_text(id)).to_string(),
        None => "null".into(),
    }
}

fn id_text(id: &Id<'_>) -> String {
    let mut bytes = Vec::new();
    write_id(&mut bytes, id);
    String::from_utf8(bytes).unwrap_or_default()
}

fn parse(bytes: &[u8]) -> Option<Doc> {
    json::check(bytes, &Limits::DEFAULT, &mut IssueSink::new()).map(Doc::from_raw)
}
