//! What the documentation shows is true: its commands are run, its files exist, its tables say what the data says.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests may be blunt")]

mod commands;
mod contested;
mod limits;
mod page;
mod personas;
mod traces;

#[test]
fn every_link_leads_to_a_file() {
    for page in page::all() {
        let folder = page.path.parent().unwrap().to_owned();
        for (line, to) in page.links() {
            assert!(folder.join(to).exists(), "{}: there is no {to}", page.at(line));
        }
    }
}
