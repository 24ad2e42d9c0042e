//! A Postgres server for one test, which stops it with SIGQUIT.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Stops the server and removes its directory once the test process has ended, however it ended: its end closes the pipe on stdin.
const GUARD: &str = r#"
trap '' INT TERM HUP
cat >/dev/null
pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null) && kill -QUIT "$pid" 2>/dev/null
tries=0
while [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null && [ $tries -lt 100 ]; do sleep 0.05; tries=$((tries + 1)); done
rm -rf -- "$1"
"#;

/// A cluster whose commits survive a crash of the server.
pub(crate) struct Cluster {
    dir: PathBuf,
    binaries: PathBuf,
    user: Option<(u32, u32)>,
    server: Option<Child>,
    guard: Child,
}

impl Cluster {
    pub(crate) fn start() -> Self {
        let binaries = binaries();
        let user = unprivileged();
        // Not TMPDIR: the path of a socket may have at most 107 bytes.
        let dir = PathBuf::from(format!("/tmp/headgate-faults-{}", std::process::id()));
        fs::create_dir(&dir).unwrap();
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).unwrap();
        if let Some((uid, gid)) = user {
            chown(&dir, Some(uid), Some(gid)).unwrap();
        }
        let guard = Command::new("sh")
            .args(["-c", GUARD, "headgate-guard"])
            .arg(&dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        let mut cluster = Self { dir, binaries, user, server: None, guard };
        let initialised = cluster
            .command("initdb")
            .args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "-D"])
            .arg(cluster.dir.join("data"))
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert!(initialised.success(), "initdb: {initialised}");
        cluster.start_server();
        cluster
    }

    /// Connects as a superuser.
    pub(crate) fn url(&self) -> String {
        format!("postgres:///postgres?host={}&user=postgres", self.dir.display())
    }

    /// `pg_ctl stop -m immediate`: every backend ends at once, without a checkpoint.
    pub(crate) fn stop_immediately(&mut self) {
        let mut server = self.server.take().unwrap();
        let pid = nix::unistd::Pid::from_raw(server.id().cast_signed());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGQUIT).unwrap();
        server.wait().unwrap();
    }

    /// Starts it (again) and waits until it answers.
    pub(crate) fn start_server(&mut self) {
        let log = fs::OpenOptions::new().create(true).append(true).open(self.dir.join("log")).unwrap();
        let data = self.dir.join("data");
        let mut command = self.command("postgres");
        command.arg("-D").arg(&data).arg("-k").arg(&self.dir).stdout(Stdio::null()).stderr(log);
        // Written data survives a crash of the server, though not of the machine.
        for setting in ["listen_addresses=", "fsync=off", "synchronous_commit=on", "max_connections=100"] {
            command.args(["-c", setting]);
        }
        self.server = Some(command.spawn().unwrap());
        let started_at = Instant::now();
        let is_ready = || {
            let file = fs::read_to_string(data.join("postmaster.pid")).unwrap_or_default();
            file.lines().nth(7).is_some_and(|line| line.trim() == "ready")
        };
        while !is_ready() {
            let log = || fs::read_to_string(self.dir.join("log")).unwrap_or_default();
            assert!(started_at.elapsed() < Duration::from_secs(60), "Postgres does not start: {}", log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.binaries.join(program));
        command.current_dir(&self.dir).env_clear().env("LC_ALL", "C").stdin(Stdio::null()).process_group(0);
        if let Some((uid, gid)) = self.user {
            command.uid(uid).gid(gid);
        }
        command
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        if let Some(server) = &mut self.server {
            let _ = server.wait();
        }
        let _ = self.guard.wait();
    }
}

/// Of the newest version installed.
fn binaries() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let installed = versions.map(|version| version.path().join("bin"));
    let on_path: Vec<PathBuf> =
        std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect();
    let has_all = |folder: &PathBuf| folder.join("postgres").is_file() && folder.join("initdb").is_file();
    installed
        .filter(has_all)
        .max()
        .or_else(|| on_path.into_iter().find(has_all))
        .expect("a PostgreSQL server")
}

/// Postgres refuses to run as root.
fn unprivileged() -> Option<(u32, u32)> {
    if fs::metadata(Path::new("/proc/self")).unwrap().uid() != 0 {
        return None;
    }
    let user =
        ["postgres", "nobody"].into_iter().find_map(|name| nix::unistd::User::from_name(name).ok().flatten());
    let user = user.expect("a user for the database");
    Some((user.uid.as_raw(), user.gid.as_raw()))
}
