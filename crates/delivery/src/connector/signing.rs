//! Request signing: the headers of every request, which are the integration's own, then its credentials, then Headgate's, which override both.

use std::collections::BTreeMap;

use model::trace::TraceContext;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use super::Draft;
use crate::Secret;
use crate::http::client::Request;
use crate::http::mask::Mask;
use crate::http::signature::{self, SigningSecret};
use crate::http::trace::traceparent;
use crate::integrations::Credentials;

pub(crate) struct RequestSigner<'a> {
    /// The job's id: the same at each attempt.
    pub(crate) webhook_id: &'a str,
    pub(crate) correlation_id: &'a str,
    /// The trace the job came with.
    pub(crate) trace: Option<TraceContext>,
    pub(crate) headers: &'a BTreeMap<String, String>,
    pub(crate) credentials: &'a Secret<Credentials>,
    /// Newest first.
    pub(crate) secrets: &'a [SigningSecret],
    /// Unix seconds, by the database's clock: receivers compare them with their own.
    pub(crate) timestamp: i64,
}

impl RequestSigner<'_> {
    pub(crate) fn sign(&self, draft: Draft) -> Request {
        let mut headers = HeaderMap::new();
        for (name, value) in self.headers.iter().chain(self.credentials.expose()) {
            insert(&mut headers, name, value);
        }
        if let Some(content_type) = draft.content_type {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        }
        let signature = signature::sign(self.secrets, self.webhook_id, self.timestamp, &draft.body);
        insert(&mut headers, "webhook-id", self.webhook_id);
        insert(&mut headers, "webhook-timestamp", &self.timestamp.to_string());
        insert(&mut headers, "webhook-signature", &signature);
        insert(&mut headers, "x-correlation-id", self.correlation_id);
        insert(&mut headers, "traceparent", &traceparent(self.trace));
        for (name, value) in &mut headers {
            // Keeps it out of HTTP/2's compression table and of `Debug`.
            value.set_sensitive(name.as_str() != "content-type");
        }
        let secrets = self.credentials.expose().values().chain(std::iter::once(&signature));
        let mask = Mask::of(secrets.map(String::as_str));
        Request { method: draft.method, url: draft.url, headers, body: draft.body, mask }
    }
}

/// Names and values were checked when they were saved; one that an older version let through is left out rather than failing the job.
fn insert(headers: &mut HeaderMap, name: &str, value: &str) {
    if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::from_bytes(value.as_bytes())) {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::Method;

    #[test]
    fn headgates_own_headers_win_and_credentials_win_over_headers() {
        let given = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect::<BTreeMap<_, _>>()
        };
        let headers = given(&[("X-Shop", "1"), ("Authorization", "from headers"), ("Webhook-Id", "mine")]);
        let credentials = Secret::new(given(&[("authorization", "Bearer x")]));
        let secrets = [SigningSecret::generate()];
        let request = RequestSigner {
            webhook_id: "job-1",
            correlation_id: "größe-7",
            trace: None,
            headers: &headers,
            credentials: &credentials,
            secrets: &secrets,
            timestamp: 1_700_000_000,
        }
        .sign(Draft::json(Method::POST, "https://x.test/".into(), &serde_json::json!({"a": 1})));
        let get = |name: &str| String::from_utf8_lossy(request.headers[name].as_bytes()).into_owned();
        assert_eq!((get("x-shop"), get("authorization")), ("1".into(), "Bearer x".into()));
        assert_eq!((get("webhook-id"), get("x-correlation-id")), ("job-1".into(), "größe-7".into()));
        assert_eq!(
            (get("webhook-timestamp"), get("content-type")),
            ("1700000000".into(), "application/json".into())
        );
        assert_eq!(
            get("webhook-signature"),
            signature::sign(&secrets, "job-1", 1_700_000_000, br#"{"a":1}"#)
        );
        assert!(request.headers.contains_key("traceparent"));
    }
}
