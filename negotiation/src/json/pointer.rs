//! From a byte offset to a JSON pointer, for people. Slow and only on demand.

use super::{Kind, Raw};

/// The JSON pointer of the innermost value that holds this byte of the message; the empty pointer if none does.
pub fn pointer_at(bytes: &[u8], offset: usize) -> String {
    let mut pointer = String::new();
    let Ok(text) = std::str::from_utf8(bytes) else { return pointer };
    let mut value = Raw { text: text.trim_start_matches('\u{feff}').trim() };
    loop {
        let next = match value.kind() {
            Kind::Object => value
                .members()
                .find(|(key, inner)| {
                    covers(
                        key.offset_in(bytes).saturating_sub(1),
                        inner.offset_in(bytes) + inner.text().len(),
                        offset,
                    )
                })
                .map(|(key, inner)| (key.decode().replace('~', "~0").replace('/', "~1"), inner)),
            Kind::Array => value
                .elements()
                .enumerate()
                .find(|(_, inner)| {
                    covers(inner.offset_in(bytes), inner.offset_in(bytes) + inner.text().len(), offset)
                })
                .map(|(at, inner)| (at.to_string(), inner)),
            _ => None,
        };
        let Some((step, inner)) = next else { return pointer };
        pointer.push('/');
        pointer.push_str(&step);
        value = inner;
    }
}

fn covers(from: usize, to: usize, offset: usize) -> bool {
    (from..to).contains(&offset)
}
