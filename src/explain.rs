//! `explain`: what an id means.

use mcp_parley_mock_clients as mock_clients;
use mcp_parley_mock_servers as mock_servers;
use mcp_parley_oracle::{
    CHECKS, Contested, Property, Reading, Requirement, Role, contested, contested_row, properties, property,
    requirement, requirements,
};
use mcp_parley_trace::Transport;
use serde::Serialize;
use serde_json::Value;

use crate::cli::{ExplainArgs, Format, What};
use crate::exit::{Ended, Exit, Failure};
use crate::findings::place;
use crate::list;
use crate::say::say;
use crate::suggest::did_you_mean;

pub(crate) fn run(args: &ExplainArgs) -> Ended {
    let id = args.id.as_str();
    let Some((value, text)) = explained(id)? else {
        let near = did_you_mean(id, known());
        return Err(Failure::usage(format!(
            "{id} is no requirement, contested row, property, persona, opening or mutant; `mcp-parley list` shows them{near}"
        )));
    };
    match args.format {
        Format::Json => {
            let text = serde_json::to_string_pretty(&value).map_err(Failure::internal)?;
            say!("{text}");
        }
        Format::Text => say!("{}", text.trim_end()),
    }
    Ok(Exit::Fine)
}

/// The whole row or file, for programs and for people.
fn explained(id: &str) -> Result<Option<(Value, String)>, Failure> {
    let (value, text) = if let Some(row) = requirement(id) {
        (value(row)?, of_requirement(row))
    } else if let Some(row) = contested_row(id) {
        (value(row)?, of_contested(row))
    } else if let Some(row) = property(id) {
        (value(row)?, of_property(row))
    } else if let Some(row) = mock_clients::mutant(id) {
        (value(row)?, of_mutant(&value(row)?))
    } else if let Some(row) = mock_servers::mutant(id) {
        (value(row)?, of_mutant(&value(row)?))
    } else if let Some(row) = mock_clients::opening(id) {
        let steps = toml::to_string(row).map_err(Failure::internal)?;
        (value(row)?, format!("{id}  opening: an odd client\n  {}\n\n{steps}", row.title))
    } else if let Some(draft) = mock_servers::persona(id) {
        let persona = draft.resolve(&[]).map_err(Failure::internal)?;
        let file = mock_servers::persona_text(id).unwrap_or_default();
        (value(&persona)?, format!("{id}  persona: a mock server\n  {}\n\n{file}", draft.title()))
    } else {
        return Ok(None);
    };
    Ok(Some((value, text)))
}

fn value(row: &impl Serialize) -> Result<Value, Failure> {
    serde_json::to_value(row).map_err(Failure::internal)
}

fn known() -> Vec<String> {
    let rows = requirements().iter().map(|row| row.id.clone());
    let rows = rows.chain(properties().iter().map(|row| row.id.clone()));
    let rows = rows.chain(contested().iter().map(|row| row.id.clone()));
    let files = mock_servers::personas().iter().map(|draft| draft.id().to_owned());
    let files = files.chain(mock_servers::mutants().iter().map(|mutant| mutant.id.clone()));
    let files = files.chain(mock_clients::mutants().iter().map(|mutant| mutant.id.clone()));
    rows.chain(files).chain(mock_clients::openings().iter().map(|opening| opening.id.clone())).collect()
}

fn of_requirement(row: &Requirement) -> String {
    let era = word(&row.era);
    let era = if era == "both" { "in both eras".into() } else { format!("in the {era} era") };
    let binding = if row.binding { ", binding" } else { "" };
    let level = word(&row.level);
    let (who, over) = (who(&[row.role]), over(&row.transports));
    let mut out = format!("{}  {level}{binding}, for {who}, {era}, over {over}\n  {}\n", row.id, row.text);
    for source in &row.sources {
        out += &format!("  source: {}\n", place(&source.page, &source.section, &source.lines));
    }
    if let Some(why) = &row.excluded {
        out += &format!("  not judged: {why}\n");
    }
    out + &exercised(&row.id)
}

fn of_contested(row: &Contested) -> String {
    let (who, over) = (who(&row.roles), over(&row.transports));
    let mut out = format!("{}  contested, for {who}, over {over}\n  {}\n  {}\n", row.id, row.title, row.text);
    if let Some(rows) = &row.settled {
        out += &format!("  settled by {rows}\n");
    }
    if let Some(rows) = &row.partly_settled {
        out += &format!("  partly settled by {rows}\n");
    }
    for Reading { page, section, lines, says } in &row.readings {
        out += &format!("  {}: {says}\n", place(page, section, lines));
    }
    out += "  allowed:\n";
    for name in &row.allowed {
        out += &format!("    {name}: {}\n", row.outcomes.get(name).map_or("", String::as_str));
    }
    if !row.policy.is_empty() {
        out += &format!("  policy: {}\n", row.policy.join(", "));
    }
    if row.settled.is_some() {
        return out;
    }
    out + &exercised(&row.id)
}

fn of_property(row: &Property) -> String {
    let who = who(&[row.role]);
    format!("{}  property, for {who}\n  {}\n{}", row.id, row.text, exercised(&row.id))
}

fn of_mutant(row: &Value) -> String {
    let text = |name: &str| row[name].as_str().unwrap_or_default();
    let deviations = row["deviations"].as_object().into_iter().flatten();
    let planted = deviations.filter(|(_, value)| !value.is_null() && **value != false);
    let planted: Vec<String> = planted.map(|(name, value)| format!("{name} = {value}")).collect();
    format!(
        "{}  mutant: a {} with one planted fault\n  {}\n  killed by {}\n  deviation: {}\n  hunt it with: mcp-parley hunt --{} mutant:{}\n",
        text("id"),
        text("side"),
        text("title"),
        text("killed_by"),
        planted.join(", "),
        text("side"),
        text("id"),
    )
}

/// A value's own word in the catalogue.
fn word(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

fn who(roles: &[Role]) -> String {
    let words = roles.iter().map(|role| match role {
        Role::Client => "clients",
        Role::Server => "servers",
        Role::Both => "both sides",
        Role::Proxy => "proxies",
    });
    words.collect::<Vec<_>>().join(" and ")
}

fn over(transports: &[Transport]) -> String {
    let words = transports.iter().map(|transport| match transport {
        Transport::Stdio => "stdio",
        Transport::Http => "HTTP",
    });
    words.collect::<Vec<_>>().join(" and ")
}

/// Whether a check judges it, and which personas, openings and mutants are for it.
fn exercised(id: &str) -> String {
    let judged = CHECKS.iter().any(|check| check.id == id);
    let mut out = format!("  judged: {}\n", if judged { "yes" } else { "not yet, or no trace shows it" });
    for (word, what) in
        [("personas", What::Personas), ("openings", What::Openings), ("mutants", What::Mutants)]
    {
        let mentions = |row: &Value| {
            let listed = row["source"].as_array().is_some_and(|list| list.iter().any(|name| name == id));
            listed || row["killed_by"] == id
        };
        let rows = list::rows(what);
        let names: Vec<&str> =
            rows.iter().filter(|row| mentions(row)).filter_map(|row| row["id"].as_str()).collect();
        if !names.is_empty() {
            out += &format!("  {word}: {}\n", names.join(", "));
        }
    }
    out
}
