//! The data of a chart, and each bucket as a sentence.

use crate::{format, ui::Tone};
use chrono::{DateTime, TimeDelta, Utc};

/// How values are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChartForm {
    /// Stacked bars, for counts of what happened in each bucket.
    #[default]
    Bars,
    /// Stacked columns without gaps, for levels in each bucket.
    Areas,
    /// Separate lines, for measurements such as percentiles.
    Lines,
}

/// The unit of the values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChartUnit {
    #[default]
    Count,
    Milliseconds,
    /// Hundredths of a per cent: 10,000 is 100 %.
    Share,
}

impl ChartUnit {
    pub(super) fn say(self, value: i64) -> String {
        match self {
            Self::Count => format::count(value),
            Self::Milliseconds => format::milliseconds(value),
            Self::Share => format::percent(value as f64 / 10_000.0),
        }
    }

    /// The label of a grid line.
    pub(super) fn label(self, value: f64) -> String {
        match self {
            Self::Count => format::compact(value),
            Self::Milliseconds if value == 0.0 => "0".to_owned(),
            Self::Milliseconds | Self::Share => self.say(value.round() as i64),
        }
    }
}

/// How a line is drawn, so that lines differ in more than colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stroke {
    /// ────
    #[default]
    Solid,
    /// ─ ─ ─
    Dashed,
    /// · · ·
    Dotted,
}

