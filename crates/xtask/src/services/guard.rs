//! Makes sure that a cluster ends with xtask, however that ends.
//!
//! A small shell reads from a pipe that only xtask keeps open. When xtask closes it, or is killed, the read ends, and the shell
//! stops the server and removes the directory. This works for `kill -9` too and needs no privilege and no unsafe code.

use anyhow::{Context, Result};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The server removes `postmaster.pid` last: once it is gone, all its processes have ended.
const WATCH: &str = r#"
trap '' INT TERM HUP
cat >/dev/null
pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null) && kill -INT "$pid" 2>/dev/null
tries=0
while [ -e "$1/data/postmaster.pid" ] && [ $tries -lt 100 ]; do sleep 0.05; tries=$((tries + 1)); done
[ -e "$1/data/postmaster.pid" ] && kill -QUIT "$pid" 2>/dev/null && sleep 1
rm -rf -- "$1"
"#;

/// The shell that waits for the end of xtask.
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
            // A process group of its own, so that Ctrl-C does not end the shell that cleans up.
            .process_group(0)
            .spawn()
            .context("cannot start sh")?;
        Ok(Self { shell })
    }

    /// Stops the server and removes its directory; returns when both are done.
    pub(super) fn stop(&mut self, server: &mut Child) {
        drop(self.shell.stdin.take());
        // Both are child processes to be reaped; how they ended does not matter.
        let _ = server.wait();
        let _ = self.shell.wait();
    }
}
