//! A JSON value of persona data, with the text that is written for it.

use mcp_parley_negotiation::json::write_string;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::doc::Doc;

/// Written out once, when the persona is read: an answer takes it as it is. The order of members is that of their names,
/// whatever serde_json is built with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Value", into = "Value")]
pub struct Literal {
    value: Value,
    text: Vec<u8>,
}

impl Literal {
    /// The value, if it is an integer of usual size.
    pub(crate) fn integer(&self) -> Option<i64> {
        self.value.as_i64()
    }

    /// The document.
    pub(crate) fn doc(&self) -> Doc {
        let text = self.text.clone();
        if self.value.is_array() || self.value.is_object() { Doc::Whole(text) } else { Doc::Raw(text) }
    }
}

impl From<Value> for Literal {
    fn from(value: Value) -> Self {
        let mut text = Vec::new();
        write(&mut text, &value);
        Self { value, text }
    }
}

impl From<Literal> for Value {
    fn from(literal: Literal) -> Self {
        literal.value
    }
}

fn write(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Array(items) => {
            out.push(b'[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write(out, item);
            }
            out.push(b']');
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            out.push(b'{');
            for (at, (name, value)) in members.into_iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write_string(out, name);
                out.push(b':');
                write(out, value);
            }
            out.push(b'}');
        }
        Value::String(text) => write_string(out, text),
        other => out.extend_from_slice(other.to_string().as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::Literal;

    fn text(value: Value) -> String {
        String::from_utf8(Literal::from(value).text).unwrap_or_default()
    }

    #[test]
    fn members_are_in_the_order_of_their_names() {
        assert_eq!(text(json!({"b": [1, null, {}], "a\n": "\""})), r#"{"a\n":"\"","b":[1,null,{}]}"#);
    }

    proptest! {
        #[test]
        fn the_text_stands_for_the_value(names in prop::collection::vec(any::<String>(), 0..4), number in any::<i64>()) {
            let inner = json!([number, names, true]);
            let value: Value = names.iter().map(|name| (name.clone(), inner.clone())).collect::<serde_json::Map<_, _>>().into();
            prop_assert_eq!(serde_json::from_str::<Value>(&text(value.clone())).unwrap_or_default(), value);
        }
    }
}
