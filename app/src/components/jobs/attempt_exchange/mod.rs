//! What went over the wire in one attempt: how its time was spent, the request and the answer, or why they are not known.

mod messages;
mod phases;

use self::messages::{answer_size, answer_text, request_size, request_text};
use self::phases::{Phases, in_words, parts};
use super::attempt_words::kept;
use crate::{format, ui::CopyButton};
use leptos::prelude::*;
use model::attempt::{Attempt, AttemptOutcome};
use model::exchange::Exchange;
use model::text::shown;

#[component]
pub fn AttemptExchange(
    attempt: Attempt,
    /// Milliseconds between when it was due and when it began, where that is known.
    queued: Option<i64>,
    /// Headgate sends a request for such jobs; false where the app's own worker does them.
    sends: bool,
) -> impl IntoView {
    let number = attempt.attempt;
    let kept = kept(&attempt).map(|(name, text)| view! { <Kept name=name text=text number=number /> });
    let Some(exchange) = attempt.exchange.as_deref() else {
        let due = queued
            .map(|ms| view! { <p>{format!("started {} after it was due", format::milliseconds(ms))}</p> });
        let why = not_kept(&attempt, sends).map(|why| view! { <p>{why}</p> });
        return view! { {due}{why}{kept} }.into_any();
    };
    let Exchange { request, answer, timing } = exchange;
    let parts = parts(queued, *timing, request.is_some(), answer.is_some());
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
                            {if has_answer { "Request and response" } else { "Request, no response" }}
                            <span class="sr-only">{format!(" of attempt {number}")}</span>
                        </summary>
                        <Message name="Request" text=text size=size number=number />
                        {came.map(|(text, size)| view! { <Message name="Response" text=text size=size number=number /> })}
                    </details>
                }
                    .into_any()
            }
        }}
        {kept}
    }
    .into_any()
}

/// A text that is not shown whole elsewhere.
#[component]
fn Kept(name: &'static str, text: String, number: i16) -> impl IntoView {
    let size = format::counted(text.chars().count() as i64, "character", "characters");
    view! {
        <details class="fold">
            <summary>
                {format!("{name} in full")} <span class="sr-only">{format!(" of attempt {number}")}</span>
            </summary>
            <Message name=name text=text size=size number=number />
        </details>
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

/// Why there is no request to show.
fn not_kept(attempt: &Attempt, sends: bool) -> Option<&'static str> {
    match attempt.outcome {
        AttemptOutcome::Running | AttemptOutcome::Cancelled => None,
        _ if !sends => Some("Run by a worker: Headgate sent no request."),
        AttemptOutcome::Completed if attempt.response_status.is_none() => Some("No request was sent."),
        AttemptOutcome::Completed => {
            Some("Request not kept: of successful attempts only status, response and time are.")
        }
        AttemptOutcome::Lost => Some("What it sent, if anything, is unknown: its worker died."),
        AttemptOutcome::Failed | AttemptOutcome::TimedOut => Some("Request not kept."),
    }
}
