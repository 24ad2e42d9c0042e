//! `/events`: one event or up to 1,000, plain or as CloudEvents 1.0 JSON.

use super::extract::{Can, Produce, Trace, document, media_type, one_or_many, typed};
use super::problem::Problem;
use crate::{api::cloud_events, state::AppState};
use axum::{Json as Answer, extract::Request, http::StatusCode};
use model::actor::Actor;
use model::event::{Accepted, Event};
use model::one_or_many::OneOrMany;
use utoipa_axum::{router::OpenApiRouter, routes};

const ACCEPTED_TYPES: &str =
    "application/json, application/cloudevents+json or application/cloudevents-batch+json";

pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(accept_events))
}

/// Accepts changes of records: one event, or an array of up to 1,000. All or none of a request is stored.
///
/// Numbers keep their value: an integer that does not fit into 64 bits is refused (send it as a string), a number with a fraction or an exponent
/// becomes the nearest double, and every receiver gets the shortest text of that double. Numbers of the same value (`5` and `5.0`, `0` and
/// `-0.0`) are not a change.
///
/// CloudEvents 1.0: `subject` is `record_type/record_id`, `data` the attributes, `time` when it happened; the extension `appid` names the
/// app (not needed with a key that is bound to one), `correlationid` is the correlation id.
#[utoipa::path(post, path = "/events", tag = "Events",
    request_body(content(
        (OneOrMany<Event> = "application/json"),
        (cloud_events::CloudEvent = "application/cloudevents+json"),
        (Vec<cloud_events::CloudEvent> = "application/cloudevents-batch+json"),
    )),
    params(("traceparent" = Option<String>, Header, description = "W3C Trace Context: requests that result from these events continue this trace, each attempt \
        with a parent id of its own, and keep its sampled flag. A malformed header is ignored, and so is `tracestate`.")),
    responses((status = 202, body = Accepted)))]
async fn accept_events(
    can: Can<Produce>,
    Trace(trace): Trace,
    request: Request,
) -> Result<(StatusCode, Answer<Accepted>), Problem> {
    let events = read(&can, request).await?;
    let accepted = can.headgate.accept_events(&can, events, trace).await?;
    Ok((StatusCode::ACCEPTED, Answer(accepted)))
}

async fn read(actor: &Actor, request: Request) -> Result<OneOrMany<Event>, Problem> {
    let media_type = media_type(request.headers())
        .ok_or_else(|| Problem::unsupported_media_type(ACCEPTED_TYPES))?
        .to_owned();
    let own_app = actor.app_id;
    document(request, move |document| match media_type.as_str() {
        "application/cloudevents+json" if document.is_array() => {
            Err(Problem::fault("", "is an array: send it as application/cloudevents-batch+json"))
        }
        "application/cloudevents-batch+json" if !document.is_array() => {
            Err(Problem::fault("", "must be an array: send one event as application/cloudevents+json"))
        }
        "application/json" => Ok(one_or_many(document, typed)?),
        _ => Ok(one_or_many(document, |value, at| cloud_events::read(value, at, own_app))?),
    })
    .await
}
