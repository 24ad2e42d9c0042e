//! The running demo.

use crate::{progress, workspace};
use anyhow::{Context, Result};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread;

/// The first words of the line that the program prints when it answers.
const READY: &str = "Headgate is ready";

/// A small shell that reads from a pipe that only xtask keeps open: it ends the program when xtask closes the pipe, or ends in any way.
const WATCH: &str = r#"trap '' INT TERM HUP; cat >/dev/null; kill -TERM "$1" 2>/dev/null"#;

pub(super) struct Program {
    program: Child,
    guard: Child,
}

impl Program {
    /// Starts it, and returns when it answers or has ended, which its own last line explains.
    pub(super) fn start(arguments: &[&str]) -> Result<Self> {
        let path = workspace::debug_program();
        let mut command = Command::new(&path);
        command.arg("demo").args(arguments);
        for (setting, value) in [
            ("HEADGATE_DATA_DIR", workspace::dev_data_dir().display().to_string()),
            // Jobs that are cut off are recovered by the next program: nobody waits for them.
            ("HEADGATE_SHUTDOWN_GRACE", "1s".to_owned()),
        ] {
            if std::env::var_os(setting).is_none() {
                command.env(setting, value);
            }
        }
        // A process group of its own: Ctrl-C ends xtask, and the guard ends the program with one signal. A second one would end it at once.
        command.stdout(Stdio::piped()).process_group(0);
        let mut program = command.spawn().with_context(|| path.display().to_string())?;
        let guard = Command::new("sh")
            .args(["-c", WATCH, "headgate-dev", &program.id().to_string()])
            .stdin(Stdio::piped())
            .process_group(0)
            .spawn()
            .context("cannot start sh")?;
        if let Some(stdout) = program.stdout.take() {
            wait_until_ready(stdout);
        }
        Ok(Self { program, guard })
    }

    pub(super) fn is_running(&mut self) -> bool {
        matches!(self.program.try_wait(), Ok(None))
    }

    /// Ends it, in order; returns when it has ended.
    pub(super) fn stop(mut self) -> Result<()> {
        drop(self.guard.stdin.take());
        let status = self.program.wait()?;
        self.guard.wait()?;
        if !status.success() {
            progress::note(&format!("the program ended with {status}"));
        }
        Ok(())
    }
}

/// Passes its output on, and waits for the line that says it is ready, or for the end.
fn wait_until_ready(stdout: ChildStdout) {
    let (ready, is_ready) = mpsc::channel();
    thread::spawn(move || {
        let mut ready = Some(ready);
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            println!("{line}");
            if line.starts_with(READY) {
                ready = None;
            }
        }
        drop(ready);
    });
    // An error is the signal: the sender is dropped, and sends nothing.
    let _: Result<(), _> = is_ready.recv();
}
