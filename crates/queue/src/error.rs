//! What can go wrong between a caller and the engine. What is no error (folded, already done, nothing due) is an outcome of
//! the function that says so.

use model::{etag::Changed, job::JobStatus, operation::OperationState, problem::Faults};

/// Why the engine could not do what it was asked.
///
/// Not `non_exhaustive`: the API and the console match every variant, so that a new one stops the build instead of answering 500.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// No such thing, or it belongs to an app outside the caller's scope: nobody learns which.
    #[error("not found")]
    NotFound,
    /// The job's status does not allow it.
    #[error("a job that is {} cannot be {wanted}", .status.as_str())]
    WrongState {
        /// Where it stands.
        status: JobStatus,
        /// What was asked for, as a past participle: `requeued`, `cancelled`.
        wanted: &'static str,
    },
    /// The bulk action's state does not allow it.
    #[error("a bulk action that is {} cannot be {wanted}", .state.as_str())]
    WrongOperationState {
        /// Where it stands.
        state: OperationState,
        /// What was asked for, as a past participle: `paused`, `aborted`.
        wanted: &'static str,
    },
    /// The assignment was taken away: nothing was recorded.
    #[error("the lease was lost")]
    LeaseLost,
    /// The input cannot be accepted.
    #[error("{0}")]
    Invalid(#[from] Faults),
    /// It was changed since it was read, and the change was to be made of what was read.
    #[error(transparent)]
    Changed(#[from] Changed),
    /// The statement took longer than it may: a search that needs a narrower filter.
    #[error("the database took too long")]
    Timeout,
    /// The database cannot be reached, or no connection came free in time.
    #[error("the database cannot be reached")]
    Unavailable(#[source] sqlx::Error),
    /// The connection goes through a transaction pooler, behind which answers reach the wrong client (RELIABILITY 0.2).
    #[error(
        "the database is behind a transaction pooler, which mixes up answers: connect directly or through a session pooler"
    )]
    TransactionPooler,
    /// The schema could not be brought up to date.
    #[error("the migrations could not be applied")]
    Migration(#[from] sqlx::migrate::MigrateError),
    /// Anything else the database refused.
    #[error("the database refused a statement")]
    Database(#[source] sqlx::Error),
}

impl From<sqlx::Error> for QueueError {
    fn from(error: sqlx::Error) -> Self {
        if is_unavailable(&error) {
            Self::Unavailable(error)
        } else if code(&error).as_deref() == Some("57014") {
            Self::Timeout
        } else {
            Self::Database(error)
        }
    }
}

impl QueueError {
    /// Whether trying again later may help.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }

    /// Whether the database broke a transaction off in favour of another one, which it waited for or came too late for: nothing is stored,
    /// and the same again may succeed at once.
    #[must_use]
    pub fn lost_a_race(&self) -> bool {
        matches!(self, Self::Database(error) if code(error).is_some_and(|code| code == "40P01" || code == "40001"))
    }

    /// Whether somebody else held for too long what was asked for.
    #[must_use]
    pub fn waited_for_a_lock(&self) -> bool {
        matches!(self, Self::Database(error) if code(error).as_deref() == Some("55P03"))
    }

    /// Whether it is unavailable for want of the day's partition, which we can make.
    pub(crate) fn wants_partition(&self) -> bool {
        matches!(self, Self::Unavailable(sqlx::Error::Database(error)) if is_missing_partition(error.as_ref()))
    }

    /// An answer that did not come in time: whatever was asked may or may not have been done.
    pub(crate) fn no_answer() -> Self {
        Self::Unavailable(sqlx::Error::PoolTimedOut)
    }
}

/// The five characters of an SQLSTATE.
pub(crate) fn code(error: &sqlx::Error) -> Option<String> {
    error.as_database_error().and_then(|error| error.code()).map(|code| code.into_owned())
}

/// Whether the database is away rather than unwilling: no connection, a broken one, or a server that starts, stops or is full.
pub(crate) fn is_unavailable(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed => true,
        sqlx::Error::Database(error) => {
            error.code().is_some_and(|code| {
                // Connection failure; too many connections; shut down, crashed, starting up; a session that was idle for too long, outside
                // a transaction or inside; disk full; read only after a failover.
                code.starts_with("08")
                    || matches!(
                        &*code,
                        "53300" | "57P01" | "57P02" | "57P03" | "57P05" | "25P03" | "53100" | "25006"
                    )
            }) || is_missing_partition(error.as_ref())
        }
        _ => false,
    }
}

/// Whether the day's partition is not there: nothing is wrong with the row, and trying again helps once the partition is made.
fn is_missing_partition(error: &dyn sqlx::error::DatabaseError) -> bool {
    error.code().as_deref() == Some("23514") && error.message().starts_with("no partition of relation")
}

/// Whether the statement lost a race against another one and may simply be tried again: a deadlock, a serialisation failure, a
/// unique row that appeared meanwhile, a lock that did not come free.
pub(crate) fn is_race(error: &sqlx::Error) -> bool {
    code(error).is_some_and(|code| matches!(code.as_str(), "40P01" | "40001" | "23505" | "55P03"))
}