impl Stroke {
    pub(super) const fn dashes(self) -> Option<&'static str> {
        match self {
            Self::Solid => None,
            Self::Dashed => Some("6 3"),
            Self::Dotted => Some("1.5 3"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartSeries {
    /// In legend, readout and table.
    pub label: &'static str,
    pub tone: Tone,
    /// Ignored by bars and areas.
    pub stroke: Stroke,
}

impl ChartSeries {
    pub const fn new(label: &'static str, tone: Tone) -> Self {
        Self { label, tone, stroke: Stroke::Solid }
    }

    #[must_use]
    pub const fn stroke(mut self, stroke: Stroke) -> Self {
        self.stroke = stroke;
        self
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChartBucket {
    pub at: DateTime<Utc>,
    /// `at` as axis and table write it.
    pub label: String,
    /// One value per series, the first at the bottom; none where nothing was recorded, which is not zero.
    pub values: Vec<Option<i64>>,
    /// Not over yet: drawn dashed.
    pub is_partial: bool,
}

/// An event, drawn as a line across the chart with a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartMark {
    pub at: DateTime<Utc>,
    pub label: String,
    pub tone: Tone,
}

/// Replaced as a whole when it changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChartData {
    /// Oldest first, all of the same length.
    pub buckets: Vec<ChartBucket>,
    /// In any order; marks outside of the buckets are not drawn.
    pub marks: Vec<ChartMark>,
    /// The sum of all series in an earlier period, such as a day before, drawn as a dashed outline: a value per bucket, or empty.
    pub ghost: Vec<Option<i64>>,
    /// The period of the ghost, such as `a day before`.
    pub ghost_label: &'static str,
    /// The chart ends in the past, not now.
    pub is_past: bool,
}

impl ChartData {
    /// The length of a bucket.
    pub(super) fn step(&self) -> TimeDelta {
        match self.buckets.as_slice() {
            [first, second, ..] => second.at - first.at,
            _ => TimeDelta::minutes(1),
        }
    }

    /// The bucket that contains a time.
    pub(super) fn bucket_of(&self, at: DateTime<Utc>) -> Option<usize> {
        let index = self.buckets.partition_point(|bucket| bucket.at <= at).checked_sub(1)?;
        (at < self.buckets[index].at + self.step()).then_some(index)
    }

    /// The middle of a bucket, which is inside a bucket of every other chart, whatever its step.
    pub(super) fn middle(&self, index: usize) -> Option<DateTime<Utc>> {
        Some(self.buckets.get(index)?.at + self.step() / 2)
    }

    /// The marks of a bucket, newest first.
    pub(super) fn marks_of(&self, index: usize) -> Vec<&ChartMark> {
        let mut marks: Vec<_> =
            self.marks.iter().filter(|mark| self.bucket_of(mark.at) == Some(index)).collect();
        marks.sort_by_key(|mark| std::cmp::Reverse(mark.at));
        marks
    }

    /// The labels of a bucket's marks.
    pub(super) fn events(&self, index: usize) -> String {
        const MAX_LABELS: usize = 2;
        let marks = self.marks_of(index);
        let mut words: Vec<String> = marks.iter().take(MAX_LABELS).map(|mark| mark.label.clone()).collect();
        if marks.len() > MAX_LABELS {
            words.push(format!("{} more", marks.len() - MAX_LABELS));
        }
        words.join(", ")
    }

    /// `14:21 · 3,214 delivered · 12 failed attempts`, and of lines `14:21 · p50 70 ms · p95 1.5 s`.
    pub(super) fn sentence(
        &self,
        index: usize,
        series: &[ChartSeries],
        form: ChartForm,
        unit: ChartUnit,
    ) -> String {
        let Some(bucket) = self.buckets.get(index) else { return String::new() };
        let mut parts = vec![bucket.label.clone()];
        if bucket.values.iter().all(Option::is_none) {
            parts.push("no data".to_owned());
        }
        for (value, series) in bucket.values.iter().zip(series) {
            let Some(value) = value.map(|value| unit.say(value)) else { continue };
            parts.push(match form {
                ChartForm::Lines => format!("{} {value}", series.label),
                ChartForm::Bars | ChartForm::Areas => format!("{value} {}", series.label),
            });
        }
        if let Some(ghost) = self.ghost.get(index).copied().flatten() {
            parts.push(format!("{}: {}", self.ghost_label, unit.say(ghost)));
        }
        let events = self.events(index);
        if !events.is_empty() {
            parts.push(events);
        }
        parts.join(" · ")
    }

    /// The maximum of the y axis.
    pub(super) fn top(&self, form: ChartForm) -> f64 {
        let values = self.buckets.iter().map(|bucket| {
            let values = bucket.values.iter().flatten().map(|value| *value as f64);
            if form == ChartForm::Lines { values.fold(0.0, f64::max) } else { values.sum() }
        });
        values.chain(self.ghost.iter().flatten().map(|value| *value as f64)).fold(0.0, f64::max)
    }
}

/// Five labels over the width, the last one `now` where it is.
pub(super) fn x_labels(data: &ChartData) -> Vec<String> {
    let buckets = &data.buckets;
    let Some(last) = buckets.len().checked_sub(1) else { return Vec::new() };
    if last < 4 {
        return buckets.iter().map(|bucket| bucket.label.clone()).collect();
    }
    let end = if buckets[last].is_partial && !data.is_past {
        "now".to_owned()
    } else {
        buckets[last].label.clone()
    };
    (0..4).map(|quarter| buckets[last * quarter / 4].label.clone()).chain([end]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERIES: [ChartSeries; 2] =
        [ChartSeries::new("delivered", Tone::Delivered), ChartSeries::new("failed attempts", Tone::Failed)];

    fn chart(values: &[[Option<i64>; 2]]) -> ChartData {
        let begin: DateTime<Utc> = "2026-11-20T14:21:00Z".parse().expect("a time");
        let buckets = values.iter().enumerate().map(|(n, values)| {
            let at = begin + TimeDelta::minutes(i64::try_from(n).unwrap_or(0));
            ChartBucket {
                at,
                label: at.format("%H:%M").to_string(),
                values: values.to_vec(),
                is_partial: false,
            }
        });
        ChartData { buckets: buckets.collect(), ..ChartData::default() }
    }

    #[test]
    fn a_bucket_reads_as_one_sentence() {
        let mut data = chart(&[[Some(3_214), Some(12)], [None, None], [Some(9_007_199_254_740_993), None]]);
        let say = |data: &ChartData, index| data.sentence(index, &SERIES, ChartForm::Bars, ChartUnit::Count);
        assert_eq!(say(&data, 0), "14:21 · 3,214 delivered · 12 failed attempts");
        assert_eq!(say(&data, 1), "14:22 · no data");
        assert_eq!(say(&data, 2), "14:23 · 9,007,199,254,740,993 delivered", "no double on the way");
        let mark = |seconds, label: &str| ChartMark {
            at: data.buckets[0].at + TimeDelta::seconds(seconds),
            label: label.to_owned(),
            tone: Tone::Failed,
        };
        data.marks = vec![
            mark(50, "ERP resumed"),
            mark(10, "ERP: breaker opened"),
            mark(70, "later"),
            mark(-1, "before"),
        ];
        data.ghost = vec![Some(7), None, None];
        data.ghost_label = "a day before";
        assert_eq!(
            say(&data, 0),
            "14:21 · 3,214 delivered · 12 failed attempts · a day before: 7 · ERP resumed, ERP: breaker opened"
        );
        assert_eq!(
            data.sentence(0, &SERIES, ChartForm::Lines, ChartUnit::Milliseconds),
            "14:21 · delivered 3.21 s · failed attempts 12 ms · a day before: 7 ms · ERP resumed, ERP: breaker opened"
        );
    }

    #[test]
    fn charts_of_different_steps_agree_on_a_time() {
        let fine = chart(&[[Some(1), None]; 10]);
        let mut coarse = chart(&[[Some(1), None]; 2]);
        coarse.buckets[1].at = coarse.buckets[0].at + TimeDelta::minutes(5);
        for (index, same) in [(0, 0), (4, 0), (5, 1), (9, 1)] {
            let at = fine.middle(index).expect("a bucket");
            assert_eq!(coarse.bucket_of(at), Some(same), "{index}");
        }
        let at = coarse.middle(1).expect("a bucket");
        assert_eq!(fine.bucket_of(at), Some(7));
        assert_eq!(fine.bucket_of(at + TimeDelta::minutes(3)), None, "after the end");
        assert_eq!(fine.bucket_of(fine.buckets[0].at - TimeDelta::seconds(1)), None, "before the beginning");
    }

    #[test]
    fn the_axis_ends_with_now_while_the_last_bucket_is_partial() {
        let mut data = chart(&[[None, None]; 60]);
        assert_eq!(x_labels(&data), ["14:21", "14:35", "14:50", "15:05", "15:20"]);
        data.buckets[59].is_partial = true;
        assert_eq!(x_labels(&data)[4], "now");
        data.is_past = true;
        assert_eq!(x_labels(&data)[4], "15:20");
        assert!(x_labels(&ChartData::default()).is_empty());
    }

    #[test]
    fn the_top_of_stacks_is_their_sum_and_of_lines_their_maximum() {
        let data = chart(&[[Some(3), Some(4)], [Some(5), None]]);
        assert_eq!((data.top(ChartForm::Bars), data.top(ChartForm::Lines)), (7.0, 5.0));
    }
}
