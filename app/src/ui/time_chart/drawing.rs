//! Values as SVG paths: one for each series, whatever the number of buckets.

use super::data::{ChartBucket, ChartData, ChartForm};
use super::{HEIGHT, STEP};
use html_escape::encode_text;
use std::fmt::Write as _;

/// The paths of one series: complete buckets, and the partial one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Paths {
    pub whole: String,
    pub partial: String,
}

/// A series of a chart whose axis ends at `top`.
pub(super) fn paths(data: &ChartData, series: usize, form: ChartForm, top: f64) -> Paths {
    match form {
        ChartForm::Bars => stacked(&data.buckets, series, top, 0.4),
        ChartForm::Areas => stacked(&data.buckets, series, top, 0.0),
        ChartForm::Lines => Paths {
            whole: line(data.buckets.iter().map(|bucket| bucket.values.get(series).copied().flatten()), top),
            partial: String::new(),
        },
    }
}

/// An area over the whole height of a bucket, with its tooltip.
pub(super) fn hit(at: usize, says: &str) -> String {
    format!(
        "<rect class=\"hit\" x=\"{:.0}\" y=\"0\" width=\"{STEP}\" height=\"{HEIGHT}\"><title>{}</title></rect>",
        at as f64 * STEP,
        encode_text(says)
    )
}

pub(super) fn ghost(data: &ChartData, top: f64) -> String {
    line(data.ghost.iter().copied(), top)
}

/// Columns of buckets where nothing was recorded.
pub(super) fn gaps(data: &ChartData) -> String {
    let mut path = String::new();
    for (at, bucket) in data.buckets.iter().enumerate() {
        if bucket.values.iter().all(Option::is_none) {
            column(&mut path, at as f64 * STEP, 0.0, STEP, HEIGHT);
        }
    }
    path
}

fn stacked(buckets: &[ChartBucket], series: usize, top: f64, margin: f64) -> Paths {
    let mut paths = Paths::default();
    for (at, bucket) in buckets.iter().enumerate() {
        let height = |value: &Option<i64>| match value {
            // 1 stays visible next to a million.
            Some(value) if *value > 0 => (*value as f64 / top * HEIGHT).max(0.8),
            _ => 0.0,
        };
        let own = bucket.values.get(series).map_or(0.0, height);
        if own > 0.0 {
            let below: f64 = bucket.values.iter().take(series).map(height).sum();
            let path = if bucket.is_partial { &mut paths.partial } else { &mut paths.whole };
            column(path, at as f64 * STEP + margin, HEIGHT - below - own, STEP - 2.0 * margin, own);
        }
    }
    paths
}

fn column(path: &mut String, x: f64, y: f64, width: f64, height: f64) {
    // Writing to a string cannot fail.
    let _ = write!(path, "M{x:.1} {y:.1}h{width:.1}v{height:.1}h-{width:.1}z");
}

/// Through the middles of the buckets, broken where there is no value; a single value is a dash.
fn line(values: impl Iterator<Item = Option<i64>>, top: f64) -> String {
    let mut path = String::new();
    let mut before = 0;
    let values: Vec<_> = values.collect();
    for (at, value) in values.iter().enumerate() {
        let Some(value) = value else {
            before = 0;
            continue;
        };
        let (x, y) = ((at as f64 + 0.5) * STEP, HEIGHT - *value as f64 / top * HEIGHT);
        let is_alone = before == 0 && values.get(at + 1).copied().flatten().is_none();
        let _ = match (before, is_alone) {
            (_, true) => write!(path, "M{:.1} {y:.1}h{:.1}", x - STEP * 0.3, STEP * 0.6),
            (0, false) => write!(path, "M{x:.1} {y:.1}"),
            (_, false) => write!(path, "L{x:.1} {y:.1}"),
        };
        before += 1;
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(values: &[Vec<Option<i64>>]) -> ChartData {
        let buckets =
            values.iter().map(|values| ChartBucket { values: values.clone(), ..ChartBucket::default() });
        ChartData { buckets: buckets.collect(), ..ChartData::default() }
    }

    #[test]
    fn series_are_stacked_and_the_partial_bucket_has_its_own_path() {
        let mut data = data(&[vec![Some(50), Some(25)], vec![Some(0), None], vec![Some(100), Some(0)]]);
        data.buckets[2].is_partial = true;
        let first = paths(&data, 0, ChartForm::Areas, 100.0);
        assert_eq!(first.whole, "M0.0 75.0h10.0v75.0h-10.0z");
        assert_eq!(first.partial, "M20.0 0.0h10.0v150.0h-10.0z");
        assert_eq!(paths(&data, 1, ChartForm::Areas, 100.0).whole, "M0.0 37.5h10.0v37.5h-10.0z");
        assert_eq!(gaps(&data), "");
    }

    #[test]
    fn a_line_breaks_where_nothing_was_measured() {
        let data = data(&[vec![Some(100)], vec![Some(0)], vec![None], vec![Some(50)], vec![None]]);
        let drawn = paths(&data, 0, ChartForm::Lines, 100.0).whole;
        assert_eq!(drawn, "M5.0 0.0L15.0 150.0M32.0 75.0h6.0");
        assert_eq!(gaps(&data), "M20.0 0.0h10.0v150.0h-10.0zM40.0 0.0h10.0v150.0h-10.0z");
    }
}
