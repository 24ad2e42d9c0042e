//! Round axis steps and paths of lines.

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

/// A line over a box, broken where there is no value; 2 units are left free above and below, so that the line is not clipped. Empty for
/// fewer than two values.
pub(super) fn path(values: &[Option<f64>], top: f64, width: f64, height: f64) -> String {
    if values.iter().flatten().nth(1).is_none() {
        return String::new();
    }
    let step = width / (values.len() - 1) as f64;
    let mut pen_is_down = false;
    let mut path = String::new();
    for (at, value) in values.iter().enumerate() {
        let Some(value) = value.filter(|value| value.is_finite()) else {
            pen_is_down = false;
            continue;
        };
        let share = if top > 0.0 { value / top } else { 0.0 };
        let y = height - 2.0 - share * (height - 4.0);
        path.push_str(&format!("{}{:.1} {y:.1}", if pen_is_down { 'L' } else { 'M' }, at as f64 * step));
        pen_is_down = true;
    }
    path
}

/// The maximum of several lines, which are drawn on one scale.
pub(super) fn top<'a>(values: impl Iterator<Item = &'a Option<f64>>) -> f64 {
    values.flatten().copied().filter(|value| value.is_finite()).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::{axis, path};

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
    fn a_flat_line_is_at_the_bottom_and_a_single_value_draws_nothing() {
        let line = |values: &[Option<f64>], top| path(values, top, 200.0, 30.0);
        assert_eq!(line(&[Some(0.0), Some(0.0)], 0.0), "M0.0 28.0L200.0 28.0");
        assert_eq!(line(&[Some(1.0)], 1.0), "");
        assert_eq!(line(&[None, Some(1.0), None], 1.0), "");
        assert_eq!(line(&[Some(0.0), Some(4.0)], 4.0), "M0.0 28.0L200.0 2.0");
    }

    #[test]
    fn a_gap_breaks_the_line() {
        let values = [Some(4.0), Some(4.0), None, Some(0.0), Some(2.0)];
        assert_eq!(path(&values, 4.0, 200.0, 30.0), "M0.0 2.0L50.0 2.0M150.0 28.0L200.0 15.0");
    }
}
