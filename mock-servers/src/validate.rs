//! What the schema's types cannot say of a persona: a pointer that finds nothing and a count that never comes are mistakes.

use mcp_parley_data::SCHEMA;

use crate::http::{Header, HttpAct};
use crate::persona::{Act, Persona, Quirk, Selector, SetAct};
use crate::played::PlayedError;
use crate::text::{LONGEST, Text};
use crate::wire::Wire;

/// The key whose value is wrong, and what is allowed.
type Checked = Result<(), (&'static str, &'static str)>;

/// The most steps of a pointer. `set` makes what is missing on the way, and what is made is written and dropped by recursion.
const STEPS_MOST: usize = 32;

/// Checks all of it.
pub(crate) fn persona(persona: &Persona) -> Result<(), PlayedError> {
    // A file's schema was checked when it was read; a persona from a trace or a supervisor comes here first.
    if persona.schema != SCHEMA {
        return Err(PlayedError::Value { name: "schema", allowed: "1 is what this version plays" });
    }
    let later = || persona.process.iter().try_for_each(|later| counted("from", Some(later.from), 2));
    let whole = wire(&persona.wire).and_then(|()| http(persona)).and_then(|()| later());
    whole.map_err(|(name, allowed)| PlayedError::Value { name, allowed })?;
    for (at, one) in persona.quirks.iter().enumerate() {
        quirk(one).map_err(|(name, allowed)| PlayedError::Quirk { number: at + 1, name, allowed })?;
    }
    Ok(())
}

fn wire(wire: &Wire) -> Checked {
    counted("chunk_bytes", wire.chunk_bytes, 1)?;
    counted("processes", wire.processes, 1)?;
    texts("banner", &wire.banner)?;
    texts("stderr", &wire.stderr)
}

fn http(persona: &Persona) -> Checked {
    persona.http.headers.iter().try_for_each(header)?;
    texts("junk", &persona.http.sse.junk)?;
    if persona.not_over_http.as_deref().or(persona.not_over_stdio.as_deref()).is_some_and(str::is_empty) {
        return refuse("not_over_http", "the reason, in words");
    }
    Ok(())
}

fn http_act(act: &HttpAct) -> Checked {
    if act.status.is_some_and(|status| !(200..=599).contains(&status)) {
        return refuse("status", "from 200 to 599; `raw` writes any other");
    }
    act.headers.iter().try_for_each(header)?;
    texts("body", act.body.as_slice())?;
    texts("raw", act.raw.as_slice())
}

fn header(header: &Header) -> Checked {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if header.name.is_empty() || !header.name.bytes().all(token) {
        return refuse("name", "the name of a header; `raw` writes any other");
    }
    if header.value.bytes().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
        return refuse("value", "the value of a header, without line breaks; `raw` writes any other");
    }
    Ok(())
}

fn quirk(quirk: &Quirk) -> Checked {
    selector(&quirk.when)?;
    act(&quirk.act)
}

fn selector(when: &Selector) -> Checked {
    counted("nth", when.nth, 1)?;
    counted("first", when.first, 1)?;
    counted("every", when.every, 1)?;
    counted("process", when.process, 1)?;
    counted("from_process", when.from_process, 1)?;
    let has = when.has.iter().map(|at| ("has", at));
    let lacks = when.lacks.iter().map(|at| ("lacks", at));
    let value = when.value.iter().map(|value| ("at", &value.at));
    has.chain(lacks).chain(value).try_for_each(|(name, at)| pointer(name, at))
}

fn act(act: &Act) -> Checked {
    act.set.iter().try_for_each(set)?;
    let omit = act.omit.iter().map(|at| ("omit", at));
    let double = act.double.iter().map(|at| ("double", at));
    let rename = act.rename.iter().map(|rename| ("at", &rename.at));
    let retype = act.retype.iter().map(|retype| ("at", &retype.at));
    omit.chain(double).chain(rename).chain(retype).try_for_each(|(name, at)| member(name, at))?;
    if act.rename.iter().any(|rename| rename.to.is_some() == rename.raw.is_some()) {
        return refuse("rename", "give either `to` (a name) or `raw` (what stands between its quotes)");
    }
    act.http.iter().try_for_each(http_act)?;
    texts("line", act.line.as_slice())?;
    texts("stderr", &act.stderr)?;
    texts("before", &act.before)?;
    texts("behind", &act.behind)?;
    if act.pad_bytes.is_some_and(|size| size as usize > LONGEST) {
        return refuse("pad_bytes", "at most 16777216 (16 MiB)");
    }
    if act.exit.and_then(|exit| exit.signal).is_some_and(|signal| !(1..=64).contains(&signal)) {
        return refuse("signal", "from 1 to 64");
    }
    Ok(())
}

fn set(set: &SetAct) -> Checked {
    pointer("at", &set.at)?;
    if set.to.is_some() == set.raw.is_some() {
        return refuse("set", "give either `to` (a value) or `raw` (JSON text; null is raw = \"null\")");
    }
    texts("raw", set.raw.as_slice())
}

fn texts(name: &'static str, texts: &[Text]) -> Checked {
    texts.iter().try_for_each(|text| text.check().map_err(|allowed| (name, allowed)))
}

/// The place of any value; the empty pointer is that of the whole message.
fn pointer(name: &'static str, at: &str) -> Checked {
    let odd_escape = at.split('~').skip(1).any(|rest| !rest.starts_with(['0', '1']));
    if odd_escape || !(at.is_empty() || at.starts_with('/')) {
        return refuse(
            name,
            "a JSON pointer such as /result/capabilities, with ~0 for ~ and ~1 for / in a name",
        );
    }
    if at.split('/').skip(1).count() > STEPS_MOST {
        return refuse(name, "a JSON pointer of at most 32 steps");
    }
    Ok(())
}

/// The place of what stands in something else.
fn member(name: &'static str, at: &str) -> Checked {
    if at.is_empty() {
        return refuse(name, "a JSON pointer to a member: the whole message has no name");
    }
    pointer(name, at)
}

fn counted(name: &'static str, value: Option<u32>, least: u32) -> Checked {
    match value {
        Some(value) if value < least => refuse(name, if least == 1 { "at least 1" } else { "at least 2" }),
        _ => Ok(()),
    }
}

fn refuse(name: &'static str, allowed: &'static str) -> Checked {
    Err((name, allowed))
}
