//! One run of a real side, judged.

use mcp_parley_oracle::{Finding, Judge, Severity, severity};
use mcp_parley_trace::{Footer, Header, Recording};

/// What came of one run.
#[derive(Clone, Debug)]
pub(crate) struct Ran {
    /// The persona, or the odd input.
    pub(crate) name: String,
    pub(crate) verdict: Verdict,
    /// What the subject did, in a few words.
    pub(crate) story: String,
    pub(crate) header: Header,
    pub(crate) recording: Recording,
    pub(crate) footer: Footer,
    pub(crate) broken: Vec<Broken>,
    pub(crate) finding: Option<Finding>,
    /// What the subject printed on standard error, where it failed: the line that names an error, or the last one.
    pub(crate) complaint: Option<String>,
}

/// One row that was broken.
#[derive(Clone, Debug)]
pub(crate) struct Broken {
    pub(crate) id: &'static str,
    pub(crate) severity: Severity,
    pub(crate) reason: String,
    /// The event that broke it.
    pub(crate) at: u32,
}

/// Whether a run counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Judged,
    Incomplete(String),
    OurFault(String),
}

/// What a standstill means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standstill {
    /// There was none, or it came again each time while a well-behaved counterpart was left as it should be.
    Proven,
    /// It came in so many of three runs only.
    Sometimes(usize),
    /// The subject stands still with a well-behaved counterpart too.
    Always,
}

impl Ran {
    /// Judges a recording, if its verdict says that it counts.
    pub(crate) fn judged(
        fail_on: Severity,
        name: &str,
        verdict: Verdict,
        header: Header,
        recording: Recording,
        story: String,
        complaint: Option<String>,
    ) -> Self {
        let mut judge = Judge::new();
        let judged = verdict == Verdict::Judged;
        let verdicts = judge.judge(&recording, &header.declared, header.subject, header.transport);
        let mut broken = Vec::new();
        for (id, verdict) in verdicts.iter().filter(|(_, verdict)| judged && verdict.is_broken()) {
            let reason = verdict.reason.clone().into_owned();
            broken.push(Broken { id, severity: severity(id), reason, at: verdict.at });
        }
        let rulings = if judged { verdicts.rulings() } else { Vec::new() };
        let finding = verdicts.finding_at(fail_on).filter(|_| judged);
        Self {
            name: name.to_owned(),
            verdict,
            story,
            header,
            recording,
            footer: Footer { rulings, ..Footer::default() },
            broken,
            finding,
            complaint,
        }
    }
}

/// The line of standard error that names an error, or the last one.
pub(crate) fn complaint(stderr: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(stderr);
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines().rfind(|line| line.contains("rror")).or_else(|| lines().next_back())?;
    Some(line.to_owned())
}
