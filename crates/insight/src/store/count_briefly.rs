//! Counts that a page waits for, where no counters are kept.

use queue::error::QueueError;
use sqlx::{FromRow, PgPool, Postgres, QueryBuilder, postgres::PgRow};

const BEGIN_WITH_TIMEOUT: &str = "begin read only; set local statement_timeout = '250ms'";

/// The rows of a counting statement; none when it takes longer than 250 ms.
pub(crate) async fn count_briefly<T>(
    pool: &PgPool,
    mut statement: QueryBuilder<Postgres>,
) -> Result<Option<Vec<T>>, QueueError>
where
    T: for<'row> FromRow<'row, PgRow> + Send + Unpin,
{
    let mut transaction = pool.begin_with(BEGIN_WITH_TIMEOUT).await?;
    let found = statement.build_query_as::<T>().fetch_all(&mut *transaction).await;
    transaction.rollback().await?;
    match found.map_err(QueueError::from) {
        Ok(found) => Ok(Some(found)),
        Err(QueueError::Timeout) => Ok(None),
        Err(error) => Err(error),
    }
}
