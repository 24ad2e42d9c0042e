//! `headgate import records`: reads a catalog into an app, as `record.replaced` events, which are accepted as by the API.
//!
//! Running it again sends nothing for records that did not change; `--skip` continues where an earlier run ended, without importing records
//! twice. Records that are refused are listed by line on standard error, and the exit code is 3. A signal stops the import after the current
//! transaction; the position is printed, and the exit code is 130.

use crate::commands::flags::{DatabaseConcerns, Flags};
use crate::commands::print_error;
use crate::config::{DatabaseSettings, TelemetrySettings, max_attempts};
use crate::import::{Format, RecordSource, Reject, Row};
use crate::program::{app, block_on, delivery_without_key, with_pool};
use crate::{shutdown, telemetry};
use anyhow::{Context as _, anyhow};
use clap::{Args, Subcommand};
use delivery::{Delivery, DeliveryConfig, DeliveryError};
use model::actor::Scope;
use model::event::{Accepted, Event};
use model::id::AppId;
use sqlx::PgPool;
use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Exit code when some records were left out.
const SOME_REJECTED: u8 = 3;
/// Exit code when a signal came before the end of the file.
const STOPPED: u8 = 130;
/// After a signal the current transaction has this long to end.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);
/// Records of one transaction.
const BATCH: usize = 500;
/// A batch ends early when its records are large, because a request may have 16 MB.
const BATCH_BYTES: usize = 8 << 20;
/// Rejected records that are listed; the rest is only counted.
const MAX_LISTED_REJECTS: u64 = 1_000;

#[derive(Debug, Subcommand)]
pub enum Import {
    /// Records of one type into one app
    Records(Records),
}

#[derive(Debug, Args)]
pub struct Records {
    /// Slug or id of an existing app
    #[arg(long)]
    app: String,
    /// Type of the records, 1 to 255 characters
    #[arg(long)]
    record_type: String,
    /// jsonl, csv or deb822 [default: by the extension of the file]
    #[arg(long)]
    format: Option<Format>,
    /// Field with the id, or several separated by commas [default: id; Package for deb822]
    #[arg(long)]
    id_field: Option<String>,
    /// Skip the first N records, which an earlier run has imported
    #[arg(long, value_name = "N", default_value_t = 0)]
    skip: u64,
    /// The file; - or nothing: standard input
    file: Option<PathBuf>,
    #[command(flatten)]
    settings: Flags<DatabaseConcerns>,
}

/// # Errors
/// A bad setting, an app that does not exist, or a file that cannot be read.
pub fn run(what: Import, config: Option<&PathBuf>) -> anyhow::Result<ExitCode> {
    let Import::Records(records) = what;
    let Records { app, record_type, format, id_field, skip, file, settings } = records;
    let sources = settings.sources(config)?;
    telemetry::start(&TelemetrySettings::read(&sources)?);
    let database = DatabaseSettings::read(&sources)?;
    let delivery = DeliveryConfig { max_attempts: max_attempts(&sources)?, ..DeliveryConfig::default() };
    let file = file.filter(|path| path != Path::new("-"));
    let format = format.or_else(|| file.as_deref().and_then(Format::of));
    let format =
        format.context("--format is needed: jsonl, csv or deb822 (the file's name does not tell)")?;
    if !model::key::is_record_key(&record_type) {
        return Err(anyhow!("--record-type {}", model::key::RECORD_KEY));
    }
    let id_field = id_field.unwrap_or_else(|| format.usual_id_field().to_owned());
    // The file is opened first, so that a wrong name is reported before a database is started.
    let reader = open(file.as_deref())?;
    let source = async |app_id| RecordSource::new(reader, format, app_id, &record_type, &id_field);
    let work = async |pool: &PgPool| import(pool, delivery, &app, skip, source).await;
    block_on(with_pool(&database, "headgate import", 3, work))
}

