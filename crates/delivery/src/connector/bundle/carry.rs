//! Sends what a group gathered, in a task of its own: it outlives each of the jobs it sends for, and stops when none of them is left.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use chrono::{DateTime, Utc};
use model::{id::JobId, rules::verdict::Verdict};
use queue::worker::{AT_ONCE, Slot};
use reqwest::Method;
use tokio::time::Instant;

use super::{
    Address,
    gather::{Group, HandedIn},
    item::{body, in_parts, may_be_about_one_item, webhook_id},
    turn::{Turn, look_again},
};
use crate::{
    Delivery, Secret,
    connector::{
        Draft, Seal,
        doubt::MayHaveArrived,
        gone,
        outcome::{Judged, judge_result},
        stop::{Stop, unusable},
    },
    http::{client::Request, signature::SigningSecret},
    integrations::{Credentials, open_credentials, open_signing_secrets},
};

/// The rest of a bundle goes back for so long when the pause could not be written that a 410 asks for.
const UNPAUSED_WAIT: Duration = Duration::from_secs(1);

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
    let mut turn = Turn::default();
    while let Some(items) = group.gathered().await {
        send_all(&delivery, &mut turn, items).await;
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
async fn send_all(delivery: &Delivery, turn: &mut Turn, items: Vec<HandedIn>) {
    let mut parts = VecDeque::from(in_parts(items, |handed_in| handed_in.item.body.len()));
    while let Some(part) = parts.pop_front() {
        if let Some(until) = turn.over_until {
            stop(part, &Stop::Later(until));
            continue;
        }
        match send(delivery, turn, part).await {
            Sent::Told => {}
            Sent::Refused(mut part) => {
                part.iter_mut().for_each(|one| one.was_refused_with_others = true);
                let second = part.split_off(part.len().div_ceil(2));
                parts.push_front(second);
                parts.push_front(part);
            }
            Sent::Enough(until) => turn.over_until = Some(until),
        }
    }
}

async fn send(delivery: &Delivery, turn: &mut Turn, mut part: Vec<HandedIn>) -> Sent {
    // Stopped meanwhile: somebody else's, or soon.
    part.retain(|one| !one.answer.is_closed());
    let newest =
        part.iter().map(|one| &one.item.address).max_by_key(|address| address.time.as_told()).map(Arc::clone);
    let (Some(first), Some(mut address)) = (part.first(), newest) else { return Sent::Told };
    let within = part.iter().map(|one| one.item.timeout).min().unwrap_or_default();
    let later = |part, until| {
        stop(part, &Stop::Later(until));
        Sent::Enough(until)
    };
    if turn.is_over(Instant::now(), within) {
        return later(part, AT_ONCE);
    }
    if turn.has_begun() {
        // Paused, or moved elsewhere, since its items were read.
        match look_again(delivery, address.integration_id).await {
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
            return Sent::Told;
        }
    };
    // From here on each of them may have arrived; for those stopped while the slot was waited for, nothing is sent.
    part.retain(|one| {
        let told = MayHaveArrived(one.item.told.clone());
        !one.answer.is_closed() && one.item.right.doubt(Box::new(told))
    });
    if part.is_empty() {
        return Sent::Told;
    }
    let request = request(&address, &opened, &part);
    let outgoing = request.outgoing(part.len());
    turn.request_goes_out(Instant::now(), waited);
    tracing::debug!(integration.id = %address.integration_id, items = part.len(), "a bundle goes out");
    let sent = tokio::select! {
        biased;
        sent = delivery.client.send_measured(request, within.max(Duration::from_millis(50))) => sent,
        // Nobody may send for them here any more: the connection is dropped, and the doubt stays.
        () = all_are_gone(&mut part) => return Sent::Told,
    };
    let mut judged = match judge_result(outgoing, sent, None, address.time.now()) {
        Ok(judged) => judged,
        Err(why) => {
            // What was refused with others before may have arrived then.
            part.iter().filter(|one| !one.was_refused_with_others).for_each(|one| one.item.right.settle());
            stop(part, &why);
            return Sent::Told;
        }
    };
    let status = judged.response.as_ref().map(|response| response.status);
    if part.len() > 1 && status.is_some_and(may_be_about_one_item) {
        return Sent::Refused(part);
    }
    // What is not told yet goes back so that nobody can take it up before the hold or the pause is written.
    let enough = match &mut judged.verdict {
        Verdict::Retry { holds_integration: true, at_least, .. } => {
            Some(address.time.after(at_least.unwrap_or_default()))
        }
        Verdict::GiveUp { pauses_integration } if *pauses_integration => {
            *pauses_integration = false;
            let is_written = gone::pause(delivery, address.integration_id).await;
            Some(if is_written { AT_ONCE } else { address.time.after(UNPAUSED_WAIT) })
        }
        _ => None,
    };
    tell(part, judged);
    turn.told();
    enough.map_or(Sent::Told, Sent::Enough)
}

/// What seals a request.
type Opened = (Vec<SigningSecret>, Secret<Credentials>);

fn open(delivery: &Delivery, address: &Address) -> Result<Opened, Stop> {
    let id = address.integration_id;
    let secrets =
        open_signing_secrets(&delivery.key, id, &address.secrets, address.time.now()).map_err(unusable)?;
    let credentials = open_credentials(&delivery.key, id, &address.secrets).map_err(unusable)?;
    Ok((secrets, credentials))
}

fn request(address: &Address, (secrets, credentials): &Opened, part: &[HandedIn]) -> Request {
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
        trace: part.first().and_then(|one| one.item.trace),
        headers: &address.headers,
        credentials,
        secrets,
        timestamp: address.time.now().timestamp(),
    };
    seal.apply(draft)
}

/// Every job ends by the same answer. A hold is said by one of them: it is written once. (A pause stands by now.) And the circuit breaker
/// hears of the request by that one alone.
fn tell(part: Vec<HandedIn>, judged: Judged) {
    let quiet = Judged {
        verdict: match judged.verdict {
            Verdict::Retry { kind, at_least, .. } => {
                Verdict::Retry { kind, at_least, holds_integration: false }
            }
            verdict => verdict,
        },
        is_echo: true,
        ..judged.clone()
    };
    // Of what was refused with others some may have been taken in: only its own refusal says that it was not.
    let is_own_refusal = part.len() == 1
        && judged.response.as_ref().is_some_and(|answer| may_be_about_one_item(answer.status));
    let mut is_said = false;
    for one in part {
        let mut told = if is_said { quiet.clone() } else { judged.clone() };
        told.may_have_arrived |= one.was_refused_with_others && !is_own_refusal;
        is_said |= one.answer.send(Ok(told)).is_ok();
    }
}

fn stop(part: Vec<HandedIn>, why: &Stop) {
    for one in part {
        // Whoever is gone has been given back already.
        let _ = one.answer.send(Err(why.clone()));
    }
}

async fn all_are_gone(part: &mut [HandedIn]) {
    for one in part {
        one.answer.closed().await;
    }
}
