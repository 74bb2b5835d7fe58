//! A persona file as it stands: anywhere in it a value may be `{ one_of = [..] }`, an open value that is chosen before a run.

use serde_json::Value;

use crate::locate::nested;
use crate::persona::Persona;

/// The key of an open value, reserved everywhere in a persona.
const ONE_OF: &str = "one_of";

/// A persona with open values.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    tree: Value,
    points: Vec<OpenPoint>,
}

/// A place where a value is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenPoint {
    /// Its JSON pointer in the file.
    pub path: String,
    /// How many values there are; the first is the simplest.
    pub choices: u32,
}

impl Draft {
    pub(crate) fn new(tree: Value) -> Self {
        let mut points = Vec::new();
        collect(&tree, &mut String::new(), &mut points);
        Self { tree, points }
    }

    /// A draft without open values.
    ///
    /// # Errors
    /// A persona that cannot be written as data.
    pub fn of(persona: &Persona) -> Result<Self, String> {
        serde_json::to_value(persona).map(Self::new).map_err(|error| error.to_string())
    }

    /// The persona's name.
    pub fn id(&self) -> &str {
        self.text("id")
    }

    /// What it does, in one line.
    pub fn title(&self) -> &str {
        self.text("title")
    }

    /// Its profile's name.
    pub fn profile(&self) -> &str {
        self.text("profile")
    }

    /// True if it can be played over stdio.
    pub fn is_for_stdio(&self) -> bool {
        self.resolve(&[]).is_ok_and(|persona| persona.refuses_stdio().is_none())
    }

    /// True if it can be played over HTTP.
    pub fn is_for_http(&self) -> bool {
        self.resolve(&[]).is_ok_and(|persona| persona.refuses_http().is_none())
    }

    /// The reports and requirements that it is for.
    pub fn source(&self) -> Vec<&str> {
        self.tree
            .get("source")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect()
    }

    fn text(&self, name: &str) -> &str {
        self.tree.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// The open values, in the order in which they are chosen.
    pub fn open_points(&self) -> &[OpenPoint] {
        &self.points
    }

    /// The persona with these choices; a missing or too large one counts as 0.
    ///
    /// # Errors
    /// What does not fit the schema.
    pub fn resolve(&self, choices: &[u32]) -> Result<Persona, String> {
        let mut tree = self.tree.clone();
        let mut next = choices.iter().copied();
        close(&mut tree, &mut next);
        serde_json::from_value(tree).map_err(|error| error.to_string())
    }
}

fn alternatives(value: &Value) -> Option<&Vec<Value>> {
    let table = value.as_object()?;
    let list = table.get(ONE_OF)?.as_array()?;
    (table.len() == 1 && !list.is_empty()).then_some(list)
}

/// The members of an object by name: the same order however serde_json is built.
fn names(value: &Value) -> Vec<String> {
    let mut names: Vec<String> =
        value.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
    names.sort_unstable();
    names
}

fn collect(value: &Value, path: &mut String, points: &mut Vec<OpenPoint>) {
    if let Some(list) = alternatives(value) {
        let choices = u32::try_from(list.len()).unwrap_or(u32::MAX);
        points.push(OpenPoint { path: path.clone(), choices });
        return;
    }
    for name in names(value) {
        nested(path, &name, |path| collect(&value[&name], path, points));
    }
    for (at, item) in value.as_array().into_iter().flatten().enumerate() {
        nested(path, &at.to_string(), |path| collect(item, path, points));
    }
}

/// The JSON pointer of a table whose `one_of` opens nothing: beside other keys, without a choice, or around another one.
pub(crate) fn stray_one_of(value: &Value, path: &mut String) -> Option<String> {
    let open = alternatives(value);
    let stray = match open {
        Some(list) => list.iter().any(mentions_one_of),
        None => value.get(ONE_OF).is_some(),
    };
    if stray || open.is_some() {
        return stray.then(|| path.clone());
    }
    let mut found = None;
    for name in names(value) {
        nested(path, &name, |path| found = found.take().or_else(|| stray_one_of(&value[&name], path)));
    }
    for (at, item) in value.as_array().into_iter().flatten().enumerate() {
        nested(path, &at.to_string(), |path| found = found.take().or_else(|| stray_one_of(item, path)));
    }
    found
}

fn mentions_one_of(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.contains_key(ONE_OF) || members.values().any(mentions_one_of),
        Value::Array(items) => items.iter().any(mentions_one_of),
        _ => false,
    }
}

fn close(value: &mut Value, choices: &mut impl Iterator<Item = u32>) {
    if let Some(list) = alternatives(value) {
        let choice = choices.next().unwrap_or(0) as usize;
        let chosen = list.get(choice).or_else(|| list.first()).cloned();
        *value = chosen.unwrap_or_default();
        return;
    }
    for name in names(value) {
        close(&mut value[&name], choices);
    }
    for item in value.as_array_mut().into_iter().flatten() {
        close(item, choices);
    }
}
