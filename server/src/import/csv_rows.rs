//! CSV (RFC 4180): the first row names the fields, every value is a string.

use super::{Item, Parsed, Reject};
use serde_json::{Map, Value};
use std::io::{self, Read};

pub(super) struct CsvRows<R> {
    reader: csv::Reader<R>,
    names: Option<Vec<String>>,
    record: csv::ByteRecord,
}

impl<R: Read> CsvRows<R> {
    pub(super) fn new(reader: R) -> Self {
        // With the newline alone as terminator, lines are counted correctly in files from Windows too.
        let newline = csv::Terminator::Any(b'\n');
        let reader = csv::ReaderBuilder::new()
            .flexible(true)
            .has_headers(false)
            .terminator(newline)
            .from_reader(reader);
        Self { reader, names: None, record: csv::ByteRecord::new() }
    }

    /// Reads the next row that is not empty and returns its line; `None` at the end.
    fn read(&mut self) -> io::Result<Option<u64>> {
        loop {
            match self.reader.read_byte_record(&mut self.record) {
                Ok(true) if self.record.iter().eq([b"\r"]) => {}
                Ok(true) => return Ok(Some(self.record.position().map_or(0, csv::Position::line))),
                Ok(false) => return Ok(None),
                Err(error) => {
                    return Err(match error.into_kind() {
                        csv::ErrorKind::Io(error) => error,
                        kind => io::Error::new(io::ErrorKind::InvalidData, format!("{kind:?}")),
                    });
                }
            }
        }
    }

    /// The fields of the row; the last one without the carriage return of files from Windows.
    fn fields(&self) -> impl Iterator<Item = &[u8]> {
        let last = self.record.len().saturating_sub(1);
        let without_return = |field| <[u8]>::strip_suffix(field, b"\r").unwrap_or(field);
        self.record
            .iter()
            .enumerate()
            .map(move |(index, field)| if index == last { without_return(field) } else { field })
    }

    fn parse(&self, line: u64, names: &[String]) -> Result<Parsed, Reject> {
        if self.record.len() != names.len() {
            let found =
                format!("has {} fields where the first line names {}", self.record.len(), names.len());
            return Err(Reject::new(line, found));
        }
        let mut attributes = Map::new();
        for (name, value) in names.iter().zip(self.fields()) {
            let value = std::str::from_utf8(value)
                .map_err(|_| Reject::new(line, format!("{name} is not valid UTF-8")))?;
            attributes.insert(name.clone(), Value::from(value));
        }
        Ok(Parsed { line, attributes })
    }

    fn read_names(&self) -> io::Result<Vec<String>> {
        let mut names: Vec<String> = Vec::with_capacity(self.record.len());
        let invalid =
            |what: String| io::Error::new(io::ErrorKind::InvalidData, format!("the first line {what}"));
        for name in self.fields() {
            let name = std::str::from_utf8(name).map_err(|_| invalid("is not valid UTF-8".into()))?;
            let name = name.trim_start_matches('\u{feff}').trim();
            if name.is_empty() {
                return Err(invalid("has a field without a name".into()));
            }
            if names.iter().any(|known| known == name) {
                return Err(invalid(format!("names the field {name} twice")));
            }
            names.push(name.to_owned());
        }
        Ok(names)
    }
}

impl<R: Read> Iterator for CsvRows<R> {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        if self.names.is_none() {
            match self.read() {
                Err(error) => return Some(Err(error)),
                Ok(None) => return None,
                Ok(Some(_)) => match self.read_names() {
                    Err(error) => return Some(Err(error)),
                    Ok(names) => self.names = Some(names),
                },
            }
        }
        match self.read() {
            Err(error) => Some(Err(error)),
            Ok(None) => None,
            Ok(Some(line)) => Some(Ok(self.parse(line, self.names.as_deref().unwrap_or_default()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_records_and_bad_rows_are_rejected_by_line() {
        let text = b"\xef\xbb\xbfid,title\r\n\r\n1,\"a, \"\"b\"\"\nc\"\n2\n3,\xff\n4,\r\n";
        let read: Vec<_> = CsvRows::new(&text[..]).map(Result::unwrap).collect();
        let first = read[0].as_ref().unwrap();
        assert_eq!(
            (first.line, &first.attributes["id"], &first.attributes["title"]),
            (3, &"1".into(), &"a, \"b\"\nc".into())
        );
        assert_eq!(read[1], Err(Reject::new(5, "has 1 fields where the first line names 2")));
        assert_eq!(read[2], Err(Reject::new(6, "title is not valid UTF-8")));
        assert_eq!(read[3].as_ref().unwrap().attributes["title"], "");
        assert_eq!(read.len(), 4);
    }

    #[test]
    fn a_bad_first_line_ends_the_import() {
        for (text, words) in [("a,a\n1,2", "twice"), ("a,,b\n", "without a name")] {
            let error = CsvRows::new(text.as_bytes()).next().unwrap().unwrap_err();
            assert!(error.to_string().contains(words), "{error}");
        }
        assert!(CsvRows::new(&b""[..]).next().is_none());
    }
}
