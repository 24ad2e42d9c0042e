//! One attempt, read from top to bottom: read, decide, draft, slot, send, judge, tell. An item of a bundle leaves slot and sending to its
//! group ([`bundle`]).

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use model::{
    id::{AppId, IntegrationId, JobId},
    integration::{IntegrationState, IntegrationType},
    record::Attributes,
    rules::verdict::Verdict,
};
use queue::worker::{
    AT_ONCE, AttemptHandler, CompletedJob, EndedJob, HeldJob, How, Outcome, Slot, Unhandled,
};
use reqwest::Method;
use serde_json::Value;
use sqlx::PgConnection;
use tokio::time::{Instant, sleep, timeout};

use super::{
    Draft, Seal,
    bundle::{self, Address, Item, Place},
    doubt::{self, MayHaveArrived},
    gone,
    outcome::{Judged, judge_result, told_attributes},
    reading::READ_TIMEOUT,
    receipt::{self, Receipt},
    rest,
    stop::{Stop, unusable},
    telling::{self, Telling},
    webhook::{self, Subject, Told},
};
use crate::{
    Delivery,
    http::{exchange::millis, target_guard},
    integrations::{open_credentials, open_signing_secrets},
    store::material::{self, Material},
};

/// What was read longer ago is read again before it leaves: a job may wait for its slot while its record, or its integration, changes.
const FRESH_FOR: Duration = Duration::from_millis(100);
/// The wait when it did not; within the margin a job has beyond its own time.
const READ_AGAIN: Duration = Duration::from_millis(100);

/// Does the jobs of integrations.
pub(crate) struct DeliveryHandler {
    delivery: Delivery,
    /// For jobs in the lanes of programs that do them themselves.
    others: Unhandled,
}

/// What of a job decides its request.
pub(super) struct Asked<'a> {
    pub(super) job_id: JobId,
    pub(super) job_type: &'a str,
    pub(super) app_id: AppId,
    pub(super) integration_id: IntegrationId,
    pub(super) record: Option<(&'a str, &'a str)>,
    pub(super) payload: Option<&'a Value>,
    pub(super) is_full: bool,
}

impl<'a> Asked<'a> {
    fn by(job: &'a HeldJob) -> Self {
        Self {
            job_id: job.id,
            job_type: &job.job_type,
            app_id: job.app_id,
            integration_id: job.integration_id,
            record: job.record.as_ref().map(|(kind, id)| (kind.as_str(), id.as_str())),
            payload: job.payload.as_ref(),
            is_full: job.is_full,
        }
    }
}

/// A request and what it tells of which record.
pub(super) struct Prepared {
    pub(super) draft: Draft,
    telling: Option<Telling>,
    receipt: Option<Receipt>,
    /// Whether the draft's body is an item of a bundle.
    pub(super) is_item: bool,
}

#[async_trait]
impl AttemptHandler for DeliveryHandler {
    async fn run(&self, job: &HeldJob) -> Outcome {
        self.attempt(job).await.unwrap_or_else(Stop::into_outcome)
    }

    async fn on_completed(&self, conn: &mut PgConnection, done: &[CompletedJob]) -> Result<(), sqlx::Error> {
        receipt::write(conn, done).await
    }

    fn may_enqueue(&self) -> bool {
        false
    }

    async fn on_ended(&self, conn: &mut PgConnection, ended: &[EndedJob]) -> Result<(), sqlx::Error> {
        doubt::write(conn, ended).await
    }
}

impl DeliveryHandler {
    pub(crate) fn new(delivery: Delivery) -> Self {
        Self { delivery, others: Unhandled::default() }
    }

