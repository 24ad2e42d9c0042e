//! Why jobs were left as they are: where they stand instead.

use crate::error::QueueError;
use model::{id::JobId, operation::SkipReason};
use sqlx::PgConnection;
use std::collections::BTreeMap;

/// Rows left as they were, by reason.
pub(super) type Reasons = BTreeMap<SkipReason, i64>;

/// Where each of these jobs stands, counted.
pub(super) async fn where_they_stand(
    connection: &mut PgConnection,
    ids: &[JobId],
) -> Result<Reasons, QueueError> {
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

/// The same of jobs that were requeued and are to go back: what waits for its first attempt still was changed, what stands elsewhere was
/// tried.
pub(super) fn of_undone_requeue(reasons: Reasons) -> Reasons {
    let mut told = Reasons::new();
    for (reason, count) in reasons {
        let reason = match reason {
            SkipReason::Pending => SkipReason::ChangedSince,
            SkipReason::Processing
            | SkipReason::ToBeRetried
            | SkipReason::Completed
            | SkipReason::DeadLetter => SkipReason::Attempted,
            other => other,
        };
        *told.entry(reason).or_default() += count;
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_became_of_a_requeued_job_in_the_queue_it_was_tried() {
        let stand = Reasons::from([
            (SkipReason::Processing, 1),
            (SkipReason::Completed, 2),
            (SkipReason::Pending, 3),
            (SkipReason::TakenOver, 4),
        ]);
        let told = of_undone_requeue(stand);
        let expected =
            [(SkipReason::Attempted, 3), (SkipReason::TakenOver, 4), (SkipReason::ChangedSince, 3)];
        assert_eq!(told, Reasons::from(expected));
    }
}
