//! Marks as lines across the chart. Those with enough space have a label at the line; readout and table have all labels.

use super::data::ChartData;
use crate::ui::Tone;
use html_escape::encode_text;
use leptos::prelude::*;

/// Width reserved for a label, in per cent of the chart.
const LABEL_WIDTH: f64 = 40.0;

/// `x` in per cent of the width.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    x: f64,
    tone: Tone,
    words: Option<String>,
}

/// An SVG of its own that is not stretched, so that labels keep their shape.
#[component]
pub(super) fn Marks(data: Signal<ChartData>) -> impl IntoView {
    let drawn = move || -> String { data.with(lines).iter().map(drawing).collect() };
    view! { <svg class="marks" aria-hidden="true" inner_html=drawn></svg> }
}

fn drawing(line: &Line) -> String {
    let (x, tone) = (line.x, line.tone.class());
    let (dx, anchor) = if x > 50.0 { (-5, "end") } else { (5, "start") };
    let words = line.words.as_deref().map(|words| {
        format!(
            "<text x=\"{x:.2}%\" y=\"11\" dx=\"{dx}\" text-anchor=\"{anchor}\">{}</text>",
            encode_text(words)
        )
    });
    format!(
        "<g class=\"{tone}\"><line class=\"stroke-tone\" x1=\"{x:.2}%\" x2=\"{x:.2}%\" y1=\"0\" y2=\"100%\" \
         stroke-dasharray=\"3 3\"></line>{}</g>",
        words.unwrap_or_default()
    )
}

/// One line for each bucket with marks; the newest labels are placed first.
fn lines(data: &ChartData) -> Vec<Line> {
    let count = data.buckets.len().max(1) as f64;
    let mut taken: Vec<f64> = Vec::new(); // where labels begin
    let mut lines = Vec::new();
    for at in (0..data.buckets.len()).rev() {
        let marks = data.marks_of(at);
        let Some(first) = marks.first() else { continue };
        let x = (at as f64 + 0.5) / count * 100.0;
        let begin = if x > 50.0 { x - LABEL_WIDTH } else { x };
        let is_free = taken.iter().all(|other| (other - begin).abs() >= LABEL_WIDTH);
        let words = is_free.then(|| match marks.len() {
            1 => first.label.clone(),
            n => format!("{} and {} more", first.label, n - 1),
        });
        if is_free {
            taken.push(begin);
        }
        lines.push(Line { x, tone: first.tone, words: words.map(|words| shortened(&words)) });
    }
    lines
}

fn shortened(words: &str) -> String {
    const MAX_CHARS: usize = 32;
    if words.chars().count() <= MAX_CHARS {
        return words.to_owned();
    }
    let start: String = words.chars().take(MAX_CHARS - 1).collect();
    format!("{}…", start.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::{ChartBucket, ChartMark};
    use chrono::{DateTime, TimeDelta, Utc};

    #[test]
    fn marks_of_one_bucket_are_one_line_and_labels_do_not_overlap() {
        let begin = DateTime::<Utc>::UNIX_EPOCH;
        let bucket = |n| ChartBucket { at: begin + TimeDelta::minutes(n), ..ChartBucket::default() };
        let mark = |seconds, label: &str| ChartMark {
            at: begin + TimeDelta::seconds(seconds),
            label: label.to_owned(),
            tone: Tone::Failed,
        };
        let data = ChartData {
            buckets: (0..10).map(bucket).collect(),
            marks: vec![
                mark(10, "a"),
                mark(500, "c"),
                mark(490, "b"),
                mark(440, "d"),
                mark(9_999, "outside"),
            ],
            ..ChartData::default()
        };
        let words: Vec<_> = lines(&data).into_iter().map(|line| (line.x, line.words)).collect();
        assert_eq!(
            words,
            [(85.0, Some("c and 1 more".to_owned())), (75.0, None), (5.0, Some("a".to_owned()))]
        );
        assert_eq!(shortened(&"x".repeat(90)).chars().count(), 32);
    }

    #[test]
    fn labels_are_escaped() {
        let line = Line { x: 80.0, tone: Tone::Failed, words: Some("<script>&".to_owned()) };
        let drawn = drawing(&line);
        assert!(drawn.contains(">&lt;script&gt;&amp;</text>") && drawn.contains("x1=\"80.00%\""), "{drawn}");
    }
}
