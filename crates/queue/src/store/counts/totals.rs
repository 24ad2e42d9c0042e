//! Numbers of jobs by state, from counters: no page and no metric ever counts jobs.

use crate::error::Result;
use model::id::IntegrationId;
use sqlx::PgPool;

/// Numbers of jobs of one integration (or several together) by state. They include every committed change: deltas that are
/// not folded yet are added in the same statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaneCounts {
    /// Pending jobs.
    pub backlog: i64,
    pub processing: i64,
    /// Jobs waiting for another attempt, due or not.
    pub to_be_retried: i64,
    pub dead_letters: i64,
    /// Jobs to be retried by attempts made, beginning with those after one attempt. Without trailing zeros.
    pub retry_pyramid: Vec<i64>,
}

impl LaneCounts {
    /// Jobs that are still to be done.
    #[must_use]
    pub fn outstanding(&self) -> i64 {
        self.backlog + self.processing + self.to_be_retried
    }

    pub fn add(&mut self, status: i16, attempt: i16, n: i64) {
        match status {
            0 => self.backlog += n,
            1 => self.processing += n,
            2 => {
                self.to_be_retried += n;
                // A job released before its first attempt was counted is shown with those after one attempt.
                let step = usize::try_from(attempt.max(1) - 1).unwrap_or(0);
                if self.retry_pyramid.len() <= step {
                    self.retry_pyramid.resize(step + 1, 0);
                }
                if let Some(count) = self.retry_pyramid.get_mut(step) {
                    *count += n;
                }
            }
            _ => self.dead_letters += n,
        }
        while self.retry_pyramid.last() == Some(&0) {
            self.retry_pyramid.pop();
        }
    }

    pub fn merge(&mut self, other: &Self) {
        self.backlog += other.backlog;
        self.processing += other.processing;
        self.to_be_retried += other.to_be_retried;
        self.dead_letters += other.dead_letters;
        if self.retry_pyramid.len() < other.retry_pyramid.len() {
            self.retry_pyramid.resize(other.retry_pyramid.len(), 0);
        }
        for (sum, n) in self.retry_pyramid.iter_mut().zip(&other.retry_pyramid) {
            *sum += n;
        }
    }
}

/// The counts of one integration; zeros for an unknown one.
pub async fn counts(pool: &PgPool, integration_id: IntegrationId) -> Result<LaneCounts> {
    let rows = sqlx::query!(
        r#"
        select status as "status!", attempt as "attempt!", sum(n)::bigint as "n!"
        from (
            select status, attempt, n from headgate.job_counts where integration_id = $1
            union all
            select status, attempt, n from headgate.job_count_deltas where integration_id = $1
        ) counted
        group by status, attempt
        having sum(n) <> 0
        "#,
        integration_id as IntegrationId,
    )
    .fetch_all(pool)
    .await?;
    let mut counts = LaneCounts::default();
    for row in rows {
        counts.add(row.status, row.attempt, row.n);
    }
    Ok(counts)
}

/// The counts of every integration that has any, by id.
pub async fn all_counts(pool: &PgPool) -> Result<std::collections::HashMap<IntegrationId, LaneCounts>> {
    let rows = sqlx::query!(
        r#"
        select integration_id as "integration_id!: IntegrationId", status as "status!", attempt as "attempt!", sum(n)::bigint as "n!"
        from (
            select integration_id, status, attempt, n from headgate.job_counts
            union all
            select integration_id, status, attempt, n from headgate.job_count_deltas
        ) counted
        group by integration_id, status, attempt
        having sum(n) <> 0
        "#,
    )
    .fetch_all(pool)
    .await?;
    let mut all = std::collections::HashMap::<IntegrationId, LaneCounts>::new();
    for row in rows {
        all.entry(row.integration_id).or_default().add(row.status, row.attempt, row.n);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pyramid_counts_by_attempts_made_and_has_no_trailing_zeros() {
        let mut counts = LaneCounts::default();
        for (status, attempt, n) in
            [(0, 0, 5), (1, 1, 2), (2, 1, 7), (2, 3, 1), (2, 9, 4), (2, 9, -4), (5, 10, 3)]
        {
            counts.add(status, attempt, n);
        }
        assert_eq!(counts.retry_pyramid, [7, 0, 1]);
        assert_eq!(
            (counts.backlog, counts.processing, counts.to_be_retried, counts.dead_letters),
            (5, 2, 8, 3)
        );
        assert_eq!(counts.outstanding(), 15);

        let mut sum = LaneCounts::default();
        sum.merge(&counts);
        sum.merge(&LaneCounts { retry_pyramid: vec![1, 1, 1, 1], to_be_retried: 4, ..LaneCounts::default() });
        assert_eq!(sum.retry_pyramid, [8, 1, 2, 1]);
    }
}
