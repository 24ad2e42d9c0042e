//! A request and its answer, as they go over the wire.

use crate::format;
use model::attempt::Attempt;
use model::exchange::{AnswerHead, BodySize, Header, SentRequest};
use model::rules::plain_cause::status_words;
use model::text::EXCERPT_CHARS;

pub fn request_text(request: &SentRequest) -> String {
    let SentRequest { method, url, headers, excerpt, .. } = request;
    message(&format!("{method} {url}"), headers, excerpt)
}

pub fn answer_text(attempt: &Attempt, answer: &AnswerHead) -> String {
    let line = status_words(attempt.response_status.unwrap_or_default());
    message(&line, &answer.headers, attempt.response_excerpt.as_deref().unwrap_or_default())
}

fn message(line: &str, headers: &[Header], body: &str) -> String {
    let mut text = line.to_owned();
    for Header { name, value } in headers {
        text.push_str(&format!("\n{name}: {value}"));
    }
    if !body.is_empty() {
        text.push_str("\n\n");
        text.push_str(body);
    }
    text
}

pub fn request_size(request: &SentRequest) -> String {
    let size = size(request.body, model::exchange::SENT_CHARS);
    match request.jobs {
        ..=1 => size,
        jobs => format!("one request for {jobs} jobs, {size}; only this job's part is shown"),
    }
}

pub fn answer_size(answer: &AnswerHead) -> String {
    size(answer.body, EXCERPT_CHARS)
}

/// `body of 812 B`, `body truncated: 2,000 characters of 31 kB`, `… of more than 66 kB`.
fn size(body: BodySize, most: usize) -> String {
    let bytes = format::bytes(body.bytes);
    let all = if body.goes_on { format!("more than {bytes}") } else { bytes };
    if body.is_cut {
        return format!("body truncated: {} characters of {all}", format::count(most as i64));
    }
    match body.bytes {
        0 if !body.goes_on => "no body".to_owned(),
        _ => format!("body of {all}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::exchange::SENT_CHARS;

    #[test]
    fn a_cut_body_says_where_it_was_cut_and_how_long_it_was() {
        let of = |bytes, goes_on, is_cut| size(BodySize { bytes, goes_on, is_cut }, EXCERPT_CHARS);
        assert_eq!(of(0, false, false), "no body");
        assert_eq!(of(812, false, false), "body of 812 B");
        assert_eq!(of(31_000, false, true), "body truncated: 2,000 characters of 31 kB");
        assert_eq!(of(65_536, true, true), "body truncated: 2,000 characters of more than 66 kB");
        let request = SentRequest {
            method: "POST".into(),
            url: "https://x.test/".into(),
            headers: vec![Header { name: "webhook-id".into(), value: "1".into() }],
            jobs: 3,
            excerpt: "{}".into(),
            body: BodySize { bytes: 1_200, goes_on: false, is_cut: false },
        };
        assert_eq!(
            request_size(&request),
            "one request for 3 jobs, body of 1.2 kB; only this job's part is shown"
        );
        assert_eq!(request_text(&request), "POST https://x.test/\nwebhook-id: 1\n\n{}");
        assert_eq!(
            size(BodySize { bytes: 5_000, goes_on: false, is_cut: true }, SENT_CHARS),
            "body truncated: 1,000 characters of 5 kB"
        );
    }
}
