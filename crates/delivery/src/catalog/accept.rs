//! `accept_events`: validate, gather with what others send, take in, commit.

use futures::{StreamExt as _, future::BoxFuture, stream};
use model::{
    actor::Scope,
    problem::Faults,
    record::{Accepted, Event},
};
use queue::{QueueError, pool, store::jobs::BEGIN};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::{
    gather::{MAX_SMALL, Outcome},
    numbers::normalise,
    take_in::{Failed, Raced, take_in},
};
use crate::{Delivery, DeliveryError};

/// Events in one request.
const MAX_EVENTS: usize = 1_000;
/// Of those that could not go together.
const ALONE_AT_ONCE: usize = 4;
/// How often a request is repeated that lost a race against another one.
const TRIES: usize = 5;

/// How long a record is waited for that somebody else holds.
#[derive(Clone, Copy)]
enum Wait {
    /// Of small requests: who holds one for longer is waited for by those alone that are about it.
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

fn waited(error: &DeliveryError) -> bool {
    matches!(error, DeliveryError::Queue(error) if error.waited_for_a_lock())
}

/// Whether faults are named within an array or within a single event.
#[derive(Clone, Copy)]
pub(super) enum Form {
    One,
    Array,
}

impl Form {
    pub(super) fn pointer(self, index: usize) -> String {
        match self {
            Self::One => String::new(),
            Self::Array => format!("/{index}"),
        }
    }
}

/// The events of one request, checked: all or none of them are stored.
pub(super) struct Request {
    pub(super) events: Vec<Event>,
    pub(super) form: Form,
}

impl Delivery {
    /// Takes in the events of an array, all or none. Faults are named as `/3/attributes/…`.
    ///
    /// # Errors
    /// Every fault of every event; an app that is unknown or outside the scope is not found.
    pub async fn accept_events(&self, scope: Scope, events: Vec<Event>) -> Result<Accepted, DeliveryError> {
        self.accept(scope, events, Form::Array).await
    }

    /// Takes in one event. Faults are named as `/attributes/…`.
    ///
    /// # Errors
    /// Every fault; an app that is unknown or outside the scope is not found.
    pub async fn accept_event(&self, scope: Scope, event: Event) -> Result<Accepted, DeliveryError> {
        self.accept(scope, vec![event], Form::One).await
    }

    /// Boxed, so that all of it is compiled here, for speed: an async function is compiled by who awaits it, which is a crate that is compiled
    /// for size.
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
            self.gathering.accept(self, request).await
        })
    }

    /// Each request's answer, in their order. What one of them is refused for, or waits for, concerns no other.
    pub(super) async fn commit_together(&self, requests: Vec<Request>) -> Vec<Outcome> {
        match self.commit(&requests, Wait::Briefly).await {
            Ok(accepted) => accepted.into_iter().map(|one| Outcome::Known(Ok(one))).collect(),
            // Whether it was stored may not even be known: nobody's events are tried again behind their back.
            Err(DeliveryError::Queue(QueueError::Unavailable(_))) => {
                let away = |_| Outcome::Known(Err(QueueError::Unavailable(sqlx::Error::PoolTimedOut).into()));
                requests.iter().map(away).collect()
            }
            Err(error) if requests.len() == 1 && !waited(&error) => vec![Outcome::Known(Err(error))],
            Err(_) => self.commit_apart(requests),
        }
    }

    /// Each by itself, and answered by itself. Those whose record somebody holds wait for it once the others are done, and few at once.
    fn commit_apart(&self, requests: Vec<Request>) -> Vec<Outcome> {
        let (senders, outcomes): (Vec<_>, Vec<_>) = requests
            .iter()
            .map(|_| {
                let (sender, answer) = oneshot::channel();
                (sender, Outcome::Coming(answer))
            })
            .unzip();
        let delivery = self.clone();
        tokio::spawn(async move {
            let each = requests.into_iter().zip(senders);
            stream::iter(each)
                .for_each_concurrent(ALONE_AT_ONCE, async |(request, sender)| {
                    let answer = delivery.commit_alone(&request, Wait::Briefly).await;
                    if answer.as_ref().is_err_and(waited) {
                        tokio::spawn(delivery.clone().commit_patiently(request, sender));
                    } else {
                        // Nobody may be waiting any more.
                        let _ = sender.send(answer);
                    }
                })
                .await;
        });
        outcomes
    }

    async fn commit_patiently(
        self,
        request: Request,
        sender: oneshot::Sender<Result<Accepted, DeliveryError>>,
    ) {
        let _turn = self.gathering.patient().await;
        let _ = sender.send(self.commit_alone(&request, Wait::Long).await);
    }

    async fn commit_alone(&self, request: &Request, wait: Wait) -> Result<Accepted, DeliveryError> {
        let mut accepted = self.commit(std::slice::from_ref(request), wait).await?;
        Ok(accepted.pop().unwrap_or_default())
    }

    /// One transaction for all of them.
    async fn commit(&self, requests: &[Request], wait: Wait) -> Result<Vec<Accepted>, DeliveryError> {
        for _ in 0..TRIES {
            let mut transaction = pool::begin(&self.pool, &format!("{BEGIN}{}", wait.setting())).await?;
            match take_in(&mut transaction, requests, &self.config).await {
                Ok(accepted) => {
                    transaction.commit().await?;
                    if accepted.iter().any(|one| one.jobs_created + one.jobs_coalesced > 0) {
                        self.waker.jobs_added();
                    }
                    return Ok(accepted);
                }
                Err(Failed::For(error)) => {
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
