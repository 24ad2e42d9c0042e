//! One number with label, change, its last hour and the same hour a day before. The whole tile is a link.

use super::{OptionalLink, Sparkline, Tone};
use leptos::prelude::*;

/// How a number has changed, and whether that is good.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delta {
    /// Such as `+37 today`.
    pub text: String,
    /// `Some(true)` green, `Some(false)` red, `None` plain.
    pub is_good: Option<bool>,
}

/// A number that links to what it counts.
#[component]
pub fn Tile(
    tone: Tone,
    #[prop(into)] label: String,
    /// The formatted number.
    #[prop(into)]
    figure: Signal<String>,
    /// Small text after the number.
    #[prop(optional, into)]
    unit: Signal<String>,
    #[prop(optional, into)] delta: Signal<Delta>,
    /// The last hour, oldest first; none where nothing was recorded.
    #[prop(into)]
    history: Signal<Vec<Option<f64>>>,
    /// The same hour a day before.
    #[prop(optional, into)]
    ghost: Signal<Vec<Option<f64>>>,
    /// What the sparkline shows, for assistive technology.
    #[prop(into)]
    history_says: Signal<String>,
    /// Empty for no link.
    #[prop(optional, into)]
    href: Signal<String>,
) -> impl IntoView {
    let class = format!("card tile {}", tone.class());
    view! {
        <OptionalLink href=href class=class>
        <span class="label">
            <i></i>
            {label}
        </span>
        <span class="figure type-figure">
            {move || figure.get()} " " <small>{move || unit.get()}</small>
        </span>
        <span class=move || match delta.with(|d| d.is_good) {
            Some(true) => "delta good",
            Some(false) => "delta bad",
            None => "delta",
        }>{move || delta.with(|d| d.text.clone())}</span>
        <Sparkline values=history ghost=ghost label=history_says />
        </OptionalLink>
    }
    .into_any()
}
