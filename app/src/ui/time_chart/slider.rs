//! Selects a bucket with the pointer or the arrow keys, in every chart of the page.

use super::data::ChartData;
use crate::ui::ChartCursor;
use leptos::{ev, html::Div, prelude::*};

/// A slider over the whole chart. It is rendered after hydration, because it does nothing without a script.
#[component]
pub(super) fn Slider(
    label: String,
    data: Signal<ChartData>,
    pointed: Memo<Option<usize>>,
    /// Describes a bucket.
    sentence: Callback<usize, String>,
) -> impl IntoView {
    let cursor = ChartCursor::current();
    let works = RwSignal::new(false);
    Effect::new(move |_| works.set(true));
    let surface = NodeRef::<Div>::new();
    let last = move || data.with(|d| d.buckets.len()).saturating_sub(1);
    let point_at = move |index: usize| cursor.set(data.with_untracked(|d| d.middle(index)));
    let on_pointer = move |event: ev::PointerEvent| {
        let Some(width) = surface.get_untracked().map(|surface| surface.client_width()) else { return };
        let share = f64::from(event.offset_x()) / f64::from(width.max(1));
        let buckets = data.with_untracked(|d| d.buckets.len());
        point_at(((share * buckets as f64).max(0.0) as usize).min(buckets.saturating_sub(1)));
    };
    let on_key = move |event: ev::KeyboardEvent| {
        let last = data.with_untracked(|d| d.buckets.len()).saturating_sub(1);
        let here = pointed.get_untracked();
        let from = here.unwrap_or(last);
        let to = match event.key().as_str() {
            "ArrowLeft" | "ArrowDown" => Some(from.saturating_sub(usize::from(here.is_some()))),
            "ArrowRight" | "ArrowUp" => Some((from + usize::from(here.is_some())).min(last)),
            "PageDown" => Some(from.saturating_sub(10)),
            "PageUp" => Some((from + 10).min(last)),
            "Home" => Some(0),
            "End" => Some(last),
            "Escape" if here.is_some() => None,
            _ => return,
        };
        event.prevent_default();
        match to {
            Some(index) => point_at(index),
            None => cursor.set(None),
        }
    };
    move || {
        works.get().then(|| {
            view! {
                <div
                    class="slider"
                    node_ref=surface
                    role="slider"
                    tabindex="0"
                    aria-label=format!("{label}: moment")
                    aria-valuemin="0"
                    aria-valuemax=move || last().to_string()
                    aria-valuenow=move || pointed.get().unwrap_or_else(last).to_string()
                    aria-valuetext=move || sentence.run(pointed.get().unwrap_or_else(last))
                    on:pointermove=on_pointer
                    on:pointerdown=on_pointer
                    on:pointerleave=move |_| cursor.set(None)
                    on:keydown=on_key
                    on:blur=move |_| cursor.set(None)
                ></div>
            }
        })
    }
}
