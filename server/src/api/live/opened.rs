//! The object a viewer has open, sent as soon as it changes: read once for all viewers who see the same of it.

use crate::{api::problem::Problem, state::AppState};
use access::CredentialWatch;
use axum::{http::StatusCode, response::sse::Event};
use futures::{Stream, stream};
use insight::{
    live::{Audience, Versions},
    store::{explain, operations, stats},
};
use model::{
    actor::Actor,
    opened::{ExplainedJob, LiveUpdate, Opened},
    rules::masking::Sensitive,
};
use queue::store::{clock, jobs};
use serde::Serialize;
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio::time::{sleep, timeout};

/// After this time without the first version the answer is 503.
const FIRST_READ_TIMEOUT: Duration = Duration::from_secs(5);
/// The last event of an object that was deleted. It has data, because browsers ignore events without.
const GONE: &str = "gone";
/// Before a change that could not be read is read again.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

pub(super) struct OpenedStream {
    state: AppState,
    opened: Opened,
    audience: Audience,
    versions: Versions,
    credential: CredentialWatch,
    is_gone: bool,
}

impl OpenedStream {
    /// # Errors
    /// 404 when the object does not exist, or the actor may not see it.
    pub(super) async fn begin(
        state: AppState,
        actor: &Actor,
        opened: Opened,
        credential: CredentialWatch,
    ) -> Result<Self, Problem> {
        let audience = Audience { scope: actor.scope(), role: actor.role };
        let versions = state.live.open(opened);
        let mut opened_stream = Self { state, opened, audience, versions, credential, is_gone: false };
        let first = timeout(FIRST_READ_TIMEOUT, opened_stream.versions.wait_for(Option::is_some)).await;
        if !first.is_ok_and(|first| first.is_ok()) {
            return Err(Problem::unavailable());
        }
        opened_stream.current_json().await?.ok_or_else(Problem::not_found)?;
        // So that it is sent as the first event.
        opened_stream.versions.mark_changed();
        Ok(opened_stream)
    }

    pub(super) fn events(self) -> impl Stream<Item = Result<Event, Infallible>> + Send {
        stream::unfold(self, async |mut opened_stream| Some((Ok(opened_stream.next().await?), opened_stream)))
    }

    /// Each version of the object until the stream ends; the last event is `gone` if it was deleted.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if self.is_gone {
                return None;
            }
            tokio::select! {
                () = self.state.stop.cancelled() => return None,
                () = self.credential.ended() => return None,
                changed = self.versions.changed() => changed.ok()?,
            }
            match self.current_json().await {
                Ok(Some(json)) => return Some(Event::default().event(self.opened.kind()).data(json)),
                Ok(None) => {
                    self.is_gone = true;
                    return Some(gone());
                }
                Err(_) => {
                    sleep(RETRY_PAUSE).await;
                    self.versions.mark_changed();
                }
            }
        }
    }

    async fn current_json(&mut self) -> Result<Option<Arc<str>>, Problem> {
        let version = self.versions.borrow_and_update().clone();
        let Some(version) = version else { return Ok(None) };
        version.json_for(self.audience, read(&self.state, self.audience, self.opened)).await
    }
}

pub(super) fn gone() -> Event {
    Event::default().event(GONE).data("{}")
}

/// The object as JSON with secrets masked: a page shows secrets on request only. `None` where it does not exist for the audience.
async fn read(state: &AppState, audience: Audience, opened: Opened) -> Result<Option<String>, Problem> {
    match read_now(state, audience, opened).await {
        Err(problem) if problem.status() == StatusCode::NOT_FOUND => Ok(None),
        read => read.map(Some),
    }
}

async fn read_now(state: &AppState, audience: Audience, opened: Opened) -> Result<String, Problem> {
    let (pool, scope) = (&state.pool, audience.scope);
    let at = clock::now(pool).await?;
    match opened {
        Opened::Job(id) => {
            let detail = masked(state, audience, jobs::get(pool, scope, id).await?).await?;
            let explanation = explain::explain(pool, scope, id).await?;
            json(LiveUpdate { at, now: ExplainedJob { detail, explanation } })
        }
        Opened::Integration(id) => json(LiveUpdate { at, now: stats::gauge(pool, scope, id).await? }),
        Opened::Operation(id) => {
            let operation = masked(state, audience, operations::get(pool, scope, id).await?).await?;
            json(LiveUpdate { at, now: operation })
        }
    }
}

async fn masked<T: Sensitive>(state: &AppState, audience: Audience, mut what: T) -> Result<T, Problem> {
    what.hide_internals(audience.role);
    Ok(state.delivery.masked(what).await?.0)
}

fn json(update: LiveUpdate<impl Serialize>) -> Result<String, Problem> {
    serde_json::to_string(&update).map_err(|error| {
        tracing::error!(%error, "a live update cannot be written as JSON");
        Problem::internal()
    })
}
