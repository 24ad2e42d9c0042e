//! Finds the cluster's processes on this machine.
//!
//! A process id alone proves nothing, because it may be in use by another process by now. Command lines identify the cluster and can be read by
//! everybody; working directories would too, but root in a container may not read those of another user.

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::{fs, path::Path, process::Command};

/// Whether `pid` is the server of the cluster in `data`. A zombie is not, because it has no command line any more.
pub(super) fn is_server(pid: i32, data: &Path) -> bool {
    words_of(pid).is_some_and(|words| runs_cluster(&words, data))
}

/// Whether any process of the cluster is left: the server itself, or a child that outlived it.
pub(super) fn any_left(data: &Path, cluster_name: &str) -> bool {
    let title = format!("postgres: {cluster_name}: ");
    all().iter().any(|words| words.join(" ").starts_with(&title) || runs_cluster(words, data))
}

/// Whether any process, even a zombie, has this id.
pub(super) fn pid_exists(pid: i32) -> bool {
    kill(Pid::from_raw(pid), None) != Err(Errno::ESRCH)
}

/// Sends a signal; it does not matter if the process has ended already.
pub(super) fn signal(pid: i32, signal: Signal) {
    let _ = kill(Pid::from_raw(pid), signal);
}

fn runs_cluster(words: &[String], data: &Path) -> bool {
    words.first().is_some_and(|program| Path::new(program).ends_with("postgres"))
        && words.iter().any(|word| Path::new(word) == data)
}

fn words_of(pid: i32) -> Option<Vec<String>> {
    if has_proc() {
        return words(&fs::read(format!("/proc/{pid}/cmdline")).ok()?);
    }
    listed(&["-o", "command=", "-p", &pid.to_string()]).into_iter().next()
}

fn all() -> Vec<Vec<String>> {
    if !has_proc() {
        return listed(&["-axo", "command="]);
    }
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.filter_map(|process| words(&fs::read(process.path().join("cmdline")).ok()?)).collect()
}

fn has_proc() -> bool {
    Path::new("/proc/self/cmdline").exists()
}

fn words(command_line: &[u8]) -> Option<Vec<String>> {
    let words: Vec<String> = command_line
        .split(|byte| *byte == 0)
        .filter(|word| !word.is_empty())
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect();
    (!words.is_empty()).then_some(words)
}

/// For systems without `/proc` (macOS).
fn listed(arguments: &[&str]) -> Vec<Vec<String>> {
    let output = Command::new("ps").args(arguments).output().map(|output| output.stdout).unwrap_or_default();
    let text = String::from_utf8_lossy(&output);
    text.lines().map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_postgres_with_this_data_directory_is_the_server() {
        let data = Path::new("/x/postgres/data");
        let line = |text: &str| words(text.replace(' ', "\0").as_bytes()).unwrap();
        assert!(runs_cluster(
            &line("/usr/lib/postgresql/15/bin/postgres -D /x/postgres/data -k /x/run"),
            data
        ));
        assert!(!runs_cluster(&line("/usr/lib/postgresql/15/bin/postgres -D /y/postgres/data"), data));
        assert!(!runs_cluster(&line("tail -f /x/postgres/data"), data));
    }

    #[test]
    fn this_process_is_not_a_server() {
        let pid = i32::try_from(std::process::id()).unwrap();
        assert!(pid_exists(pid));
        assert!(!is_server(pid, Path::new("/nowhere")));
        assert!(!any_left(Path::new("/nowhere"), "headgate-000000000000"));
    }
}
