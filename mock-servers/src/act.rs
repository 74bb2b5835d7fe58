//! What a quirk does to an answer.

use mcp_parley_negotiation::envelope::Id;
use mcp_parley_negotiation::issue::IssueSink;
use mcp_parley_negotiation::json::{self, write_id};
use mcp_parley_negotiation::limits::Limits;
use serde_json::Value;

use crate::doc::Doc;
use crate::persona::{Act, IdForm};
use crate::text::Text;

/// The answer to one message while quirks act on it.
#[derive(Debug)]
pub(crate) enum Answer {
    /// There is none.
    None,
    /// A line without its end.
    Line(Vec<u8>),
    /// A document: what quirks put there need not be valid, so it is not read again.
    Doc(Doc),
}

/// What an answer is for.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    /// The request's id; `None` for a notification, which only a line answers.
    pub(crate) id: Option<Id<'a>>,
    /// The number of the message in its process, from 1.
    pub(crate) number: u32,
}

/// Most answers are shorter, in bytes.
const USUAL: usize = 512;

/// The id of an answer that names a request which nobody sent.
const FOREIGN_ID: &str = "\"nobody-asked\"";

impl Answer {
    /// The line without its end.
    pub(crate) fn into_line(self) -> Option<Vec<u8>> {
        match self {
            Self::None => None,
            Self::Line(line) | Self::Doc(Doc::Raw(line) | Doc::Whole(line)) => Some(line),
            Self::Doc(doc) => {
                let mut line = Vec::with_capacity(USUAL);
                doc.write(&mut line);
                Some(line)
            }
        }
    }

    /// Replaces and edits the answer.
    pub(crate) fn acted_on(self, act: &Act, asked: &Asked<'_>) -> Self {
        let answer = self.replaced(act, asked).edited(act, asked).padded(act);
        if act.silence { Self::None } else { answer }
    }

    fn replaced(self, act: &Act, asked: &Asked<'_>) -> Self {
        if let Some(line) = &act.line {
            return Self::Line(text_for(line, asked));
        }
        let Some(id) = &asked.id else { return self };
        let mut outcome = Vec::new();
        if let Some(result) = &act.result {
            outcome.push(("result".to_owned(), result.doc()));
        }
        if let Some(error) = &act.error {
            let mut members =
                vec![("code".to_owned(), error.code.doc()), ("message".to_owned(), error.message.doc())];
            members.extend(error.data.as_ref().map(|data| ("data".to_owned(), data.doc())));
            outcome.push(("error".to_owned(), Doc::Object(members)));
        }
        if outcome.is_empty() {
            return self;
        }
        let mut members =
            vec![("jsonrpc".to_owned(), Doc::string("2.0")), ("id".to_owned(), Doc::raw(id_text(id)))];
        members.append(&mut outcome);
        Self::Doc(Doc::Object(members))
    }

    fn edited(self, act: &Act, asked: &Asked<'_>) -> Self {
        let none = act.omit.is_empty() && act.set.is_empty() && act.rename.is_empty();
        if none && act.retype.is_empty() && act.double.is_empty() && act.id.is_none() {
            return self;
        }
        let mut doc = match self {
            Self::Doc(doc) => doc,
            Self::Line(line) => match parse(&line) {
                Some(doc) => doc,
                None => return Self::Line(line),
            },
            Self::None => return Self::None,
        };
        edit(act, asked, &mut doc);
        Self::Doc(doc)
    }

    /// JSON may have blanks before its last bracket: a padded answer says what it said before.
    fn padded(self, act: &Act) -> Self {
        let Some(size) = act.pad_bytes else { return self };
        let Some(mut line) = self.into_line() else { return Self::None };
        let last = line.pop();
        line.resize(line.len().saturating_add(size as usize), b' ');
        line.extend(last);
        Self::Line(line)
    }
}

/// The bytes of a text of persona data: `$id` and `$number` stand for what is known of the message that it is written for.
pub(crate) fn text_for(text: &Text, asked: &Asked<'_>) -> Vec<u8> {
    match text {
        Text::Plain(text) if text.contains('$') => {
            let id = asked.id.as_ref().map_or_else(|| "null".into(), id_text);
            text.replace("$id", &id).replace("$number", &asked.number.to_string()).into_bytes()
        }
        _ => text.bytes(),
    }
}

fn edit(act: &Act, asked: &Asked<'_>, doc: &mut Doc) {
    for place in &act.omit {
        doc.omit(place);
    }
    for set in &act.set {
        let value = match (&set.raw, &set.to) {
            (Some(raw), _) => Doc::Raw(text_for(raw, asked)),
            (None, Some(value)) => value.doc(),
            (None, None) => Doc::null(),
        };
        doc.set(&set.at, value);
    }
    for rename in &act.rename {
        match (&rename.raw, &rename.to) {
            (Some(raw), _) => doc.rename_raw(&rename.at, raw),
            (None, to) => doc.rename(&rename.at, to.as_deref().unwrap_or_default()),
        }
    }
    for retype in &act.retype {
        doc.retype(&retype.at, retype.kind);
    }
    for place in &act.double {
        doc.double(place);
    }
    match &act.id {
        None => {}
        Some(IdForm::Missing) => doc.omit("/id"),
        Some(IdForm::Null) => doc.set("/id", Doc::null()),
        Some(IdForm::Foreign) => doc.set("/id", Doc::raw(FOREIGN_ID)),
        Some(IdForm::Constant(value)) => doc.set("/id", value.doc()),
        Some(IdForm::OtherType) => doc.set("/id", Doc::raw(other_type(asked.id.as_ref()))),
        Some(IdForm::Fraction) => noted(doc, asked, ".0"),
        Some(IdForm::Exponent) => noted(doc, asked, "e0"),
    }
}

/// Gives a whole number that is the id another notation of the same value.
fn noted(doc: &mut Doc, asked: &Asked<'_>, behind: &str) {
    let text = asked.id.as_ref().map(id_text).unwrap_or_default();
    if text.parse::<i64>().is_ok() {
        doc.set("/id", Doc::raw(text + behind));
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
