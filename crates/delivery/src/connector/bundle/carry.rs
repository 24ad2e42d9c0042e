//! Sends what a group gathered, in a task of its own: it outlives each of the jobs it sends for, and stops when none of them is left.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use chrono::{DateTime, Utc};
use model::{id::JobId, rules::verdict::Verdict};
use queue::worker::Slot;
use reqwest::Method;

use super::{
    Address,
    gather::{Group, HandedIn},
    item::{body, in_parts, may_be_about_one_item, webhook_id},
};
use crate::{
    Delivery,
    connector::{
        Draft, Seal,
        doubt::MayHaveArrived,
        outcome::{Judged, judge_result},
        stop::{Stop, unusable},
    },
    http::client::Request,
    integrations::{open_credentials, open_signing_secrets},
};

/// Carries until nothing more is handed in.
pub(super) async fn carry(delivery: Delivery, group: Arc<Group>) {
    struct Carrying<'a>(&'a Group);
    impl Drop for Carrying<'_> {
        fn drop(&mut self) {
            if std::thread::panicking() {
                self.0.let_down();
            }
        }
    }
    let _carrying = Carrying(&group);
    while let Some(items) = group.gathered().await {
        send_all(&delivery, items).await;
    }
}

/// What became of a part.
enum Sent {
    /// Its jobs know.
    Told,
    /// Refused, perhaps for one item's sake.
    Refused(Vec<HandedIn>),
    /// Nothing more is to be sent for now; its jobs know.
    Enough(DateTime<Utc>),
}

/// One request after the other.
async fn send_all(delivery: &Delivery, items: Vec<HandedIn>) {
    let mut parts = VecDeque::from(in_parts(items, |handed_in| handed_in.item.body.len()));
    while let Some(part) = parts.pop_front() {
        match send(delivery, part).await {
            Sent::Told => {}
            Sent::Refused(mut part) => {
                let second = part.split_off(part.len().div_ceil(2));
                parts.push_front(second);
                parts.push_front(part);
            }
            Sent::Enough(until) => {
                for part in parts {
                    stop(part, &Stop::Later(until));
                }
                return;
            }
        }
    }
}

async fn send(delivery: &Delivery, mut part: Vec<HandedIn>) -> Sent {
    // Stopped meanwhile: somebody else's, or soon.
    part.retain(|one| !one.answer.is_closed());
    let newest = part.iter().map(|one| &one.item.address).max_by_key(|address| address.now).map(Arc::clone);
    let (Some(first), Some(address)) = (part.first(), newest) else { return Sent::Told };
    if let Slot::Later(until) = first.item.right.slot().await {
        stop(part, &Stop::Later(until));
        return Sent::Enough(until);
    }
    // From here on each of them may have arrived; for those stopped while the slot was waited for, nothing is sent.
    part.retain(|one| {
        let told = MayHaveArrived(one.item.told.clone());
        !one.answer.is_closed() && one.item.right.doubt(Box::new(told))
    });
    if part.is_empty() {
        return Sent::Told;
    }
    let request = match request(delivery, &address, &part) {
        Ok(request) => request,
        Err(why) => {
            settle(&part);
            stop(part, &why);
            return Sent::Told;
        }
    };
    let within = part.iter().map(|one| one.item.timeout).min().unwrap_or_default();
    tracing::debug!(integration.id = %address.integration_id, items = part.len(), "a bundle goes out");
    let result = tokio::select! {
        biased;
        result = delivery.client.send(request, within.max(Duration::from_millis(50))) => result,
        // Nobody may send for them here any more: the connection is dropped, and the doubt stays.
        () = all_are_gone(&mut part) => return Sent::Told,
    };
    let judged = judge_result(result, None, address.now);
    let status = judged.response.as_ref().map(|response| response.status);
    if part.len() > 1 && status.is_some_and(may_be_about_one_item) {
        settle(&part);
        return Sent::Refused(part);
    }
    let is_enough = matches!(
        judged.verdict,
        Verdict::GiveUp { pauses_integration: true } | Verdict::Retry { holds_integration: true, .. }
    );
    tell(part, judged);
    if is_enough { Sent::Enough(address.now) } else { Sent::Told }
}

fn request(delivery: &Delivery, address: &Address, part: &[HandedIn]) -> Result<Request, Stop> {
    let id = address.integration_id;
    let secrets = open_signing_secrets(&delivery.key, id, &address.secrets).map_err(unusable)?;
    let credentials = open_credentials(&delivery.key, id, &address.secrets).map_err(unusable)?;
    let jobs: Vec<JobId> = part.iter().map(|one| one.item.job_id).collect();
    let draft = Draft {
        method: Method::POST,
        url: address.url.clone(),
        content_type: Some("application/json"),
        body: body(part.iter().map(|one| one.item.body.as_slice())),
    };
    let seal = Seal {
        webhook_id: &webhook_id(&jobs),
        correlation_id: part.first().map_or("", |one| &one.item.correlation_id),
        headers: &address.headers,
        credentials: &credentials,
        secrets: &secrets,
        // As in a webhook: the time of day, by which nothing of ours is decided.
        timestamp: Utc::now().timestamp(),
    };
    Ok(seal.apply(draft))
}

/// Every job ends by the same answer. What it means for the integration is said by one of them: a hold or a pause is written once.
fn tell(part: Vec<HandedIn>, judged: Judged) {
    let quiet = Judged {
        verdict: match judged.verdict {
            Verdict::Completed => Verdict::Completed,
            Verdict::Retry { kind, at_least, .. } => {
                Verdict::Retry { kind, at_least, holds_integration: false }
            }
            Verdict::GiveUp { .. } => Verdict::GiveUp { pauses_integration: false },
        },
        ..judged.clone()
    };
    let mut is_said = false;
    for one in part {
        let told = if is_said { &quiet } else { &judged };
        is_said |= one.answer.send(Ok(told.clone())).is_ok();
    }
}

fn stop(part: Vec<HandedIn>, why: &Stop) {
    for one in part {
        // Whoever is gone has been given back already.
        let _ = one.answer.send(Err(why.clone()));
    }
}

/// Nothing arrived, for certain.
fn settle(part: &[HandedIn]) {
    for one in part {
        one.item.right.settle();
    }
}

async fn all_are_gone(part: &mut [HandedIn]) {
    for one in part {
        one.answer.closed().await;
    }
}
