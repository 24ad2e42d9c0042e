//! A job queue on Postgres, and nothing but Postgres: the engine of Headgate, usable by any program.
//!
//! # A job in thirty lines
//!
//! ```no_run
#![doc = include_str!("../examples/invoice.rs")]
//! ```
//!
//! Run it with `DATABASE_URL=postgres://… cargo run -p queue --example invoice`: Postgres 15 or newer, a direct or session-pooled connection. The
//! queue lives in the schema `headgate` and needs to own it. `headgate serve --workers 0` on the same database shows it all in a console.
//!
//! # The words
//!
//! - A [`Job`] is a type of yours: the payload, and the name of the kind of job it makes. A [`JobHandler`] does jobs of that kind.
//! - A [`Client`] enqueues, on its own or in a transaction of yours. A [`Runner`] starts the workers of a process.
//! - An *app* is whom jobs belong to: a customer of yours, or your program. A *lane* ([`LaneOptions`]) is one of its lines of jobs, with
//!   a concurrency and a rate limit of its own. (To API and console a lane is an *integration* of type `external`.)
//! - A *program* is a set of processes with the same handlers. Each lane is one program's, and a process claims from no other lanes: of two programs
//!   on one database at least one takes a name ([`Runner::program`], [`Client::open_for`]; without one it is `main`). `headgate`'s deliveries are
//!   nobody's but `headgate`'s. Two programs that go by one name take each other's jobs and give them back for 5 s: each process that starts
//!   beside one that does other kinds of jobs logs a warning with the names of both kinds, and the job's page says that nobody does it.
//! - Each try at a job is an *attempt*, made under a *lease*, which ends when its process stops renewing it. A job that will not be
//!   tried again by itself is a *dead letter*: kept until someone requeues or purges it.
//!
//! # What you can count on
//!
//! - **A job is enqueued if and only if your transaction commits** ([`Client`] says how).
//! - **It is done at least once.** A process that dies has its jobs taken over when its lease has run out (30 s with the default
//!   heartbeat), and nobody knows how far it was. Three such losses in a row make a dead letter (`worker_lost`), because a job that kills its
//!   process would kill the next.
//! - **It is ended exactly once**, and so is what [`JobHandler::on_completed`] writes: in the transaction that records the end, fenced by
//!   the lease. Whatever a worker without its lease still says is dropped.
//! - **Order.** Urgent jobs first (`priority`), then first in, first out, within a lane; lanes take turns. That is the order in which they
//!   *begin*: only jobs of one [`serialize_key`](Job::serialize_key) wait for each other, one at a time, also while the first waits for its
//!   retry.
//! - **Deduplication.** At most one job of a type and [`deduplication_id`](Job::deduplication_id) waits in a lane, however many enqueue
//!   it at once. One that comes while its twin runs follows it, and is never lost.
//! - **Nothing is lost while the database is away**: ends that cannot be written are kept and written later; new claims wait.
//! - **Deployments.** Shutdown lets running jobs finish and gives the rest back. A worker of your program that does not know a kind of job, being
//!   of the version before, leaves it to one that does ([`worker::Unhandled`]). Old programs run on a newer schema.
//!
//! # When it fails
//!
//! | what happens | what follows | `error_kind` |
//! | --- | --- | --- |
//! | `?` on any error, [`JobError::retryable`], a panic | tried again as [`EngineConfig::backoff`] says (0 s, 10 s, 30 s, 1 m … 30 m), or the `retry_schedule` an operator gave the lane, at [`after`](JobError::after) at the earliest | `retryable` |
//! | the same at the last attempt | a dead letter | `retries_exceeded` |
//! | [`JobError::not_retryable`], a payload that cannot be read | a dead letter at once | `not_retryable` |
//! | [`JobError::snooze`] | goes back, no attempt counted | – |
//! | the attempt takes longer than its time-out | stopped at its next `await`, tried again | `timeout` |
//! | [`JobHandler::on_completed`] answers an error, or five times does something else for more than 5 s than asking the database | the attempt failed, tried again | `retryable` |
//! | its process dies | begins elsewhere | `worker_lost` |
//! | it waits when its `expires_at` has passed, wherever that is | called off, within some two seconds | `expired` |
//! | it is called off while it runs ([`Client::cancel`]) | stopped at its next `await`, `cancelled`; nothing of its id or key begins before, and what it fails with is not tried again | – |
//!
//! # Limits
//!
//! Payload and result 1 MB of JSON each, 64 levels deep, without NUL characters; job type, keys and ids 1 to 255 characters; `priority` -100
//! to 100; `max_attempts` 1 to 100; a time-out of 100 ms to 1 h, a wait of at most 24 h. What does not fit is refused with every fault named
//! ([`QueueError::Invalid`]). Wake-ups are hints: a job begins within `poll_interval` (1 s) without one.
//!
//! # Tests
//!
//! `testing::TestKit` runs jobs by hand: one, everything, or everything to the last retry, without engine, sleep or mock. It comes with the feature
//! `testing`, which is off: turn it on for tests alone, and no program carries the kit.
//!
//! ```toml
//! [dependencies]
//! queue = { path = "…" }
//!
//! [dev-dependencies]
//! queue = { path = "…", features = ["testing"] }
//! ```
//!
//! # Beneath
//!
//! [`worker::Engine`] and [`worker::AttemptHandler`] are what [`Runner`] and [`JobHandler`] stand on, [`store`] is the SQL, [`maintenance`]
//! keeps order, [`live`] has the numbers. Deliveries are written against these. The crate knows no HTTP and no routes.
#![deny(missing_docs)]

mod client;
pub mod config;
pub mod error;
mod job;
pub mod live;
pub mod maintenance;
pub mod migrate;
pub mod one_transaction;
pub mod pool;
mod runner;
pub mod store;
#[cfg(feature = "testing")]
pub mod testing;
pub mod wake;
pub mod worker;

pub use client::{Bulk, BulkError, Client, JobTransaction, LaneOptions};
pub use config::EngineConfig;
pub use error::QueueError;
pub use job::{Job, JobError, JobHandler, NewJob, OrJobError};
pub use migrate::MIGRATOR;
pub use runner::{Runner, Running};
pub use wake::Waker;
pub use worker::{HeldJob, LeaseLost, Progress};
