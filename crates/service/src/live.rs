//! What viewers of `/live` are sent: snapshots narrowed to what they may see, and the object they have open as soon as it changes, masked.
//! All viewers share what is read.

use crate::{Allowed, Headgate, ServiceError, permission};
use chrono::{DateTime, TimeDelta, Utc};
use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt};
use insight::live::{Audience, LiveState, Versions};
use insight::store::{explain, operations, stats};
use model::actor::Scope;
use model::id::IntegrationId;
use model::opened::{ExplainedJob, LiveUpdate, Opened};
use model::rules::masking::Sensitive;
use queue::QueueError;
use queue::store::{clock, jobs};
use serde::Serialize;
use std::{sync::Arc, time::Duration};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// Between two `snapshot` events: a second, less the jitter of the sampler's clock.
const MIN_SNAPSHOT_INTERVAL: TimeDelta = TimeDelta::milliseconds(900);
/// After this time without the first version of an object the database counts as away.
const FIRST_READ_TIMEOUT: Duration = Duration::from_secs(5);
/// Before a change that could not be read is read again.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// An event of a live stream.
#[derive(Clone, Debug)]
pub struct StreamEvent {
    /// `snapshot`, `changes`, `gone`, or the kind of the object.
    pub name: &'static str,
    /// The time of a snapshot; an object has it in its data.
    pub at: Option<DateTime<Utc>>,
    /// The data.
    pub json: Arc<str>,
}

impl StreamEvent {
    /// The last event of an object that was deleted. It has data, because browsers ignore events without.
    #[must_use]
    pub fn gone() -> Self {
        Self { name: "gone", at: None, json: Arc::from("{}") }
    }
}

/// What of the deployment is streamed, and how.
#[derive(Clone, Copy, Debug, Default)]
pub struct LiveFilter {
    /// Only this integration.
    pub integration_id: Option<IntegrationId>,
    /// After the first snapshot, only what changes. Has no effect on a part of the deployment, which is small. A viewer that falls behind is
    /// sent a snapshot again.
    pub changes: bool,
}

impl Headgate {
    /// Snapshots, or instead of them the object that the viewer has open; with `changes` both.
    ///
    /// # Errors
    /// No such integration; without `changes`, no such object.
    pub async fn live_events(
        &self,
        actor: &Allowed<permission::Read>,
        filter: LiveFilter,
        open: Option<Opened>,
    ) -> Result<BoxStream<'static, StreamEvent>, ServiceError> {
        let snapshots = self.live_snapshots(actor, filter).await?;
        let Some(opened) = open else { return Ok(snapshots.boxed()) };
        match self.live_object(actor, opened).await {
            object if !filter.changes => Ok(object?.boxed()),
            Ok(object) => Ok(stream::select(snapshots, object).boxed()),
            // A refusal would leave the viewer without the snapshots too.
            Err(error) if error.is_not_found() => {
                Ok(stream::select(snapshots, stream::iter([StreamEvent::gone()])).boxed())
            }
            Err(error) => Err(error),
        }
    }

    /// Snapshots of the actor's apps, one a second at most: the newest at once, then each new one.
    ///
    /// # Errors
    /// No such integration.
    async fn live_snapshots(
        &self,
        actor: &Allowed<permission::Read>,
        filter: LiveFilter,
    ) -> Result<impl Stream<Item = StreamEvent> + Send + use<>, ServiceError> {
        let LiveFilter { integration_id, changes: wants_changes } = filter;
        if let Some(id) = integration_id {
            self.delivery.integration(actor.scope(), id).await?;
        }
        let viewer = Viewer {
            states: self.live.subscribe(),
            is_first: true,
            scope: actor.scope(),
            integration_id,
            wants_changes,
            sent_at: None,
        };
        Ok(stream::unfold(viewer, async |mut viewer| Some((viewer.next().await?, viewer))))
    }

    /// An object at once and again after each change, with secrets masked whoever asks: a page shows secrets on request only. The stream ends with
    /// [`StreamEvent::gone`] when the object is deleted.
    ///
    /// # Errors
    /// It does not exist.
    async fn live_object(
        &self,
        actor: &Allowed<permission::Read>,
        opened: Opened,
    ) -> Result<impl Stream<Item = StreamEvent> + Send + use<>, ServiceError> {
        let mut object = LiveObject {
            headgate: self.clone(),
            opened,
            audience: Audience { scope: actor.scope(), role: actor.role },
            versions: self.live.open(opened),
            is_gone: false,
        };
        let first = timeout(FIRST_READ_TIMEOUT, object.versions.wait_for(Option::is_some)).await;
        if !first.is_ok_and(|first| first.is_ok()) {
            return Err(sqlx::Error::PoolTimedOut.into());
        }
        object.current_json().await?.ok_or(QueueError::NotFound)?;
        // So that it is sent as the first event.
        object.versions.mark_changed();
        Ok(stream::unfold(object, async |mut object| Some((object.next().await?, object))))
    }

    /// The object as JSON. `None` where it does not exist for the audience.
    async fn object_json(&self, audience: Audience, opened: Opened) -> Result<Option<String>, ServiceError> {
        match self.read_object(audience, opened).await {
            Err(error) if error.is_not_found() => Ok(None),
            read => read.map(Some),
        }
    }

    async fn read_object(&self, audience: Audience, opened: Opened) -> Result<String, ServiceError> {
        let (pool, scope) = (self.pool(), audience.scope);
        let at = clock::now(pool).await?;
        match opened {
            Opened::Job(id) => {
                let detail = self.masked_for(audience, jobs::get(pool, scope, id).await?).await?;
                let explanation = explain::explain(pool, scope, id).await?;
                json(&LiveUpdate { at, now: ExplainedJob { detail, explanation } })
            }
            Opened::Integration(id) => json(&LiveUpdate { at, now: stats::gauge(pool, scope, id).await? }),
            Opened::Operation(id) => {
                let operation = operations::get(pool, scope, id).await?;
                let asked = self.asked_values(audience.role, &operation).await?;
                let mut shown = self.masked_for(audience, operation).await?;
                shown.filter.payload = asked;
                json(&LiveUpdate { at, now: shown })
            }
        }
    }

    async fn masked_for<T: Sensitive>(&self, audience: Audience, mut what: T) -> Result<T, ServiceError> {
        what.hide_internals(audience.role);
        self.masked(what).await
    }
}

