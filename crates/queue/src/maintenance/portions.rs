//! Many rows, of which one may be poisonous.
//!
//! What moves many jobs in one statement fails as a whole when one of them cannot be moved: a value that no column takes any more, a trigger of
//! somebody's, a damaged page. That one must not keep the others for ever. So a portion that fails is halved until the one is found.

use crate::{
    error::{QueueError, is_race},
    store::{
        jobs::BEGIN,
        leader::{self, Term},
    },
};
use sqlx::{AssertSqlSafe, PgPool, Postgres, Transaction};

/// Rows that failed one by one in one go, from which on it is not the rows that are at fault.
const MOST_FAULTY: usize = 10;

/// What became of many rows.
#[derive(Debug)]
pub(super) struct Done<T, R> {
    /// What the portions answered that went well.
    pub(super) answers: Vec<R>,
    /// What could not be moved, and why.
    pub(super) faulty: Vec<(T, QueueError)>,
    /// What lost a race to somebody: the next time may do.
    pub(super) later: Vec<T>,
    /// Why it was broken off, if it was.
    pub(super) error: Option<QueueError>,
}

/// A transaction of the leader's, that waits for no stranger.
pub(super) async fn begin(pool: &PgPool, term: Term) -> Result<Transaction<'static, Postgres>, QueueError> {
    let begin = format!("{BEGIN}; set local lock_timeout = '1s'");
    let mut transaction = pool.begin_with(AssertSqlSafe(begin)).await?;
    leader::confirm(&mut transaction, term).await?;
    Ok(transaction)
}

/// Does something to rows, `most` at a time; each portion in a transaction of its own, which leaves nothing behind when it fails.
pub(super) async fn in_portions<T, R, F>(
    rows: &[T],
    most: usize,
    mut act: impl FnMut(Vec<T>) -> F,
) -> Done<T, R>
where
    T: Clone,
    F: Future<Output = Result<R, QueueError>>,
{
    let mut done = Done { answers: Vec::new(), faulty: Vec::new(), later: Vec::new(), error: None };
    let mut portions: Vec<&[T]> = rows.chunks(most.max(1)).rev().collect();
    while let Some(portion) = portions.pop() {
        match act(portion.to_vec()).await {
            Ok(answer) => done.answers.push(answer),
            Err(error @ (QueueError::Database(_) | QueueError::Timeout)) => match portion {
                [one] if matches!(&error, QueueError::Database(error) if is_race(error)) => {
                    done.later.push(one.clone());
                }
                [one] if done.faulty.len() < MOST_FAULTY => done.faulty.push((one.clone(), error)),
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
    async fn when_row_after_row_fails_it_is_not_the_rows() {
        let rows: Vec<u32> = (0..1_000).collect();
        let mut calls = 0;
        let done = go(&rows, |_| true, &mut calls).await;
        assert_eq!((done.faulty.len(), done.answers.len()), (MOST_FAULTY, 0));
        assert!(done.error.is_some() && calls < 50, "{calls} calls");
    }
}
