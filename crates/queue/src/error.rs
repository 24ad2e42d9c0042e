//! Errors of the engine. Results that are no errors (folded, already done, nothing due) are outcomes in the return type of their function.

use model::{etag::Changed, job::JobStatus, operation::OperationState, problem::Faults};
use sqlx::migrate::MigrateError;
use std::{any::Any, io, sync::Arc, time::Duration};
use tokio::time::error::Elapsed;

/// What most functions of the engine return.
pub(crate) type Result<T, E = QueueError> = std::result::Result<T, E>;

/// Why the engine could not do what it was asked.
///
/// Not `non_exhaustive`: the API and the console match every variant, so that a new one stops the build instead of answering 500.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// It does not exist, or belongs to an app outside the caller's scope: callers cannot tell which.
    #[error("not found")]
    NotFound,
    /// The job's status does not allow it.
    #[error("a job that is {} cannot be {wanted}", .status.as_str())]
    WrongState {
        /// The job's current status.
        status: JobStatus,
        /// The requested change, as a past participle: `requeued`, `cancelled`.
        wanted: &'static str,
    },
    /// The bulk operation's state does not allow it.
    #[error("a bulk operation that is {} cannot be {wanted}", .state.as_str())]
    WrongOperationState {
        /// The bulk operation's current state.
        state: OperationState,
        /// The requested change, as a past participle: `paused`, `aborted`.
        wanted: &'static str,
    },
    /// The leader's term is over: another process leads by now, and nothing was recorded.
    #[error("another process leads by now: nothing was recorded")]
    TermOver,
    /// The input cannot be accepted.
    #[error("{0}")]
    Invalid(#[from] Faults),
    /// It was changed after the caller read it.
    #[error(transparent)]
    Changed(#[from] Changed),
    /// The statement exceeded its time-out: most often a search that needs a narrower filter.
    #[error("the database took too long")]
    Timeout,
    /// The database cannot be reached, or no connection came free in time. Shared, because one failure may answer several callers.
    #[error("the database cannot be reached")]
    Unavailable(#[source] Arc<sqlx::Error>),
    /// The connection goes through a transaction pooler, which can deliver answers to the wrong client.
    #[error(
        "the database is behind a transaction pooler, which mixes up answers: connect directly or through a session pooler"
    )]
    TransactionPooler,
    /// A migration failed.
    #[error("the migrations could not be applied{}", remedy(.0))]
    Migration(#[from] MigrateError),
    /// Anything else the database refused.
    #[error("the database refused a statement")]
    Database(#[source] sqlx::Error),
}

impl From<sqlx::Error> for QueueError {
    fn from(error: sqlx::Error) -> Self {
        if is_unavailable(&error) {
            Self::Unavailable(Arc::new(error))
        } else if code(&error).as_deref() == Some("57014") {
            Self::Timeout
        } else {
            Self::Database(error)
        }
    }
}

/// An answer did not come in time: the statement may or may not have been executed.
impl From<Elapsed> for QueueError {
    fn from(_: Elapsed) -> Self {
        let late = io::Error::new(io::ErrorKind::TimedOut, "no answer in time");
        Self::Unavailable(Arc::new(sqlx::Error::Io(late)))
    }
}

impl QueueError {
    /// Whether trying again later may help.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }

    /// Whether the database aborted the transaction in favour of another one (a deadlock or a serialization failure): nothing is stored, and a
    /// retry may succeed at once.
    #[must_use]
    pub fn lost_a_race(&self) -> bool {
        matches!(self, Self::Database(error) if code(error).is_some_and(|code| code == "40P01" || code == "40001"))
    }

    /// Whether another transaction kept a lock for longer than the lock time-out.
    #[must_use]
    pub fn is_lock_timeout(&self) -> bool {
        matches!(self, Self::Database(error) if code(error).as_deref() == Some("55P03"))
    }

    /// Whether the day's partition is missing, which the caller can create.
    pub(crate) fn lacks_partition(&self) -> bool {
        let Self::Unavailable(error) = self else { return false };
        matches!(&**error, sqlx::Error::Database(error) if is_missing_partition(error.as_ref()))
    }

    /// The error with its causes, which its own text does not contain, in one line for the log.
    #[must_use]
    pub fn with_causes(&self) -> String {
        model::text::sanitise(&model::text::causes(self), 500)
    }
}

/// What to do about a migration that failed, where its error does not say it.
fn remedy(error: &MigrateError) -> &'static str {
    match error {
        MigrateError::VersionMismatch(_) => {
            ", because another build of Headgate made the tables of this database: run that build, or use an empty database"
        }
        _ => "",
    }
}

/// The answer, unless it does not come in time.
pub(crate) async fn within<T>(limit: Duration, answer: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::time::timeout(limit, answer).await.unwrap_or_else(|late| Err(late.into()))
}

/// What a task or a handler that panicked said.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

/// The five characters of an SQLSTATE.
pub(crate) fn code(error: &sqlx::Error) -> Option<String> {
    error.as_database_error().and_then(|error| error.code()).map(|code| code.into_owned())
}

/// Whether the database is away, as opposed to refusing the statement: no connection, a broken one, a refused login, or a server that starts, stops
/// or is full.
pub(crate) fn is_unavailable(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed => true,
        sqlx::Error::Database(error) => {
            error.code().is_some_and(|code| {
                // 08: connection failure; 28: the login is refused, for example while a password is changed. Then: no such database; too many
                // connections; shut down, crashed, starting up, database dropped; session idle for too long outside or inside a transaction;
                // disk full; read only after a failover.
                code.starts_with("08")
                    || code.starts_with("28")
                    || matches!(
                        &*code,
                        "3D000"
                            | "53300"
                            | "57P01"
                            | "57P02"
                            | "57P03"
                            | "57P04"
                            | "57P05"
                            | "25P03"
                            | "53100"
                            | "25006"
                    )
            }) || is_missing_partition(error.as_ref())
        }
        _ => false,
    }
}

/// Nothing is wrong with the row: a retry succeeds once the day's partition has been created.
fn is_missing_partition(error: &dyn sqlx::error::DatabaseError) -> bool {
    error.code().as_deref() == Some("23514") && error.message().starts_with("no partition of relation")
}

/// Whether the statement lost a race and may simply be retried: a deadlock, a serialization failure, a unique row that appeared meanwhile, a lock
/// time-out.
pub fn is_race(error: &sqlx::Error) -> bool {
    code(error).is_some_and(|code| matches!(code.as_str(), "40P01" | "40001" | "23505" | "55P03"))
}
