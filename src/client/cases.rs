//! Which personas a client is put through: each with every choice of its open values, one off its first at a time.

use std::sync::Arc;

use mcp_parley_mock_servers::{Draft, Persona, load, personas};
use mcp_parley_trace::Transport;

use crate::cli::ClientArgs;
use crate::exit::Failure;
use crate::sides;

/// One concrete persona.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// The persona's id, and behind a `#` its choices where it has any.
    pub(crate) name: String,
    pub(crate) persona: Arc<Persona>,
}

/// What the command line asks for, as far as this transport can play it; all embedded personas if it names none.
pub(crate) fn cases(args: &ClientArgs, transport: Transport) -> Result<Vec<Case>, Failure> {
    let mut drafts: Vec<Draft> = Vec::new();
    for path in &args.persona_file {
        drafts.push(load(path).map_err(Failure::usage)?);
    }
    for id in &args.persona {
        drafts.push(sides::persona(id)?);
    }
    if drafts.is_empty() {
        drafts = personas().to_vec();
        match transport {
            Transport::Stdio => drafts.retain(Draft::is_for_stdio),
            Transport::Http => drafts.retain(Draft::is_for_http),
        }
    }
    for draft in &drafts {
        sides::playable(draft, Some(transport))?;
    }
    let mut cases = Vec::new();
    for draft in &drafts {
        cases.extend(variants(draft)?);
    }
    Ok(cases)
}

fn variants(draft: &Draft) -> Result<Vec<Case>, Failure> {
    let points = draft.open_points();
    let mut variants = vec![vec![0; points.len()]];
    for (at, point) in points.iter().enumerate() {
        variants.extend((1..point.choices).map(|choice| {
            let mut choices = vec![0; points.len()];
            if let Some(slot) = choices.get_mut(at) {
                *slot = choice;
            }
            choices
        }));
    }
    variants.iter().map(|choices| case(draft, choices)).collect()
}

fn case(draft: &Draft, choices: &[u32]) -> Result<Case, Failure> {
    let persona = Arc::new(draft.resolve(choices).map_err(Failure::usage)?);
    let words: Vec<String> = choices.iter().map(u32::to_string).collect();
    let suffix = if words.is_empty() { String::new() } else { format!("#{}", words.join(",")) };
    Ok(Case { name: format!("{}{suffix}", draft.id()), persona })
}

/// A server that any client can speak to: what a client does with it tells how it ends when nothing is wrong.
pub(crate) fn control() -> Result<Case, Failure> {
    case(&sides::persona("dual")?, &[])
}
