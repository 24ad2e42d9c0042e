//! One attempt, from top to bottom: read, decide, draft, wait for a slot, send, judge, report. An item of a bundle leaves slot and sending to
//! its group ([`bundle`]).

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use model::attributes::Attributes;
use model::id::{AppId, IntegrationId, JobId};
use model::integration::{IntegrationState, IntegrationType};
use model::rules::verdict::Verdict;
use queue::worker::{
    AT_ONCE, AttemptHandler, CompletedJob, Completion, EndedJob, LeasedJob, Outcome, Slot, Unhandled,
};
use reqwest::Method;
use serde_json::Value;
use sqlx::PgConnection;
use tokio::time::{Instant, sleep, timeout};

use super::bundle::{self, Address, Item, Member};
use super::material_reader::READ_TIMEOUT;
use super::outcome::{Judged, judge_result, planned_attributes};
use super::receipt::{self, Receipt};
use super::send_plan::{self, SendPlan};
use super::stop::{Stop, unusable};
use super::uncertain::{self, MayHaveArrived};
use super::webhook::{self, RecordContent, Subject};
use super::{Draft, RequestSigner, gone, rest};
use crate::Delivery;
use crate::http::exchange::millis;
use crate::http::target_guard;
use crate::integrations::{open_credentials, open_signing_secrets};
use crate::store::material::{self, Material};

/// Older material is read again before it is sent: the record or the integration may change while a job waits for its slot.
const MAX_MATERIAL_AGE: Duration = Duration::from_millis(100);
/// The wait after a read that failed; within the margin a job has beyond its own time.
const READ_RETRY_WAIT: Duration = Duration::from_millis(100);

/// Runs the jobs of integrations.
pub(crate) struct DeliveryHandler {
    delivery: Delivery,
    /// For jobs in the lanes of programs that run them themselves.
    others: Unhandled,
}

/// What decides a job's request.
pub(super) struct JobInput<'a> {
    pub(super) job_id: JobId,
    pub(super) job_type: &'a str,
    pub(super) app_id: AppId,
    pub(super) integration_id: IntegrationId,
    pub(super) record: Option<(&'a str, &'a str)>,
    pub(super) payload: Option<&'a Value>,
    pub(super) is_full: bool,
}

