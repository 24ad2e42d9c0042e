//! Rows as JSON Lines or CSV.

use super::ExportFormat;
use serde::Serialize;
use serde_json::{Map, Value};
use std::io::{self, Write};

/// Writes rows to a stream.
pub(super) enum Writer<W: Write> {
    Jsonl(W),
    Csv { writer: Box<csv::Writer<W>>, has_names: bool },
}

impl<W: Write> Writer<W> {
    pub(super) fn new(out: W, format: ExportFormat) -> Self {
        match format {
            ExportFormat::Jsonl => Self::Jsonl(out),
            ExportFormat::Csv => {
                let writer = csv::WriterBuilder::new().quote_style(csv::QuoteStyle::Always).from_writer(out);
                Self::Csv { writer: Box::new(writer), has_names: false }
            }
        }
    }

    /// One row; its fields become columns in the order they are declared in.
    pub(super) fn row(&mut self, row: &impl Serialize) -> anyhow::Result<()> {
        match self {
            Self::Jsonl(out) => {
                serde_json::to_writer(&mut *out, row).map_err(io::Error::from)?;
                out.write_all(b"\n")?;
            }
            Self::Csv { writer, has_names } => {
                let Value::Object(fields) = serde_json::to_value(row)? else { return Ok(()) };
                if !std::mem::replace(has_names, true) {
                    writer.write_record(fields.keys())?;
                }
                writer.write_record(fields.values().map(|value| harmless(cell(value))))?;
            }
        }
        Ok(())
    }

    /// The names of the columns, for an export without rows.
    pub(super) fn names(&mut self, names: &[&str]) -> anyhow::Result<()> {
        if let Self::Csv { writer, has_names } = self
            && !std::mem::replace(has_names, true)
        {
            writer.write_record(names)?;
        }
        Ok(())
    }

    pub(super) fn finish(self) -> io::Result<()> {
        match self {
            Self::Jsonl(mut out) => out.flush(),
            Self::Csv { mut writer, .. } => writer.flush(),
        }
    }
}

/// Objects and lists stay JSON; nothing is an empty cell.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A spreadsheet takes a cell that begins like this for a formula (OWASP ASVS 1.2.10), the full-width forms too: with an apostrophe
/// in front it stays text.
fn harmless(cell: String) -> String {
    let is_formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']);
    // A plain negative number is none.
    if is_formula && cell.parse::<f64>().is_err() { format!("'{cell}") } else { cell }
}

/// The fields of a row, in order, as far as they are named.
pub(super) fn pick(row: &impl Serialize, names: &[&str]) -> anyhow::Result<Map<String, Value>> {
    let Value::Object(mut fields) = serde_json::to_value(row)? else { return Ok(Map::new()) };
    Ok(names.iter().map(|name| ((*name).to_owned(), fields.remove(*name).unwrap_or_default())).collect())
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
    fn every_cell_is_quoted_and_json_stays_json() {
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out, ExportFormat::Csv);
        writer.row(&json!({"a": "x\"y", "b": {"n": [1]}, "c": null})).unwrap();
        writer.finish().unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "\"a\",\"b\",\"c\"\n\"x\"\"y\",\"{\"\"n\"\":[1]}\",\"\"\n");
    }
}
