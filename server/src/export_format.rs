//! Rows of an export, as JSON Lines or CSV.

use clap::ValueEnum;
use serde::Serialize;
use serde_json::Value;
use std::io::{self, Write};

/// The columns of dead letters.
pub(crate) const DEAD_LETTERS: [&str; 13] = [
    "id",
    "job_id",
    "app_id",
    "integration_id",
    "job_type",
    "record_type",
    "record_id",
    "correlation_id",
    "error_kind",
    "error_message",
    "failed_at",
    "attempts",
    "payload",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// One JSON object a line
    Jsonl,
    /// Comma-separated, the first line names the columns
    Csv,
}

pub(crate) enum Writer<W: Write> {
    Jsonl(W),
    Csv(Box<csv::Writer<W>>),
}

impl<W: Write> Writer<W> {
    pub(crate) fn new(out: W, format: ExportFormat) -> Self {
        match format {
            ExportFormat::Jsonl => Self::Jsonl(out),
            ExportFormat::Csv => {
                let writer = csv::WriterBuilder::new().quote_style(csv::QuoteStyle::Always).from_writer(out);
                Self::Csv(Box::new(writer))
            }
        }
    }

    /// One row: all of it as JSON, its `columns` as CSV.
    pub(crate) fn row(&mut self, row: &impl Serialize, columns: &[&str]) -> anyhow::Result<()> {
        match self {
            Self::Jsonl(out) => {
                serde_json::to_writer(&mut *out, row).map_err(io::Error::from)?;
                out.write_all(b"\n")?;
            }
            Self::Csv(writer) => {
                let fields = serde_json::to_value(row)?;
                writer.write_record(columns.iter().map(|column| harmless(cell(&fields[*column]))))?;
            }
        }
        Ok(())
    }

    /// The header line of CSV, also for an export without rows.
    pub(crate) fn names(&mut self, columns: &[&str]) -> anyhow::Result<()> {
        if let Self::Csv(writer) = self {
            writer.write_record(columns)?;
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> io::Result<()> {
        match self {
            Self::Jsonl(mut out) => out.flush(),
            Self::Csv(mut writer) => writer.flush(),
        }
    }
}

/// Objects and arrays stay JSON; null is an empty cell.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Spreadsheets take a cell that begins with one of these characters, or their full-width forms, for a formula (OWASP ASVS 1.2.10). With an
/// apostrophe in front it stays text.
fn harmless(cell: String) -> String {
    let is_formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']);
    // A plain negative number is not a formula.
    if is_formula && cell.parse::<f64>().is_err() { format!("'{cell}") } else { cell }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn formulas_are_made_harmless() {
        for (cell, written) in [
            ("=1+1", "'=1+1"),
            ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("-2+3", "'-2+3"),
            ("\tx", "'\tx"),
            ("＝1", "'＝1"),
            ("-5.25", "-5.25"),
            ("plain", "plain"),
            ("", ""),
        ] {
            assert_eq!(harmless(cell.to_owned()), written);
        }
    }

    #[test]
    fn cells_are_in_their_column_and_quoted_and_json_stays_json() {
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out, ExportFormat::Csv);
        let columns = ["z", "b", "c"];
        writer.names(&columns).unwrap();
        writer.row(&json!({"b": {"n": [1]}, "c": null, "z": "x\"y"}), &columns).unwrap();
        writer.finish().unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "\"z\",\"b\",\"c\"\n\"x\"\"y\",\"{\"\"n\"\":[1]}\",\"\"\n"
        );
    }
}