impl<'a> JobInput<'a> {
    fn of(job: &'a LeasedJob) -> Self {
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

pub(super) struct Prepared {
    pub(super) draft: Draft,
    plan: Option<SendPlan>,
    receipt: Option<Receipt>,
    /// Whether the draft's body is an item of a bundle.
    pub(super) is_item: bool,
}

#[async_trait]
impl AttemptHandler for DeliveryHandler {
    async fn run(&self, job: &LeasedJob) -> Outcome {
        self.attempt(job).await.unwrap_or_else(Stop::into_outcome)
    }

    async fn on_completed(&self, conn: &mut PgConnection, done: &[CompletedJob]) -> Result<(), sqlx::Error> {
        receipt::write(conn, done).await
    }

    fn may_enqueue(&self) -> bool {
        false
    }

    async fn on_ended(&self, conn: &mut PgConnection, ended: &[EndedJob]) -> Result<(), sqlx::Error> {
        uncertain::write(conn, ended).await
    }
}

impl DeliveryHandler {
    pub(crate) fn new(delivery: Delivery) -> Self {
        Self { delivery, others: Unhandled::default() }
    }

    async fn attempt(&self, job: &LeasedJob) -> Result<Outcome, Stop> {
        let begun = Instant::now();
        // Before it is known whether the job is an item of a bundle, so that the jobs claimed with it wait for it.
        let member = Member::join(job);
        let mut material = self.read(job).await?;
        if material.settings.integration_type == IntegrationType::External {
            // The engine claims no jobs of external workers, so this one belongs to a program with handlers of its own.
            return Ok(self.others.run(job).await);
        }
        let Some(mut prepared) = prepare(&JobInput::of(job), &material)? else {
            return Ok(unchanged(&material));
        };
        let preparing = begun.elapsed();
        let judged = if prepared.is_item {
            // The time that the other items take does not count against this job's; the request itself has a time-out of its own.
            let item = item(job, &material, &prepared);
            job.retry_with_peers();
            let submitted_at = Instant::now();
            let mut judged = job.off_the_clock(member.submit(&self.delivery, item)).await?;
            if let Some(exchange) = &mut judged.exchange {
                exchange.timing.waited(millis(preparing), millis(submitted_at.elapsed()));
            }
            judged
        } else {
            drop(member);
            let slot_wanted_at = Instant::now();
            if let Slot::Later(until) = job.slot().await {
                return Err(Stop::Later(until));
            }
            let (limited, mut preparing) = (slot_wanted_at.elapsed(), preparing);
            if limited > MAX_MATERIAL_AGE {
                let begun = Instant::now();
                material = self.read(job).await?;
                let again = prepare(&JobInput::of(job), &material)?;
                // The record changed back meanwhile: the slot stays unused.
                let Some(again) = again else { return Ok(unchanged(&material)) };
                prepared = again;
                preparing += begun.elapsed();
            }
            self.send(job, &material, &prepared, (preparing, limited)).await?
        };
        if judged.is_echo {
            job.echo();
        }
        // After an accepted request the attributes stay uncertain until the receipt is recorded; after a refused one they are certain.
        if judged.verdict != Verdict::Completed && !judged.may_have_arrived {
            job.clear_uncertain();
        }
        Ok(self.conclude(job, prepared, judged).await)
    }

    async fn send(
        &self,
        job: &LeasedJob,
        material: &Material,
        prepared: &Prepared,
        (preparing, limited): (Duration, Duration),
    ) -> Result<Judged, Stop> {
        let (key, settings) = (&self.delivery.key, &material.settings);
        let secrets = open_signing_secrets(key, job.integration_id, &settings.secrets, material.time.now())
            .map_err(unusable)?;
        let credentials = open_credentials(key, job.integration_id, &settings.secrets).map_err(unusable)?;
        let request = RequestSigner {
            webhook_id: &job.id.to_string(),
            correlation_id: &job.correlation_id,
            trace: job.trace,
            headers: &settings.headers,
            credentials: &credentials,
            secrets: &secrets,
            timestamp: material.time.now().timestamp(),
        }
        .sign(prepared.draft.clone());

        if let Some(plan) = &prepared.plan {
            let attributes = planned_attributes(plan, prepared.draft.method == Method::PUT);
            job.mark_uncertain(Box::new(MayHaveArrived(attributes)));
        }
        let within = job.timeout.saturating_sub(preparing).max(Duration::from_millis(50));
        let outgoing = request.outgoing(1);
        let mut sent = self.delivery.client.send_measured(request, within).await;
        sent.result = sent.result.map_err(|failure| failure.with_timeout(job.timeout));
        (sent.timing.prepare_ms, sent.timing.limit_ms) = (millis(preparing), millis(limited));
        // Nothing was sent, so nothing is uncertain.
        judge_result(outgoing, sent, prepared.plan.as_ref(), material.time.now())
            .inspect_err(|_| job.clear_uncertain())
    }

    async fn read(&self, job: &LeasedJob) -> Result<Material, Stop> {
        let query = material::MaterialQuery {
            integration_id: job.integration_id,
            job_id: job.id,
            record: job.record.clone(),
        };
        // Within the attempt's own time: a wait for a connection must not look like an external system that does not answer.
        let read = timeout(job.timeout.min(READ_TIMEOUT), self.delivery.material_reader.read(query)).await;
        let material = match read.unwrap_or_else(|late| Err(Arc::new(late.into()))) {
            Ok(material) => material,
            Err(error) => {
                let causes = error.with_causes();
                if !error.is_unavailable() {
                    tracing::warn!(job.id = %job.id, error = %causes, "job {} could not be read", job.id);
                    return Err(Stop::Retry(
                        "could not be prepared: the database refused the query for what is to be sent"
                            .to_owned(),
                    ));
                }
                // Nothing was sent, and the external system is not to blame, so no attempt is counted. The worker stays occupied for a
                // moment, so that an overloaded database is not asked again at once. The reader has logged it once for all jobs.
                tracing::debug!(job.id = %job.id, error = %causes, "job {} could not be read", job.id);
                sleep(READ_RETRY_WAIT).await;
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

    /// A 429 is left to the engine, which keeps the whole integration quiet, here and in the other processes.
    async fn conclude(&self, job: &LeasedJob, prepared: Prepared, judged: Judged) -> Outcome {
        if judged.verdict == Verdict::Completed {
            let receipt = prepared.receipt.map(|receipt| Box::new(receipt) as _);
            return Outcome::Completed {
                how: Completion::Sent,
                response: judged.response,
                result: None,
                receipt,
            };
        }
        if judged.verdict == (Verdict::GiveUp { pauses_integration: true }) {
            gone::pause(&self.delivery, job.integration_id).await;
        }
        let item = prepared.draft.body;
        let body = if prepared.is_item { bundle::body([item.as_slice()]) } else { item };
        Outcome::Failed { error: judged.into_failure(&body) }
    }
}

/// The request of a job; none when there is nothing to send.
pub(super) fn prepare(job: &JobInput<'_>, material: &Material) -> Result<Option<Prepared>, Stop> {
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
        return Ok(Some(Prepared { draft, plan: None, receipt: None, is_item: false }));
    };

    let sent = material.sent.as_ref();
    let plan = send_plan::decide(material.record.as_ref(), sent, material.uncertain.as_ref(), job.is_full);
    if plan == SendPlan::Nothing {
        return Ok(None);
    }
    let none = Attributes::new();
    let content = RecordContent {
        record_type,
        record_id,
        version: material.record.as_ref().map(|r| r.version).or(sent.map(|s| s.version)).unwrap_or(0),
        attributes: material.record.as_ref().map_or(&none, |record| &record.attributes),
    };
    let draft = match material.settings.integration_type {
        // For a bundle this is one item.
        IntegrationType::Webhook | IntegrationType::Bundle => {
            Draft::json(Method::POST, endpoint, &webhook::record_body(subject, content, &plan))
        }
        IntegrationType::Rest => {
            let url = target_guard::parse(&endpoint).map_err(|refused| Stop::GiveUp(refused.to_string()))?;
            rest::draft(&url, content, &plan, sent.map(|sent| &sent.attributes))
                .map_err(|error| Stop::GiveUp(error.to_string()))?
        }
        IntegrationType::External => {
            return Err(Stop::give_up("nothing is sent to an external integration"));
        }
    };
    let receipt = match &plan {
        SendPlan::Deletion { .. } => Receipt::Deleted,
        _ => Receipt::Accepted { version: content.version, attributes: content.attributes.clone() },
    };
    let is_item = material.settings.integration_type == IntegrationType::Bundle;
    Ok(Some(Prepared { draft, plan: Some(plan), receipt: Some(receipt), is_item }))
}

fn item(job: &LeasedJob, material: &Material, prepared: &Prepared) -> Item {
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
        attributes: prepared.plan.as_ref().and_then(|plan| planned_attributes(plan, false)),
        address: Arc::new(address),
        right: job.send_permit(),
    }
}

fn unchanged(material: &Material) -> Outcome {
    let receipt = material
        .record
        .as_ref()
        .zip(material.sent.as_ref())
        .filter(|(record, sent)| sent.version < record.version)
        .map(|(record, _)| Box::new(Receipt::HadAlready { version: record.version }) as _);
    Outcome::Completed { how: Completion::Unchanged, response: None, result: None, receipt }
}
