//! What went over the wire in one attempt: how its time was spent, the request and the answer, or why they are not known.

use super::attempt_words::reason_phrase;
use crate::{
    format,
    ui::{CopyButton, Tone},
};
use leptos::prelude::*;
use model::{
    attempt::{Attempt, AttemptOutcome},
    exchange::{AnswerHead, BodySize, Exchange, Header, SentRequest, Timing},
    text::{EXCERPT_CHARS, shown},
};

#[component]
pub fn AttemptExchange(
    attempt: Attempt,
    /// Milliseconds between when it was due and when it began, where that is known.
    queued: Option<i64>,
    /// Headgate sends a request for such jobs; false where the app's own worker does them.
    sends: bool,
) -> impl IntoView {
    let Some(exchange) = attempt.exchange.as_deref() else {
        let due = queued
            .map(|ms| view! { <p>{format!("started {} after it was due", format::milliseconds(ms))}</p> });
        let why = not_kept(&attempt, sends).map(|why| view! { <p>{why}</p> });
        return view! { {due}{why} }.into_any();
    };
    let Exchange { request, answer, timing } = exchange;
    let parts = parts(queued, *timing, request.is_some(), answer.is_some());
    let number = attempt.attempt;
    let sent = request.as_ref().map(|request| (request_text(request), request_size(request)));
    let came = answer.as_ref().map(|answer| (answer_text(&attempt, answer), answer_size(answer)));
    let has_answer = came.is_some();
    view! {
        {(!parts.is_empty()).then(|| view! { <Phases parts=parts.clone() /> })}
        <p>{in_words(&parts)}</p>
        {match sent {
            None => view! { <p>"No request was sent."</p> }.into_any(),
            Some((text, size)) => {
                view! {
                    <details class="fold">
                        <summary>
                            {if has_answer { "Request and answer" } else { "Request; no answer came" }}
                            <span class="sr-only">{format!(" of attempt {number}")}</span>
                        </summary>
                        <Message name="Request" text=text size=size number=number />
                        {came.map(|(text, size)| view! { <Message name="Answer" text=text size=size number=number /> })}
                    </details>
                }
                    .into_any()
            }
        }}
    }
    .into_any()
}

/// A request or an answer, as it goes over the wire.
#[component]
fn Message(name: &'static str, text: String, size: String, number: i16) -> impl IntoView {
    view! {
        <p class="flex flex-wrap items-center gap-1">
            {format!("{name}: {size}")} <CopyButton text=text.clone() says=format!("Copy the {} of attempt {number}", name.to_lowercase()) />
        </p>
        <pre class="code" tabindex="0" role="group" aria-label=format!("{name} of attempt {number}")>
            {shown(&text).into_owned()}
        </pre>
    }
    .into_any()
}

