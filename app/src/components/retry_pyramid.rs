//! Jobs that wait for another attempt, by how many they have had: each step is a link to exactly those jobs.

use crate::{format, ui::Link};
use leptos::prelude::*;

/// The steps, and the dead letters below.
#[component]
pub fn RetryPyramid(
    /// By attempts made: the first number is those after one attempt.
    #[prop(into)]
    steps: Signal<Vec<i64>>,
    /// Jobs given up.
    #[prop(into)]
    dead: Signal<i64>,
    /// Narrows the links: `integration_id=…`, or nothing.
    #[prop(optional, into)]
    filter: String,
    /// Steps drawn even while they are empty.
    #[prop(default = 10)]
    least: usize,
) -> impl IntoView {
    let filter = StoredValue::new(filter);
    let rows = Memo::new(move |_| steps.with(Vec::len).max(least));
    let most = Memo::new(move |_| steps.with(|s| s.iter().copied().max().unwrap_or(0)).max(1));
    let href = move |path: &str, own: &str| {
        let query = [own.to_owned(), filter.get_value()]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>();
        if query.is_empty() { path.to_owned() } else { format!("{path}?{}", query.join("&")) }
    };
    view! {
        <div class="pyr">
            <For
                each=move || 0..rows.get()
                key=|step| *step
                children=move |step| {
                    let value = Signal::derive(move || steps.with(|s| s.get(step).copied().unwrap_or(0)));
                    view! {
                        <Step
                            href=href("/jobs", &format!("status=to_be_retried&attempt={}", step + 1))
                            label=format!("attempt {}", step + 1)
                            value=value
                            most=most
                            kind=""
                        />
                    }
                }
            />
            <Step href=href("/dead-letters", "") label="dead" value=dead most=Signal::derive(move || dead.get().max(1)) kind="dead" />
        </div>
    }
    .into_any()
}

#[component]
fn Step(
    href: String,
    #[prop(into)] label: String,
    value: Signal<i64>,
    #[prop(into)] most: Signal<i64>,
    kind: &'static str,
) -> impl IntoView {
    let width = move || {
        let n = value.get();
        // One job is still a visible step.
        if n == 0 { 0.0 } else { (n as f64 / most.get() as f64 * 100.0).clamp(1.2, 100.0) }
    };
    let tone = if kind == "dead" { "fill-failed-solid" } else { "fill-retrying-solid" };
    view! {
        <Link
            href=href
            class=Signal::derive(move || {
                format!("row {kind} {}", if value.get() == 0 { "none" } else { "" })
            })
        >
            <span>{label}</span>
            <svg aria-hidden="true">
                <rect
                    class=tone
                    rx="3"
                    height="14"
                    x=move || format!("{:.1}%", 50.0 - width() / 2.0)
                    width=move || format!("{:.1}%", width())
                />
            </svg>
            <span>{move || format::count(value.get())}</span>
        </Link>
    }
    .into_any()
}