fn json(update: &LiveUpdate<impl Serialize>) -> Result<String, ServiceError> {
    Ok(serde_json::to_string(update).map_err(|error| sqlx::Error::Encode(Box::new(error)))?)
}

struct Viewer {
    states: watch::Receiver<Arc<LiveState>>,
    is_first: bool,
    scope: Scope,
    integration_id: Option<IntegrationId>,
    wants_changes: bool,
    /// `at` of the last event sent.
    sent_at: Option<DateTime<Utc>>,
}

impl Viewer {
    /// `None`: the program is stopping.
    async fn next(&mut self) -> Option<StreamEvent> {
        loop {
            if !std::mem::take(&mut self.is_first) {
                self.states.changed().await.ok()?;
            }
            let state = Arc::clone(&self.states.borrow_and_update());
            if let Some(event) = self.event(&state) {
                return Some(event);
            }
        }
    }

    /// `None`: too soon after the last event; the next state is sent instead.
    fn event(&mut self, state: &LiveState) -> Option<StreamEvent> {
        let snapshot = state.snapshot.as_ref()?;
        let is_whole = self.scope == Scope::AllApps && self.integration_id.is_none();
        let (name, json) = match &state.changes {
            Some((since, changes)) if self.wants_changes && is_whole && self.sent_at == Some(*since) => {
                ("changes", Arc::clone(changes))
            }
            _ if self.sent_at.is_some_and(|sent_at| snapshot.at - sent_at < MIN_SNAPSHOT_INTERVAL) => {
                return None;
            }
            _ if is_whole => ("snapshot", Arc::clone(&state.json)),
            _ => ("snapshot", state.part(self.scope, self.integration_id)?),
        };
        self.sent_at = Some(snapshot.at);
        Some(StreamEvent { name, at: Some(snapshot.at), json })
    }
}

/// The object a viewer has open: read once for all viewers who see the same of it.
struct LiveObject {
    headgate: Headgate,
    opened: Opened,
    audience: Audience,
    versions: Versions,
    is_gone: bool,
}

impl LiveObject {
    /// `None`: it is gone, or the program is stopping.
    async fn next(&mut self) -> Option<StreamEvent> {
        loop {
            if self.is_gone {
                return None;
            }
            self.versions.changed().await.ok()?;
            match self.current_json().await {
                Ok(Some(json)) => return Some(StreamEvent { name: self.opened.kind(), at: None, json }),
                Ok(None) => {
                    self.is_gone = true;
                    return Some(StreamEvent::gone());
                }
                Err(_) => {
                    sleep(RETRY_PAUSE).await;
                    self.versions.mark_changed();
                }
            }
        }
    }

    async fn current_json(&mut self) -> Result<Option<Arc<str>>, ServiceError> {
        let version = self.versions.borrow_and_update().clone();
        let Some(version) = version else { return Ok(None) };
        version.json_for(self.audience, self.headgate.object_json(self.audience, self.opened)).await
    }
}
