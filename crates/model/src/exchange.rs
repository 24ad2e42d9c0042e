//! What went over the wire in an attempt that failed: kept with it, bounded, without what proves who sends.
//!
//! What of it may be secret by its name is kept, and masked before it is shown ([`crate::rules::masking`]), so that an operator can have
//! it revealed as the payload itself. Headers that can be keys are never kept.

use serde::{Deserialize, Serialize};

/// The most characters of a request's body that are kept.
pub const SENT_CHARS: usize = 1_000;
/// The most headers of a request, or of an answer, that are kept.
pub const MOST_HEADERS: usize = 24;
/// The most characters of a header's value that are kept.
pub const HEADER_CHARS: usize = 200;
/// The most characters of an address that are kept.
pub const URL_CHARS: usize = 500;

/// What went over the wire in one attempt. Up to about 12 kB as JSON, as a rule 1 kB.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Exchange {
    /// What was sent; null: nothing was.
    pub request: Option<SentRequest>,
    /// What came back besides the status and the beginning of the body, which are the attempt's own; null: nothing came.
    pub answer: Option<AnswerHead>,
    /// Where the time went.
    pub timing: Timing,
}

/// A request as it went out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SentRequest {
    /// `POST`, `PUT`, `PATCH`, `DELETE`.
    pub method: String,
    /// Where to, up to 500 characters; of its query the names alone.
    pub url: String,
    /// Up to 24. The values of the integration's own headers, of its credentials and of the signature read `[masked]`: they are not kept.
    pub headers: Vec<Header>,
    /// Jobs that it carried: several in a bundle.
    pub jobs: u32,
    /// Its body. Of a bundle: what of it was this job's.
    pub excerpt: String,
    /// How much of the body that is.
    pub body: BodySize,
}

/// The head of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AnswerHead {
    /// Those that explain it: `retry-after`, `content-type`, `x-request-id` and the like.
    pub headers: Vec<Header>,
    /// How much of the body stands in the attempt's `response_excerpt`.
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
    /// Of an answer, as far as it was read: 64 kB at the most.
    pub bytes: u64,
    /// Whether it goes on beyond that, or broke off there.
    pub goes_on: bool,
    /// Whether the excerpt is only its beginning.
    pub is_cut: bool,
}

/// Where the time of one attempt went, in milliseconds, one part after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Timing {
    /// Until it was known what is to be sent.
    pub prepare_ms: u32,
    /// For a slot of the integration's rate limit; of a bundle also for the other items.
    pub limit_ms: u32,
    /// For name, connection and TLS; null: a connection that was open already took it, or it did not come so far.
    pub connect_ms: Option<u32>,
    /// From there until the answer began, or was waited for no longer; null: the request did not leave.
    pub answer_ms: Option<u32>,
    /// For the answer's body; null: none came.
    pub body_ms: Option<u32>,
}

impl Timing {
    /// Of an item of a bundle: all the time from handing it in that the request itself did not take.
    pub fn waited(&mut self, prepare_ms: u32, handed_in_ms: u32) {
        self.prepare_ms = prepare_ms;
        self.limit_ms = handed_in_ms.saturating_sub(self.sending_ms());
    }

    /// What the request took: connection, answer and body.
    #[must_use]
    pub fn sending_ms(&self) -> u32 {
        let parts = [self.connect_ms, self.answer_ms, self.body_ms];
        parts.into_iter().flatten().fold(0, u32::saturating_add)
    }
}

impl AnswerHead {
    /// The value of a header, by its name in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|header| header.name == name).map(|header| header.value.as_str())
    }
}
