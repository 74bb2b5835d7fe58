//! Starts the binary on bad input, and holds what must be true whatever the input is: it ends by itself within
//! its time and its memory, it does not panic, and it leaves no process.

use std::fs::File;
use std::io::{Read as _, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use wait4::Wait4 as _;

const PEAK_BYTES: u64 = 256 << 20;
/// What takes longer hangs. A client that never connects is waited for longest, 45 s.
const LIMIT: Duration = Duration::from_secs(150);
/// Mocks end by themselves once their supervisor is gone.
const PARTING: Duration = Duration::from_secs(5);
/// How much of an output is looked at.
const HEAD_BYTES: u64 = 64 << 10;
/// Every process that a test starts inherits it.
const TOKEN: &str = "MCP_PARLEY_BAD_INPUT";

/// The binary of the test's own profile, unless another is named: users run the release binary.
pub(crate) fn exe() -> std::ffi::OsString {
    std::env::var_os("MCP_PARLEY_EXE").unwrap_or_else(|| env!("CARGO_BIN_EXE_mcp-parley").into())
}

/// How a run ended.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    /// The beginning of the standard output.
    pub(crate) out: String,
    /// The beginning of the standard error.
    pub(crate) err: String,
}

/// A folder with bad files, in which the command is run.
pub(crate) struct Bench(TempDir);

impl Bench {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file piece by piece: the peak of a child counts from the memory of the process that starts it.
    pub(crate) fn file(&self, name: &str, write: impl FnOnce(&mut dyn Write)) {
        let mut file = std::io::BufWriter::new(File::create(self.0.path().join(name)).unwrap());
        write(&mut file);
        file.flush().unwrap();
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ended {
        self.fed(args, |_| {})
    }

    /// Runs the command; `feed` writes its standard input, which is then closed.
    pub(crate) fn fed(&self, args: &[&str], feed: impl FnOnce(&mut dyn Write) + Send) -> Ended {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let token = format!("{}-{number}", std::process::id());
        let output = |name: &str| self.0.path().join(format!("{name}-{number}"));
        let mut child = Command::new(exe())
            .args(args)
            .env(TOKEN, &token)
            .current_dir(self.0.path())
            .stdin(Stdio::piped())
            .stdout(File::create(output("out")).unwrap())
            .stderr(File::create(output("err")).unwrap())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let used = std::thread::scope(|scope| {
            scope.spawn(move || feed(&mut stdin));
            waited(&mut child)
        });
        let (out, err) = (head(&output("out")), head(&output("err")));
        let what = format!("{args:?}: {:?}\n{out}\n{err}", used.status);
        assert!(!err.contains("panicked"), "{what}");
        assert!(used.rusage.maxrss < PEAK_BYTES, "{} MiB: {what}", used.rusage.maxrss >> 20);
        let parted = Instant::now();
        while !running(&token).is_empty() {
            assert!(parted.elapsed() < PARTING, "left running: {:?}: {what}", running(&token));
            std::thread::sleep(Duration::from_millis(20));
        }
        Ended { code: used.status.code(), out, err }
    }

    /// The command says exactly this, in one line, and exits with code 2.
    #[track_caller]
    pub(crate) fn refused(&self, args: &[&str], line: &str) {
        let ended = self.run(args);
        assert_eq!(ended.err, format!("mcp-parley: {line}\n"), "{args:?}");
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{args:?}");
    }
}

/// Waits for its end; one that hangs is killed.
fn waited(child: &mut Child) -> wait4::ResUse {
    let (ended, end) = mpsc::channel::<()>();
    let pid = child.id().to_string();
    std::thread::scope(|scope| {
        let watch = scope.spawn(move || {
            let hangs = end.recv_timeout(LIMIT).is_err();
            if hangs {
                Command::new("kill").args(["-9", &pid]).status().unwrap();
            }
            hangs
        });
        let used = child.wait4().unwrap();
        let _ = ended.send(());
        assert!(!watch.join().unwrap(), "it hangs");
        used
    })
}

fn head(path: &Path) -> String {
    let mut bytes = Vec::new();
    File::open(path).unwrap().take(HEAD_BYTES).read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The command lines of running processes with this token in their environment. Only Linux shows it.
fn running(token: &str) -> Vec<String> {
    let wanted = format!("{TOKEN}={token}");
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    let has = |path: &PathBuf| {
        std::fs::read(path.join("environ"))
            .is_ok_and(|text| text.split(|byte| *byte == 0).any(|pair| pair == wanted.as_bytes()))
    };
    processes
        .filter(has)
        .map(|path| {
            String::from_utf8_lossy(&std::fs::read(path.join("cmdline")).unwrap_or_default()).into_owned()
        })
        .collect()
}

/// The same bytes again and again, until there are so many or nobody reads them any more.
pub(crate) fn repeat(out: &mut dyn Write, piece: &[u8], bytes: usize) {
    let block = piece.repeat((64 << 10) / piece.len() + 1);
    let mut left = bytes;
    while left > 0 {
        let part = &block[..left.min(block.len())];
        if out.write_all(part).is_err() {
            return;
        }
        left -= part.len();
    }
}
