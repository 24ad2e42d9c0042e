//! Every refusal the API answers with: `application/problem+json` (RFC 9457).
//!
//! One mapping from the errors of each crate. What went wrong inside goes to the log, never to the client; a thing that is not there
//! and a thing of another app answer alike.

use access::AccessError;
use axum::{
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use delivery::DeliveryError;
use model::problem::{Faults, FieldError};
use queue::QueueError;
use serde::Serialize;
use std::time::Duration;
use steering::SteeringError;
use utoipa::ToSchema;

/// The content type of a refusal.
pub const CONTENT_TYPE: &str = "application/problem+json";

/// What a client is told to wait when the database is away.
const AWAY: Duration = Duration::from_secs(5);
/// And when there is too much to do, or the same is being done.
const CROWDED: Duration = Duration::from_secs(1);

/// A problem document.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub struct Document {
    /// `urn:headgate:problem:` and a word that stays the same.
    #[serde(rename = "type")]
    kind: String,
    /// The kind of problem in words.
    title: &'static str,
    /// The HTTP status.
    status: u16,
    /// This occurrence in words.
    detail: String,
    /// Of an input: each fault and where it is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    errors: Vec<FieldError>,
}

/// A refusal. Boxed: it is the error of functions whose success is small.
#[derive(Clone, Debug)]
pub struct Problem(Box<Parts>);

#[derive(Clone, Debug)]
struct Parts {
    status: StatusCode,
    kind: &'static str,
    title: &'static str,
    detail: String,
    errors: Vec<FieldError>,
    header: Option<(HeaderName, HeaderValue)>,
}

impl Problem {
    fn new(status: StatusCode, kind: &'static str, title: &'static str, detail: impl Into<String>) -> Self {
        Self(Box::new(Parts { status, kind, title, detail: detail.into(), errors: Vec::new(), header: None }))
    }

    fn with_errors(mut self, errors: Vec<FieldError>) -> Self {
        self.0.errors = errors;
        self
    }

    fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.header = Some((name, value));
        self
    }

    /// 400: no JSON at all.
    pub fn malformed(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "malformed", "The body cannot be read", detail)
    }

    /// 400: no JSON from there on.
    pub fn malformed_at(pointer: String, detail: String) -> Self {
        let said = match pointer.as_str() {
            "" => format!("The body {detail}."),
            place => format!("The body {detail}, within {place}."),
        };
        Self::malformed(said).with_errors(vec![FieldError { pointer, detail }])
    }

    /// 401: no credential, or one that is none (any more).
    pub fn unauthorized(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", "Who asks is not known", detail)
            .with_header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"headgate\""))
    }

    /// 403: known, but not allowed.
    pub fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", "That is not allowed", detail)
    }

    /// 404: not there, or another app's; nobody learns which.
    pub fn not_found() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "not-found",
            "Not found",
            "There is no such thing, or it is not yours to see.",
        )
    }

    /// 404: a moment of which nothing is known.
    pub fn not_recorded(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-recorded", "Nothing was recorded then", detail)
    }

    /// 405.
    pub fn method_not_allowed() -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method-not-allowed",
            "Method not allowed",
            "This path does not answer to that method: see the header allow.",
        )
    }

    /// 408: the body came so slowly that it was not waited for.
    pub fn too_slow() -> Self {
        Self::new(
            StatusCode::REQUEST_TIMEOUT,
            "too-slow",
            "The body came too slowly",
            "Send it with at least 32 kB a second.",
        )
    }

    /// 409.
    pub fn conflict(kind: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, kind, "At odds with what is there", detail)
    }

    /// 409: the same call, by its `Idempotency-Key`, has not ended yet.
    pub fn in_progress() -> Self {
        Self::conflict("in-progress", "The same call is being worked on: send it again in a moment.")
            .retry_after(CROWDED)
    }

    /// 412: the request has a version that is not the newest any more.
    pub fn changed() -> Self {
        Self::new(
            StatusCode::PRECONDITION_FAILED,
            "changed",
            "It was changed meanwhile",
            "It has another etag than the if-match of this request: read it again, and make the change of what it is now.",
        )
    }

    /// 413, with the place of what is too large if it is a part.
    pub fn too_large(detail: impl Into<String>, errors: Vec<FieldError>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", "Larger than it may be", detail)
            .with_errors(errors)
    }

    /// 413: the whole request.
    pub fn too_long() -> Self {
        Self::too_large(
            "A request may have 16 MB, a form of the console 4 MB, and before signing in 64 kB.",
            Vec::new(),
        )
    }

    /// 415.
    pub fn unsupported_media_type(accepted: &str) -> Self {
        let detail = format!("The header content-type must be {accepted}.");
        Self::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported-media-type",
            "Unsupported media type",
            detail,
        )
    }

    /// 415: a body packed in a way that is not known.
    pub fn unsupported_encoding() -> Self {
        Self::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported-encoding",
            "Unsupported content encoding",
            "The header content-encoding must be gzip or zstd, or not be there.",
        )
        .with_header(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip, zstd"))
    }

    /// 422, with every fault and where it is.
    pub fn invalid(faults: Faults) -> Self {
        let places: Vec<&str> = faults.0.iter().take(3).map(|fault| place(&fault.pointer)).collect();
        let count = match faults.0.len() {
            1 => "1 fault".to_owned(),
            n => format!("{n} faults"),
        };
        let more = if faults.0.len() > places.len() { " …" } else { "" };
        let detail = format!("{count}, at {}{more}.", places.join(", "));
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid-input", "The input has faults", detail)
            .with_errors(faults.0)
    }

    /// 422 with one fault.
    pub fn fault(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        let mut faults = Faults::default();
        faults.add(pointer, detail);
        Self::invalid(faults)
    }

    /// 429.
    pub fn too_soon(detail: impl Into<String>, retry_after: Duration) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "too-soon", "Too soon", detail).retry_after(retry_after)
    }

    /// 500: the log says why.
    pub fn internal() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "Something went wrong inside",
            "The log says what; name the x-request-id of this answer when you ask for it.",
        )
    }

    /// 503: no connection is free for it.
    pub fn too_many_connections() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "too-many-connections",
            "Too many connections",
            "As many connections are open as there may be, or as many of your address.",
        )
        .retry_after(CROWDED)
    }

    /// 503: as much is being read as there is memory for.
    pub fn no_room() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "too-much-at-once",
            "Too much at once",
            "Nothing was stored: other large requests take the memory there is for them. Try again in a moment.",
        )
        .retry_after(CROWDED)
    }

    /// 503: the database is away.
    pub fn unavailable() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "unavailable",
            "The database is away",
            "Try again in a moment. A change this call asks for may have been made all the same: an Idempotency-Key, the same each time, makes \
             a POST safe to repeat.",
        )
        .retry_after(AWAY)
    }

    /// 503: others hold what the call is about, or were faster.
    pub fn held() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "held",
            "Somebody else holds it",
            "Nothing was stored: what this call is about was held by others for too long, or they changed it at the same moment. Try again \
             in a moment.",
        )
        .retry_after(CROWDED)
    }

    /// 503: as many calls with a key as there may be are under way.
    pub fn busy() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "busy",
            "Too many calls at once",
            "Nothing was done: as many calls with an Idempotency-Key as there may be are under way.",
        )
        .retry_after(CROWDED)
    }

    /// 503: a search took too long.
    pub fn took_too_long() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "took-too-long",
            "The search took too long",
            "Narrow it: integration_id leaves one integration's jobs to look through, status=failed the dead letters, a later created_after \
             fewer finished jobs.",
        )
        .retry_after(AWAY)
    }

    fn gone(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, "lease-lost", "The lease was lost", detail)
    }

    fn retry_after(self, wait: Duration) -> Self {
        // Rounded up: too early by a fraction is too early.
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        self.with_header(header::RETRY_AFTER, HeaderValue::from(seconds.max(1)))
    }

    /// The HTTP status.
    pub fn status(&self) -> StatusCode {
        self.0.status
    }

    /// A sentence for people.
    pub fn detail(&self) -> &str {
        &self.0.detail
    }
}

