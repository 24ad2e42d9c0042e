//! Postgres refuses to run as root: if xtask is root, it runs as `postgres` or `nobody`.

use crate::process;
use anyhow::{Context, Result};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

pub(super) struct Unprivileged {
    pub(super) uid: u32,
    pub(super) gid: u32,
}

/// The user to run as; none when we are not root.
pub(super) fn user() -> Result<Option<Unprivileged>> {
    // The owner of our entry in /proc is the effective user; reading it needs no unsafe code.
    let is_root = std::fs::metadata("/proc/self").map_or_else(
        |_| process::output_of("id", &["-u"]).as_deref() == Some("0"),
        |metadata| metadata.uid() == 0,
    );
    if !is_root {
        return Ok(None);
    }
    let accounts = std::fs::read_to_string("/etc/passwd").context("/etc/passwd")?;
    ["postgres", "nobody"]
        .into_iter()
        .find_map(|name| entry(&accounts, name))
        .map(Some)
        .context("started as root, and neither the user postgres nor nobody exists to run the database")
}

/// A command as that user, in a process group of its own, so that Ctrl-C reaches only xtask, which then stops it in order.
pub(super) fn command(program: &Path, user: Option<&Unprivileged>) -> Command {
    let mut command = Command::new(program);
    command.process_group(0);
    if let Some(user) = user {
        command.uid(user.uid).gid(user.gid);
    }
    command
}

fn entry(accounts: &str, name: &str) -> Option<Unprivileged> {
    let line = accounts.lines().find(|line| line.split(':').next() == Some(name))?;
    let mut fields = line.split(':').skip(2).map(str::parse);
    Some(Unprivileged { uid: fields.next()?.ok()?, gid: fields.next()?.ok()? })
}

#[cfg(test)]
mod tests {
    use super::entry;

    #[test]
    fn an_account_is_found_by_its_whole_name() {
        let accounts =
            "root:x:0:0::/root:/bin/sh\npostgresql:x:1:1::/:\npostgres:x:106:114::/var/lib:/bin/sh\n";
        let user = entry(accounts, "postgres").unwrap();
        assert_eq!((user.uid, user.gid), (106, 114));
        assert!(entry(accounts, "nobody").is_none());
    }
}
