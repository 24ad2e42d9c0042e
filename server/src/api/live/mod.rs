//! `/live`: server-sent events, one `snapshot` a second at most, what changed in it as soon as that was sampled, or what a viewer has open as soon as
//! it changes.
//!
//! All viewers share what was read. A stream ends at shutdown (a server waits for open ones for ever), and within a second of its key
//! or session.

mod opened;

use super::{
    extract::{Can, Query, Read},
    problem::Problem,
};
use crate::{middleware::session, state::AppState};
use access::CredentialWatch;
use axum::{
    extract::State,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode},
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use chrono::{DateTime, TimeDelta, Utc};
use futures::{Stream, stream};
use insight::live::LiveState;
use model::{actor::Scope, id::IntegrationId, opened::Opened};
use opened::OpenThing;
use serde::Deserialize;
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

/// Between two `snapshot` events: a second, but for what the sampler's clock is off.
const SNAPSHOTS_APART: TimeDelta = TimeDelta::milliseconds(900);
/// How often an idle stream says that it lives.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(live))
}

/// What the stream tells.
#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
struct LiveParams {
    /// One integration alone.
    integration_id: Option<IntegrationId>,
    /// After the first snapshot send what changes alone: events named `changes`, two a second while something moves. `since` is `at` of the event
    /// before, `integrations` holds those that are new or have other numbers, `gone` those that were deleted; the rest is as in a snapshot. A viewer
    /// that is left behind is sent a `snapshot` again. Without effect on a part of the deployment, which is small.
    changes: bool,
    /// Instead of snapshots one thing alone, or with `changes=true` that thing beside them: `job:`, `integration:` or `operation:` and its id. An
    /// event of that name tells it at the beginning and then each change of it, which is looked for every 40 ms, secrets masked. Of an integration
    /// that is a change of its state, its settings or its breaker; how its numbers move is told by snapshots. When it is deleted, an event `gone`
    /// tells that, and a stream of it alone ends. Beside snapshots one that is not there is `gone` from the beginning instead of a 404.
    #[param(value_type = Option<String>, pattern = "^(job|integration|operation):[0-9A-Fa-f-]{36}$")]
    open: Option<Opened>,
}

/// The deployment as it changes: server-sent events named `snapshot`, one a second at most; or what is `open`, as soon as it changes. Takes the
/// console's session as well as a key.
#[utoipa::path(get, path = "/live", tag = "Statistics", params(LiveParams),
    responses(
        (status = 200, description = "The `data` of `snapshot` events is a `Snapshot`, that of `changes` events `SnapshotChanges`, of `job` events \
            `LiveUpdate_ExplainedJob`, of `integration` events `LiveUpdate_IntegrationGauge`, of `operation` events `LiveUpdate_Operation`, of \
            `gone` events `{}`.",
            body = LiveEvent, content_type = "text/event-stream"),
        (status = 404, description = "The integration, or what is to be open, is not there or another app's."),
    ))]
async fn live(
    actor: Can<Read>,
    State(state): State<AppState>,
    Query(params): Query<LiveParams>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    if let Some(id) = params.integration_id {
        state.delivery.integration(actor.scope(), id).await?;
    }
    let token = session::token_of(&headers);
    let credential = || state.access.watch_credential(&actor, token.as_deref());
    let mut thing = match params.open {
        Some(opened) => Some(OpenThing::begin(state.clone(), &actor, opened, credential()).await),
        None => None,
    };
    if let Some(thing) = thing.take_if(|_| !params.changes) {
        return Ok(answer(thing?.events()));
    }
    let viewer = Viewer {
        snapshots: state.live.subscribe(),
        is_first: true,
        scope: actor.scope(),
        integration_id: params.integration_id,
        wants_changes: params.changes,
        sent_at: None,
        shutdown: state.stop.clone(),
        credential: credential(),
    };
    Ok(match thing {
        None => answer(viewer.events()),
        Some(Ok(thing)) => answer(stream::select(viewer.events(), thing.events())),
        // Refused, its viewer would be without the numbers as well.
        Some(Err(problem)) if problem.status() == StatusCode::NOT_FOUND => {
            answer(stream::select(viewer.events(), stream::iter([Ok(opened::gone())])))
        }
        Some(Err(problem)) => return Err(problem),
    })
}

fn answer(events: impl Stream<Item = Result<Event, Infallible>> + Send + 'static) -> Response {
    let mut response = Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response();
    // A proxy that gathers the answer before it passes it on would show nothing.
    let headers = response.headers_mut();
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

/// An event as a browser's `EventSource` hands it over, for the OpenAPI document.
#[derive(ToSchema)]
#[expect(dead_code, reason = "read by utoipa alone; axum writes the events")]
struct LiveEvent {
    /// What `data` is.
    #[schema(pattern = "^(snapshot|changes|job|integration|operation|gone)$")]
    event: String,
    /// The moment of a snapshot, in milliseconds since 1970.
    id: Option<String>,
    /// The snapshot, the changes or the thing, as JSON.
    data: String,
}

struct Viewer {
    snapshots: watch::Receiver<Arc<LiveState>>,
    is_first: bool,
    scope: Scope,
    integration_id: Option<IntegrationId>,
    wants_changes: bool,
    /// `at` of what was sent last.
    sent_at: Option<DateTime<Utc>>,
    shutdown: CancellationToken,
    credential: CredentialWatch,
}

impl Viewer {
    fn events(self) -> impl Stream<Item = Result<Event, Infallible>> + Send {
        stream::unfold(self, async |mut viewer| Some((Ok(viewer.next().await?), viewer)))
    }

    async fn next(&mut self) -> Option<Event> {
        loop {
            if !std::mem::take(&mut self.is_first) {
                tokio::select! {
                    () = self.shutdown.cancelled() => return None,
                    () = self.credential.ended() => return None,
                    changed = self.snapshots.changed() => changed.ok()?,
                }
            }
            let state = Arc::clone(&self.snapshots.borrow_and_update());
            if let Some(event) = self.event(&state) {
                return Some(event);
            }
        }
    }

    /// None: the next one is told instead.
    fn event(&mut self, state: &LiveState) -> Option<Event> {
        let snapshot = state.snapshot.as_ref()?;
        let is_whole = self.scope == Scope::AllApps && self.integration_id.is_none();
        let (name, json) = match &state.changes {
            Some((since, changes)) if self.wants_changes && is_whole && self.sent_at == Some(*since) => {
                ("changes", Arc::clone(changes))
            }
            _ if self.sent_at.is_some_and(|sent_at| snapshot.at - sent_at < SNAPSHOTS_APART) => return None,
            _ if is_whole => ("snapshot", Arc::clone(&state.json)),
            _ => ("snapshot", state.part(self.scope, self.integration_id)?),
        };
        self.sent_at = Some(snapshot.at);
        Some(Event::default().event(name).id(snapshot.at.timestamp_millis().to_string()).data(json))
    }
}