fn open(file: Option<&Path>) -> anyhow::Result<Box<dyn BufRead + Send>> {
    let Some(path) = file else { return Ok(Box::new(BufReader::with_capacity(1 << 16, io::stdin()))) };
    let opened = File::open(path).with_context(|| path.display().to_string())?;
    Ok(Box::new(BufReader::with_capacity(1 << 16, opened)))
}

async fn import(
    pool: &PgPool,
    config: DeliveryConfig,
    app_name: &str,
    skip: u64,
    source: impl AsyncFnOnce(AppId) -> RecordSource,
) -> anyhow::Result<ExitCode> {
    queue::migrate::run(pool).await?;
    queue::store::partitions::make_ahead(pool).await?;
    let delivery = delivery_without_key(pool, config)?;
    let app_id = app(&delivery, app_name).await?.id;
    let mut progress = Progress::new(skip);
    let stop = CancellationToken::new();
    shutdown::watch_silently(stop.clone(), STOP_TIMEOUT)?;
    let result = import_all(&delivery, app_id, source(app_id).await, &mut progress, &stop).await;
    progress.finish();
    let go_on = || format!("stopped; continue with --skip {}", progress.position);
    if result.map_err(|error| error.context(go_on()))? == End::Stopped {
        print_error(&go_on());
        return Ok(ExitCode::from(STOPPED));
    }
    Ok(if progress.rejected > 0 { ExitCode::from(SOME_REJECTED) } else { ExitCode::SUCCESS })
}

/// Rows in the order of the file, including rejected ones.
struct Batch {
    rows: Vec<Row>,
}

#[derive(PartialEq, Eq)]
enum End {
    Reached,
    /// By a signal.
    Stopped,
}

async fn import_all(
    delivery: &Delivery,
    app_id: AppId,
    source: RecordSource,
    progress: &mut Progress,
    stop: &CancellationToken,
) -> anyhow::Result<End> {
    let (sender, mut batches) = mpsc::channel(2);
    let skip = progress.skip;
    // Reading may block (a pipe), so a thread of its own reads, two batches ahead.
    thread::Builder::new().name("import-reader".into()).spawn(move || read(source, skip, &sender))?;
    loop {
        let batch = tokio::select! {
            biased;
            () = stop.cancelled() => return Ok(End::Stopped),
            batch = batches.recv() => batch,
        };
        let Some(batch) = batch else { return Ok(End::Reached) };
        let batch: Batch = batch.context("the file cannot be read further")?;
        let count = batch.rows.len();
        let mut events = Vec::with_capacity(count);
        let mut lines = Vec::with_capacity(count);
        for row in batch.rows {
            match row {
                Ok((line, event)) => {
                    lines.push(line);
                    events.push(event);
                }
                Err(reject) => progress.reject(&reject),
            }
        }
        let accepted = accept(delivery, app_id, events, &lines, progress).await?;
        progress.add(count, &accepted);
    }
}

