//! How messages become events of a stream (K20).

use crate::http::{EventLineEnd, Framing};

/// What stands before the first message.
pub(super) fn preamble(framing: &Framing) -> Vec<Vec<u8>> {
    let mut events = Vec::new();
    if framing.priming {
        events.push(block(framing, &[("id", b"0"), ("data", b"")]));
    }
    events.extend(framing.junk.iter().map(|text| block(framing, &[("data", &text.bytes())])));
    events
}

/// One message as an event. `is_last`: of its stream.
pub(super) fn event(framing: &Framing, message: &[u8], is_last: bool) -> Vec<u8> {
    let mut fields: Vec<(&str, &[u8])> = Vec::new();
    if let Some(comment) = &framing.comment {
        fields.push(("", comment.as_bytes()));
    }
    if let Some(name) = &framing.event {
        fields.push(("event", name.as_bytes()));
    }
    // Behind its first brace, a message may have a line break: what joins the two lines again is white space.
    match message.split_first() {
        Some((b'{', rest)) if framing.split_data => fields.extend([("data", &b"{"[..]), ("data", rest)]),
        // Text with newlines of its own is one line of data for each.
        _ => fields.extend(message.split(|byte| *byte == b'\n').map(|line| ("data", line))),
    }
    let mut bytes = block(framing, &fields);
    if is_last && framing.unended {
        bytes.truncate(bytes.len() - line_end(framing).len());
    }
    bytes
}

fn block(framing: &Framing, fields: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in fields {
        bytes.extend_from_slice(name.as_bytes());
        bytes.push(b':');
        if !framing.tight {
            bytes.push(b' ');
        }
        bytes.extend_from_slice(value);
        bytes.extend_from_slice(line_end(framing));
    }
    bytes.extend_from_slice(line_end(framing));
    bytes
}

fn line_end(framing: &Framing) -> &'static [u8] {
    match framing.line_end {
        EventLineEnd::Lf => b"\n",
        EventLineEnd::CrLf => b"\r\n",
        EventLineEnd::Cr => b"\r",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(framing: &Framing, message: &str, is_last: bool) -> String {
        String::from_utf8(event(framing, message.as_bytes(), is_last)).unwrap()
    }

    #[test]
    fn every_choice_of_the_framing_shows() {
        let plain = Framing::default();
        assert_eq!(shown(&plain, "{1}", true), "data: {1}\n\n");
        assert_eq!(shown(&plain, "{1\n}", true), "data: {1\ndata: }\n\n");
        let cr = Framing { line_end: EventLineEnd::Cr, tight: true, ..Framing::default() };
        assert_eq!(shown(&cr, "{1}", true), "data:{1}\r\r");
        let crlf = Framing { line_end: EventLineEnd::CrLf, unended: true, ..Framing::default() };
        assert_eq!(shown(&crlf, "{1}", false), "data: {1}\r\n\r\n");
        assert_eq!(shown(&crlf, "{1}", true), "data: {1}\r\n");
        let much = Framing {
            comment: Some("hi".into()),
            event: Some("message".into()),
            split_data: true,
            ..Framing::default()
        };
        assert_eq!(shown(&much, "{1}", true), ": hi\nevent: message\ndata: {\ndata: 1}\n\n");
        let first =
            Framing { priming: true, junk: vec![crate::Text::Plain("x".into())], ..Framing::default() };
        assert_eq!(preamble(&first), [b"id: 0\ndata: \n\n".to_vec(), b"data: x\n\n".to_vec()]);
    }
}
