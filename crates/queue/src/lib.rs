//! A job queue that needs Postgres and nothing else: the engine of Headgate, usable by any program.
//!
//! # A first job
//!
//! ```no_run
#![doc = include_str!("../examples/invoice.rs")]
//! ```
//!
//! Run it with `DATABASE_URL=postgres://… cargo run -p queue --example invoice`. It needs Postgres 15 or newer and a direct or session-pooled
//! connection. The tables live in the schema `headgate`, which the connection's user must own. `headgate serve --workers 0` on the same database
//! shows the jobs in a console.
//!
//! # The words
//!
//! - **Job** ([`Job`]): one unit of work. You write a type for its payload, which also names the kind of job, and a [`JobHandler`] that does jobs
//!   of that kind.
//! - **Client** ([`Client`]): enqueues jobs, in a transaction of yours or in one of its own. **Runner** ([`Runner`]): runs the workers of a process.
//! - **App**: the tenant that jobs belong to, such as one of your customers, or simply your program.
//! - **Lane** ([`LaneOptions`]): one line of an app's jobs, with a concurrency limit and a rate limit of its own. River and Oban call it a queue,
//!   Temporal a task queue; the API and the console show it as an *integration* of type `external`.
//! - **Program**: the processes that have the same handlers. Every lane belongs to one program, and a process claims jobs from the lanes of its own
//!   program only.
//! - **Attempt**: one try at a job. It is made under a **lease** of the worker process, which ends when the process stops renewing it.
//! - **Dead letter**: a job that will not be tried again by itself. It is kept until someone requeues or purges it.
//!
//! # Guarantees
//!
//! - **A job is enqueued if and only if your transaction commits**; see [`Client`].
//! - **It is done at least once.** If a process dies, others take over its jobs when its lease has run out (30 s with the default heartbeat), and
//!   nobody knows how far they got. Three such losses in a row make a dead letter (`worker_lost`), because a job that kills its process would kill
//!   the next one too.
//! - **It ends exactly once**, and so does what [`JobHandler::on_completed`] writes: it is part of the transaction that records the end, which is
//!   fenced by the lease. Results of a worker that lost its lease are dropped.
//! - **Order.** Within a lane urgent jobs start first (`priority`), then in the order they came; lanes take turns. Only jobs of one
//!   [`serialize_key`](Job::serialize_key) wait for each other to *end*: they run one at a time, and a job that waits for its retry holds back
//!   those behind it.
//! - **Deduplication.** At most one job of a type and [`deduplication_id`](Job::deduplication_id) waits in a lane, however many callers enqueue it
//!   at once. One that is enqueued while its predecessor runs is kept, and runs afterwards.
//! - **Nothing is lost while the database is away**: results are kept in memory and recorded when it is back; nothing is claimed meanwhile.
//! - **Deployments.** A shutdown lets running jobs finish and releases the rest. A worker that does not know a kind of job, because it is of the
//!   previous version, leaves it to one that does ([`worker::Unhandled`]). Old programs run on a newer schema.
//!
//! # When an attempt fails
//!
//! | what happens | what follows | `error_kind` |
//! | --- | --- | --- |
//! | `?` on any error, [`JobError::retryable`], a panic | retried after the wait of [`EngineConfig::backoff`] (0 s, 10 s, 30 s, 1 m … 30 m) or of the `retry_schedule` an operator gave the lane, and not before [`after`](JobError::after) | `retryable` |
//! | the same at the last attempt | dead letter | `retries_exceeded` |
//! | [`JobError::not_retryable`], a payload that cannot be read | dead letter at once | `not_retryable` |
//! | [`JobError::snooze`] | released; the attempt does not count | – |
//! | the attempt exceeds its time-out | stopped at its next `await`, retried | `timeout` |
//! | [`JobHandler::on_completed`] returns an error, or five times lets its transaction idle for more than 5 s | the attempt has failed, retried | `retryable` |
//! | the process dies | the job starts again elsewhere | `worker_lost` |
//! | the job still waits, for whatever reason, when `expires_at` has passed | cancelled within about two seconds | `expired` |
//! | the job is cancelled while it runs ([`Client::cancel`]) | stopped at its next `await`, `cancelled`; no other job of its deduplication id or serialize key starts before, and a failure is not retried | – |
//!
//! # Limits
//!
//! Payload and result: 1 MB of JSON each, 64 levels deep, no NUL characters. Job type, keys and ids: 1 to 255 characters. `priority`: -100 to 100.
//! `max_attempts`: 1 to 100. Time-out: 100 ms to 1 h. Any wait: at most 24 h. Input beyond a limit is refused with all its faults named
//! ([`QueueError::Invalid`]). Wake-ups are hints: a job whose wake-up is lost starts within `poll_interval` (1 s).
//!
//! Every function that asks the database can fail with [`QueueError::Unavailable`], [`QueueError::Timeout`] or [`QueueError::Database`]. The
//! `# Errors` sections name only what is particular to a function.
//!
//! # Several programs on one database
//!
//! All but one of them need a name ([`Runner::program`], [`Client::open_for`]); the default is `main`. Lanes of `headgate` itself, its deliveries, are
//! claimed by `headgate` alone. Two programs with the same name would claim each other's jobs and release them for 5 s. A process that starts
//! next to one of the same name with other kinds of jobs therefore logs a warning that names both sets, and the job's page says that no worker does
//! such jobs.
//!
//! # Tests
//!
//! `testing::TestKit` runs jobs without engine, sleep or mock: one, all that are due, or all to their last retry. It comes with the feature
//! `testing`; enable it in `[dev-dependencies]`, so that no program carries it:
//!
//! ```toml
//! [dependencies]
//! queue = { path = "…" }
//!
//! [dev-dependencies]
//! queue = { path = "…", features = ["testing"] }
//! ```
//!
//! # Lower layers
//!
//! [`Runner`] and [`JobHandler`] are built on [`worker::Engine`] and [`worker::AttemptHandler`], which Headgate's deliveries use directly;
//! [`maintenance`] has the background services of the leader. `store` has the SQL and is for the crates of this workspace. The crate knows nothing of
//! HTTP and routes, nor of what people look at: lists, statistics and live numbers are in the crate `insight`.
#![deny(missing_docs)]

mod client;
mod config;
pub mod error;
mod job;
pub mod maintenance;
pub mod migrate;
pub mod mutex;
pub mod pool;
mod runner;
// For the other crates of the workspace, not for programs.
#[doc(hidden)]
pub mod store;
#[cfg(feature = "testing")]
pub mod testing;
mod wake;
pub mod worker;

pub use client::{
    Client,
    bulk::{Bulk, BulkError},
    lane::LaneOptions,
    transaction::JobTransaction,
};
pub use config::EngineConfig;
pub use error::QueueError;
pub use job::{
    definition::Job,
    error::{JobError, OrJobError},
    handler::JobHandler,
    new_job::NewJob,
};
pub use migrate::MIGRATOR;
pub use runner::{Runner, Running};
pub use wake::{Waker, wake_all};
pub use worker::{LeaseLost, LeasedJob, Progress};
