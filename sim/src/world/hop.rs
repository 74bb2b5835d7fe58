//! A hop between client and server, such as a proxy: what it may do to the headers of a message (K26).

/// One thing that it does to one header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hop {
    Drop,
    Double,
    /// Another value.
    Rewrite,
    /// The name in upper case.
    Recase,
    /// White space around the value.
    Pad,
}

/// A request may lose its meaning on the way.
pub(super) const TO_SERVER: &[Hop] = &[Hop::Recase, Hop::Pad, Hop::Double, Hop::Drop, Hop::Rewrite];
/// What the client is told stays what the server said, in another form.
pub(super) const TO_CLIENT: &[Hop] = &[Hop::Recase, Hop::Pad];

/// How many headers a head has.
pub(super) fn fields(head: &[u8]) -> usize {
    lines(head).count().saturating_sub(1)
}

/// The lines of a head without their ends, the first one and the headers.
fn lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    head.split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .take_while(|line| !line.is_empty())
}

impl Hop {
    /// The head with this done to the header at this place, counted from 0. What frames the body stays as it is.
    pub(super) fn on(self, head: &[u8], place: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(head.len() + 32);
        for (at, line) in lines(head).enumerate() {
            match line.iter().position(|byte| *byte == b':') {
                Some(colon) if at == place + 1 && !frames(line) => {
                    let (name, value) = line.split_at(colon);
                    self.write(&mut out, name, value.get(1..).unwrap_or_default().trim_ascii());
                }
                _ => push(&mut out, &[line]),
            }
        }
        out.extend_from_slice(b"\r\n");
        out
    }

    fn write(self, out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
        match self {
            Self::Drop => {}
            Self::Double => (0..2).for_each(|_| push(out, &[name, b": ", value])),
            Self::Rewrite => push(out, &[name, b": rewritten"]),
            Self::Recase => push(out, &[&name.to_ascii_uppercase(), b": ", value]),
            Self::Pad => push(out, &[name, b":\t ", value, b" \t"]),
        }
    }
}

fn frames(line: &[u8]) -> bool {
    ["content-length", "transfer-encoding"]
        .iter()
        .any(|name| line.get(..name.len()).is_some_and(|own| own.eq_ignore_ascii_case(name.as_bytes())))
}

fn push(out: &mut Vec<u8>, parts: &[&[u8]]) {
    parts.iter().for_each(|part| out.extend_from_slice(part));
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_act_changes_one_header_and_nothing_else() {
        let head = b"POST /mcp HTTP/1.1\r\nhost: a\r\naccept: x\r\ncontent-length: 2\r\n\r\n";
        assert_eq!(fields(head), 3);
        for (act, line) in [
            (Hop::Drop, ""),
            (Hop::Double, "accept: x\r\naccept: x\r\n"),
            (Hop::Rewrite, "accept: rewritten\r\n"),
            (Hop::Recase, "ACCEPT: x\r\n"),
            (Hop::Pad, "accept:\t x \t\r\n"),
        ] {
            let expected = format!("POST /mcp HTTP/1.1\r\nhost: a\r\n{line}content-length: 2\r\n\r\n");
            assert_eq!(String::from_utf8(act.on(head, 1)).unwrap(), expected);
            assert_eq!(act.on(head, 2), head, "{act:?} leaves the framing");
        }
    }
}
