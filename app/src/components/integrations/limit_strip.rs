//! Use of a rate limit over time: the shade says how much was used, the hatch that they answered 429 below it, the tick that it
//! was edited.

use crate::format;
use crate::ui::{HeatCell, HeatStrip, Tone};
use leptos::prelude::*;
use model::limit_use::{LimitStep, LimitUse};

#[component]
pub fn LimitStrip(
    #[prop(into)] used: Signal<LimitUse>,
    /// With captions of its own; a list of strips has them once.
    #[prop(optional)]
    captioned: bool,
) -> impl IntoView {
    let cells = Memo::new(move |_| used.with(cells));
    let label = Signal::derive(move || used.with(in_words));
    let caption = Signal::derive(move || {
        captioned.then(|| {
            let begin =
                used.with(|used| used.steps.first().map(|step| moment(used, step))).unwrap_or_default();
            (format!("since {begin} UTC"), "now".to_owned())
        })
    });
    view! { <HeatStrip label=label caption=caption cells=cells tone=Tone::Limited /> }.into_any()
}

fn cells(used: &LimitUse) -> Vec<HeatCell> {
    used.steps
        .iter()
        .map(|step| {
            let is_marked = edits_in(used, step) > 0;
            let refused = step.was_refused_below_limit();
            HeatCell { share: step.share(), refused, is_marked, says: says(used, step) }
        })
        .collect()
}

/// How often the limit was edited in a step.
pub fn edits_in(used: &LimitUse, step: &LimitStep) -> usize {
    let end = step.at + chrono::TimeDelta::seconds(used.step_seconds.into());
    used.edited_at.iter().filter(|at| (step.at..end).contains(*at)).count()
}

/// `14:03: 283 of 600 used, 2 × 429`.
fn says(used: &LimitUse, step: &LimitStep) -> String {
    let mut text = format!("{}: {} of {} used", moment(used, step), format::count(step.given), allowed(step));
    if step.refused > 0 {
        text.push_str(&format!(", {} × 429", format::count(step.refused)));
    }
    if edits_in(used, step) > 0 {
        text.push_str(", limit edited");
    }
    text
}

/// When a step began; with its day where steps are long.
pub fn moment(used: &LimitUse, step: &LimitStep) -> String {
    step.at.format(if used.step_seconds > 60 { "%-d %b %H:%M" } else { "%H:%M" }).to_string()
}

/// Whole requests, or two decimals where a limit allows few.
pub fn allowed(step: &LimitStep) -> String {
    if step.allowed >= 10.0 || step.allowed.fract() == 0.0 {
        format::count(step.allowed.round() as i64)
    } else {
        format!("{:.2}", step.allowed)
    }
}

/// The strip as one sentence.
fn in_words(used: &LimitUse) -> String {
    let (given, allowed): (f64, f64) =
        used.steps.iter().fold((0.0, 0.0), |sum, step| (sum.0 + step.given as f64, sum.1 + step.allowed));
    let average = if allowed > 0.0 { given / allowed } else { 0.0 };
    let mut text = format!(
        "Limit use {} since {} UTC: average {}",
        if used.step_seconds > 60 { "per 15 minutes" } else { "per minute" },
        used.steps.first().map(|step| moment(used, step)).unwrap_or_default(),
        format::percent(average)
    );
    if let Some(peak) =
        used.steps.iter().max_by(|a, b| a.share().total_cmp(&b.share())).filter(|peak| peak.given > 0)
    {
        text.push_str(&format!(", peak {} at {}", format::percent(peak.share()), moment(used, peak)));
    }
    let refused = used.steps.iter().filter(|step| step.was_refused_below_limit()).count() as i64;
    if refused > 0 {
        text.push_str(&format!("; 429 below the limit in {} of {} steps", refused, used.steps.len()));
    }
    match used.edited_at.len() as i64 {
        0 => {}
        n => text.push_str(&format!("; edited {}", format::counted(n, "time", "times"))),
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::{DateTime, TimeDelta, Utc};

    #[test]
    fn the_strip_has_a_sentence_and_each_cell_its_own() {
        let noon: DateTime<Utc> = "2026-11-20T12:00:00Z".parse().expect("a time");
        let step = |minute, given, refused| LimitStep {
            at: noon + TimeDelta::minutes(minute),
            given,
            allowed: 600.0,
            refused,
        };
        let used = LimitUse {
            step_seconds: 60,
            steps: vec![step(0, 0, 0), step(1, 300, 2), step(2, 600, 0)],
            edited_at: vec![noon + TimeDelta::seconds(130)],
        };
        assert_eq!(
            in_words(&used),
            "Limit use per minute since 12:00 UTC: average 50 %, peak 100 % at 12:02; 429 below the limit in 1 of 3 steps; edited 1 time"
        );
        let cells = cells(&used);
        assert_eq!(cells[1].says, "12:01: 300 of 600 used, 2 × 429");
        assert_eq!(cells[2].says, "12:02: 600 of 600 used, limit edited");
        let drawn: Vec<_> = cells.iter().map(|cell| (cell.share, cell.refused, cell.is_marked)).collect();
        assert_eq!(drawn, [(0.0, false, false), (0.5, true, false), (1.0, false, true)]);
    }
}
