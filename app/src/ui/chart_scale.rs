//! Where things stand in a chart: round axis steps and polyline points.

/// A round number at or above `max`, and the step between grid lines (3 to 5 of them).
pub(super) fn axis(max: f64) -> (f64, f64) {
    if !max.is_finite() || max <= 0.0 {
        return (4.0, 1.0);
    }
    let rough = max / 4.0;
    let magnitude = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .map(|unit| unit * magnitude)
        .find(|step| *step >= rough)
        .unwrap_or(10.0 * magnitude)
        .max(1.0);
    ((max / step).ceil() * step, step)
}

/// `x,y` pairs over a box; 2 units stay free above and below, so that the line is not cut.
pub(super) fn points(values: &[f64], width: f64, height: f64) -> String {
    if values.len() < 2 {
        return String::new();
    }
    let top = values.iter().copied().filter(|v| v.is_finite()).fold(0.0, f64::max);
    let step = width / (values.len() - 1) as f64;
    values
        .iter()
        .enumerate()
        .map(|(at, value)| {
            let share = if top > 0.0 && value.is_finite() { value / top } else { 0.0 };
            format!("{:.1},{:.1}", at as f64 * step, height - 2.0 - share * (height - 4.0))
        })
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::{axis, points};

    #[test]
    fn the_axis_ends_on_a_round_number_above_the_data() {
        for (max, want) in [
            (0.0, (4.0, 1.0)),
            (3.0, (3.0, 1.0)),
            (7.0, (8.0, 2.0)),
            (10.0, (10.0, 2.5)),
            (3_400.0, (4_000.0, 1_000.0)),
            (86.0, (100.0, 25.0)),
            (f64::NAN, (4.0, 1.0)),
        ] {
            assert_eq!(axis(max), want, "max {max}");
        }
    }

    #[test]
    fn a_flat_line_lies_at_the_bottom_and_a_single_value_draws_nothing() {
        assert_eq!(points(&[0.0, 0.0], 200.0, 30.0), "0.0,28.0 200.0,28.0");
        assert_eq!(points(&[1.0], 200.0, 30.0), "");
        assert_eq!(points(&[0.0, 4.0], 200.0, 30.0), "0.0,28.0 200.0,2.0");
    }
}
