//! Ends what is left when this process is killed and cannot do it itself.
//!
//! A server over HTTP does not notice that whoever started it is gone. So a guard is started first: another process of the same
//! program, which is told of every process group, sees its input close when this process ends in whatever way, and kills what it was
//! not told to forget.

use std::io::{self, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use crate::os::GroupId;

/// The running guard. It ends with the last clone of this.
#[derive(Clone, Debug)]
pub struct Guard(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    input: Mutex<Option<ChildStdin>>,
    child: Mutex<Child>,
}

impl Guard {
    /// Starts the command, which must call [`guard`] and nothing else.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(command: &[String]) -> io::Result<Self> {
        let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // Ctrl-C on a terminal is for this process, which then ends its servers in order.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn()?;
        let input = child.stdin.take();
        Ok(Self(Arc::new(Inner { input: Mutex::new(input), child: Mutex::new(child) })))
    }

    pub(crate) fn watch(&self, group: GroupId) {
        self.tell('+', group);
    }

    pub(crate) fn forget(&self, group: GroupId) {
        self.tell('-', group);
    }

    fn tell(&self, sign: char, group: GroupId) {
        let mut input = self.0.input.lock().unwrap_or_else(PoisonError::into_inner);
        // Without a guard everything ends as before, but for a kill that nobody foresees.
        let _ = input.as_mut().map(|input| writeln!(input, "{sign}{}", group.number()));
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        *self.input.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
        let _ = self.child.get_mut().unwrap_or_else(PoisonError::into_inner).wait();
    }
}

/// The guard's own work: reads which groups there are until its standard input ends, then kills those that are left.
pub fn guard() {
    let mut groups = std::collections::BTreeSet::new();
    for line in io::stdin().lines() {
        let Ok(line) = line else { break };
        match (line.strip_prefix('+'), line.strip_prefix('-')) {
            (Some(number), _) => drop(groups.insert(number.to_owned())),
            (None, Some(number)) => drop(groups.remove(number)),
            (None, None) => {}
        }
    }
    let numbers = groups.iter().filter_map(|number| number.parse().ok());
    numbers.filter_map(GroupId::of_number).for_each(GroupId::kill);
}
