//! The API's refusals as `application/problem+json` (RFC 9457), with one mapping from the errors of each crate.
//!
//! Internal causes go to the log, never to the client. What does not exist and what belongs to another app get the same answer.

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use model::problem::{Faults, FieldError};
use serde::Serialize;
use service::{AccessError, DeliveryError, QueueError, ServiceError};
use std::time::Duration;
use utoipa::ToSchema;

pub const CONTENT_TYPE: &str = "application/problem+json";

/// `retry-after` when the database is unavailable.
const UNAVAILABLE_RETRY_AFTER: Duration = Duration::from_secs(5);
/// `retry-after` when there is too much to do, or the same call is in progress.
const BUSY_RETRY_AFTER: Duration = Duration::from_secs(1);

/// A problem document.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub struct Document {
    /// `urn:headgate:problem:` and a stable code.
    #[serde(rename = "type")]
    kind: String,
    /// The kind of problem in words.
    title: &'static str,
    /// The HTTP status.
    status: u16,
    /// This occurrence in words.
    detail: String,
    /// For an input: each fault and its place.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    errors: Vec<FieldError>,
}

/// What most handlers answer.
pub type JsonResult<T> = Result<axum::Json<T>, Problem>;

/// A refusal. Boxed, because it is the error of functions whose success value is small.
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

    /// 400
    pub fn malformed(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "malformed", "The body cannot be read", detail)
    }

    /// 400, with the place of the fault.
    pub fn malformed_at(pointer: String, detail: String) -> Self {
        let sentence = match pointer.as_str() {
            "" => format!("The body {detail}."),
            place => format!("The body {detail}, within {place}."),
        };
        Self::malformed(sentence).with_errors(vec![FieldError { pointer, detail }])
    }

    /// 401: no credential, or one that is invalid or has expired.
    pub fn unauthorized(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", "Not authenticated", detail)
            .with_header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"headgate\""))
    }

    /// 403: authenticated, but not allowed.
    pub fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", "Not allowed", detail)
    }

    /// 404: it does not exist, or belongs to another app; the answer does not tell which.
    pub fn not_found() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "not-found",
            "Not found",
            "It does not exist, or you may not see it.",
        )
    }

    /// 404: no snapshot of that time.
    pub fn not_recorded(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-recorded", "Nothing was recorded at that time", detail)
    }

    /// 405.
    pub fn method_not_allowed() -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method-not-allowed",
            "Method not allowed",
            "This path does not have that method: see the header allow.",
        )
    }

    /// 408
    pub fn too_slow() -> Self {
        Self::new(
            StatusCode::REQUEST_TIMEOUT,
            "too-slow",
            "The body arrived too slowly",
            "Send it with at least 32 kB a second.",
        )
    }

    /// 409
    pub fn conflict(kind: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, kind, "Conflict with the current state", detail)
    }

    /// 409: the same call, by its `Idempotency-Key`, has not ended yet.
    pub fn in_progress() -> Self {
        Self::conflict("in-progress", "The same call is in progress: send it again in a moment.")
            .retry_after(BUSY_RETRY_AFTER)
    }

    /// 412: the request is based on a version that is no longer the newest.
    pub fn changed() -> Self {
        Self::new(
            StatusCode::PRECONDITION_FAILED,
            "changed",
            "It was changed in the meantime",
            "It has another etag than the if-match of this request: read it again and base the change on that.",
        )
    }

    /// 413, with the place of a part that is too large.
    pub fn too_large(detail: impl Into<String>, errors: Vec<FieldError>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", "Too large", detail).with_errors(errors)
    }

    /// 413: the whole request.
    pub fn too_long() -> Self {
        Self::too_large(
            "A request may have 16 MB, a form of the console 4 MB, and before signing in 64 kB.",
            Vec::new(),
        )
    }

    /// 415
    pub fn unsupported_media_type(accepted: &str) -> Self {
        let detail = format!("The header content-type must be {accepted}.");
        Self::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported-media-type",
            "Unsupported media type",
            detail,
        )
    }

    /// 415: the body is compressed in an unknown way.
    pub fn unsupported_encoding() -> Self {
        Self::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported-encoding",
            "Unsupported content encoding",
            "The header content-encoding must be gzip or zstd, or absent.",
        )
        .with_header(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip, zstd"))
    }

    /// 422, with every fault and its place.
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

    /// 429
    pub fn too_soon(detail: impl Into<String>, retry_after: Duration) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "too-soon", "Too soon", detail).retry_after(retry_after)
    }

    /// 500; the cause is in the log.
    pub fn internal() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "Internal error",
            "The cause is in the log; quote the x-request-id of this answer when you report it.",
        )
    }

    /// 503: the connection exceeds a limit of the server.
    pub fn too_many_connections() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "too-many-connections",
            "Too many connections",
            "The limit of open connections is reached, in all or of your address.",
        )
        .retry_after(BUSY_RETRY_AFTER)
    }

    /// 503: other requests use the memory for bodies.
    pub fn no_room() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "too-much-at-once",
            "Too much at once",
            "Nothing was stored: other large requests use the memory reserved for them. Try again in a moment.",
        )
        .retry_after(BUSY_RETRY_AFTER)
    }

    /// 503
    pub fn unavailable() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "unavailable",
            "The database is unavailable",
            "Try again in a moment. The change may have been made nevertheless: with the same Idempotency-Key each time a POST is safe to repeat.",
        )
        .retry_after(UNAVAILABLE_RETRY_AFTER)
    }

    /// 503: other transactions lock what the call needs, or changed it first.
    pub fn locked_elsewhere() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "held",
            "Locked by another call",
            "Nothing was stored: other calls locked what this one needs for too long, or changed it at the same time. Try again in a moment.",
        )
        .retry_after(BUSY_RETRY_AFTER)
    }

    /// 503: the limit of calls with an `Idempotency-Key` is reached.
    pub fn busy() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "busy",
            "Too many calls at once",
            "Nothing was done: the limit of concurrent calls with an Idempotency-Key is reached.",
        )
        .retry_after(BUSY_RETRY_AFTER)
    }

    /// 503: a list or search reached the time limit of its statement.
    pub fn took_too_long() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "took-too-long",
            "The search took too long",
            "Narrow it: integration_id leaves one integration's jobs to look through, status=failed the dead letters, a later created_after \
             fewer finished jobs.",
        )
        .retry_after(UNAVAILABLE_RETRY_AFTER)
    }

    fn retry_after(self, wait: Duration) -> Self {
        // Rounded up, because a fraction of a second too early is too early.
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        self.with_header(header::RETRY_AFTER, HeaderValue::from(seconds.max(1)))
    }

    pub fn status(&self) -> StatusCode {
        self.0.status
    }

    pub fn detail(&self) -> &str {
        &self.0.detail
    }
}

