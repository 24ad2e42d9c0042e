//! One attempt, read from top to bottom: read, decide, draft, slot, send, judge, tell.

use std::time::Duration;

use async_trait::async_trait;
use model::{
    integration::{IntegrationState, IntegrationType},
    record::Attributes,
    rules::verdict::{ErrorKind, Verdict},
};
use queue::worker::{CompletedJob, Failure, HeldJob, How, JobHandler, Outcome, Slot};
use reqwest::Method;
use sqlx::PgConnection;
use tokio::time::Instant;

use super::{
    Draft, Seal,
    bundle::Bundle,
    outcome::{Judged, judge_result, told_attributes},
    receipt::{self, Receipt},
    rest,
    telling::{self, Telling},
    webhook::{self, Subject, Told},
};
use crate::{
    Delivery,
    http::target_guard,
    integrations::{open_credentials, open_signing_secrets, pause_because},
    store::{
        material::{self, Material, Unsure},
        sent,
    },
};

/// Does the jobs of integrations.
pub(crate) struct DeliveryHandler {
    delivery: Delivery,
}

/// A request and what it tells of which record.
struct Prepared {
    draft: Draft,
    telling: Option<Telling>,
    receipt: Option<Receipt>,
}

#[async_trait]
impl JobHandler for DeliveryHandler {
    async fn run(&self, job: &HeldJob) -> Outcome {
        match self.attempt(job).await {
            Ok(outcome) | Err(outcome) => outcome,
        }
    }

    async fn on_completed(&self, conn: &mut PgConnection, done: &[CompletedJob]) -> Result<(), sqlx::Error> {
        receipt::write(conn, done).await
    }
}

impl DeliveryHandler {
    pub(crate) fn new(delivery: Delivery) -> Self {
        Self { delivery }
    }

    /// `Err` is an outcome too: the one that ends the pipeline early.
    async fn attempt(&self, job: &HeldJob) -> Result<Outcome, Outcome> {
        let begun = Instant::now();
        let material = self.read(job).await?;
        let Some(prepared) = prepare(job, &material)? else { return Ok(unchanged(&material)) };
        let preparing = begun.elapsed();

        if let Slot::Later(until) = job.slot().await {
            return Ok(Outcome::Released { until });
        }
        let key = &self.delivery.key;
        let secrets = open_signing_secrets(key, job.integration_id, &material.secrets).map_err(unusable)?;
        let credentials = open_credentials(key, job.integration_id, &material.secrets).map_err(unusable)?;
        let request = Seal {
            webhook_id: &job.id.to_string(),
            correlation_id: &job.correlation_id,
            headers: &material.headers,
            credentials: &credentials,
            secrets: &secrets,
            // Receivers compare it with the time of day, which every host has; nothing of ours is decided by it.
            timestamp: chrono::Utc::now().timestamp(),
        }
        .apply(prepared.draft.clone());

        let within = job.timeout.saturating_sub(preparing).max(Duration::from_millis(50));
        let result = self.delivery.client.send(request, within).await;
        let judged = judge_result(result, prepared.telling.as_ref(), material.now);
        Ok(self.conclude(job, &material, prepared, judged).await)
    }

    async fn read(&self, job: &HeldJob) -> Result<Material, Outcome> {
        let record = job.record.as_ref().map(|(kind, id)| (kind.as_str(), id.as_str()));
        let material =
            material::read(&self.delivery.pool, job.integration_id, record).await.map_err(|error| {
                tracing::warn!(job.id = %job.id, %error, "job {} could not be read", job.id);
                failed(RETRY, "could not be prepared: the database did not answer")
            })?;
        let material = material.ok_or_else(|| failed(GIVE_UP, "the integration was deleted"))?;
        if material.state != IntegrationState::Active {
            // Paused between the claim and now: its jobs wait with it.
            return Err(Outcome::Released { until: material.now });
        }
        Ok(material)
    }

    async fn conclude(
        &self,
        job: &HeldJob,
        material: &Material,
        prepared: Prepared,
        judged: Judged,
    ) -> Outcome {
        if judged.verdict == Verdict::Completed {
            let receipt = prepared.receipt.map(|receipt| Box::new(receipt) as _);
            return Outcome::Completed { how: How::Sent, response: judged.response, result: None, receipt };
        }
        if judged.may_have_arrived
            && let (Some(telling), Some((kind, id))) = (&prepared.telling, &job.record)
        {
            let accepted = material.sent.as_ref().map(|sent| &sent.attributes);
            let attributes = told_attributes(telling, prepared.draft.method == Method::PUT, accepted);
            self.remember_unsure(job, material.unsure.as_ref(), (kind, id), attributes).await;
        }
        match judged.verdict {
            Verdict::Retry { at_least: Some(quiet), holds_integration: true, .. } => {
                self.hold(job, quiet).await
            }
            Verdict::GiveUp { pauses_integration: true } => self.pause(job).await,
            _ => {}
        }
        Outcome::Failed { error: judged.into_failure(&prepared.draft.body) }
    }

