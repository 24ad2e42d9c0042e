//! The table of results and its JSON: name, value and target.

use crate::Options;
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::path::Path;

/// What a value must satisfy.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    /// Nothing: it is for comparison.
    None,
    AtLeast(f64),
    AtMost(f64),
}

pub(crate) struct Report {
    rows: Vec<Value>,
    missed: Vec<String>,
    settings: Value,
}

impl Report {
    pub(crate) fn new(options: &Options) -> Self {
        println!("{:<72} {:>14} {:<10} {:>12}", "what", "value", "unit", "target");
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        Self {
            rows: Vec::new(),
            missed: Vec::new(),
            settings: json!({"cores": cores, "is_quick": options.quick, "seconds": options.seconds}),
        }
    }

    pub(crate) fn begin(&self, scenario: &str) {
        println!("-- {scenario}");
    }

    /// Adds a number without a target.
    pub(crate) fn note(&mut self, what: &str, value: f64, unit: &str) {
        self.row(what, value, unit, Target::None);
    }

    pub(crate) fn row(&mut self, what: &str, value: f64, unit: &str, target: Target) {
        let (wanted, is_kept) = match target {
            Target::None => (String::new(), None),
            Target::AtLeast(least) => (format!(">= {least}"), Some(value >= least)),
            Target::AtMost(most) => (format!("<= {most}"), Some(value <= most)),
        };
        let verdict = match is_kept {
            None => "",
            Some(true) => "kept",
            Some(false) => "MISSED",
        };
        let shown = if value >= 1000.0 { format!("{value:.0}") } else { format!("{value:.3}") };
        if is_kept == Some(false) {
            self.missed.push(format!("{what}: {shown} {unit}, wanted {wanted}"));
        }
        println!("{what:<72} {shown:>14} {unit:<10} {wanted:>12} {verdict}");
        self.rows
            .push(json!({"what": what, "value": value, "unit": unit, "target": wanted, "is_kept": is_kept}));
    }

    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
        }
        let whole = json!({"settings": self.settings, "rows": self.rows, "missed": self.missed});
        std::fs::write(path, serde_json::to_vec_pretty(&whole)?)
            .with_context(|| path.display().to_string())?;
        println!("-- {} rows, {} targets missed; {}", self.rows.len(), self.missed.len(), path.display());
        Ok(())
    }

    /// Fails if a target was missed.
    pub(crate) fn judge(&self) -> Result<()> {
        anyhow::ensure!(self.missed.is_empty(), "targets were missed:\n  {}", self.missed.join("\n  "));
        Ok(())
    }
}

/// Rates that are measured in turns with their floor.
#[derive(Default)]
pub(crate) struct Turns {
    floor: Vec<f64>,
    ours: Vec<f64>,
}

impl Turns {
    pub(crate) fn add(&mut self, floor: f64, ours: f64) {
        self.floor.push(floor);
        self.ours.push(ours);
    }

    pub(crate) fn floor(&self) -> f64 {
        median(self.floor.clone())
    }

    pub(crate) fn ours(&self) -> f64 {
        median(self.ours.clone())
    }

    /// The median of the turns' ratios.
    pub(crate) fn ratio(&self) -> f64 {
        median(self.ours.iter().zip(&self.floor).map(|(ours, floor)| ours / floor).collect())
    }
}

/// NaN when there are no values.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The smallest value that at least this share of all values does not exceed.
pub(crate) fn percentile(values: &[f64], percent: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}
