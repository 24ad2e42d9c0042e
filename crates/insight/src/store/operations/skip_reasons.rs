//! Why an operation left jobs as they are: because of the state they are in.

use model::{id::JobId, operation::SkipReason};
use queue::error::QueueError;
use sqlx::PgConnection;
use std::collections::BTreeMap;

/// Numbers of skipped rows by reason.
pub(super) type Reasons = BTreeMap<SkipReason, i64>;

/// The reasons for these jobs.
pub(super) async fn of(connection: &mut PgConnection, ids: &[JobId]) -> Result<Reasons, QueueError> {
    if ids.is_empty() {
        return Ok(Reasons::new());
    }
    let rows = sqlx::query!(
        r#"
        select place as "place!", count(*) as "count!"
        from (
            select case
                when j.status = 0 then 'pending'
                when j.status = 1 then 'processing'
                when j.status = 2 then 'to_be_retried'
                when d.job_id is not null then 'dead_letter'
                when f.outcome like 'coalesced into %' then 'taken_over'
                when f.status = 3 then 'completed'
                when f.status = 4 then 'cancelled'
                when exists (select 1 from headgate.jobs s where (s.successor ->> 'id')::uuid = g.id) then 'pending'
                else 'gone'
            end as place
            from unnest($1::uuid[]) as g (id)
            left join headgate.jobs j on j.id = g.id
            left join headgate.dead_letter_jobs d on d.job_id = g.id
            left join lateral (
                select f.status, f.outcome from headgate.finished_jobs f where f.id = g.id order by f.finished_at desc limit 1
            ) f on true
        ) found
        group by place
        "#,
        ids as &[JobId]
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| (reason(&row.place), row.count)).collect())
}

fn reason(place: &str) -> SkipReason {
    match place {
        "pending" => SkipReason::Pending,
        "processing" => SkipReason::Processing,
        "to_be_retried" => SkipReason::ToBeRetried,
        "dead_letter" => SkipReason::DeadLetter,
        "taken_over" => SkipReason::TakenOver,
        "completed" => SkipReason::Completed,
        "cancelled" => SkipReason::Cancelled,
        _ => SkipReason::Gone,
    }
}

/// The reasons for requeued jobs that an undo skipped: those that still wait for their first attempt were changed since, the others were
/// attempted.
pub(super) fn for_undone_requeue(reasons: Reasons) -> Reasons {
    let mut renamed = Reasons::new();
    for (reason, count) in reasons {
        let reason = match reason {
            SkipReason::Pending => SkipReason::ChangedSince,
            SkipReason::Processing
            | SkipReason::ToBeRetried
            | SkipReason::Completed
            | SkipReason::DeadLetter => SkipReason::Attempted,
            other => other,
        };
        *renamed.entry(reason).or_default() += count;
    }
    renamed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_requeued_job_that_is_no_longer_pending_was_attempted() {
        let current = Reasons::from([
            (SkipReason::Processing, 1),
            (SkipReason::Completed, 2),
            (SkipReason::Pending, 3),
            (SkipReason::TakenOver, 4),
        ]);
        let expected =
            [(SkipReason::Attempted, 3), (SkipReason::TakenOver, 4), (SkipReason::ChangedSince, 3)];
        assert_eq!(for_undone_requeue(current), Reasons::from(expected));
    }
}
