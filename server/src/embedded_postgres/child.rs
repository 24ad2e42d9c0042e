//! Starts Postgres' programs as the right user, so that they end with this process.

use super::run_as::DatabaseUser;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// A command that runs in `folder` as `user`.
///
/// `setpriv` (util-linux) switches to the user and asks the kernel to send SIGINT, Postgres' fast shutdown, when the thread that starts the command
/// ends, so that the database does not outlive a program that was killed. Doing the same here would need unsafe code. Where `setpriv` is missing,
/// the next start stops what was left running.
pub(super) fn command(program: &Path, user: Option<&DatabaseUser>, folder: &Path) -> Command {
    let mut command = if has_setpriv() { through_setpriv(program, user) } else { directly(program, user) };
    command.current_dir(folder).env("HOME", folder).env("LC_ALL", "C").env("TZ", "UTC");
    for variable in ["PGDATA", "PGHOST", "PGPORT", "PGUSER", "PGDATABASE", "PGOPTIONS", "PGSSLMODE"] {
        command.env_remove(variable);
    }
    if let Some(user) = user {
        command.env("USER", &user.name);
    }
    // A process group of its own, so that Ctrl-C reaches only this process, which stops the database last.
    command.stdin(Stdio::null()).process_group(0);
    command
}

fn through_setpriv(program: &Path, user: Option<&DatabaseUser>) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "INT"]);
    if let Some(user) = user {
        command
            .arg(format!("--reuid={}", user.uid))
            .arg(format!("--regid={}", user.gid))
            .arg("--clear-groups");
    }
    command.arg("--").arg(program);
    command
}

fn directly(program: &Path, user: Option<&DatabaseUser>) -> Command {
    let mut command = Command::new(program);
    if let Some(user) = user {
        command.uid(user.uid).gid(user.gid);
    }
    command
}

/// Busybox' `setpriv` does not support the parent-death signal, so this tries it.
fn has_setpriv() -> bool {
    Command::new("setpriv")
        .args(["--pdeathsig", "INT", "--", "true"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
