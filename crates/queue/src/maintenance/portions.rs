//! Statements on many rows, any of which may be poisonous.
//!
//! A statement that moves many jobs fails as a whole when one of them cannot be moved: because of a value that a column no longer allows, somebody's
//! trigger, a damaged page. That one must not block the others for ever, so a portion that fails is halved until the row is found.

use crate::error::{QueueError, Result, is_race};
use crate::store::jobs::BEGIN;
use crate::store::leader::{self, Term};
use sqlx::{AssertSqlSafe, PgPool, Postgres, Transaction};

/// If more rows than this fail, the rows are not the cause.
const MAX_FAULTY: usize = 10;

/// The results of all portions.
#[derive(Debug)]
pub(super) struct Done<T, R> {
    /// The results of the portions that succeeded.
    pub(super) answers: Vec<R>,
    /// Rows that could not be moved, and why.
    pub(super) faulty: Vec<(T, QueueError)>,
    /// Rows that lost a race: the next run may succeed.
    pub(super) later: Vec<T>,
    /// Why the rest was not tried.
    pub(super) error: Option<QueueError>,
}

/// A transaction of the leader that does not wait long for the locks of others.
pub(super) async fn begin(pool: &PgPool, term: Term) -> Result<Transaction<'static, Postgres>> {
    let begin = format!("{BEGIN}; set local lock_timeout = '1s'");
    let mut transaction = pool.begin_with(AssertSqlSafe(begin)).await?;
    leader::confirm(&mut transaction, term).await?;
    Ok(transaction)
}

/// Calls `act` with up to `size` rows at a time. It uses a transaction of its own for each portion, so that a failed one leaves nothing behind.
pub(super) async fn in_portions<T, R, F>(
    rows: &[T],
    size: usize,
    mut act: impl FnMut(Vec<T>) -> F,
) -> Done<T, R>
where
    T: Clone,
    F: Future<Output = Result<R>>,
{
    let mut done = Done { answers: Vec::new(), faulty: Vec::new(), later: Vec::new(), error: None };
    let mut portions: Vec<&[T]> = rows.chunks(size.max(1)).rev().collect();
    while let Some(portion) = portions.pop() {
        match act(portion.to_vec()).await {
            Ok(answer) => done.answers.push(answer),
            Err(error @ (QueueError::Database(_) | QueueError::Timeout)) => match portion {
                [one] if matches!(&error, QueueError::Database(error) if is_race(error)) => {
                    done.later.push(one.clone());
                }
                [one] if done.faulty.len() < MAX_FAULTY => done.faulty.push((one.clone(), error)),
                [] | [_] => {
                    done.error = Some(error);
                    break;
                }
                several => {
                    let (first, second) = several.split_at(several.len() / 2);
                    portions.extend([second, first]);
                }
            },
            Err(error) => {
                done.error = Some(error);
                break;
            }
        }
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn go(rows: &[u32], is_poison: impl Fn(u32) -> bool, calls: &mut usize) -> Done<u32, Vec<u32>> {
        in_portions(rows, 100, |portion| {
            *calls += 1;
            let is_refused = portion.iter().any(|row| is_poison(*row));
            async move { if is_refused { Err(QueueError::Timeout) } else { Ok(portion) } }
        })
        .await
    }

    #[tokio::test]
    async fn one_poisonous_row_is_found_in_a_few_steps_and_the_others_are_moved() {
        let rows: Vec<u32> = (0..250).collect();
        let mut calls = 0;
        let done = go(&rows, |row| row == 137, &mut calls).await;
        assert_eq!(done.faulty.iter().map(|(row, _)| *row).collect::<Vec<_>>(), [137]);
        let moved: Vec<u32> = done.answers.into_iter().flatten().collect();
        assert_eq!(
            moved,
            rows.iter().copied().filter(|row| *row != 137).collect::<Vec<_>>(),
            "in their order"
        );
        assert!(calls <= 3 + 2 * 7, "{calls} calls");
        assert!(done.error.is_none());
    }

    #[tokio::test]
    async fn if_row_after_row_fails_the_rest_is_not_tried() {
        let rows: Vec<u32> = (0..1_000).collect();
        let mut calls = 0;
        let done = go(&rows, |_| true, &mut calls).await;
        assert_eq!((done.faulty.len(), done.answers.len()), (MAX_FAULTY, 0));
        assert!(done.error.is_some() && calls < 50, "{calls} calls");
    }
}
