//! A file of records as events to accept: format, id field, and the checks of the contract's limits.

use super::{Format, Item, Parsed, Reject, csv_rows::CsvRows, deb822::Deb822, json_lines::JsonLines};
use model::{
    id::AppId,
    record::{Event, EventType},
};
use serde_json::Value;
use std::io::{self, BufRead};

/// A record may be this large, as JSON.
const LARGEST: usize = model::json::MAX_RECORD_BYTES;

/// What becomes of a record of the file.
pub type Row = Result<(u64, Event), Reject>;

/// Turns a file's records into events.
pub struct RecordSource {
    items: Box<dyn Iterator<Item = Item> + Send>,
    app_id: AppId,
    record_type: String,
    id_fields: Vec<String>,
    correlation_id: String,
}

impl RecordSource {
    /// `id_field` may name several fields with commas between them: their values are joined by `:`.
    pub fn new(
        reader: Box<dyn BufRead + Send>,
        format: Format,
        app_id: AppId,
        record_type: &str,
        id_field: &str,
    ) -> Self {
        let items: Box<dyn Iterator<Item = Item> + Send> = match format {
            Format::Jsonl => Box::new(JsonLines::new(reader)),
            Format::Csv => Box::new(CsvRows::new(reader)),
            Format::Deb822 => Box::new(Deb822::new(reader)),
        };
        Self {
            items,
            app_id,
            record_type: record_type.to_owned(),
            id_fields: id_field.split(',').map(|field| field.trim().to_owned()).collect(),
            // One import is one cause: its jobs are found together.
            correlation_id: format!("import-{}", uuid::Uuid::now_v7()),
        }
    }

    fn event(&self, Parsed { line, attributes }: Parsed) -> Row {
        let mut parts = Vec::with_capacity(self.id_fields.len());
        for field in &self.id_fields {
            parts.push(match attributes.get(field) {
                Some(Value::String(id)) if !id.is_empty() => id.clone(),
                Some(Value::Number(id)) => id.to_string(),
                Some(Value::String(_)) => {
                    return Err(Reject::new(line, format!("the id field {field} is empty")));
                }
                Some(_) => {
                    return Err(Reject::new(line, format!("the id field {field} is no text or number")));
                }
                None => {
                    return Err(Reject::new(line, format!("there is no field {field} to take the id from")));
                }
            });
        }
        let event = Event {
            app_id: self.app_id,
            // The file says all there is of a record: what it no longer says is taken away.
            event_type: EventType::Replaced,
            record_type: self.record_type.clone(),
            record_id: parts.join(":"),
            attributes,
            occurred_at: None,
            correlation_id: Some(self.correlation_id.clone()),
            trace: None,
            id: None,
        };
        event.check().map_err(|faults| Reject::new(line, faults.to_string()))?;
        let size = serde_json::to_vec(&event.attributes).map_or(usize::MAX, |json| json.len());
        if size > LARGEST {
            return Err(Reject::new(line, format!("is {size} bytes as JSON, more than {LARGEST}")));
        }
        Ok((line, event))
    }
}

impl Iterator for RecordSource {
    type Item = io::Result<Row>;

    fn next(&mut self) -> Option<io::Result<Row>> {
        Some(self.items.next()?.map(|item| item.and_then(|parsed| self.event(parsed))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &'static str, id_field: &str) -> Vec<Row> {
        let reader = Box::new(text.as_bytes());
        RecordSource::new(reader, Format::Jsonl, AppId::generate(), "product", id_field)
            .map(Result::unwrap)
            .collect()
    }

    #[test]
    fn ids_are_taken_from_the_named_fields() {
        let read = rows("{\"id\":7,\"lang\":\"de\"}\n{\"id\":\"\"}\n{}\n{\"id\":[1]}", "id");
        assert_eq!(read[0].as_ref().unwrap().1.record_id, "7");
        for (row, words) in read[1..].iter().zip(["is empty", "there is no field id", "is no text or number"])
        {
            assert!(row.as_ref().unwrap_err().reason.contains(words), "{row:?}");
        }
        let joined = rows("{\"id\":7,\"lang\":\"de\"}", "id, lang");
        assert_eq!(joined[0].as_ref().unwrap().1.record_id, "7:de");
    }

    #[test]
    fn records_beyond_the_limits_are_rejected() {
        let text: &'static str =
            format!("{{\"id\":1,\"x\":\"{}\"}}\n{{\"id\":\"a\\u0000\"}}", "y".repeat(LARGEST)).leak();
        let rows = rows(text, "id");
        assert!(rows[0].as_ref().unwrap_err().reason.contains("more than 1000000"));
        assert!(rows[1].as_ref().unwrap_err().reason.contains("/record_id"));
        assert_eq!(rows[1].as_ref().unwrap_err().line, 2);
    }
}
