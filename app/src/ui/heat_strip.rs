//! A row of cells, darker where more was used; hatched where the other side said no.

use super::Tone;
use leptos::prelude::*;

/// One cell in time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HeatCell {
    /// 0 to 1: the shade.
    pub share: f64,
    /// Draws the hatch.
    pub refused: bool,
}

/// The strip and its caption.
#[component]
pub fn HeatStrip(
    /// What the cells say, for assistive technology, with the figure that matters.
    #[prop(into)]
    label: Signal<String>,
    /// Left and right caption.
    #[prop(into)]
    caption: Signal<(String, String)>,
    /// Oldest first.
    #[prop(into)]
    cells: Signal<Vec<HeatCell>>,
    /// Colour family.
    tone: Tone,
) -> impl IntoView {
    view! {
        <div class=format!("strip {}", tone.class())>
            <svg
                viewBox=move || format!("0 0 {} 16", cells.with(Vec::len).max(1) * 41)
                preserveAspectRatio="none"
                role="img"
                aria-label=move || label.get()
            >
                {move || {
                    cells
                        .get()
                        .into_iter()
                        .enumerate()
                        .map(|(at, cell)| {
                            view! {
                                <rect
                                    class="fill-tone-solid"
                                    x=at * 41
                                    width="34"
                                    height="16"
                                    fill-opacity=format!("{:.2}", 0.08 + 0.92 * cell.share.clamp(0.0, 1.0))
                                />
                                {cell.refused
                                    .then(|| {
                                        view! {
                                            <rect
                                                class="fill-failed-solid"
                                                x=at * 41
                                                width="34"
                                                height="4"
                                            />
                                        }
                                    })}
                            }
                        })
                        .collect_view()
                }}
            </svg>
            <div class="cap">
                <span>{move || caption.get().0}</span>
                <span>{move || caption.get().1}</span>
            </div>
        </div>
    }
    .into_any()
}
