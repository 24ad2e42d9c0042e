//! Jobs that wait for another attempt, by attempts made; each step links to exactly those jobs.

use crate::{format, ui::OptionalLink};
use leptos::prelude::*;

/// The steps, and dead letters below them.
#[component]
pub fn RetryPyramid(
    /// By attempts made: the first number counts jobs after one attempt.
    #[prop(into)]
    steps: Signal<Vec<i64>>,
    #[prop(into)] dead: Signal<i64>,
    /// The steps a day before, drawn as dashed outlines; empty: not known.
    #[prop(optional, into)]
    ghost: Signal<Vec<i64>>,
    /// A filter for the links: `integration_id=…`, or nothing.
    #[prop(optional, into)]
    filter: String,
    /// Steps that are drawn even when they are empty.
    #[prop(default = 10)]
    min_rows: usize,
    /// On a page about the past, where no list has those jobs any more.
    #[prop(optional)]
    is_past: bool,
) -> impl IntoView {
    let filter = StoredValue::new(filter);
    let rows = Memo::new(move |_| steps.with(Vec::len).max(min_rows));
    let max_value = Memo::new(move |_| {
        let highest = |steps: &Vec<i64>| steps.iter().copied().max().unwrap_or(0);
        steps.with(highest).max(ghost.with(highest)).max(1)
    });
    let href = move |path: &str, own: &str| {
        let query = [own.to_owned(), filter.get_value()]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>();
        match query.as_slice() {
            _ if is_past => String::new(),
            [] => path.to_owned(),
            query => format!("{path}?{}", query.join("&")),
        }
    };
    let none = Signal::stored(None);
    view! {
        <div class="pyr">
            <For
                each=move || 0..rows.get()
                key=|step| *step
                children=move |step| {
                    let value = Signal::derive(move || steps.with(|s| s.get(step).copied().unwrap_or(0)));
                    let before = Signal::derive(move || {
                        ghost.with(|g| (!g.is_empty()).then(|| g.get(step).copied().unwrap_or(0)))
                    });
                    view! {
                        <Step
                            href=href("/jobs", &format!("status=to_be_retried&attempt={}", step + 1))
                            label=format!("attempt {}", step + 1)
                            value=value
                            before=before
                            max_value=max_value
                            kind=""
                        />
                    }
                }
            />
            <Step
                href=href("/dead-letters", "")
                label="dead"
                value=dead
                before=none
                max_value=Signal::derive(move || dead.get().max(1))
                kind="dead"
            />
        </div>
    }
    .into_any()
}

#[component]
fn Step(
    href: String,
    #[prop(into)] label: String,
    value: Signal<i64>,
    /// The value a day before.
    before: Signal<Option<i64>>,
    #[prop(into)] max_value: Signal<i64>,
    kind: &'static str,
) -> impl IntoView {
    let bars = move || drawing(value.get(), before.get().unwrap_or(0), max_value.get(), kind);
    let says = move || before.get().map(|n| format!("a day before: {}", format::count(n)));
    let class = Signal::derive(move || format!("row {kind} {}", if value.get() == 0 { "none" } else { "" }));
    view! {
        <OptionalLink href=href class=class>
        <span>{label}</span>
        <svg aria-hidden="true" inner_html=bars></svg>
        <span title=says>
            {move || format::count(value.get())}
            {move || says().map(|says| view! { <span class="sr-only">", " {says}</span> })}
        </span>
        </OptionalLink>
    }
    .into_any()
}

/// A bar in the middle, and around it, dashed, its width a day before.
fn drawing(value: i64, before: i64, max_value: i64, kind: &str) -> String {
    // One job is still a visible step.
    let width = |n: i64| if n == 0 { 0.0 } else { (n as f64 / max_value as f64 * 100.0).clamp(1.2, 100.0) };
    let x = |n: i64| 50.0 - width(n) / 2.0;
    let tone = if kind == "dead" { "fill-failed-solid" } else { "fill-retrying-solid" };
    let mut bars = format!(
        "<rect class=\"{tone}\" rx=\"3\" height=\"14\" x=\"{:.1}%\" width=\"{:.1}%\"></rect>",
        x(value),
        width(value)
    );
    if before > 0 {
        bars += &format!(
            "<rect class=\"stroke-muted\" fill=\"none\" stroke-dasharray=\"3 3\" rx=\"3\" y=\"0.5\" height=\"13\" x=\"{:.1}%\" \
             width=\"{:.1}%\"></rect>",
            x(before),
            width(before)
        );
    }
    bars
}
