//! What a viewer has open, told as soon as it changes: read once for all who see the same of it.

use crate::{api::problem::Problem, state::AppState};
use access::CredentialWatch;
use axum::{http::StatusCode, response::sse::Event};
use futures::{Stream, stream};
use insight::store::explain;
use insight::{
    live::{Audience, Versions},
    store::{operations, stats},
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

/// A database that does not answer in this time counts as away.
const FIRST_LOOK: Duration = Duration::from_secs(5);
/// The last event of a thing that was deleted. It has data, since browsers pass over events that have none.
const GONE: &str = "gone";
/// After what changed could not be read.
const PAUSE: Duration = Duration::from_secs(1);

/// What one viewer has open.
pub(super) struct OpenThing {
    state: AppState,
    opened: Opened,
    audience: Audience,
    versions: Versions,
    credential: CredentialWatch,
    is_gone: bool,
}

impl OpenThing {
    /// # Errors
    /// `NotFound` when there is no such thing, or it is not the actor's to see.
    pub(super) async fn begin(
        state: AppState,
        actor: &Actor,
        opened: Opened,
        credential: CredentialWatch,
    ) -> Result<Self, Problem> {
        let audience = Audience { scope: actor.scope(), role: actor.role };
        let versions = state.live.open(opened);
        let mut thing = Self { state, opened, audience, versions, credential, is_gone: false };
        let looked = timeout(FIRST_LOOK, thing.versions.wait_for(Option::is_some)).await;
        if !looked.is_ok_and(|looked| looked.is_ok()) {
            return Err(Problem::unavailable());
        }
        thing.told().await?.ok_or_else(Problem::not_found)?;
        // It is the first that is told.
        thing.versions.mark_changed();
        Ok(thing)
    }

    pub(super) fn events(self) -> impl Stream<Item = Result<Event, Infallible>> + Send {
        stream::unfold(self, async |mut thing| Some((Ok(thing.next().await?), thing)))
    }

    /// Each version of it, until the stream is to end: at last that it is gone, if it goes.
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
            match self.told().await {
                Ok(Some(json)) => return Some(Event::default().event(self.opened.kind()).data(json)),
                Ok(None) => {
                    self.is_gone = true;
                    return Some(gone());
                }
                Err(_) => {
                    sleep(PAUSE).await;
                    self.versions.mark_changed();
                }
            }
        }
    }

    async fn told(&mut self) -> Result<Option<Arc<str>>, Problem> {
        let version = self.versions.borrow_and_update().clone();
        let Some(version) = version else { return Ok(None) };
        version.json_for(self.audience, read(&self.state, self.audience, self.opened)).await
    }
}

/// That there is no such thing any more.
pub(super) fn gone() -> Event {
    Event::default().event(GONE).data("{}")
}

/// It as JSON, secrets masked: a page shows them to whoever asked for them, and never by itself. None where the audience has no such thing.
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

fn json(told: LiveUpdate<impl Serialize>) -> Result<String, Problem> {
    serde_json::to_string(&told).map_err(|error| {
        tracing::error!(%error, "what is open cannot be written as JSON");
        Problem::internal()
    })
}