/// The parts as a bar. Decoration: the words below it say the same.
#[component]
fn Phases(parts: Vec<Part>) -> impl IntoView {
    let whole: i64 = parts.iter().map(|part| part.ms).sum();
    let percent = move |ms: i64| format!("{:.1}%", ms as f64 * 100.0 / whole.max(1) as f64);
    let mut before = 0;
    let bars = parts
        .into_iter()
        .map(|part| {
            let x = percent(before);
            before += part.ms;
            view! { <rect class=format!("{} fill-tone-solid", part.tone.class()) x=x width=percent(part.ms) height="100%" /> }
        })
        .collect_view();
    view! {
        <svg class="phases" aria-hidden="true">
            {bars}
        </svg>
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    says: &'static str,
    ms: i64,
    tone: Tone,
}

/// In the order in which they happened.
fn parts(queued: Option<i64>, timing: Timing, has_request: bool, has_answer: bool) -> Vec<Part> {
    let until = if has_answer { "answer after" } else { "no answer after" };
    let part = |says, ms: Option<i64>, tone| Some(Part { says, ms: ms?, tone });
    let wide = |ms: Option<u32>| ms.map(i64::from).filter(|_| has_request);
    [
        part("in queue", queued, Tone::Waiting),
        part("prepare", wide(Some(timing.prepare_ms)), Tone::Paused),
        part("rate limit", wide(Some(timing.limit_ms)), Tone::Limited),
        part("connect", wide(timing.connect_ms), Tone::Processing),
        part(until, wide(timing.answer_ms), Tone::Retrying),
        part("read body", wide(timing.body_ms), Tone::Delivered),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// `in queue 38 ms · prepare 2 ms · answer after 1.21 s`; parts that took no time are left out.
fn in_words(parts: &[Part]) -> String {
    let shown = parts.iter().filter(|part| part.ms > 0);
    shown
        .map(|part| format!("{} {}", part.says, format::milliseconds(part.ms)))
        .collect::<Vec<_>>()
        .join(" · ")
}

fn request_text(request: &SentRequest) -> String {
    let SentRequest { method, url, headers, excerpt, .. } = request;
    message(&format!("{method} {url}"), headers, excerpt)
}

fn answer_text(attempt: &Attempt, answer: &AnswerHead) -> String {
    let status = attempt.response_status.unwrap_or_default();
    let line = format!("{status} {}", reason_phrase(status));
    message(line.trim_end(), &answer.headers, attempt.response_excerpt.as_deref().unwrap_or_default())
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

fn request_size(request: &SentRequest) -> String {
    let size = size(request.body, model::exchange::SENT_CHARS);
    match request.jobs {
        ..=1 => size,
        jobs => format!("one request for {jobs} jobs, {size}; shown is this job's part"),
    }
}

fn answer_size(answer: &AnswerHead) -> String {
    size(answer.body, EXCERPT_CHARS)
}

/// `812 B`, `cut at 2,000 characters of 31 kB`, `cut at 2,000 characters of more than 66 kB`.
fn size(body: BodySize, most: usize) -> String {
    let bytes = format::bytes(body.bytes);
    let all = if body.goes_on { format!("more than {bytes}") } else { bytes };
    if body.is_cut {
        return format!("body cut at {} characters of {all}", format::count(most as i64));
    }
    match body.bytes {
        0 if !body.goes_on => "no body".to_owned(),
        _ => format!("body of {all}"),
    }
}

/// Why there is no request to show.
fn not_kept(attempt: &Attempt, sends: bool) -> Option<&'static str> {
    match attempt.outcome {
        AttemptOutcome::Running | AttemptOutcome::Cancelled => None,
        _ if !sends => Some("Done by a worker: Headgate sent no request."),
        AttemptOutcome::Completed if attempt.response_status.is_none() => Some("No request was sent."),
        AttemptOutcome::Completed => {
            Some("Its request is not kept: for a successful attempt only status, answer and time are.")
        }
        AttemptOutcome::Lost => Some("What it sent, if anything, is not known: its worker died."),
        AttemptOutcome::Failed | AttemptOutcome::TimedOut => Some("Its request is not kept."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::exchange::SENT_CHARS;

    fn answered() -> Timing {
        Timing { prepare_ms: 2, limit_ms: 0, connect_ms: None, answer_ms: Some(1_210), body_ms: Some(0) }
    }

    #[test]
    fn the_parts_are_in_the_order_in_which_they_happened() {
        let words =
            |queued, timing: Timing, sent| in_words(&parts(queued, timing, sent, timing.body_ms.is_some()));
        assert_eq!(words(Some(38), answered(), true), "in queue 38 ms · prepare 2 ms · answer after 1.21 s");
        assert_eq!(
            words(
                None,
                Timing { connect_ms: Some(3), limit_ms: 400, answer_ms: None, body_ms: None, ..answered() },
                true
            ),
            "prepare 2 ms · rate limit 400 ms · connect 3 ms"
        );
        let unanswered = Timing { body_ms: None, ..answered() };
        assert_eq!(words(None, unanswered, true), "prepare 2 ms · no answer after 1.21 s");
        assert_eq!(words(Some(5), Timing::default(), false), "in queue 5 ms");
    }

    #[test]
    fn a_cut_body_says_where_it_was_cut_and_how_long_it_was() {
        let of = |bytes, goes_on, is_cut| size(BodySize { bytes, goes_on, is_cut }, EXCERPT_CHARS);
        assert_eq!(of(0, false, false), "no body");
        assert_eq!(of(812, false, false), "body of 812 B");
        assert_eq!(of(31_000, false, true), "body cut at 2,000 characters of 31 kB");
        assert_eq!(of(65_536, true, true), "body cut at 2,000 characters of more than 66 kB");
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
            "one request for 3 jobs, body of 1.2 kB; shown is this job's part"
        );
        assert_eq!(request_text(&request), "POST https://x.test/\nwebhook-id: 1\n\n{}");
        assert_eq!(
            size(BodySize { bytes: 5_000, goes_on: false, is_cut: true }, SENT_CHARS),
            "body cut at 1,000 characters of 5 kB"
        );
    }
}
