//! `list`: what there is.

use mcp_parley_mock_clients as mock_clients;
use mcp_parley_mock_servers as mock_servers;
use mcp_parley_oracle::{CHECKS, Contested, contested, properties, requirements, severity};
use serde_json::{Value, json};

use crate::cli::{Format, ListArgs, What};
use crate::exit::{Ended, Exit, Failure};
use crate::say::say;

/// What stands between a row's id and its title, where it has one of these.
const KINDS: &[&str] = &["profile", "side", "level", "severity", "state"];

pub(crate) fn run(args: &ListArgs) -> Ended {
    let rows = rows(args.what);
    match args.format {
        Format::Json => {
            let text = serde_json::to_string_pretty(&rows).map_err(Failure::internal)?;
            say!("{text}");
        }
        Format::Text => {
            let cell = |row: &Value, name: &str| {
                row.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
            };
            let width = rows.iter().map(|row| cell(row, "id").len()).max().unwrap_or(0);
            for row in &rows {
                let kind = KINDS.iter().find_map(|name| Some(format!("{:10}  ", row.get(name)?.as_str()?)));
                let kind = kind.unwrap_or_default();
                say!("{:width$}  {kind}{}", cell(row, "id"), cell(row, "title"));
            }
        }
    }
    Ok(Exit::Fine)
}

/// One object a row; every row has `id` and `title`.
pub(crate) fn rows(what: What) -> Vec<Value> {
    match what {
        What::Personas => mock_servers::personas().iter().map(persona).collect(),
        What::Openings => mock_clients::openings()
            .iter()
            .map(|o| json!({ "id": o.id, "title": o.title, "source": o.source, "steps": o.steps.len() }))
            .collect(),
        What::Mutants => mutants(),
        What::Requirements => requirements()
            .iter()
            .map(|row| {
                json!({
                    "id": row.id, "title": row.text, "level": row.level, "role": row.role, "era": row.era,
                    "transports": row.transports, "checks": checks_of(&row.id), "excluded": row.excluded,
                    "mutants": killed_by(&row.id),
                })
            })
            .collect(),
        What::Contested => contested()
            .iter()
            .map(|row| {
                json!({
                    "id": row.id, "title": row.title, "state": state(row), "settled": row.settled,
                    "allowed": row.allowed, "policy": row.policy, "checks": checks_of(&row.id),
                })
            })
            .collect(),
        What::Properties => properties()
            .iter()
            .map(|row| {
                json!({
                    "id": row.id, "title": row.text, "severity": row.severity, "role": row.role,
                    "checks": checks_of(&row.id), "mutants": killed_by(&row.id),
                })
            })
            .collect(),
        What::Checks => CHECKS
            .iter()
            .map(|check| json!({ "id": check.id, "title": title_of(check.id), "severity": severity(check.id) }))
            .collect(),
    }
}

fn state(row: &Contested) -> &'static str {
    match (&row.settled, &row.partly_settled) {
        (Some(_), _) => "settled",
        (None, Some(_)) => "partly",
        (None, None) => "open",
    }
}

fn persona(draft: &mock_servers::Draft) -> Value {
    json!({
        "id": draft.id(), "profile": draft.profile(), "title": draft.title(), "source": draft.source(),
        "stdio": draft.is_for_stdio(), "http": draft.is_for_http(),
        "open_values": draft.open_points().iter().map(|point| point.choices).collect::<Vec<_>>(),
    })
}

fn mutants() -> Vec<Value> {
    fn row<D, B>(m: &mcp_parley_data::Mutant<D, B>) -> Value {
        json!({ "id": m.id, "side": m.side, "killed_by": m.killed_by, "over": m.over, "title": m.title })
    }
    let clients = mock_clients::mutants().iter().map(row);
    let servers = mock_servers::mutants().iter().map(row);
    clients.chain(servers).collect()
}

fn checks_of(id: &str) -> Vec<&'static str> {
    CHECKS.iter().map(|check| check.id).filter(|check| *check == id).collect()
}

fn killed_by(id: &str) -> Vec<String> {
    let clients = mock_clients::mutants().iter().filter(|m| m.killed_by == id).map(|m| m.id.clone());
    let servers = mock_servers::mutants().iter().filter(|m| m.killed_by == id).map(|m| m.id.clone());
    clients.chain(servers).collect()
}

fn title_of(id: &str) -> String {
    let row = requirements().iter().find(|row| row.id == id).map(|row| row.text.clone());
    let row = row.or_else(|| properties().iter().find(|row| row.id == id).map(|row| row.text.clone()));
    row.or_else(|| contested().iter().find(|row| row.id == id).map(|row| row.title.clone()))
        .unwrap_or_default()
}
