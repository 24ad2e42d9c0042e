//! `/live`: server-sent events. At most one `snapshot` a second, its changes as soon as they are sampled, or the object a viewer has open as soon
//! as it changes.
//!
//! All viewers share what is read. A stream ends at shutdown, because a server waits for open streams without limit, and within a second after
//! its key or session ends.

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
use opened::OpenedStream;
use serde::Deserialize;
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

/// Between two `snapshot` events: a second, less the jitter of the sampler's clock.
const MIN_SNAPSHOT_INTERVAL: TimeDelta = TimeDelta::milliseconds(900);
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(live))
}

#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
struct LiveParams {
    /// Only this integration.
    integration_id: Option<IntegrationId>,
    /// After the first snapshot, send only what changes: events named `changes`, two a second while something changes. `since` is `at` of the
    /// previous event, `integrations` contains those that are new or have other numbers, `gone` those that were deleted; the rest is as in a
    /// snapshot. A viewer that falls behind is sent a `snapshot` again. Has no effect on a part of the deployment, which is small.
    changes: bool,
    /// One object instead of snapshots, or with `changes=true` in addition to them: `job:`, `integration:` or `operation:` and its id. An event of
    /// that name contains the object at the beginning and again after each change, which is polled for every 40 ms, with secrets masked. For an
    /// integration that is a change of its state, its settings or its breaker; its numbers are in the snapshots. When the object is deleted, an
    /// event `gone` is sent, and a stream of that object alone ends. In addition to snapshots, an object that does not exist is `gone` from the
    /// beginning instead of a 404.
    #[param(value_type = Option<String>, pattern = "^(job|integration|operation):[0-9A-Fa-f-]{36}$")]
    open: Option<Opened>,
}

/// Streams the deployment as it changes, as server-sent events named `snapshot`, one a second at most; or what is `open`, as soon as it changes.
///
/// Accepts the console's session as well as a key.
#[utoipa::path(get, path = "/live", tag = "Statistics", params(LiveParams),
    responses(
        (status = 200, description = "The `data` of `snapshot` events is a `Snapshot`, that of `changes` events `SnapshotChanges`, of `job` events \
            `LiveUpdate_ExplainedJob`, of `integration` events `LiveUpdate_IntegrationGauge`, of `operation` events `LiveUpdate_Operation`, of \
            `gone` events `{}`.",
            body = LiveEvent, content_type = "text/event-stream"),
        (status = 404, description = "The integration, or what `open` names, does not exist or belongs to another app."),
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
    let mut opened_stream = match params.open {
        Some(opened) => Some(OpenedStream::begin(state.clone(), &actor, opened, credential()).await),
        None => None,
    };
    if let Some(opened_stream) = opened_stream.take_if(|_| !params.changes) {
        return Ok(answer(opened_stream?.events()));
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
    Ok(match opened_stream {
        None => answer(viewer.events()),
        Some(Ok(opened_stream)) => answer(stream::select(viewer.events(), opened_stream.events())),
        // A refusal would leave the viewer without the snapshots too.
        Some(Err(problem)) if problem.status() == StatusCode::NOT_FOUND => {
            answer(stream::select(viewer.events(), stream::iter([Ok(opened::gone())])))
        }
        Some(Err(problem)) => return Err(problem),
    })
}

fn answer(events: impl Stream<Item = Result<Event, Infallible>> + Send + 'static) -> Response {
    let mut response =
        Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE_INTERVAL)).into_response();
    // Nginx would buffer the answer until it ends, and show nothing.
    let headers = response.headers_mut();
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

/// An event as a browser's `EventSource` hands it over, for the OpenAPI document.
#[derive(ToSchema)]
#[expect(dead_code, reason = "read by utoipa alone; axum writes the events")]
struct LiveEvent {
    /// What `data` contains.
    #[schema(pattern = "^(snapshot|changes|job|integration|operation|gone)$")]
    event: String,
    /// The time of a snapshot, in milliseconds since 1970.
    id: Option<String>,
    /// The snapshot, the changes or the object, as JSON.
    data: String,
}

struct Viewer {
    snapshots: watch::Receiver<Arc<LiveState>>,
    is_first: bool,
    scope: Scope,
    integration_id: Option<IntegrationId>,
    wants_changes: bool,
    /// `at` of the last event sent.
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

    /// `None`: too soon after the last event; the next state is sent instead.
    fn event(&mut self, state: &LiveState) -> Option<Event> {
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
        Some(Event::default().event(name).id(snapshot.at.timestamp_millis().to_string()).data(json))
    }
}
