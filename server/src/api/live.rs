//! `/live`: server-sent events. At most one `snapshot` a second, its changes as soon as they are sampled, or the object a viewer has open as soon
//! as it changes.
//!
//! All viewers share what is read. A stream ends at shutdown, because a server waits for open streams without limit, and within a second after
//! its key or session ends.

use super::extract::{Can, Query, Read};
use super::problem::Problem;
use crate::{middleware::session, state::AppState};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::{Stream, StreamExt};
use model::{actor::Actor, id::IntegrationId, opened::Opened};
use serde::Deserialize;
use service::{CredentialWatch, LiveFilter, StreamEvent};
use std::{convert::Infallible, time::Duration};
use tokio_util::sync::CancellationToken;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

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
    can: Can<Read>,
    State(state): State<AppState>,
    Query(params): Query<LiveParams>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let LiveParams { integration_id, changes, open } = params;
    let events = can.headgate.live_events(&can, LiveFilter { integration_id, changes }, open).await?;
    Ok(answer(events, StreamEnd::of(&state, &can, &headers)))
}

fn answer(events: impl Stream<Item = StreamEvent> + Send + 'static, end: StreamEnd) -> Response {
    let events = events.take_until(end.reached()).map(|event| Ok::<_, Infallible>(sse(&event)));
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

fn sse(StreamEvent { name, at, json }: &StreamEvent) -> Event {
    let event = Event::default().event(name);
    let event = match at {
        Some(at) => event.id(at.timestamp_millis().to_string()),
        None => event,
    };
    event.data(json)
}

/// What ends a stream.
struct StreamEnd {
    stop: CancellationToken,
    credential: CredentialWatch,
}

impl StreamEnd {
    fn of(state: &AppState, actor: &Actor, headers: &HeaderMap) -> Self {
        let token = session::token_of(headers);
        let credential = state.headgate.access().watch_credential(actor, token.as_deref());
        Self { stop: state.stop.clone(), credential }
    }

    async fn reached(mut self) {
        tokio::select! {
            () = self.stop.cancelled() => {}
            () = self.credential.ended() => {}
        }
    }
}