/// The parser has checked each record. If accepting a batch is refused nevertheless, its events are accepted one by one to find the bad ones.
async fn accept(
    delivery: &Delivery,
    app_id: AppId,
    events: Vec<Event>,
    lines: &[u64],
    progress: &mut Progress,
) -> Result<Accepted, DeliveryError> {
    if events.is_empty() {
        return Ok(Accepted::default());
    }
    match delivery.accept_events(Scope::App(app_id), events.clone()).await {
        Err(DeliveryError::Invalid(_) | DeliveryError::TooLarge(_)) => {}
        answer => return answer,
    }
    let mut sum = Accepted::default();
    for (event, line) in events.into_iter().zip(lines) {
        match delivery.accept_event(Scope::App(app_id), event).await {
            Ok(one) => add(&mut sum, &one),
            Err(DeliveryError::Invalid(faults) | DeliveryError::TooLarge(faults)) => {
                progress.reject(&Reject::new(*line, faults.to_string()));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(sum)
}

fn read(source: RecordSource, skip: u64, sender: &mpsc::Sender<io::Result<Batch>>) {
    let mut rows = Vec::with_capacity(BATCH);
    let mut bytes = 0;
    for row in source.skip(usize::try_from(skip).unwrap_or(usize::MAX)) {
        match row {
            Err(error) => {
                let _ =
                    sender.blocking_send(Ok(Batch { rows })).and_then(|()| sender.blocking_send(Err(error)));
                return;
            }
            Ok(row) => {
                bytes += row.as_ref().map_or(0, |(_, event)| size(event));
                rows.push(row);
            }
        }
        if rows.len() == BATCH || bytes > BATCH_BYTES {
            let batch = Batch { rows: std::mem::replace(&mut rows, Vec::with_capacity(BATCH)) };
            bytes = 0;
            if sender.blocking_send(Ok(batch)).is_err() {
                return;
            }
        }
    }
    // If the receiver is gone, it has reported why.
    let _ = sender.blocking_send(Ok(Batch { rows }));
}

fn size(event: &Event) -> usize {
    serde_json::to_vec(&event.attributes).map_or(0, |json| json.len())
}

fn add(sum: &mut Accepted, part: &Accepted) {
    sum.accepted += part.accepted;
    sum.records_changed += part.records_changed;
    sum.jobs_created += part.jobs_created;
    sum.jobs_coalesced += part.jobs_coalesced;
    sum.unchanged += part.unchanged;
}

/// Progress, printed to standard error during the import and at the end.
struct Progress {
    skip: u64,
    /// Records of the file that are done, including skipped ones.
    position: u64,
    rejected: u64,
    sum: Accepted,
    started: Instant,
    printed_at: Instant,
    is_terminal: bool,
}

impl Progress {
    fn new(skip: u64) -> Self {
        let now = Instant::now();
        let is_terminal = io::stderr().is_terminal();
        Self {
            skip,
            position: skip,
            rejected: 0,
            sum: Accepted::default(),
            started: now,
            printed_at: now,
            is_terminal,
        }
    }

    fn reject(&mut self, reject: &Reject) {
        self.rejected += 1;
        if self.rejected <= MAX_LISTED_REJECTS {
            self.clear_line();
            print_error(&format!("line {}: {}", reject.line, model::text::sanitise(&reject.reason, 300)));
        } else if self.rejected == MAX_LISTED_REJECTS + 1 {
            print_error("more records are left out; they are only counted");
        }
    }

    fn add(&mut self, records: usize, accepted: &Accepted) {
        self.position += records as u64;
        add(&mut self.sum, accepted);
        let pause = if self.is_terminal { Duration::from_millis(250) } else { Duration::from_secs(5) };
        if self.printed_at.elapsed() >= pause {
            self.printed_at = Instant::now();
            let end = if self.is_terminal { "" } else { "\n" };
            self.clear_line();
            let _ = write!(io::stderr(), "{}{end}", self.line());
        }
    }

    fn finish(&self) {
        self.clear_line();
        let _ = writeln!(io::stderr(), "{}", self.line());
    }

    fn clear_line(&self) {
        if self.is_terminal {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }

    fn line(&self) -> String {
        let read = self.position - self.skip;
        let seconds = self.started.elapsed().as_secs_f64();
        // Events of an import have neither an id nor a time, so none is repeated or stale.
        let Accepted {
            accepted,
            records_changed,
            jobs_created,
            jobs_coalesced,
            unchanged,
            repeated: _,
            stale: _,
        } = self.sum;
        format!(
            "{read} records read in {seconds:.1} s ({:.0}/s): {accepted} accepted, {records_changed} changed, {unchanged} unchanged, \
             {} left out; {jobs_created} jobs created, {jobs_coalesced} coalesced",
            read as f64 / seconds.max(0.001),
            self.rejected,
        )
    }
}
