//! Makes wire text safe to show: nothing in it can move a cursor, change a colour, turn text round or hide.

/// The text with every control, format, bidi and invisible character, every backslash and every byte that is no UTF-8
/// written as an escape; longer text is cut to `columns` and ends with `…`. One line, whatever the bytes are.
pub fn escape(bytes: &[u8], columns: usize) -> String {
    Escaper { columns, also: "" }.escape(bytes)
}

pub(crate) struct Escaper {
    pub(crate) columns: usize,
    /// Characters that have a meaning where the text is put.
    pub(crate) also: &'static str,
}

impl Escaper {
    pub(crate) fn escape(&self, bytes: &[u8]) -> String {
        let mut out = String::new();
        let mut used = 0;
        // The length of `out` and its columns up to which `…` still fits.
        let mut cut = 0;
        for piece in bytes.utf8_chunks() {
            let bad = piece.invalid().iter().map(|byte| format!("\\x{byte:02x}"));
            for shown in piece.valid().chars().map(|c| self.show(c)).chain(bad) {
                used += shown.chars().map(width).sum::<usize>();
                if used > self.columns {
                    out.truncate(cut);
                    out.push('…');
                    return out;
                }
                out.push_str(&shown);
                if used < self.columns {
                    cut = out.len();
                }
            }
        }
        out
    }

    fn show(&self, c: char) -> String {
        match c {
            _ if self.also.contains(c) => c.escape_unicode().to_string(),
            '"' | '\'' => c.to_string(),
            // Escapes what is not printable: categories C and Z other than the space, and combining marks.
            _ => c.escape_debug().to_string(),
        }
    }
}

/// East Asian characters take two columns; a closer table is not worth a dependency.
pub(crate) fn width(c: char) -> usize {
    if c < '\u{1100}' || ('\u{2000}'..'\u{2e80}').contains(&c) { 1 } else { 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_act_on_a_terminal_is_escaped_and_plain_text_is_not() {
        assert_eq!(escape(b"\x1b[31mred\x1b[0m\r\n", 80), r"\u{1b}[31mred\u{1b}[0m\r\n");
        assert_eq!(
            escape("a\u{202e}b\u{200b}c\u{feff}\u{9b}m".as_bytes(), 80),
            r"a\u{202e}b\u{200b}c\u{feff}\u{9b}m"
        );
        assert_eq!(escape(br"a\u{1b}", 80), r"a\\u{1b}");
        assert_eq!(escape(b"\xff\xfeok", 80), r"\xff\xfeok");
        assert_eq!(escape("grüße, 世界 \"it's\"".as_bytes(), 80), "grüße, 世界 \"it's\"");
    }

    #[test]
    fn long_text_is_cut_to_its_columns() {
        assert_eq!(escape(b"abcdef", 6), "abcdef");
        assert_eq!(escape(b"abcdefg", 6), "abcde…");
        assert_eq!(escape("世界世界".as_bytes(), 6), "世界…");
        assert_eq!(escape(b"abcd\x1b", 6), "abcd…");
        assert_eq!(escape(b"abc", 0), "…");
    }
}
