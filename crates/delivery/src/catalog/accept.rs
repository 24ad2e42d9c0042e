//! `accept_events`: validate, group with concurrent requests, write, commit.

use std::sync::Arc;

use futures::{StreamExt as _, future::BoxFuture, stream};
use model::actor::Scope;
use model::event::{Accepted, Event};
use model::problem::Faults;
use queue::QueueError;
use queue::store::connections;
use queue::store::jobs::BEGIN;
use tokio::sync::oneshot;
use uuid::Uuid;

use super::group_commit::{MAX_SMALL, Outcome};
use super::numbers::normalise;
use super::request::{Form, Request};
use super::transaction::{Failed, Raced, accept_requests};
use crate::{Delivery, DeliveryError};

/// Most events in one request.
const MAX_EVENTS: usize = 1_000;
/// How many requests that could not share a transaction are committed concurrently.
const MAX_SEPARATE_COMMITS: usize = 4;
/// How often a transaction is tried that loses races against others.
const MAX_TRIES: usize = 5;

/// How long a transaction waits for a record that another one has locked.
#[derive(Clone, Copy)]
enum Wait {
    /// For small requests: only those about a record that stays locked for longer go on waiting for it.
    Briefly,
    /// As long as any statement waits for a lock.
    Long,
}

impl Wait {
    fn setting(self) -> &'static str {
        match self {
            Self::Briefly => "; set local lock_timeout = '100ms'",
            Self::Long => "",
        }
    }
}

fn hit_lock_timeout(error: &DeliveryError) -> bool {
    matches!(error, DeliveryError::Queue(error) if error.is_lock_timeout())
}

impl Delivery {
    /// Accepts the events of an array, all or none. Pointers of faults are as `/3/attributes/…`.
    ///
    /// # Errors
    /// Every fault of every event; `NotFound` for an app that is unknown or outside the scope; the conflict `busy`.
    pub async fn accept_events(&self, scope: Scope, events: Vec<Event>) -> Result<Accepted, DeliveryError> {
        self.accept(scope, events, Form::Array).await
    }

    /// Accepts one event. Pointers of faults are as `/attributes/…`.
    ///
    /// # Errors
    /// As with [`Self::accept_events`].
    pub async fn accept_event(&self, scope: Scope, event: Event) -> Result<Accepted, DeliveryError> {
        self.accept(scope, vec![event], Form::One).await
    }

    /// Boxed, so that all of it is compiled in this crate, for speed: an async function is compiled in the crate that awaits it, which is
    /// compiled for size.
    fn accept(
        &self,
        scope: Scope,
        mut events: Vec<Event>,
        form: Form,
    ) -> BoxFuture<'_, Result<Accepted, DeliveryError>> {
        Box::pin(async move {
            check(&events, form)?;
            if events.is_empty() {
                return Ok(Accepted::default());
            }
            if let Some(index) = events.iter().position(|event| !scope.contains(event.app_id)) {
                return Err(DeliveryError::not_found_at("app", format!("{}/app_id", form.pointer(index))));
            }
            for event in &mut events {
                event.attributes.values_mut().for_each(normalise);
                event.correlation_id.get_or_insert_with(|| Uuid::now_v7().to_string());
            }
            let request = Request { events, form };
            if request.events.len() > MAX_SMALL {
                return self.commit_alone(&request, Wait::Long).await;
            }
            let delivery = self.clone();
            let commit = move |requests| {
                let delivery = delivery.clone();
                async move { delivery.commit_together(requests).await }
            };
            self.group_commit.accept(request, commit).await
        })
    }

    /// Returns an outcome for each request, in their order. A refusal of one, or a lock it waits for, does not affect the others.
    async fn commit_together(&self, requests: Vec<Request>) -> Vec<Outcome> {
        match self.commit(&requests, Wait::Briefly).await {
            Ok(accepted) => accepted.into_iter().map(|one| Outcome::Done(Ok(one))).collect(),
            // They may have been stored: only the callers can decide to send their events again.
            Err(DeliveryError::Queue(QueueError::Unavailable(cause))) => {
                let away = |_| Outcome::Done(Err(QueueError::Unavailable(Arc::clone(&cause)).into()));
                requests.iter().map(away).collect()
            }
            Err(error) if requests.len() == 1 && !hit_lock_timeout(&error) => vec![Outcome::Done(Err(error))],
            Err(_) => self.commit_separately(requests),
        }
    }

    /// Commits each request in a transaction of its own. Those whose record is locked elsewhere wait for it apart, few at a time.
    fn commit_separately(&self, requests: Vec<Request>) -> Vec<Outcome> {
        let (senders, outcomes): (Vec<_>, Vec<_>) = requests
            .iter()
            .map(|_| {
                let (sender, answer) = oneshot::channel();
                (sender, Outcome::Pending(answer))
            })
            .unzip();
        let delivery = self.clone();
        tokio::spawn(async move {
            let each = requests.into_iter().zip(senders);
            stream::iter(each)
                .for_each_concurrent(MAX_SEPARATE_COMMITS, async |(request, sender)| {
                    let answer = delivery.commit_alone(&request, Wait::Briefly).await;
                    if answer.as_ref().is_err_and(hit_lock_timeout) {
                        tokio::spawn(delivery.clone().commit_when_unlocked(request, sender));
                    } else {
                        // The caller may be gone.
                        let _ = sender.send(answer);
                    }
                })
                .await;
        });
        outcomes
    }

    async fn commit_when_unlocked(
        self,
        request: Request,
        sender: oneshot::Sender<Result<Accepted, DeliveryError>>,
    ) {
        let _permit = self.group_commit.lock_wait_permit().await;
        let _ = sender.send(self.commit_alone(&request, Wait::Long).await);
    }

    async fn commit_alone(&self, request: &Request, wait: Wait) -> Result<Accepted, DeliveryError> {
        let mut accepted = self.commit(std::slice::from_ref(request), wait).await?;
        Ok(accepted.pop().unwrap_or_default())
    }

    /// Commits all requests in one transaction.
    async fn commit(&self, requests: &[Request], wait: Wait) -> Result<Vec<Accepted>, DeliveryError> {
        for _ in 0..MAX_TRIES {
            let mut transaction =
                connections::begin(&self.pool, &format!("{BEGIN}{}", wait.setting())).await?;
            match accept_requests(&mut transaction, requests, &self.config).await {
                Ok(accepted) => {
                    transaction.commit().await?;
                    if accepted.iter().any(|one| one.jobs_created + one.jobs_coalesced > 0) {
                        self.waker.wake();
                    }
                    return Ok(accepted);
                }
                Err(Failed::Error(error)) => {
                    transaction.rollback().await?;
                    return Err(error);
                }
                Err(Failed::Raced(Raced)) => transaction.rollback().await?,
            }
        }
        Err(DeliveryError::Conflict {
            code: "busy",
            detail: "other requests kept changing the same records: send it again".to_owned(),
        })
    }
}

fn check(events: &[Event], form: Form) -> Result<(), DeliveryError> {
    let mut faults = Faults::default();
    faults.require(events.len() <= MAX_EVENTS, "", "must be at most 1,000 events (limit: items in an array)");
    for (index, event) in events.iter().enumerate().take(MAX_EVENTS) {
        if let Err(part) = event.check() {
            faults.nest(&form.pointer(index), part);
        }
    }
    Ok(faults.into_result()?)
}
