//! One number of the first row: label, figure, how it moves, its last hour and the same of a day before. The whole tile is a link.

use super::{PerhapsLink, Sparkline, Tone};
use leptos::prelude::*;

/// How a figure moved, and whether that is good.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delta {
    /// The words, such as `+37 today`.
    pub text: String,
    /// `Some(true)` green, `Some(false)` red, `None` plain.
    pub is_good: Option<bool>,
}

/// A number that leads to what it counts.
#[component]
pub fn Tile(
    /// Colour family of label mark and sparkline.
    tone: Tone,
    /// What is counted.
    #[prop(into)]
    label: String,
    /// The number, written out.
    #[prop(into)]
    figure: Signal<String>,
    /// What follows the number, small.
    #[prop(optional, into)]
    unit: Signal<String>,
    /// How it moved.
    #[prop(optional, into)]
    delta: Signal<Delta>,
    /// The last hour, oldest first; none where nothing was recorded.
    #[prop(into)]
    history: Signal<Vec<Option<f64>>>,
    /// The same hour a day before.
    #[prop(optional, into)]
    ghost: Signal<Vec<Option<f64>>>,
    /// What both lines show, in words.
    #[prop(into)]
    history_says: Signal<String>,
    /// Where the tile leads; nowhere when empty.
    #[prop(optional, into)]
    href: String,
) -> impl IntoView {
    let class = format!("card tile {}", tone.class());
    view! {
        <PerhapsLink href=href class=class>
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
        </PerhapsLink>
    }
    .into_any()
}
