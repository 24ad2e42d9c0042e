//! The answer to a request.

use std::time::Duration;

use model::exchange::BodySize;
use reqwest::header::HeaderMap;

/// An answer, as far as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// HTTP status code.
    pub status: u16,
    /// `Retry-After`, as it came.
    pub retry_after: Option<String>,
    /// The beginning of the body, sanitised and masked.
    pub excerpt: String,
    /// The size of the body, as far as it was read.
    pub body: BodySize,
    /// All headers, as they came.
    pub headers: HeaderMap,
    /// From the beginning of the attempt to the end of what was read.
    pub duration: Duration,
}
