//! Writes Prometheus' text format.

use model::histogram::{BUCKETS, Histogram, upper_bound_us};
use std::collections::BTreeSet;
use std::fmt::{Display, Write as _};

/// Every sixth of the histogram's bounds is shown: four per power of ten are enough for a chart, and few enough for a scrape.
const BOUND_STEP: usize = 6;

/// `HELP` and `TYPE` come once, before the series of a name, which must follow each other.
#[derive(Default)]
pub(super) struct Text {
    text: String,
    last_name: String,
    names: BTreeSet<String>,
}

impl Text {
    pub(super) fn into_string(self) -> String {
        self.text
    }

    pub(super) fn gauge(&mut self, name: &str, help: &str, labels: &[(&str, &str)], value: impl Display) {
        self.head("gauge", name, help);
        self.sample(name, labels, value);
    }

    pub(super) fn counter(&mut self, name: &str, help: &str, labels: &[(&str, &str)], value: impl Display) {
        self.head("counter", name, help);
        self.sample(name, labels, value);
    }

    pub(super) fn durations(&mut self, name: &str, help: &str, histogram: &Histogram, sum_seconds: f64) {
        self.head("histogram", name, help);
        let bucket = format!("{name}_bucket");
        for at in (0..BUCKETS).filter(|at| at % BOUND_STEP == 0 || *at == BUCKETS - 2) {
            let Some(bound) = upper_bound_us(at) else { break };
            let bound = (bound as f64 / 1_000_000.0).to_string();
            self.sample(&bucket, &[("le", &bound)], histogram.up_to(at));
        }
        self.sample(&bucket, &[("le", "+Inf")], histogram.total());
        self.sample(&format!("{name}_sum"), &[], sum_seconds);
        self.sample(&format!("{name}_count"), &[], histogram.total());
    }

    /// `counts` has one more element than `bounds`, for what is larger.
    pub(super) fn sizes(&mut self, name: &str, help: &str, bounds: &[usize], counts: &[u64], sum: u64) {
        self.head("histogram", name, help);
        let bucket = format!("{name}_bucket");
        let mut up_to = 0;
        for (at, count) in counts.iter().enumerate() {
            up_to += count;
            let bound = bounds.get(at).map_or_else(|| "+Inf".to_owned(), ToString::to_string);
            self.sample(&bucket, &[("le", &bound)], up_to);
        }
        self.sample(&format!("{name}_sum"), &[], sum);
        self.sample(&format!("{name}_count"), &[], up_to);
    }

    fn head(&mut self, kind: &str, name: &str, help: &str) {
        if self.last_name != name {
            name.clone_into(&mut self.last_name);
            debug_assert!(self.names.insert(name.to_owned()), "the series of {name} are not together");
            // Writing to a string cannot fail.
            let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        }
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.text.push_str(name);
        if !labels.is_empty() {
            let labels: Vec<String> =
                labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escape(value))).collect();
            let _ = write!(self.text, "{{{}}}", labels.join(","));
        }
        let _ = writeln!(self.text, " {value}");
    }
}

fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn each_name_is_explained_once() {
        let mut text = Text::default();
        text.gauge("a", "About a.", &[("x", "1\"\n")], 1);
        text.gauge("a", "About a.", &[("x", "2")], 2.5);
        text.counter("b", "About b.", &[], 3);
        assert_eq!(
            text.into_string(),
            "# HELP a About a.\n# TYPE a gauge\na{x=\"1\\\"\\n\"} 1\na{x=\"2\"} 2.5\n# HELP b About b.\n# TYPE b counter\nb 3\n"
        );
    }

    #[test]
    fn a_histogram_is_cumulative_and_ends_with_all() {
        let mut histogram = Histogram::default();
        for ms in [1, 9, 10, 11, 9_999_999] {
            histogram.add(Duration::from_millis(ms));
        }
        let mut text = Text::default();
        text.durations("t_seconds", "How long.", &histogram, 10_000.03);
        let text = text.into_string();
        for line in [
            "# TYPE t_seconds histogram",
            "t_seconds_bucket{le=\"0.001\"} 1",
            "t_seconds_bucket{le=\"0.01\"} 3",
            "t_seconds_bucket{le=\"0.01778\"} 4",
            "t_seconds_bucket{le=\"3600\"} 4",
            "t_seconds_bucket{le=\"+Inf\"} 5",
            "t_seconds_sum 10000.03",
            "t_seconds_count 5",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
        assert!(text.lines().count() < 40, "{text}");
        let mut sizes = Text::default();
        sizes.sizes("n", "How many.", &[1, 2], &[4, 0, 3], 100);
        assert!(sizes.into_string().ends_with(
            "n_bucket{le=\"1\"} 4\nn_bucket{le=\"2\"} 4\nn_bucket{le=\"+Inf\"} 7\nn_sum 100\nn_count 7\n"
        ));
    }
}