    async fn attempt(&self, job: &HeldJob) -> Result<Outcome, Stop> {
        let begun = Instant::now();
        // Before anything is known, so that those it was claimed with wait for it, should it turn out to be an item of a bundle.
        let place = Place::take(job);
        let mut material = self.read(job).await?;
        if material.settings.integration_type == IntegrationType::External {
            // The engine claims none of external workers' jobs: a program with handlers of its own does this one.
            return Ok(self.others.run(job).await);
        }
        let Some(mut prepared) = prepare(&Asked::by(job), &material)? else {
            return Ok(unchanged(&material));
        };
        let preparing = begun.elapsed();
        let judged = if prepared.is_item {
            // What the others take does not count against this job's time; the request itself has a time-out of its own.
            let item = item(job, &material, &prepared);
            job.retry_with_peers();
            let handed_in_at = Instant::now();
            let mut judged = job.off_the_clock(place.hand_in(&self.delivery, item)).await?;
            if let Some(exchange) = &mut judged.exchange {
                exchange.timing.waited(millis(preparing), millis(handed_in_at.elapsed()));
            }
            judged
        } else {
            drop(place);
            let asked_at = Instant::now();
            if let Slot::Later(until) = job.slot().await {
                return Err(Stop::Later(until));
            }
            let (limited, mut preparing) = (asked_at.elapsed(), preparing);
            if limited > FRESH_FOR {
                let begun = Instant::now();
                material = self.read(job).await?;
                let again = prepare(&Asked::by(job), &material)?;
                // The slot goes unused: it changed back meanwhile.
                let Some(again) = again else { return Ok(unchanged(&material)) };
                prepared = again;
                preparing += begun.elapsed();
            }
            self.send(job, &material, &prepared, (preparing, limited)).await?
        };
        if judged.is_echo {
            job.echo();
        }
        // Accepted, the doubt stays until that is recorded; refused, there is none.
        if judged.verdict != Verdict::Completed && !judged.may_have_arrived {
            job.settle();
        }
        Ok(self.conclude(job, prepared, judged).await)
    }

    async fn send(
        &self,
        job: &HeldJob,
        material: &Material,
        prepared: &Prepared,
        (preparing, limited): (Duration, Duration),
    ) -> Result<Judged, Stop> {
        let (key, settings) = (&self.delivery.key, &material.settings);
        let secrets = open_signing_secrets(key, job.integration_id, &settings.secrets, material.time.now())
            .map_err(unusable)?;
        let credentials = open_credentials(key, job.integration_id, &settings.secrets).map_err(unusable)?;
        let request = Seal {
            webhook_id: &job.id.to_string(),
            correlation_id: &job.correlation_id,
            trace: job.trace,
            headers: &settings.headers,
            credentials: &credentials,
            secrets: &secrets,
            timestamp: material.time.now().timestamp(),
        }
        .apply(prepared.draft.clone());

        if let Some(telling) = &prepared.telling {
            let told = told_attributes(telling, prepared.draft.method == Method::PUT);
            job.doubt(Box::new(MayHaveArrived(told)));
        }
        let within = job.timeout.saturating_sub(preparing).max(Duration::from_millis(50));
        let outgoing = request.outgoing(1);
        let mut sent = self.delivery.client.send_measured(request, within).await;
        sent.result = sent.result.map_err(|failure| failure.with_timeout(job.timeout));
        (sent.timing.prepare_ms, sent.timing.limit_ms) = (millis(preparing), millis(limited));
        // Where nothing left, there is no doubt.
        judge_result(outgoing, sent, prepared.telling.as_ref(), material.time.now())
            .inspect_err(|_| job.settle())
    }

    async fn read(&self, job: &HeldJob) -> Result<Material, Stop> {
        let asked = material::Asked {
            integration_id: job.integration_id,
            job_id: job.id,
            record: job.record.clone(),
        };
        // Within the attempt's own time, so that waiting for a connection never looks like an external system that does not answer.
        let read = timeout(job.timeout.min(READ_TIMEOUT), self.delivery.reading.read(asked)).await;
        let material = match read.unwrap_or_else(|_| Err(Arc::new(sqlx::Error::PoolTimedOut.into()))) {
            Ok(material) => material,
            Err(error) => {
                tracing::warn!(job.id = %job.id, %error, "job {} could not be read", job.id);
                if !error.is_unavailable() {
                    return Err(Stop::Retry(
                        "could not be prepared: the database refused to say what is to be sent".to_owned(),
                    ));
                }
                // Nothing was sent, and it is nobody's fault: no attempt is counted. The place is held for a moment, so that a database
                // that has too much to do is not asked again at once.
                sleep(READ_AGAIN).await;
                return Err(Stop::Later(AT_ONCE));
            }
        };
        let material = material.ok_or_else(|| Stop::give_up("the integration was deleted"))?;
        if material.state != IntegrationState::Active || material.is_resync_paused {
            // Paused between the claim and now: the job waits with it.
            return Err(Stop::Later(material.time.now()));
        }
        Ok(material)
    }

