//! What happened, as lines across the chart. The words of a few stand beside their lines, those of all in readout and table.

use super::data::ChartData;
use crate::ui::Tone;
use html_escape::encode_text;
use leptos::prelude::*;

/// Per cent of the width that words may take.
const WIDE: f64 = 40.0;

/// A line, per cent of the width from the left.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    x: f64,
    tone: Tone,
    words: Option<String>,
}

/// In a drawing of its own that is not stretched, so that words keep their shape.
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

/// One for each bucket in which something happened; the newest words have their place first.
fn lines(data: &ChartData) -> Vec<Line> {
    let count = data.buckets.len().max(1) as f64;
    let mut taken: Vec<f64> = Vec::new(); // where words begin
    let mut lines = Vec::new();
    for at in (0..data.buckets.len()).rev() {
        let marks = data.marks_of(at);
        let Some(first) = marks.first() else { continue };
        let x = (at as f64 + 0.5) / count * 100.0;
        let begin = if x > 50.0 { x - WIDE } else { x };
        let is_free = taken.iter().all(|other| (other - begin).abs() >= WIDE);
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
    const MOST: usize = 32;
    if words.chars().count() <= MOST {
        return words.to_owned();
    }
    let start: String = words.chars().take(MOST - 1).collect();
    format!("{}…", start.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::{ChartBucket, ChartMark};
    use chrono::{DateTime, TimeDelta, Utc};

    #[test]
    fn lines_of_one_bucket_are_one_and_words_keep_apart() {
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
    fn words_are_text_whatever_an_integration_is_called() {
        let line = Line { x: 80.0, tone: Tone::Failed, words: Some("<script>&".to_owned()) };
        let drawn = drawing(&line);
        assert!(drawn.contains(">&lt;script&gt;&amp;</text>") && drawn.contains("x1=\"80.00%\""), "{drawn}");
    }
}
