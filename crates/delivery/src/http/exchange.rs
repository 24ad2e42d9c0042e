//! What is kept of a failed request and its answer: enough to see what happened, nothing that authenticates the sender.

use std::time::Duration;

use model::exchange::{
    AnswerHead, BodySize, Exchange, HEADER_CHARS, Header, MAX_HEADERS, SENT_CHARS, SentRequest, Timing,
    URL_CHARS,
};
use model::rules::masking::MASK;
use model::text::{sanitise, sanitise_bytes};
use reqwest::{Method, header::HeaderMap};
use url::Url;

use super::{answer::Answer, mask::Mask};

/// Request headers that authenticate nobody. The values of all others can be keys.
const SHOWN_OF_REQUEST: [&str; 5] =
    ["content-type", "webhook-id", "webhook-timestamp", "x-correlation-id", "traceparent"];
/// Headers that explain an answer, or help the operators of the external system to find it.
const SHOWN_OF_ANSWER: [&str; 24] = [
    "retry-after",
    "content-type",
    "content-length",
    "location",
    "www-authenticate",
    "allow",
    "x-request-id",
    "request-id",
    "x-correlation-id",
    "x-trace-id",
    "traceparent",
    "x-amzn-requestid",
    "x-amz-request-id",
    "cf-ray",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "ratelimit",
    "ratelimit-policy",
    "ratelimit-limit",
    "ratelimit-remaining",
    "ratelimit-reset",
    "server",
    "via",
];

/// What is needed of a request if it fails. Cheap, since most do not fail.
#[derive(Clone, Debug)]
pub(crate) struct Outgoing {
    pub(super) method: Method,
    pub(super) url: String,
    pub(super) headers: HeaderMap,
    pub(super) body_bytes: usize,
    pub(super) mask: Mask,
    pub(super) jobs: usize,
}

impl Outgoing {
    /// What is kept of a request that failed. The caller adds the excerpt of each job's part of the body ([`body_excerpt`]).
    pub(crate) fn exchange(self, answer: Option<&Answer>, timing: Timing) -> Exchange {
        Exchange {
            request: Some(SentRequest {
                method: self.method.to_string(),
                url: without_values(&self.url),
                headers: request_headers(&self.headers),
                jobs: u32::try_from(self.jobs).unwrap_or(u32::MAX),
                excerpt: String::new(),
                body: BodySize { bytes: self.body_bytes as u64, goes_on: false, is_cut: false },
            }),
            answer: answer.map(|answer| AnswerHead {
                headers: answer_headers(&answer.headers, &self.mask),
                body: answer.body,
            }),
            timing,
        }
    }
}

/// The beginning of a request's body, and whether there is more of it.
pub(crate) fn body_excerpt(body: &[u8]) -> (String, bool) {
    // No character is longer than four bytes: one that is cut here is beyond what is kept.
    let cut = body.len().min(4 * (SENT_CHARS + 1));
    let excerpt = sanitise_bytes(&body[..cut], SENT_CHARS);
    let is_cut = excerpt.chars().count() > SENT_CHARS;
    (excerpt, is_cut)
}

pub(crate) fn millis(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}

/// Keeps only the names of a query: the values can be keys.
fn without_values(url: &str) -> String {
    let Ok(mut url) = Url::parse(url) else { return String::new() };
    if url.query().is_some() {
        let names: Vec<String> = url.query_pairs().map(|(name, _)| format!("{name}={MASK}")).collect();
        url.set_query(None);
        return sanitise(&format!("{url}?{}", names.join("&")), URL_CHARS);
    }
    sanitise(url.as_str(), URL_CHARS)
}

fn request_headers(headers: &HeaderMap) -> Vec<Header> {
    // Headgate's own first: they identify the request.
    let ours = SHOWN_OF_REQUEST.into_iter().filter_map(|name| Some((name, headers.get(name)?)));
    let ours = ours.map(|(name, value)| header(name, sanitise_bytes(value.as_bytes(), HEADER_CHARS)));
    let others = headers.keys().map(|name| name.as_str()).filter(|name| !SHOWN_OF_REQUEST.contains(name));
    ours.chain(others.map(|name| header(name, MASK.to_owned()))).take(MAX_HEADERS).collect()
}

fn answer_headers(headers: &HeaderMap, mask: &Mask) -> Vec<Header> {
    let shown = SHOWN_OF_ANSWER.into_iter().filter_map(|name| Some((name, headers.get(name)?)));
    shown
        .map(|(name, value)| {
            // Masked before it is cut, as the body is.
            let value = mask.apply(&String::from_utf8_lossy(value.as_bytes()));
            header(name, sanitise(&value, HEADER_CHARS))
        })
        .take(MAX_HEADERS)
        .collect()
}

fn header(name: &str, value: String) -> Header {
    Header { name: sanitise(name, HEADER_CHARS), value }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn read(headers: &[Header]) -> Vec<(&str, &str)> {
        headers.iter().map(|header| (header.name.as_str(), header.value.as_str())).collect()
    }

    #[test]
    fn headers_that_can_be_keys_are_named_without_their_values() {
        let sent = headers(&[
            ("x-shop", "key-1"),
            ("authorization", "Bearer key-2"),
            ("webhook-id", "job-1"),
            ("webhook-signature", "v1,abc="),
            ("content-type", "application/json"),
        ]);
        assert_eq!(
            read(&request_headers(&sent)),
            [
                ("content-type", "application/json"),
                ("webhook-id", "job-1"),
                ("x-shop", MASK),
                ("authorization", MASK),
                ("webhook-signature", MASK),
            ]
        );
    }

    #[test]
    fn an_answer_keeps_headers_that_explain_it_and_no_keys() {
        let came = headers(&[
            ("set-cookie", "session=1"),
            ("x-request-id", "r-1 for s3cr3tvalue"),
            ("retry-after", "60"),
            ("x-anything", "else"),
        ]);
        let kept = answer_headers(&came, &Mask::of(["Bearer s3cr3tvalue"]));
        assert_eq!(read(&kept), [("retry-after", "60"), ("x-request-id", "r-1 for [masked]")]);
    }

    #[test]
    fn an_address_keeps_the_names_of_its_query() {
        for (url, kept) in [
            ("https://x.test/api?key=s3cret&v=2", "https://x.test/api?key=[masked]&v=[masked]"),
            ("https://x.test/a/product/1", "https://x.test/a/product/1"),
        ] {
            assert_eq!(without_values(url), kept);
        }
    }

    #[test]
    fn a_body_is_cut_between_characters_and_says_so() {
        let long = "ü€".repeat(SENT_CHARS);
        let (excerpt, is_cut) = body_excerpt(long.as_bytes());
        assert!(is_cut && excerpt.ends_with('…') && !excerpt.contains('\u{fffd}'));
        assert_eq!(body_excerpt(br#"{"a":1}"#), (r#"{"a":1}"#.to_owned(), false));
    }
}
