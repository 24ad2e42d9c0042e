//! Sends the items of a group in a task of its own, which outlives each of the jobs it sends for and stops when none of them is left.

use std::{sync::Arc, time::Duration};

use chrono::{DateTime, Utc};
use model::id::JobId;
use model::rules::halving::Halving;
use model::rules::verdict::Verdict;
use queue::worker::{AT_ONCE, Slot};
use reqwest::Method;
use tokio::time::Instant;

use super::Address;
use super::group::{Group, SubmittedItem};
use super::item::{body, may_be_about_one_item, split, webhook_id};
use super::send_budget::{SendBudget, current_address};
use crate::connector::outcome::{Judged, judge_result};
use crate::connector::stop::{Stop, unusable};
use crate::connector::uncertain::MayHaveArrived;
use crate::connector::{Draft, RequestSigner, gone};
use crate::http::client::Request;
use crate::http::signature::SigningSecret;
use crate::integrations::{Credentials, open_credentials, open_signing_secrets};
use crate::{Delivery, Secret};

/// How long the rest of a bundle waits when the pause that a 410 asks for could not be written.
const UNPAUSED_WAIT: Duration = Duration::from_secs(1);

/// Sends until no more items are submitted.
pub(super) async fn send_submitted(delivery: Delivery, group: Arc<Group>) {
    struct Sending<'a>(&'a Group);
    impl Drop for Sending<'_> {
        fn drop(&mut self) {
            if std::thread::panicking() {
                self.0.abort();
            }
        }
    }
    let _sending = Sending(&group);
    let mut budget = SendBudget::default();
    while let Some(items) = group.next_items().await {
        send_all(&delivery, &mut budget, items).await;
    }
}

enum PartOutcome {
    /// Its jobs have their result.
    Answered,
    /// Refused, perhaps because of one item: two or more of them.
    Refused(Vec<SubmittedItem>),
    /// Its jobs have their result, and nothing more is to be sent until then.
    StopUntil(DateTime<Utc>),
}

/// Sends one request after the other.
async fn send_all(delivery: &Delivery, budget: &mut SendBudget, items: Vec<SubmittedItem>) {
    let mut parts = Halving::of(split(items, |submitted| submitted.item.body.len()));
    while let Some(part) = parts.next_part() {
        if let Some(until) = budget.stopped_until {
            stop(part, &Stop::Later(until));
            continue;
        }
        match send(delivery, budget, part).await {
            PartOutcome::Answered => {}
            PartOutcome::Refused(mut part) => {
                part.iter_mut().for_each(|one| one.was_refused_with_others = true);
                let alone = parts.halve(part);
                debug_assert!(alone.is_none(), "an item alone is answered");
            }
            PartOutcome::StopUntil(until) => budget.stopped_until = Some(until),
        }
    }
}

