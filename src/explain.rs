//! `explain`: what an id means.

use mcp_parley_mock_clients as mock_clients;
use mcp_parley_mock_servers as mock_servers;
use mcp_parley_oracle::{contested_row, property, requirement};
use serde_json::Value;

use crate::cli::{ExplainArgs, Format, What};
use crate::exit::{Ended, Exit, Failure};
use crate::list;

pub(crate) fn run(args: &ExplainArgs) -> Ended {
    let id = args.id.as_str();
    let Some(value) = value(id) else {
        return Err(Failure::usage(format!(
            "{id} is no requirement, property, contested row, persona, opening or mutant; see `mcp-parley list --help`"
        )));
    };
    match args.format {
        Format::Json => {
            let text = serde_json::to_string_pretty(&value).map_err(Failure::internal)?;
            anstream::println!("{text}");
        }
        Format::Text => {
            anstream::println!("{id}");
            print(&value, 1);
            exercised(id);
        }
    }
    Ok(Exit::Fine)
}

/// The whole row or file.
fn value(id: &str) -> Option<Value> {
    let row = requirement(id).map(serde_json::to_value);
    let row = row.or_else(|| property(id).map(serde_json::to_value));
    let row = row.or_else(|| contested_row(id).map(serde_json::to_value));
    let row = row.or_else(|| mock_clients::mutant(id).map(serde_json::to_value));
    let row = row.or_else(|| mock_clients::opening(id).map(serde_json::to_value));
    let row = row.or_else(|| mock_servers::mutant(id).map(serde_json::to_value));
    let row =
        row.or_else(|| mock_servers::persona(id).and_then(|d| d.resolve(&[]).ok()).map(serde_json::to_value));
    row?.ok()
}

/// Which personas and mutants are for a requirement, and whether a check judges it.
fn exercised(id: &str) {
    let names = |what| -> Vec<String> {
        let mentions = |row: &Value| {
            let listed = |name: &str| {
                row.get(name).and_then(Value::as_array).is_some_and(|l| l.iter().any(|v| v == id))
            };
            listed("source") || row.get("killed_by").is_some_and(|v| v == id)
        };
        list::rows(what)
            .iter()
            .filter(|row| mentions(row))
            .filter_map(|row| row["id"].as_str().map(str::to_owned))
            .collect()
    };
    let judged = mcp_parley_oracle::CHECKS.iter().any(|check| check.id == id);
    let known = requirement(id).is_some() || property(id).is_some() || contested_row(id).is_some();
    if known {
        anstream::println!("  checked: {}", if judged { "yes" } else { "not yet, or not on the wire" });
        for (word, what) in
            [("personas", What::Personas), ("openings", What::Openings), ("mutants", What::Mutants)]
        {
            let names = names(what);
            if !names.is_empty() {
                anstream::println!("  {word}: {}", names.join(", "));
            }
        }
    }
}

fn print(value: &Value, depth: usize) {
    let indent = "  ".repeat(depth);
    for (name, value) in value.as_object().into_iter().flatten() {
        match value {
            Value::Null => {}
            Value::Bool(false) => {}
            Value::Array(items) if items.is_empty() => {}
            Value::Array(items) if items.iter().all(|item| !item.is_object()) => {
                let words: Vec<String> = items.iter().map(plain).collect();
                anstream::println!("{indent}{name}: {}", words.join(", "));
            }
            Value::Array(items) => {
                for item in items {
                    anstream::println!("{indent}{name}:");
                    print(item, depth + 1);
                }
            }
            Value::Object(_) => {
                anstream::println!("{indent}{name}:");
                print(value, depth + 1);
            }
            other => anstream::println!("{indent}{name}: {}", plain(other)),
        }
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
