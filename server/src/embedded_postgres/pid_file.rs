//! `postmaster.pid`: the file a server writes into its data directory.

use std::{fs, path::Path};

/// Its first and its eighth line.
#[derive(Debug, PartialEq)]
pub(super) struct PidFile {
    pub(super) pid: i32,
    /// `starting`, `ready` or `stopping`, which `pg_ctl` reads too. Empty in the first moments.
    pub(super) state: String,
}

impl PidFile {
    /// `None` when there is none, or when it is still being written.
    pub(super) fn read(data: &Path) -> Option<Self> {
        Self::parse(&fs::read_to_string(data.join("postmaster.pid")).ok()?)
    }

    pub(super) fn is_ready(&self) -> bool {
        self.state == "ready"
    }

    /// Lines: process, data directory, start time, port, socket directory, address, shared memory, state.
    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let pid = lines.next()?.trim().parse().ok().filter(|pid| *pid > 1)?;
        Some(Self { pid, state: lines.nth(6).unwrap_or_default().trim().to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::PidFile;

    #[test]
    fn process_and_state_are_read() {
        let text = "4711\n/data\n1700000000\n5432\n/run\n\n  5432001   32768\nready   \n";
        assert_eq!(PidFile::parse(text), Some(PidFile { pid: 4711, state: "ready".into() }));
    }

    #[test]
    fn an_incomplete_file_has_no_state_and_a_malformed_one_is_none() {
        assert!(!PidFile::parse("4711\n/data\n").unwrap().is_ready());
        assert_eq!(PidFile::parse(""), None);
        assert_eq!(PidFile::parse("-1\n"), None);
    }
}
