//! Turns the records of a file into events and checks their limits.

use super::{Format, Item, Parsed, Reject, csv_rows::CsvRows, deb822::Deb822, json_lines::JsonLines};
use model::event::{Event, EventType};
use model::id::AppId;
use model::json::MAX_RECORD_BYTES;
use serde_json::Value;
use std::io::{self, BufRead};

/// The event of a record with its line.
pub type Row = Result<(u64, Event), Reject>;

pub struct RecordSource {
    items: Box<dyn Iterator<Item = Item> + Send>,
    app_id: AppId,
    record_type: String,
    id_fields: Vec<String>,
    correlation_id: String,
}

impl RecordSource {
    /// `id_field` may name several fields separated by commas: their values are joined by `:`.
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
            // One for the whole import, so that its jobs can be found together.
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
                    return Err(Reject::new(
                        line,
                        format!("the id field {field} is not a string or a number"),
                    ));
                }
                None => {
                    return Err(Reject::new(line, format!("there is no field {field} to take the id from")));
                }
            });
        }
        let event = Event {
            app_id: self.app_id,
            // The file has the whole record, so attributes that are missing from it are removed.
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
        if size > MAX_RECORD_BYTES {
            return Err(Reject::new(line, format!("is {size} bytes as JSON, more than {MAX_RECORD_BYTES}")));
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
        for (row, words) in read[1..].iter().zip(["is empty", "there is no field id", "is not a string or"]) {
            assert!(row.as_ref().unwrap_err().reason.contains(words), "{row:?}");
        }
        let joined = rows("{\"id\":7,\"lang\":\"de\"}", "id, lang");
        assert_eq!(joined[0].as_ref().unwrap().1.record_id, "7:de");
    }

    #[test]
    fn records_beyond_the_limits_are_rejected() {
        let text: &'static str =
            format!("{{\"id\":1,\"x\":\"{}\"}}\n{{\"id\":\"a\\u0000\"}}", "y".repeat(MAX_RECORD_BYTES))
                .leak();
        let rows = rows(text, "id");
        assert!(rows[0].as_ref().unwrap_err().reason.contains("more than 1000000"));
        assert!(rows[1].as_ref().unwrap_err().reason.contains("/record_id"));
        assert_eq!(rows[1].as_ref().unwrap_err().line, 2);
    }
}
