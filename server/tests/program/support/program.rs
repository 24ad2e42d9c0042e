//! The built `headgate` as a child process, with an environment of its own.

use super::{Api, Database};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// Accepted by every program that [`Program::serve`] starts.
pub(crate) const ADMIN_KEY: &str = "an-operators-key-for-tests-0123456789";
const TIMEOUT: Duration = Duration::from_secs(90);

/// `headgate` without our environment.
pub(crate) fn headgate(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headgate"));
    command.args(arguments);
    with_own_environment(command)
}

fn with_own_environment(mut command: Command) -> Command {
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).kill_on_drop(true);
    command.current_dir(std::env::temp_dir());
    command
}

/// The result of a command that ends by itself.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs a command to its end with an input.
pub(crate) async fn run(arguments: &[&str], environment: &[(&str, &str)], input: &str) -> Output {
    let mut file = tempfile();
    file.1.write_all(input.as_bytes()).unwrap();
    let input = std::fs::File::open(&file.0).unwrap();
    let output = headgate(arguments)
        .envs(environment.iter().copied())
        .stdin(input)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output();
    let output = timeout(TIMEOUT, output).await.expect("the command ends").unwrap();
    std::fs::remove_file(file.0).unwrap();
    Output {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn tempfile() -> (PathBuf, std::fs::File) {
    let path = std::env::temp_dir().join(format!("headgate-test-{}", uuid::Uuid::now_v7()));
    let file = std::fs::File::create(&path).unwrap();
    (path, file)
}

/// A running `headgate serve`.
pub(crate) struct Program {
    child: Child,
    /// `http://127.0.0.1:PORT` with the mount prefix.
    pub(crate) url: String,
    /// The sign-in link on the next line, if there was one.
    pub(crate) sign_in: Option<String>,
    log: Arc<Mutex<String>>,
}

impl Program {
    /// `headgate serve` on a database and any port, with an admin key and this environment.
    pub(crate) async fn serve(database: &Database, environment: &[(&str, &str)]) -> Self {
        Self::start(&["serve"], &serving(database, environment)).await
    }

    /// The same with a limit of open files.
    pub(crate) async fn serve_with_files(
        database: &Database,
        files: u32,
        environment: &[(&str, &str)],
    ) -> Self {
        let mut shell = Command::new("sh");
        let limited = format!("ulimit -n {files} && exec \"$0\" serve");
        shell.args(["-c", &limited, env!("CARGO_BIN_EXE_headgate")]);
        Self::wait(with_own_environment(shell), &serving(database, environment)).await
    }

    /// Starts a command that prints its URL when it is ready, and waits for that.
    pub(crate) async fn start(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        Self::wait(headgate(arguments), environment).await
    }

    async fn wait(mut command: Command, environment: &[(&str, &str)]) -> Self {
        let mut child = command
            .env("HEADGATE_LISTEN", "127.0.0.1:0")
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = Arc::new(Mutex::new(String::new()));
        keep(child.stderr.take().unwrap(), Arc::clone(&log));
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut url = None;
        let ready = timeout(TIMEOUT, async {
            while let Some(line) = lines.next_line().await.unwrap() {
                if let Some(address) = line.strip_prefix("Headgate is ready: ") {
                    url = Some(address.to_owned());
                    break;
                }
            }
        });
        let waited = ready.await;
        let Some(url) = url.filter(|_| waited.is_ok()) else {
            panic!("headgate did not become ready:\n{}", log.lock().unwrap());
        };
        // With an operator from the environment there is no second line.
        let has_link = !environment.iter().any(|(name, _)| *name == "HEADGATE_ADMIN_EMAIL");
        let sign_in = if has_link {
            let line = timeout(TIMEOUT, lines.next_line()).await.expect("a second line").unwrap();
            line.and_then(|line| Some(line.strip_prefix("Sign in: ")?.to_owned()))
        } else {
            None
        };
        // Keeps the pipe open, so that writing to it does not fail.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Self { child, url, sign_in, log }
    }

    pub(crate) fn api(&self) -> Api {
        Api::new(&self.url, ADMIN_KEY)
    }

    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id().expect("it runs")
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.id().cast_signed()), signal).unwrap();
    }

    /// Sends SIGTERM and returns the exit code.
    pub(crate) async fn stop(mut self) -> Option<i32> {
        self.signal(Signal::SIGTERM);
        self.ended().await
    }

    /// Waits for the end and returns the exit code, `None` if a signal ended it.
    pub(crate) async fn ended(&mut self) -> Option<i32> {
        let status = timeout(TIMEOUT, self.child.wait()).await;
        status
            .unwrap_or_else(|_| panic!("headgate did not end:\n{}", self.log.lock().unwrap()))
            .unwrap()
            .code()
    }
}

/// The environment that `serve` needs, and more.
fn serving<'a>(database: &'a Database, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let own = [
        ("HEADGATE_DATABASE_URL", database.url()),
        ("HEADGATE_MASTER_KEY", "q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA="),
        ("HEADGATE_ADMIN_API_KEY", ADMIN_KEY),
        ("HEADGATE_ALLOWED_TARGETS", "127.0.0.0/8"),
    ];
    own.into_iter().chain(more.iter().copied()).collect()
}

fn keep(stream: impl AsyncRead + Unpin + Send + 'static, log: Arc<Mutex<String>>) {
    tokio::spawn(async move {
        let mut lines = BufReader::new(stream).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let mut log = log.lock().unwrap();
            log.push_str(&line);
            log.push('\n');
        }
    });
}
