//! A small chart: an area under a line, and optionally an earlier period as a dashed line (the ghost).

use super::chart_scale::{path, top};
use leptos::prelude::*;

const WIDTH: f64 = 200.0;
const HEIGHT: f64 = 30.0;

/// Has the tone of the element around it.
#[component]
pub fn Sparkline(
    /// Oldest first, at equal intervals; none where nothing was recorded. Fewer than two draw nothing.
    #[prop(into)]
    values: Signal<Vec<Option<f64>>>,
    /// The earlier period, on the same scale: as many values, or empty.
    #[prop(optional, into)]
    ghost: Signal<Vec<Option<f64>>>,
    /// What it shows, including the ghost, for assistive technology.
    #[prop(into)]
    label: Signal<String>,
) -> impl IntoView {
    view! {
        <svg
            viewBox="0 0 200 30"
            preserveAspectRatio="none"
            role="img"
            aria-label=move || label.get()
            inner_html=move || values.with(|values| ghost.with(|ghost| drawing(values, ghost)))
        ></svg>
    }
}

fn drawing(values: &[Option<f64>], ghost: &[Option<f64>]) -> String {
    const THIN: &str = "fill=\"none\" vector-effect=\"non-scaling-stroke\"";
    let top = top(values.iter().chain(ghost));
    let (line, ghost) = (path(values, top, WIDTH, HEIGHT), path(ghost, top, WIDTH, HEIGHT));
    format!(
        "<path class=\"stroke-muted\" d=\"{ghost}\" stroke-dasharray=\"3 3\" {THIN}></path>\
         <path class=\"fill-tone-soft\" d=\"{}\"></path>\
         <path class=\"stroke-tone-solid\" d=\"{line}\" stroke-width=\"1.5\" {THIN}></path>",
        areas(&line)
    )
}

/// The area below each piece of a line.
fn areas(line: &str) -> String {
    line.split('M')
        .filter(|piece| !piece.is_empty())
        .map(|piece| {
            let x = |point: &str| point.split(' ').next().unwrap_or_default().to_owned();
            let (first, last) = (x(piece), x(piece.rsplit('L').next().unwrap_or(piece)));
            format!("M{first} {HEIGHT}L{piece}L{last} {HEIGHT}z")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::areas;

    #[test]
    fn each_piece_of_a_broken_line_has_its_area() {
        assert_eq!(areas(""), "");
        assert_eq!(
            areas("M0.0 2.0L50.0 2.0M150.0 28.0L200.0 15.0"),
            "M0.0 30L0.0 2.0L50.0 2.0L50.0 30zM150.0 30L150.0 28.0L200.0 15.0L200.0 30z"
        );
    }
}
