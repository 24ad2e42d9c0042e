//! What went over the wire in one attempt: where the time went, the request, the answer; or why that is not known.

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

/// Under an attempt's words.
#[component]
pub fn AttemptExchange(
    /// The attempt.
    attempt: Attempt,
    /// Milliseconds it was due before it began, where that is known.
    queued: Option<i64>,
    /// Whether Headgate sends something for such jobs, or a worker of its own does them.
    sends: bool,
) -> impl IntoView {
    let Some(exchange) = attempt.exchange.as_deref() else {
        let due =
            queued.map(|ms| view! { <p>{format!("due {} before it began", format::milliseconds(ms))}</p> });
        let says = not_kept(&attempt, sends).map(|says| view! { <p>{says}</p> });
        return view! { {due}{says} }.into_any();
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

/// The parts as a bar; decoration, the words beside it say the same.
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

/// A part of an attempt's time.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    says: &'static str,
    ms: i64,
    tone: Tone,
}

/// In the order in which they came.
fn parts(queued: Option<i64>, timing: Timing, has_request: bool, has_answer: bool) -> Vec<Part> {
    let until = if has_answer { "until the answer" } else { "in vain for an answer" };
    let part = |says, ms: Option<i64>, tone| Some(Part { says, ms: ms?, tone });
    let wide = |ms: Option<u32>| ms.map(i64::from).filter(|_| has_request);
    [
        part("in the queue after it was due", queued, Tone::Waiting),
        part("prepared", wide(Some(timing.prepare_ms)), Tone::Paused),
        part("for its turn at the limit", wide(Some(timing.limit_ms)), Tone::Limited),
        part("to connect", wide(timing.connect_ms), Tone::Processing),
        part(until, wide(timing.answer_ms), Tone::Retrying),
        part("to read its body", wide(timing.body_ms), Tone::Delivered),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// `in the queue after it was due 38 ms · prepared 2 ms · …`; what took no time goes without saying.
fn in_words(parts: &[Part]) -> String {
    let told = parts.iter().filter(|part| part.ms > 0);
    told.map(|part| format!("{} {}", part.says, format::milliseconds(part.ms)))
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
        jobs => format!("one for {jobs} jobs, {size}; of its body what was this job's"),
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

/// Why there is no request to look at.
fn not_kept(attempt: &Attempt, sends: bool) -> Option<&'static str> {
    match attempt.outcome {
        AttemptOutcome::Running | AttemptOutcome::Cancelled => None,
        _ if !sends => Some("A worker did it: Headgate sent no request."),
        AttemptOutcome::Completed if attempt.response_status.is_none() => Some("No request was sent."),
        AttemptOutcome::Completed => {
            Some("Its request is not kept: of an attempt that succeeds, status, answer and time are.")
        }
        AttemptOutcome::Lost => {
            Some("What it sent, if anything, is not known: its worker did not live to tell.")
        }
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
    fn the_time_is_told_in_the_order_in_which_it_went() {
        let told =
            |queued, timing: Timing, sent| in_words(&parts(queued, timing, sent, timing.body_ms.is_some()));
        assert_eq!(
            told(Some(38), answered(), true),
            "in the queue after it was due 38 ms · prepared 2 ms · until the answer 1.21 s"
        );
        assert_eq!(
            told(
                None,
                Timing { connect_ms: Some(3), limit_ms: 400, answer_ms: None, body_ms: None, ..answered() },
                true
            ),
            "prepared 2 ms · for its turn at the limit 400 ms · to connect 3 ms"
        );
        let unanswered = Timing { body_ms: None, ..answered() };
        assert_eq!(told(None, unanswered, true), "prepared 2 ms · in vain for an answer 1.21 s");
        assert_eq!(told(Some(5), Timing::default(), false), "in the queue after it was due 5 ms");
    }

    #[test]
    fn what_was_cut_says_at_what_and_of_how_much() {
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
        assert_eq!(request_size(&request), "one for 3 jobs, body of 1.2 kB; of its body what was this job's");
        assert_eq!(request_text(&request), "POST https://x.test/\nwebhook-id: 1\n\n{}");
        assert_eq!(
            size(BodySize { bytes: 5_000, goes_on: false, is_cut: true }, SENT_CHARS),
            "body cut at 1,000 characters of 5 kB"
        );
    }
}
