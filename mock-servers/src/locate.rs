//! Where in a persona file something does not fit the schema: the file is read once more with the places of its values, each
//! open value closed by one of its choices.

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};

use crate::persona::Persona;

/// The offset of what does not fit, and what is wrong with it, with this choice at this open value and the first at all
/// others. `None` if all fits.
pub(crate) fn misfit(text: &str, point: &str, choice: u32) -> Option<(usize, String)> {
    let said = |error: &toml::de::Error| {
        (error.span().map_or(0, |span| span.start), error.message().replace('\n', " "))
    };
    let mut table = match DeTable::parse(text) {
        Ok(table) => table,
        Err(error) => return Some(said(&error)),
    };
    close_table(table.get_mut(), &mut String::new(), (point, choice));
    Persona::deserialize(Deserializer::from(table)).err().map(|error| said(&error))
}

fn close_table(table: &mut DeTable<'_>, path: &mut String, at: (&str, u32)) {
    for (name, value) in table.iter_mut() {
        nested(path, name.get_ref(), |path| close(value, path, at));
    }
}

fn close(value: &mut Spanned<DeValue<'_>>, path: &mut String, at: (&str, u32)) {
    let choice = if path.as_str() == at.0 { at.1 as usize } else { 0 };
    let alternatives = value.get_ref().get("one_of").and_then(|list| list.get_ref().as_array());
    if let Some(chosen) = alternatives.and_then(|list| list.get(choice)).cloned() {
        *value = chosen;
        return;
    }
    match value.get_mut() {
        DeValue::Table(table) => close_table(table, path, at),
        DeValue::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                nested(path, &index.to_string(), |path| close(item, path, at));
            }
        }
        _ => {}
    }
}

/// The offset of the first key of this name inside the value at this JSON pointer, or else of that value.
pub(crate) fn key(text: &str, pointer: &str, name: &str) -> usize {
    let Ok(root) = DeTable::parse(text) else { return 0 };
    let span = root.span();
    let root = Spanned::new(span, DeValue::Table(root.into_inner()));
    let mut value = &root;
    for step in pointer.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        let index = step.parse::<usize>().ok();
        let inner = index.and_then(|at| value.get_ref().as_array()?.get(at)).or(value.get_ref().get(&*step));
        let Some(inner) = inner else { break };
        value = inner;
    }
    first_key(value, name).unwrap_or(value.span().start)
}

fn first_key(value: &Spanned<DeValue<'_>>, name: &str) -> Option<usize> {
    match value.get_ref() {
        DeValue::Table(table) => {
            let own = table.keys().filter(|key| *key.get_ref() == name).map(|key| key.span().start);
            own.chain(table.values().filter_map(|inner| first_key(inner, name))).min()
        }
        DeValue::Array(items) => items.iter().filter_map(|inner| first_key(inner, name)).min(),
        _ => None,
    }
}

/// Does something one step further down a JSON pointer.
pub(crate) fn nested(path: &mut String, step: &str, mut inside: impl FnMut(&mut String)) {
    let length = path.len();
    path.push('/');
    path.push_str(&step.replace('~', "~0").replace('/', "~1"));
    inside(path);
    path.truncate(length);
}