    /// A 429 is the engine's: it holds the whole integration, here and in the other processes.
    async fn conclude(&self, job: &HeldJob, prepared: Prepared, judged: Judged) -> Outcome {
        if judged.verdict == Verdict::Completed {
            let receipt = prepared.receipt.map(|receipt| Box::new(receipt) as _);
            return Outcome::Completed { how: How::Sent, response: judged.response, result: None, receipt };
        }
        if judged.verdict == (Verdict::GiveUp { pauses_integration: true }) {
            gone::pause(&self.delivery, job.integration_id).await;
        }
        let item = prepared.draft.body;
        let body = if prepared.is_item { bundle::body([item.as_slice()]) } else { item };
        Outcome::Failed { error: judged.into_failure(&body) }
    }
}

/// The request of a job; none when there is nothing to tell.
pub(super) fn prepare(job: &Asked<'_>, material: &Material) -> Result<Option<Prepared>, Stop> {
    let endpoint = material.settings.endpoint_url.clone();
    let endpoint = endpoint.ok_or_else(|| Stop::give_up("the integration has no address to send to"))?;
    let subject = Subject {
        job_id: job.job_id,
        job_type: job.job_type,
        app_id: job.app_id,
        integration_id: job.integration_id,
        now: material.time.now(),
    };
    let Some((record_type, record_id)) = job.record else {
        if material.settings.integration_type != IntegrationType::Webhook {
            let message = "a job that is not about a record can be sent by webhook only";
            return Err(Stop::give_up(message));
        }
        let body = webhook::payload_body(subject, job.payload);
        let draft = Draft::json(Method::POST, endpoint, &body);
        return Ok(Some(Prepared { draft, telling: None, receipt: None, is_item: false }));
    };

    let sent = material.sent.as_ref();
    let telling = telling::decide(material.record.as_ref(), sent, material.unsure.as_ref(), job.is_full);
    if telling == Telling::Nothing {
        return Ok(None);
    }
    let none = Attributes::new();
    let told = Told {
        record_type,
        record_id,
        version: material.record.as_ref().map(|r| r.version).or(sent.map(|s| s.version)).unwrap_or(0),
        attributes: material.record.as_ref().map_or(&none, |record| &record.attributes),
    };
    let draft = match material.settings.integration_type {
        // Of a bundle: one item of it.
        IntegrationType::Webhook | IntegrationType::Bundle => {
            Draft::json(Method::POST, endpoint, &webhook::record_body(subject, told, &telling))
        }
        IntegrationType::Rest => {
            let url = target_guard::parse(&endpoint).map_err(|refused| Stop::GiveUp(refused.to_string()))?;
            rest::draft(&url, told, &telling, sent.map(|sent| &sent.attributes))
                .map_err(|error| Stop::GiveUp(error.to_string()))?
        }
        IntegrationType::External => {
            return Err(Stop::give_up("nothing is sent to an external integration"));
        }
    };
    let receipt = match &telling {
        Telling::Deletion { .. } => Receipt::Deleted,
        _ => Receipt::Accepted { version: told.version, attributes: told.attributes.clone() },
    };
    let is_item = material.settings.integration_type == IntegrationType::Bundle;
    Ok(Some(Prepared { draft, telling: Some(telling), receipt: Some(receipt), is_item }))
}

/// What a job hands in to its group.
fn item(job: &HeldJob, material: &Material, prepared: &Prepared) -> Item {
    let address = Address {
        integration_id: job.integration_id,
        time: material.time,
        url: prepared.draft.url.clone(),
        headers: material.settings.headers.clone(),
        secrets: material.settings.secrets.clone(),
    };
    Item {
        job_id: job.id,
        correlation_id: job.correlation_id.clone(),
        trace: job.trace,
        timeout: job.timeout,
        body: prepared.draft.body.clone(),
        told: prepared.telling.as_ref().and_then(|telling| told_attributes(telling, false)),
        address: Arc::new(address),
        right: job.send_right(),
    }
}

fn unchanged(material: &Material) -> Outcome {
    let receipt = material
        .record
        .as_ref()
        .zip(material.sent.as_ref())
        .filter(|(record, sent)| sent.version < record.version)
        .map(|(record, _)| Box::new(Receipt::HadAlready { version: record.version }) as _);
    Outcome::Completed { how: How::Unchanged, response: None, result: None, receipt }
}
