//! Which jobs a round accepts and what their handlers do, all derived from the seed.

use super::World;
use model::id::{IntegrationId, JobId};
use model::rate_limit::RateLimit;
use queue::store::jobs::{self, JobSpec};
use rand::{Rng as _, rngs::StdRng};
use serde::{Deserialize, Serialize};

/// A job's payload: what its handler does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Act {
    /// Completes.
    Do,
    /// Asks for a slot of the integration's limit, then completes.
    Send,
    /// Fails this often, then completes.
    Stumble(i16),
    /// Fails for good.
    Refuse,
    /// Panics each time.
    Panic,
    /// Takes this many milliseconds.
    Take(u64),
    /// Blocks its thread forever.
    Block,
}

/// The lanes of a round.
pub(crate) struct Shape {
    plain: IntegrationId,
    capped: IntegrationId,
    limited: IntegrationId,
    keyed: IntegrationId,
    records: IntegrationId,
}

/// Concurrency of the capped lane.
const CAP: i32 = 3;
const LIMIT: RateLimit = RateLimit { requests: 40, per_seconds: 1 };

impl Shape {
    pub(crate) async fn new(world: &World) -> Self {
        Self {
            plain: world.lane_with(1_000, None).await,
            capped: world.lane_with(CAP, None).await,
            limited: world.lane_with(1_000, Some(LIMIT)).await,
            keyed: world.lane_with(1_000, None).await,
            records: world.lane_with(1_000, None).await,
        }
    }

    pub(crate) fn cap(&self) -> (IntegrationId, usize) {
        (self.capped, usize::try_from(CAP).unwrap())
    }

    pub(crate) fn limit(&self) -> (IntegrationId, usize, i64) {
        (self.limited, usize::try_from(LIMIT.requests).unwrap(), i64::from(LIMIT.per_seconds) * 1_000_000)
    }
}

/// Jobs of all shapes, in the order they are accepted.
pub(crate) struct Plan {
    specs: Vec<JobSpec>,
    /// How each job ends, in the same order; none: it depends on what it is folded into.
    fates: Vec<Option<&'static str>>,
    accepted: usize,
}

impl Plan {
    pub(crate) fn new(random: &mut StdRng, world: &World, shape: &Shape, count: usize) -> Self {
        let (specs, fates) = (0..count).map(|_| job(random, world, shape)).unzip();
        Self { specs, fates, accepted: 0 }
    }

    pub(crate) fn left(&self) -> usize {
        self.specs.len() - self.accepted
    }

    /// Accepts the next jobs in calls of up to 300, and records the ids that were answered.
    pub(crate) async fn accept(&mut self, random: &mut StdRng, world: &World, count: usize) {
        let end = (self.accepted + count).min(self.specs.len());
        while self.accepted < end {
            let size = random.random_range(1..=300).min(end - self.accepted);
            let range = self.accepted..self.accepted + size;
            loop {
                match self.try_accept(world, range.clone()).await {
                    Ok(()) => break,
                    Err(error) if error.is_unavailable() || error.lost_a_race() => {}
                    Err(error) => panic!("{error}: {:?}", std::error::Error::source(&error)),
                }
            }
            self.accepted = range.end;
        }
    }

    /// What operators do meanwhile: cancel some jobs, in whatever state, and requeue some dead letters.
    pub(crate) async fn interfere(&self, random: &mut StdRng, world: &World) {
        let ids: Vec<JobId> =
            sqlx::query_scalar("select distinct on (position) job_id from accepted order by position")
                .fetch_all(&world.pool)
                .await
                .unwrap();
        for _ in 0..25 {
            let id = ids[random.random_range(0..ids.len())];
            // A job that has ended by then, or that loses a race, is left as it is.
            if world.cancel(id).await.is_ok() {
                let end = sqlx::query("update accepted set fate = null where job_id = $1");
                end.bind(id).execute(&world.pool).await.unwrap();
            }
        }
        let dead: Vec<JobId> =
            sqlx::query_scalar("select job_id from headgate.dead_letter_jobs order by job_id limit 100")
                .fetch_all(&world.pool)
                .await
                .unwrap();
        for id in dead.into_iter().filter(|_| random.random_bool(0.3)) {
            let _ = world.requeue(id).await;
        }
    }

    async fn try_accept(
        &self,
        world: &World,
        range: std::ops::Range<usize>,
    ) -> Result<(), queue::QueueError> {
        let mut transaction = world.pool.begin().await?;
        let answered = jobs::enqueue(&mut transaction, &self.specs[range.clone()]).await?;
        let ids: Vec<JobId> = answered.iter().map(|job| job.id).collect();
        let fates: Vec<Option<&str>> = self.fates[range].to_vec();
        sqlx::query(
            "insert into accepted (job_id, fate)
             select job_id, fate from unnest($1::uuid[], $2::text[]) with ordinality g (job_id, fate, n) order by n",
        )
        .bind(&ids as &[JobId])
        .bind(&fates as &[Option<&str>])
        .execute(&mut *transaction)
        .await?;
        Ok(transaction.commit().await?)
    }
}

fn job(random: &mut StdRng, world: &World, shape: &Shape) -> (JobSpec, Option<&'static str>) {
    let percent = random.random_range(0..100);
    let lane = match percent {
        0..40 => shape.plain,
        40..50 => shape.capped,
        50..60 => shape.limited,
        60..80 => shape.keyed,
        _ => shape.records,
    };
    let mut spec = JobSpec { max_attempts: 3, ..world.spec(lane) };
    let (act, fate) = if lane == shape.limited {
        (Act::Send, "completed")
    } else {
        match random.random_range(0..100) {
            0..6 => (Act::Stumble(1), "completed"),
            6..10 => (Act::Stumble(2), "completed"),
            10..12 => (Act::Stumble(9), "retries_exceeded"),
            12..15 => (Act::Refuse, "not_retryable"),
            15..18 => (Act::Panic, "retries_exceeded"),
            18..50 => (Act::Take(random.random_range(1..15)), "completed"),
            _ => (Act::Do, "completed"),
        }
    };
    spec.payload = Some(serde_json::to_value(act).unwrap());
    let mut fate = Some(fate);
    if lane == shape.keyed {
        spec.serialize_key = Some(format!("key {}", random.random_range(0..25)));
    } else if lane == shape.records {
        let record = random.random_range(0..60).to_string();
        spec.deduplication_id = Some(format!("product/{record}"));
        spec.record = Some(("product".to_owned(), record));
        // Of several folded changes the last one's payload counts.
        fate = None;
    } else if lane == shape.plain {
        spec.priority = random.random_range(-100..=100);
        let now = chrono::Utc::now();
        match random.random_range(0..20) {
            0 => spec.run_at = Some(now + chrono::Duration::milliseconds(random.random_range(0..3_000))),
            1 => {
                spec.expires_at = Some(now - chrono::Duration::hours(1));
                fate = Some("expired");
            }
            2 => spec.expires_at = Some(now + chrono::Duration::minutes(50)),
            3 => spec.job_type = "metadata.update".to_owned(),
            _ => {}
        }
    }
    (spec, fate)
}
