//! Request and answer of a failed attempt, kept with it in bounded size and without credentials.
//!
//! Values whose names look secret are kept and masked before they are shown ([`crate::rules::masking`]), so that an operator can reveal them like
//! the payload itself. Values of headers that may be keys are never kept.

use serde::{Deserialize, Serialize};

/// At most so many characters of a request's body are kept.
pub const SENT_CHARS: usize = 1_000;
/// At most so many headers of a request, or of an answer, are kept.
pub const MAX_HEADERS: usize = 24;
/// At most so many characters of a header's value are kept.
pub const HEADER_CHARS: usize = 200;
/// At most so many characters of a URL are kept.
pub const URL_CHARS: usize = 500;

/// Request and answer of one attempt. Up to about 12 kB as JSON, usually 1 kB.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Exchange {
    /// What was sent; null: nothing.
    pub request: Option<SentRequest>,
    /// Head of the answer; null: none came. Its status and the beginning of its body are fields of the attempt.
    pub answer: Option<AnswerHead>,
    /// How long each step took.
    pub timing: Timing,
}

/// A sent request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SentRequest {
    /// `POST`, `PUT`, `PATCH`, `DELETE`.
    pub method: String,
    /// Up to 500 characters; only the names of query parameters.
    pub url: String,
    /// Up to 24. Values of the integration's own headers, of credentials and of the signature are not kept and read `[masked]`.
    pub headers: Vec<Header>,
    /// Number of jobs in the request: several in a bundle.
    pub jobs: u32,
    /// Beginning of the body. Of a bundle: this job's part.
    pub excerpt: String,
    /// Size of the body.
    pub body: BodySize,
}

/// The head of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AnswerHead {
    /// Headers that help to explain it: `retry-after`, `content-type`, `x-request-id` and the like.
    pub headers: Vec<Header>,
    /// Size of the body, whose beginning is the attempt's `response_excerpt`.
    pub body: BodySize,
}

/// One header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Header {
    /// In lower case.
    pub name: String,
    /// Up to 200 characters.
    pub value: String,
}

/// How long a body is, and how much of it was kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BodySize {
    /// Of an answer, as far as it was read: at most 64 kB.
    pub bytes: u64,
    /// Whether it was longer, or broke off there.
    pub goes_on: bool,
    /// Whether the excerpt is only its beginning.
    pub is_cut: bool,
}

/// Duration of an attempt's consecutive steps, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Timing {
    /// Until the request was prepared.
    pub prepare_ms: u32,
    /// Waiting for a slot of the integration's rate limit; in a bundle also for the other items.
    pub limit_ms: u32,
    /// DNS, connection and TLS; null: an open connection was reused, or the attempt did not get this far.
    pub connect_ms: Option<u32>,
    /// From then until the answer began, or the wait for it ended; null: no request was sent.
    pub answer_ms: Option<u32>,
    /// Reading the answer's body; null: none came.
    pub body_ms: Option<u32>,
}

impl Timing {
    /// For an item of a bundle: counts all its time in the bundle, except that of the request, as waiting.
    pub fn waited(&mut self, prepare_ms: u32, in_bundle_ms: u32) {
        self.prepare_ms = prepare_ms;
        self.limit_ms = in_bundle_ms.saturating_sub(self.sending_ms());
    }

    /// Duration of the request: connection, answer and body.
    #[must_use]
    pub fn sending_ms(&self) -> u32 {
        let parts = [self.connect_ms, self.answer_ms, self.body_ms];
        parts.into_iter().flatten().fold(0, u32::saturating_add)
    }
}

impl AnswerHead {
    /// The value of a header; `name` in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|header| header.name == name).map(|header| header.value.as_str())
    }
}
