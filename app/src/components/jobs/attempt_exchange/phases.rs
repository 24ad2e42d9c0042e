//! How the time of an attempt was spent.

use crate::{format, ui::Tone};
use leptos::prelude::*;
use model::exchange::Timing;

/// The parts as a bar. Decoration: the words below it say the same.
#[component]
pub fn Phases(parts: Vec<Part>) -> impl IntoView {
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
pub struct Part {
    says: &'static str,
    ms: i64,
    tone: Tone,
}

/// In the order in which they happened.
pub fn parts(queued: Option<i64>, timing: Timing, has_request: bool, has_answer: bool) -> Vec<Part> {
    let until = if has_answer { "response after" } else { "no response after" };
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

/// `in queue 38 ms · prepare 2 ms · response after 1.21 s`; parts that took no time are left out.
pub fn in_words(parts: &[Part]) -> String {
    let shown = parts.iter().filter(|part| part.ms > 0);
    shown
        .map(|part| format!("{} {}", part.says, format::milliseconds(part.ms)))
        .collect::<Vec<_>>()
        .join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered() -> Timing {
        Timing { prepare_ms: 2, limit_ms: 0, connect_ms: None, answer_ms: Some(1_210), body_ms: Some(0) }
    }

    #[test]
    fn the_parts_are_in_the_order_in_which_they_happened() {
        let words =
            |queued, timing: Timing, sent| in_words(&parts(queued, timing, sent, timing.body_ms.is_some()));
        assert_eq!(
            words(Some(38), answered(), true),
            "in queue 38 ms · prepare 2 ms · response after 1.21 s"
        );
        assert_eq!(
            words(
                None,
                Timing { connect_ms: Some(3), limit_ms: 400, answer_ms: None, body_ms: None, ..answered() },
                true
            ),
            "prepare 2 ms · rate limit 400 ms · connect 3 ms"
        );
        let unanswered = Timing { body_ms: None, ..answered() };
        assert_eq!(words(None, unanswered, true), "prepare 2 ms · no response after 1.21 s");
        assert_eq!(words(Some(5), Timing::default(), false), "in queue 5 ms");
    }
}