/// The whole document has the empty pointer, which reads like nothing.
fn place(pointer: &str) -> &str {
    if pointer.is_empty() { "the whole body" } else { pointer }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Parts { status, kind, title, detail, errors, header } = *self.0;
        let kind = format!("urn:headgate:problem:{kind}");
        let document = Document { kind, title, status: status.as_u16(), detail, errors };
        let mut response = (status, axum::Json(document)).into_response();
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE));
        if let Some((name, value)) = header {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

impl From<Faults> for Problem {
    fn from(faults: Faults) -> Self {
        Self::invalid(faults)
    }
}

impl From<QueueError> for Problem {
    fn from(error: QueueError) -> Self {
        match error {
            QueueError::NotFound => Self::not_found(),
            QueueError::WrongState { status, wanted } => {
                let detail = format!("A job that is {} cannot be {wanted}.", status.as_str());
                Self::conflict("wrong-state", detail)
            }
            QueueError::WrongOperationState { state, wanted } => {
                let detail = format!("A bulk action that is {} cannot be {wanted}.", state.as_str());
                Self::conflict("wrong-state", detail)
            }
            QueueError::LeaseLost => Self::gone("The assignment was taken away; nothing was recorded."),
            QueueError::Invalid(faults) => Self::invalid(faults),
            QueueError::Changed(_) => Self::changed(),
            QueueError::Timeout => Self::took_too_long(),
            error if error.is_lock_timeout() || error.lost_a_race() => {
                tracing::warn!(error = %model::text::causes(&error), "a call gave way to others");
                Self::held()
            }
            QueueError::Unavailable(cause) => {
                tracing::warn!(error = %cause, "the database is away");
                Self::unavailable()
            }
            error @ (QueueError::TransactionPooler | QueueError::Migration(_) | QueueError::Database(_)) => {
                hidden(&error)
            }
        }
    }
}

impl From<DeliveryError> for Problem {
    fn from(error: DeliveryError) -> Self {
        match error {
            DeliveryError::NotFound { pointer: None, .. } => Self::not_found(),
            DeliveryError::NotFound { pointer: Some(pointer), .. } => {
                let detail = "names nothing, or something not yours to see".into();
                Self::not_found().with_errors(vec![FieldError { pointer, detail }])
            }
            DeliveryError::Invalid(faults) => Self::invalid(faults),
            DeliveryError::TooLarge(faults) => {
                let detail = faults.to_string();
                Self::too_large(detail, faults.0)
            }
            DeliveryError::Conflict { code, detail } => Self::conflict(code, detail),
            DeliveryError::TooSoon { retry_after } => Self::too_soon(
                "That was asked for a moment ago: wait as long as retry-after says.",
                retry_after,
            ),
            DeliveryError::Queue(error) => error.into(),
            error @ (DeliveryError::Sealed(_) | DeliveryError::Client(_)) => hidden(&error),
        }
    }
}

impl From<AccessError> for Problem {
    fn from(error: AccessError) -> Self {
        match error {
            AccessError::NotFound => Self::not_found(),
            AccessError::Invalid(faults) => Self::invalid(faults),
            AccessError::Conflict { code, detail } => Self::conflict(code, detail),
            AccessError::BadCredentials => Self::unauthorized("The e-mail address or the password is wrong."),
            AccessError::TooMany { retry_after } => {
                Self::too_soon("Too many attempts to sign in: wait as long as retry-after says.", retry_after)
            }
            AccessError::Store(error) => error.into(),
            error @ AccessError::Hashing => hidden(&error),
        }
    }
}

impl From<SteeringError> for Problem {
    fn from(error: SteeringError) -> Self {
        match error {
            SteeringError::Delivery(error) => error.into(),
            SteeringError::Access(error) => error.into(),
            SteeringError::NotAllowed => Self::forbidden("Your role does not allow what this would do."),
        }
    }
}

impl From<sqlx::Error> for Problem {
    fn from(error: sqlx::Error) -> Self {
        QueueError::from(error).into()
    }
}

/// Logs the chain of causes; the client learns only that there was one.
fn hidden(error: &(dyn std::error::Error + 'static)) -> Problem {
    tracing::error!(error = %model::text::causes(error), "a request failed");
    Problem::internal()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_that_took_too_long_names_what_would_be_cheap() {
        let problem = Problem::from(QueueError::Timeout);
        assert_eq!(problem.status(), 503);
        for filter in ["integration_id", "status=failed", "created_after"] {
            assert!(problem.detail().contains(filter), "{}", problem.detail());
        }
    }
}