    async fn remember_unsure(
        &self,
        job: &HeldJob,
        known: Option<&Unsure>,
        record: (&str, &str),
        attributes: Option<Vec<String>>,
    ) {
        let is_known = known.is_some_and(|known| match (&known.attributes, &attributes) {
            (None, _) => true,
            (Some(known), Some(told)) => told.iter().all(|name| known.contains(name)),
            (Some(_), None) => false,
        });
        if is_known {
            return;
        }
        let (pool, id) = (self.delivery.pool.clone(), job.integration_id);
        let (kind, record_id) = (record.0.to_owned(), record.1.to_owned());
        to_its_end(job, "what may have arrived could not be remembered", async move {
            sent::remember_unsure(&pool, id, (&kind, &record_id), attributes.as_deref()).await
        })
        .await;
    }

    /// 429: nobody sends to this integration, nor to what shares its limit, until then.
    async fn hold(&self, job: &HeldJob, quiet: Duration) {
        let (pool, id) = (self.delivery.pool.clone(), job.integration_id);
        to_its_end(job, "the integration could not be held back", async move {
            let mut transaction = pool.begin().await?;
            queue::store::lanes::hold_until(&mut transaction, id, quiet).await?;
            transaction.commit().await?;
            Ok::<_, crate::DeliveryError>(())
        })
        .await;
    }

    /// 410: the other side wants no more.
    async fn pause(&self, job: &HeldJob) {
        let (delivery, id) = (self.delivery.clone(), job.integration_id);
        to_its_end(job, "the integration could not be paused", async move {
            pause_because(&delivery, id, "the external system answered 410 Gone: it wants no more requests")
                .await
        })
        .await;
    }
}

/// Writes in a task of its own: an attempt that is dropped at its time-out must not leave a half-begun transaction to the pool
/// (RELIABILITY 0.1).
async fn to_its_end<E: std::fmt::Display + Send + 'static>(
    job: &HeldJob,
    otherwise: &'static str,
    write: impl Future<Output = Result<(), E>> + Send + 'static,
) {
    let error = match tokio::spawn(write).await {
        Ok(Ok(())) => return,
        Ok(Err(error)) => error.to_string(),
        Err(error) => error.to_string(),
    };
    tracing::warn!(job.id = %job.id, integration.id = %job.integration_id, error, "{otherwise}");
}

/// The request of a job; none when there is nothing to tell.
fn prepare(job: &HeldJob, material: &Material) -> Result<Option<Prepared>, Outcome> {
    let endpoint = material.endpoint_url.clone();
    let endpoint = endpoint.ok_or_else(|| failed(GIVE_UP, "the integration has no address to send to"))?;
    let subject = Subject {
        job_id: job.id,
        job_type: &job.job_type,
        app_id: job.app_id,
        integration_id: job.integration_id,
        now: material.now,
    };
    let Some((record_type, record_id)) = &job.record else {
        if material.integration_type != IntegrationType::Webhook {
            let message = "a job that is not about a record can be sent by webhook only";
            return Err(failed(GIVE_UP, message));
        }
        let body = webhook::payload_body(subject, job.payload.as_ref());
        let draft = Draft::json(Method::POST, endpoint, &body);
        return Ok(Some(Prepared { draft, telling: None, receipt: None }));
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
    let draft = match material.integration_type {
        IntegrationType::Webhook => {
            Draft::json(Method::POST, endpoint, &webhook::record_body(subject, told, &telling))
        }
        IntegrationType::Bundle => {
            let items = vec![webhook::record_body(subject, told, &telling)];
            Draft::json(Method::POST, endpoint, &Bundle { items })
        }
        IntegrationType::Rest => {
            let url =
                target_guard::parse(&endpoint).map_err(|refused| failed(GIVE_UP, &refused.to_string()))?;
            rest::draft(&url, told, &telling, sent.map(|sent| &sent.attributes))
                .map_err(|error| failed(GIVE_UP, &error.to_string()))?
        }
        IntegrationType::External => {
            return Err(failed(GIVE_UP, "nothing is sent to an external integration"));
        }
    };
    let receipt = match &telling {
        Telling::Deletion { .. } => Receipt::Deleted,
        _ => Receipt::Accepted { version: told.version, attributes: told.attributes.clone() },
    };
    Ok(Some(Prepared { draft, telling: Some(telling), receipt: Some(receipt) }))
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

const RETRY: Verdict =
    Verdict::Retry { kind: ErrorKind::Retryable, at_least: None, holds_integration: false };
const GIVE_UP: Verdict = Verdict::GiveUp { pauses_integration: false };

fn failed(verdict: Verdict, message: &str) -> Outcome {
    let error = Failure { verdict, message: message.to_owned(), response: None, sent_body: None };
    Outcome::Failed { error }
}

/// A secret that does not open is a matter of settings: once they are right, the job goes through.
fn unusable(error: crate::secrets::SealError) -> Outcome {
    failed(RETRY, &format!("the integration's secret {error}"))
}
