//! Builders and handlers for the breaker tests.

use crate::support::{Script, World, config, failed, ok, service};
use model::actor::Scope;
use model::breaker::{BreakerAction, BreakerFlip, BreakerOrder, BreakerState};
use model::id::{IntegrationId, WorkerId};
use model::page::PageRequest;
use model::rules::verdict::{ErrorKind, Verdict};
use queue::store::breakers;
use queue::store::jobs::{Failure, JobSpec, Response};
use queue::store::leader::{self, Term};
use queue::worker::{Completion, LeasedJob, Outcome};
use queue::{EngineConfig, QueueError};
use sqlx::PgPool;
use std::{sync::Arc, time::Duration};

/// An engine that opens a breaker after five failures in a row.
pub(super) fn opens_after_five() -> EngineConfig {
    EngineConfig { breaker_failures: 5, ..config() }
}

/// A job with attempts without end, whose type says how they end: see [`as_asked`].
pub(super) fn asks(world: &World, lane: IntegrationId, what: &str) -> JobSpec {
    JobSpec { job_type: what.into(), max_attempts: 10_000, ..world.spec(lane) }
}

pub(super) fn fails() -> Outcome {
    failed(Verdict::Retry { kind: ErrorKind::Retryable, at_least: None, quiets_integration: false })
}

/// The outcome that a job's type asks for.
pub(super) fn as_asked(job: &LeasedJob) -> Outcome {
    let answered = |status, verdict| Outcome::Failed {
        error: Failure {
            verdict,
            message: format!("answered {status}"),
            response: Some(Response { status, excerpt: String::new(), duration: Duration::ZERO }),
            sent_body: None,
            exchange: None,
        },
    };
    match job.job_type.as_str() {
        "fails" => fails(),
        "fails once" if job.attempt == 1 => fails(),
        "is an echo" => {
            job.echo();
            fails()
        }
        "is limited" => answered(
            429,
            Verdict::Retry {
                kind: ErrorKind::Retryable,
                at_least: Some(Duration::ZERO),
                quiets_integration: true,
            },
        ),
        "is refused" => answered(400, Verdict::GiveUp { pauses_integration: false }),
        "is not sent" => failed(Verdict::GiveUp { pauses_integration: false }).without_response(),
        "is unchanged" => {
            Outcome::Completed { how: Completion::Unchanged, response: None, result: None, receipt: None }
        }
        _ => ok(),
    }
}

trait WithoutResponse {
    fn without_response(self) -> Self;
}

impl WithoutResponse for Outcome {
    fn without_response(self) -> Self {
        match self {
            Self::Failed { error } => Self::Failed { error: Failure { response: None, ..error } },
            other => other,
        }
    }
}

pub(super) fn script() -> Arc<Script> {
    Script::new(|job: &LeasedJob| {
        let outcome = as_asked(job);
        Box::pin(async move { outcome })
    })
}

pub(super) async fn lead(pool: &PgPool) -> Term {
    let mut connection = pool.acquire().await.unwrap();
    let hour = Duration::from_secs(3600);
    leader::acquire(&mut connection, WorkerId::generate(), hour).await.unwrap().expect("nobody leads")
}

/// Ends the wait of every open breaker and runs the leader's service.
pub(super) async fn time_passes(pool: &PgPool, term: Term) {
    sqlx::query("update headgate.breakers set probe_at = clock_timestamp() where probe_at is not null")
        .execute(pool)
        .await
        .unwrap();
    service("breakers").run_once(pool, term).await.unwrap();
}

pub(super) async fn steer(
    pool: &PgPool,
    lane: IntegrationId,
    action: BreakerAction,
    hold: Option<chrono::TimeDelta>,
) -> Result<bool, QueueError> {
    let until = hold.map(|hold| chrono::Utc::now() + hold);
    let mut transaction = pool.begin().await.unwrap();
    let changed = breakers::steer(&mut transaction, lane, BreakerOrder { action, until }, "Ada").await?;
    transaction.commit().await.unwrap();
    Ok(changed)
}

/// Oldest first.
pub(super) async fn flips(pool: &PgPool, lane: IntegrationId) -> Vec<BreakerFlip> {
    let page = breakers::flips(pool, Scope::AllApps, lane, PageRequest::default()).await.unwrap();
    page.items.into_iter().rev().collect()
}

/// The states that the breaker went through.
pub(super) async fn states(pool: &PgPool, lane: IntegrationId) -> Vec<BreakerState> {
    flips(pool, lane).await.into_iter().map(|flip| flip.to_state).collect()
}

pub(super) async fn cap(pool: &PgPool, lane: IntegrationId) -> Option<i32> {
    sqlx::query_scalar("select breaker_cap from headgate.lanes where integration_id = $1")
        .bind(lane)
        .fetch_one(pool)
        .await
        .unwrap()
}
