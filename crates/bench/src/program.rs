//! `headgate serve` as its users start it: the release build, in a process of its own.

use anyhow::{Context, Result, bail};
use reqwest::{Client, ClientBuilder, RequestBuilder, Response, header};
use serde_json::Value;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::process::{Child, Command};

pub(crate) const EMAIL: &str = "bench@example.test";
pub(crate) const PASSWORD: &str = "a pass phrase for the bench alone";
const KEY: &str = "a-key-of-the-bench-alone-0123456789";

/// A running `headgate serve`; killed when dropped.
pub(crate) struct Program {
    child: Child,
    pub(crate) url: String,
    /// From the start of the process until it answered as ready.
    pub(crate) started_in: Duration,
}

impl Program {
    /// Starts it with this many workers; with none, jobs in the database stay as they are.
    pub(crate) async fn start(database: &str, workers: usize) -> Result<Self> {
        let binary = std::env::var_os("HEADGATE_BENCH_PROGRAM").map_or_else(
            || std::env::current_exe().map(|own| own.with_file_name("headgate")),
            |path| Ok(PathBuf::from(path)),
        )?;
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut command = Command::new(&binary);
        // It would refuse the unknown variables of the bench.
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("HEADGATE_"))
        {
            command.env_remove(name);
        }
        let begun = Instant::now();
        let child = command
            .args(["serve", "--workers", &workers.to_string()])
            .env("HEADGATE_DATABASE_URL", database)
            .env("HEADGATE_LISTEN", format!("127.0.0.1:{port}"))
            .env("HEADGATE_MASTER_KEY", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
            .env("HEADGATE_ADMIN_EMAIL", EMAIL)
            .env("HEADGATE_ADMIN_PASSWORD", PASSWORD)
            .env("HEADGATE_ADMIN_API_KEY", KEY)
            .env("HEADGATE_ALLOWED_TARGETS", "127.0.0.0/8")
            .env("HEADGATE_LOG", "warn")
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("{}: `make bench` builds it", binary.display()))?;
        let mut program = Self { child, url: format!("http://127.0.0.1:{port}"), started_in: Duration::ZERO };
        program.ready().await?;
        program.started_in = begun.elapsed();
        Ok(program)
    }

    async fn ready(&mut self) -> Result<()> {
        let deadline = Instant::now() + Duration::from_secs(120);
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait()? {
                bail!("headgate ended with {status}");
            }
            if reqwest::get(format!("{}/readyz", self.url))
                .await
                .is_ok_and(|answer| answer.status().is_success())
            {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        bail!("headgate was not ready after two minutes")
    }

    pub(crate) fn id(&self) -> Result<u32> {
        self.child.id().context("headgate has ended")
    }

    /// A client of the API with an operator's key.
    pub(crate) fn operator(&self) -> Result<Operator> {
        Ok(Operator { client: self.client()?.build()?, url: self.api() })
    }

    fn client(&self) -> Result<ClientBuilder> {
        let key = format!("Bearer {KEY}").parse()?;
        let headers = header::HeaderMap::from_iter([(header::AUTHORIZATION, key)]);
        Ok(Client::builder().default_headers(headers))
    }

    fn api(&self) -> String {
        format!("{}/api/v1", self.url)
    }

    pub(crate) async fn stop(mut self) -> Result<()> {
        // By SIGTERM: a killed process leaves its lease behind, and the next one would wait for that.
        let asked = std::process::Command::new("kill").arg(self.id()?.to_string()).status()?;
        anyhow::ensure!(asked.success(), "headgate could not be stopped");
        self.child.wait().await?;
        Ok(())
    }
}

/// Calls the API with an operator's key. Cheap to clone; every call must succeed.
#[derive(Clone)]
pub(crate) struct Operator {
    client: Client,
    url: String,
}

impl Operator {
    pub(crate) async fn post(&self, path: &str, body: String) -> Result<Value> {
        let call = self.client.post(format!("{}{path}", self.url));
        let answer =
            self.answer(path, call.header(header::CONTENT_TYPE, "application/json").body(body)).await?;
        Ok(serde_json::from_str(&answer)?)
    }

    pub(crate) async fn get(&self, path: &str) -> Result<String> {
        self.answer(path, self.client.get(format!("{}{path}", self.url))).await
    }

    async fn answer(&self, path: &str, call: RequestBuilder) -> Result<String> {
        let answer = call.send().await?;
        let status = answer.status();
        let text = answer.text().await?;
        anyhow::ensure!(status.is_success(), "{path} was answered with {status}: {text}");
        Ok(text)
    }
}

/// Server-sent events, read with an operator's key.
pub(crate) struct EventStream {
    response: Response,
    read: Vec<u8>,
}

impl EventStream {
    /// Opens a connection of its own, from the address `127.0.0.n`.
    pub(crate) async fn open(program: &Program, path: &str, n: u8) -> Result<Self> {
        let client =
            program.client()?.local_address(std::net::IpAddr::from(Ipv4Addr::new(127, 0, 0, n))).build()?;
        let response = client.get(format!("{}{path}", program.api())).send().await?;
        anyhow::ensure!(response.status().is_success(), "{path} was answered with {}", response.status());
        Ok(Self { response, read: Vec::new() })
    }

    /// The next event's text.
    pub(crate) async fn next(&mut self) -> Result<String> {
        loop {
            if let Some(end) = self.read.windows(2).position(|two| two == b"\n\n") {
                let event: Vec<u8> = self.read.drain(..end + 2).collect();
                // A comment is a keep-alive.
                if !event.starts_with(b":") {
                    return Ok(String::from_utf8(event)?);
                }
                continue;
            }
            let chunk = self.response.chunk().await?;
            self.read.extend_from_slice(&chunk.context("the stream ended")?);
        }
    }

    /// The next event's data.
    pub(crate) async fn next_data(&mut self) -> Result<Value> {
        let event = self.next().await?;
        let data =
            event.lines().find_map(|line| line.strip_prefix("data: ")).context("an event without data")?;
        Ok(serde_json::from_str(data)?)
    }
}
