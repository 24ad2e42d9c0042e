//! Sees to it that a cluster ends with us, whatever ends us.
//!
//! A small shell reads from a pipe that only we hold open. When we close it, or are killed, the read ends: the shell
//! stops the server and removes the directory. It holds for `kill -9` too and needs no privilege and no unsafe code.

use anyhow::{Context, Result};
use std::{
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
};

/// `postmaster.pid` is the last thing the server removes: that it is gone means that all has ended.
const WATCH: &str = r#"
trap '' INT TERM HUP
cat >/dev/null
pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null) && kill -INT "$pid" 2>/dev/null
tries=0
while [ -e "$1/data/postmaster.pid" ] && [ $tries -lt 100 ]; do sleep 0.05; tries=$((tries + 1)); done
[ -e "$1/data/postmaster.pid" ] && kill -QUIT "$pid" 2>/dev/null && sleep 1
rm -rf -- "$1"
"#;

/// The shell that waits for our end.
pub(super) struct Guard {
    shell: Child,
}

impl Guard {
    /// Watches over the cluster in `dir`.
    pub(super) fn over(dir: &Path) -> Result<Self> {
        let shell = Command::new("sh")
            .args(["-c", WATCH, "headgate-guard"])
            .arg(dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // A group of its own: Ctrl-C must not end the one that cleans up.
            .process_group(0)
            .spawn()
            .context("cannot start sh")?;
        Ok(Self { shell })
    }

    /// Ends the server and removes its directory; returns when both are done.
    pub(super) fn stop(&mut self, server: &mut Child) {
        drop(self.shell.stdin.take());
        // Both are ours to reap; how they ended changes nothing any more.
        let _ = server.wait();
        let _ = self.shell.wait();
    }
}