async fn send(delivery: &Delivery, budget: &mut SendBudget, mut part: Vec<SubmittedItem>) -> PartOutcome {
    // Those stopped meanwhile are another worker's, or will be soon.
    part.retain(|one| !one.answer.is_closed());
    let newest =
        part.iter().map(|one| &one.item.address).max_by_key(|address| address.time.as_read()).map(Arc::clone);
    let (Some(first), Some(mut address)) = (part.first(), newest) else { return PartOutcome::Answered };
    let within = part.iter().map(|one| one.item.timeout).min().unwrap_or_default();
    let later = |part, until| {
        stop(part, &Stop::Later(until));
        PartOutcome::StopUntil(until)
    };
    if budget.is_spent(Instant::now(), within) {
        return later(part, AT_ONCE);
    }
    if budget.has_begun() {
        // The integration may have been paused, or have another address, since its items were read.
        match current_address(delivery, address.integration_id).await {
            Ok(current) => address = Arc::new(current),
            Err(until) => return later(part, until),
        }
    }
    let asked_at = Instant::now();
    if let Slot::Later(until) = first.item.right.slot().await {
        return later(part, until);
    }
    let waited = asked_at.elapsed();
    let opened = match open(delivery, &address) {
        Ok(opened) => opened,
        Err(why) => {
            stop(part, &why);
            return PartOutcome::Answered;
        }
    };
    // From here on each of them may have arrived. Those stopped during the wait for the slot are left out.
    part.retain(|one| {
        let attributes = MayHaveArrived(one.item.attributes.clone());
        !one.answer.is_closed() && one.item.right.mark_uncertain(Box::new(attributes))
    });
    if part.is_empty() {
        return PartOutcome::Answered;
    }
    let request = request(&address, &opened, &part);
    let outgoing = request.outgoing(part.len());
    budget.record_request(Instant::now(), waited);
    tracing::debug!(integration.id = %address.integration_id, items = part.len(), "a bundle is sent");
    let sent = tokio::select! {
        biased;
        sent = delivery.client.send_measured(request, within.max(Duration::from_millis(50))) => sent,
        // This process has lost all of the jobs: it drops the connection, and their attributes stay uncertain.
        () = all_cancelled(&mut part) => return PartOutcome::Answered,
    };
    let mut judged = match judge_result(outgoing, sent, None, address.time.now()) {
        Ok(judged) => judged,
        Err(why) => {
            // Items that were refused together with others may have arrived with that request.
            part.iter()
                .filter(|one| !one.was_refused_with_others)
                .for_each(|one| one.item.right.clear_uncertain());
            stop(part, &why);
            return PartOutcome::Answered;
        }
    };
    let status = judged.response.as_ref().map(|response| response.status);
    if part.len() > 1 && status.is_some_and(may_be_about_one_item) {
        return PartOutcome::Refused(part);
    }
    // Items not sent yet are released in a way that no worker claims them before the quiet time or the pause is written.
    let stop_until = match &mut judged.verdict {
        Verdict::Retry { quiets_integration: true, at_least, .. } => {
            Some(address.time.after(at_least.unwrap_or_default()))
        }
        Verdict::GiveUp { pauses_integration } if *pauses_integration => {
            *pauses_integration = false;
            let is_written = gone::pause(delivery, address.integration_id).await;
            Some(if is_written { AT_ONCE } else { address.time.after(UNPAUSED_WAIT) })
        }
        _ => None,
    };
    answer_all(part, judged);
    budget.answered();
    stop_until.map_or(PartOutcome::Answered, PartOutcome::StopUntil)
}

type Opened = (Vec<SigningSecret>, Secret<Credentials>);

fn open(delivery: &Delivery, address: &Address) -> Result<Opened, Stop> {
    let id = address.integration_id;
    let secrets =
        open_signing_secrets(&delivery.key, id, &address.secrets, address.time.now()).map_err(unusable)?;
    let credentials = open_credentials(&delivery.key, id, &address.secrets).map_err(unusable)?;
    Ok((secrets, credentials))
}

fn request(address: &Address, (secrets, credentials): &Opened, part: &[SubmittedItem]) -> Request {
    let jobs: Vec<JobId> = part.iter().map(|one| one.item.job_id).collect();
    let draft = Draft {
        method: Method::POST,
        url: address.url.clone(),
        content_type: Some("application/json"),
        body: body(part.iter().map(|one| one.item.body.as_slice())),
    };
    let signer = RequestSigner {
        webhook_id: &webhook_id(&jobs),
        correlation_id: part.first().map_or("", |one| &one.item.correlation_id),
        trace: part.first().and_then(|one| one.item.trace),
        headers: &address.headers,
        credentials,
        secrets,
        timestamp: address.time.now().timestamp(),
    };
    signer.sign(draft)
}

/// Ends every job with the same answer. Only the first one reports a 429's quiet time, which is written once (a pause is written already),
/// and only the first one counts for the circuit breaker.
fn answer_all(part: Vec<SubmittedItem>, judged: Judged) {
    let duplicate = Judged {
        verdict: match judged.verdict {
            Verdict::Retry { kind, at_least, .. } => {
                Verdict::Retry { kind, at_least, quiets_integration: false }
            }
            verdict => verdict,
        },
        is_echo: true,
        ..judged.clone()
    };
    // A receiver that refused several items may have accepted some of them: only a refusal of the item alone proves that it did not.
    let is_own_refusal = part.len() == 1
        && judged.response.as_ref().is_some_and(|answer| may_be_about_one_item(answer.status));
    let mut is_first_answered = false;
    for one in part {
        let mut judged = if is_first_answered { duplicate.clone() } else { judged.clone() };
        judged.may_have_arrived |= one.was_refused_with_others && !is_own_refusal;
        is_first_answered |= one.answer.send(Ok(judged)).is_ok();
    }
}

fn stop(part: Vec<SubmittedItem>, why: &Stop) {
    for one in part {
        // A job that no longer waits was released already.
        let _ = one.answer.send(Err(why.clone()));
    }
}

async fn all_cancelled(part: &mut [SubmittedItem]) {
    for one in part {
        one.answer.closed().await;
    }
}
