//! Whether the handlers are to blame for a transaction that broke.

use crate::error::QueueError;
use std::{sync::OnceLock, time::Duration};
use tokio::time::Instant;

/// Why a batch was not recorded.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) error: QueueError,
    /// A handler let the transaction idle for too long.
    pub(crate) was_idle: bool,
}

/// How long the handlers' part of one transaction took. If a handler lets the transaction idle for too long, the database closes the connection, which
/// looks as if the database were away; or the handler never returns. In both cases the handler is to blame, and its attempt fails.
#[derive(Default)]
pub(super) struct CallbackTime {
    since: OnceLock<Instant>,
    took: OnceLock<Duration>,
}

impl CallbackTime {
    pub(super) async fn measure<T>(&self, calls: impl Future<Output = T>) -> T {
        let since = *self.since.get_or_init(Instant::now);
        let answer = calls.await;
        self.took.get_or_init(|| since.elapsed());
        answer
    }

    fn took(&self) -> Duration {
        let under_way = || self.since.get().map(Instant::elapsed).unwrap_or_default();
        self.took.get().copied().unwrap_or_else(under_way)
    }

    /// Blames the handlers for a broken transaction that they kept for this long or longer.
    pub(super) fn judge(&self, longest: Duration, error: QueueError) -> Failed {
        let is_broken_off = error.is_unavailable() && !error.lacks_partition();
        Failed { was_idle: is_broken_off && self.took() >= longest, error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_missing_answer_after_a_handler_took_too_long_is_its_fault() {
        let (uncalled, under_way, done) =
            (CallbackTime::default(), CallbackTime::default(), CallbackTime::default());
        let pending = under_way.measure(std::future::pending::<()>());
        assert!(futures::poll!(Box::pin(pending)).is_pending());
        done.measure(async {}).await;
        let too_long = done.took();
        for (callback_time, longest, was_idle) in [
            (&uncalled, Duration::from_nanos(1), false),
            (&under_way, Duration::ZERO, true),
            (&under_way, Duration::from_secs(3_600), false),
            (&done, too_long, true),
            (&done, too_long + Duration::from_nanos(1), false),
        ] {
            let failed = callback_time.judge(longest, sqlx::Error::PoolTimedOut.into());
            assert_eq!(failed.was_idle, was_idle, "{longest:?}");
        }
        let refused = QueueError::Database(sqlx::Error::RowNotFound);
        assert!(!done.judge(Duration::ZERO, refused).was_idle, "the database refused it");
    }
}
