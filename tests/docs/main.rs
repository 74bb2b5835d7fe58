//! What the documentation shows is true: its commands are run, its files exist, its tables say what the data says.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests may be blunt")]

mod commands;
mod contested;
mod http;
mod limits;
mod page;
mod personas;
mod traces;
mod verdicts;

#[test]
fn every_member_of_a_hunts_summary_has_a_row() {
    let args = ["hunt", "--seeds", "50", "--format", "json"];
    let hunt = std::process::Command::new(env!("CARGO_BIN_EXE_mcp-parley")).args(args).output().unwrap();
    let summary: serde_json::Value = serde_json::from_slice(&hunt.stdout).unwrap();
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/campaigns.md");
    let page = page::Page::read(&path);
    for member in summary.as_object().unwrap().keys().filter(|member| *member != "schema") {
        let row = format!("| `{member}` |");
        assert!(page.prose().any(|line| line.starts_with(&row)), "there is no row for {member}");
    }
}

#[test]
fn every_link_leads_to_a_file() {
    for page in page::all() {
        let folder = page.path.parent().unwrap().to_owned();
        for (line, to) in page.links() {
            assert!(folder.join(to).exists(), "{}: there is no {to}", page.at(line));
        }
    }
}
