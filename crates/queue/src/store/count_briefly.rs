//! Counting that a page waits for, where no counts are kept.

use crate::error::QueueError;
use sqlx::{FromRow, PgPool, Postgres, QueryBuilder, postgres::PgRow};

/// How long it may take.
const PATIENCE: &str = "begin read only; set local statement_timeout = '250ms'";

/// What a statement that counts finds; none when that takes longer than a page may wait.
///
/// # Errors
/// When the database is away.
pub(crate) async fn count_briefly<T>(
    pool: &PgPool,
    mut statement: QueryBuilder<Postgres>,
) -> Result<Option<Vec<T>>, QueueError>
where
    T: for<'row> FromRow<'row, PgRow> + Send + Unpin,
{
    let mut transaction = pool.begin_with(PATIENCE).await?;
    let found = statement.build_query_as::<T>().fetch_all(&mut *transaction).await;
    transaction.rollback().await?;
    match found.map_err(QueueError::from) {
        Ok(found) => Ok(Some(found)),
        Err(QueueError::Timeout) => Ok(None),
        Err(error) => Err(error),
    }
}
