//! Shares of a whole, drawn as SVG: its widths are attributes, and the content security policy allows no inline styles.

use super::Tone;
use leptos::prelude::*;

/// A slim bar next to a number; decoration only.
#[component]
pub fn Meter(
    /// 0 to 1.
    #[prop(into)]
    share: Signal<f64>,
    #[prop(into)] tone: Signal<Tone>,
) -> impl IntoView {
    view! {
        <svg
            class=move || format!("inline-block align-middle w-[64px] h-1.5 mr-2 rounded-[3px] bg-sunken {}", tone.get().class())
            aria-hidden="true"
        >
            <rect class="fill-tone-solid" height="100%" width=move || percent(share.get()) />
        </svg>
    }
}

/// The progress of something, named for assistive technology.
#[component]
pub fn ProgressBar(
    #[prop(into)] label: String,
    /// 0 to 1.
    #[prop(into)]
    share: Signal<f64>,
    #[prop(into)] tone: Signal<Tone>,
) -> impl IntoView {
    view! {
        <div
            class=move || format!("prog {}", tone.get().class())
            role="progressbar"
            aria-label=label
            aria-valuemin="0"
            aria-valuemax="100"
            aria-valuenow=move || format!("{:.0}", share.get().clamp(0.0, 1.0) * 100.0)
        >
            <svg aria-hidden="true">
                <rect class="fill-tone-solid" height="100%" width=move || percent(share.get()) />
            </svg>
        </div>
    }
}

fn percent(share: f64) -> String {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    // A small share stays visible.
    let shown = if share > 0.0 { share.max(0.02) } else { 0.0 };
    format!("{:.1}%", shown * 100.0)
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn a_small_share_stays_visible_and_an_invalid_one_is_bounded() {
        for (share, want) in
            [(0.0, "0.0%"), (0.001, "2.0%"), (0.5, "50.0%"), (7.0, "100.0%"), (f64::NAN, "0.0%")]
        {
            assert_eq!(percent(share), want);
        }
    }
}