/// The pointer of the whole document is empty, which would be invisible in a sentence.
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
            QueueError::Invalid(faults) => Self::invalid(faults),
            QueueError::Changed(_) => Self::changed(),
            QueueError::Timeout => Self::took_too_long(),
            error if error.is_lock_timeout() || error.lost_a_race() => {
                tracing::warn!(error = %model::text::causes(&error), "a call failed on the locks of others");
                Self::locked_elsewhere()
            }
            QueueError::Unavailable(cause) => {
                tracing::warn!(error = %cause, "the database is unavailable");
                Self::unavailable()
            }
            error @ (QueueError::TermOver
            | QueueError::TransactionPooler
            | QueueError::Migration(_)
            | QueueError::Database(_)) => log_internal(&error),
        }
    }
}

impl From<DeliveryError> for Problem {
    fn from(error: DeliveryError) -> Self {
        match error {
            DeliveryError::NotFound { pointer: None, .. } => Self::not_found(),
            DeliveryError::NotFound { pointer: Some(pointer), .. } => {
                let detail = "names something that does not exist or that you may not see".into();
                Self::not_found().with_errors(vec![FieldError { pointer, detail }])
            }
            DeliveryError::Invalid(faults) => Self::invalid(faults),
            DeliveryError::TooLarge(faults) => {
                let detail = faults.to_string();
                Self::too_large(detail, faults.0)
            }
            DeliveryError::Conflict { code, detail } => Self::conflict(code, detail),
            DeliveryError::TooSoon { retry_after } => Self::too_soon(
                "The same was requested a moment ago: wait as long as retry-after says.",
                retry_after,
            ),
            DeliveryError::Queue(error) => error.into(),
            error @ (DeliveryError::Sealed(_) | DeliveryError::Client(_)) => log_internal(&error),
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
            error @ AccessError::Hashing => log_internal(&error),
        }
    }
}

impl From<ServiceError> for Problem {
    fn from(error: ServiceError) -> Self {
        match error {
            ServiceError::Delivery(error) => error.into(),
            ServiceError::Access(error) => error.into(),
            ServiceError::NotAllowed(detail) => Self::forbidden(detail),
        }
    }
}

impl From<sqlx::Error> for Problem {
    fn from(error: sqlx::Error) -> Self {
        QueueError::from(error).into()
    }
}

/// Logs the chain of causes; the client only learns that something failed.
fn log_internal(error: &(dyn std::error::Error + 'static)) -> Problem {
    tracing::error!(error = %model::text::causes(error), "a request failed");
    Problem::internal()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_that_took_too_long_names_filters_that_are_cheap() {
        let problem = Problem::from(QueueError::Timeout);
        assert_eq!(problem.status(), 503);
        for filter in ["integration_id", "status=failed", "created_after"] {
            assert!(problem.detail().contains(filter), "{}", problem.detail());
        }
    }
}
