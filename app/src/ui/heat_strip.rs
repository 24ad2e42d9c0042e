//! A row of cells over time: darker where more was used, hatched where requests were refused, a mark where something was changed.

use super::Tone;
use html_escape::encode_text;
use leptos::prelude::*;
use std::fmt::Write as _;

/// One cell in time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeatCell {
    /// 0 to 1: the shade.
    pub share: f64,
    /// Draws the hatch.
    pub refused: bool,
    /// Draws the mark.
    pub is_marked: bool,
    /// The tooltip.
    pub says: String,
}

#[component]
pub fn HeatStrip(
    /// A summary of the cells for assistive technology.
    #[prop(into)]
    label: Signal<String>,
    /// Left and right caption, if the strip has any of its own.
    #[prop(optional, into)]
    caption: Signal<Option<(String, String)>>,
    /// Oldest first.
    #[prop(into)]
    cells: Signal<Vec<HeatCell>>,
    tone: Tone,
) -> impl IntoView {
    view! {
        <div class=format!("strip {}", tone.class())>
            // One node, because a page of strips has thousands of cells.
            <svg
                viewBox=move || format!("0 0 {} 16", cells.with(Vec::len).max(1) * STEP)
                preserveAspectRatio="none"
                role="img"
                aria-label=move || label.get()
                inner_html=move || cells.with(|cells| drawing(cells))
            ></svg>
            {move || {
                caption
                    .get()
                    .map(|(left, right)| {
                        view! {
                            <div class="cap">
                                <span>{left}</span>
                                <span>{right}</span>
                            </div>
                        }
                    })
            }}
        </div>
    }
    .into_any()
}

/// Width of a cell with and without the gap after it, in units of the drawing.
const STEP: usize = 41;
const WIDTH: usize = 34;
const SHADE: &str = "fill-tone-solid";
const HATCH: &str = "stroke-failed-solid";
const TICK: &str = "fill-ink";

fn drawing(cells: &[HeatCell]) -> String {
    let mut svg = String::new();
    for (at, cell) in cells.iter().enumerate() {
        let x = at * STEP;
        let opacity = 0.08 + 0.92 * cell.share.clamp(0.0, 1.0);
        // Writing to a string cannot fail.
        let _ = write!(
            svg,
            "<g><rect class=\"{SHADE}\" x=\"{x}\" width=\"{WIDTH}\" height=\"16\" fill-opacity=\"{opacity:.2}\"/>"
        );
        if cell.refused {
            let _ = write!(
                svg,
                "<path class=\"{HATCH}\" d=\"M{x} 8l12-8M{x} 16l24-16M{} 16l22-14.6M{} 16l10-6.6\" stroke-width=\"1.5\" \
                 vector-effect=\"non-scaling-stroke\"/>",
                x + 12,
                x + 24
            );
        }
        if cell.is_marked {
            let _ = write!(svg, "<rect class=\"{TICK}\" x=\"{}\" width=\"9\" height=\"16\"/>", x + 12);
        }
        if !cell.says.is_empty() {
            let _ = write!(svg, "<title>{}</title>", encode_text(&cell.says));
        }
        svg.push_str("</g>");
    }
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cell_has_its_shade_hatch_and_mark() {
        let cell =
            |share, refused, is_marked| HeatCell { share, refused, is_marked, says: "14:03".to_owned() };
        let svg = drawing(&[cell(0.0, false, false), cell(1.0, true, false), cell(0.5, false, true)]);
        assert_eq!(svg.matches("<title>14:03</title>").count(), 3);
        assert_eq!((svg.matches(HATCH).count(), svg.matches(TICK).count()), (1, 1));
        for opacity in ["0.08", "1.00", "0.54"] {
            assert!(svg.contains(&format!("fill-opacity=\"{opacity}\"")), "{svg}");
        }
    }

    #[test]
    fn a_tooltip_is_escaped() {
        let cell = HeatCell { says: "<script>".to_owned(), ..HeatCell::default() };
        assert!(!drawing(&[cell]).contains("<script"));
    }
}
