//! JSON Lines: one object per line.

use super::lines::{Line, Lines};
use super::{Item, Parsed, Reject};
use crate::json_text::{self, Unreadable, Why};
use serde_json::Value;
use std::io::BufRead;

/// Empty lines are skipped.
#[derive(Debug)]
pub(super) struct JsonLines<R>(Lines<R>);

impl<R: BufRead> JsonLines<R> {
    pub(super) fn new(reader: R) -> Self {
        Self(Lines::new(reader))
    }
}

impl<R: BufRead> Iterator for JsonLines<R> {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        loop {
            let (line, text) = match self.0.next() {
                Err(error) => return Some(Err(error)),
                Ok(None) => return None,
                Ok(Some((_, Line::Text(text)))) if text.trim().is_empty() => continue,
                Ok(Some((line, Line::Text(text)))) => (line, text),
                Ok(Some((line, Line::NotUtf8))) => {
                    return Some(Ok(Err(Reject::new(line, "is not valid UTF-8"))));
                }
                Ok(Some((line, Line::TooLong))) => {
                    return Some(Ok(Err(Reject::new(line, "is longer than 4 MB"))));
                }
            };
            return Some(Ok(match json_text::read(text.as_bytes()) {
                Ok(Value::Object(attributes)) => Ok(Parsed { line, attributes }),
                Ok(_) => Err(Reject::new(line, "is JSON but not an object")),
                Err(unreadable) => Err(Reject::new(line, reason(&unreadable))),
            }));
        }
    }
}

fn reason(Unreadable { pointer, why }: &Unreadable) -> String {
    match why {
        // serde_json counts lines within its input, which is a single line here.
        Why::Json(error) => {
            format!("is not JSON: {}", error.to_string().replace(" at line 1 column", " at column"))
        }
        Why::Twice => format!("{pointer} is given twice"),
        Why::Number => format!("{pointer} {}", Why::NUMBER),
        Why::TooManyValues => Why::TOO_MANY_VALUES.to_owned(),
        Why::TooLarge => format!("{pointer} {}", Why::TOO_LARGE),
        Why::NoRoom => "needs more memory than there is".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn objects_are_read_and_everything_else_is_rejected_by_line() {
        let text = "{\"id\":1}\n\n[1]\n{\"id\":\n{\"id\":\"b\",\"n\":{\"x\":[true]}}";
        let read: Vec<_> = JsonLines::new(text.as_bytes()).map(Result::unwrap).collect();
        assert_eq!(read[0].as_ref().unwrap().attributes, *json!({"id": 1}).as_object().unwrap());
        assert_eq!(read[1], Err(Reject::new(3, "is JSON but not an object")));
        assert_eq!(read[2].as_ref().unwrap_err().line, 4);
        assert!(read[2].as_ref().unwrap_err().reason.starts_with("is not JSON: EOF"), "{:?}", read[2]);
        assert_eq!(read[3].as_ref().unwrap().line, 5);
        assert_eq!(read.len(), 4);
    }

    #[test]
    fn values_that_would_change_are_rejected() {
        let text = "{\"id\":1,\"n\":12345678901234567890123456789}\n{\"id\":1,\"id\":2}\n{\"n\":[1e400]}";
        let reasons: Vec<_> =
            JsonLines::new(text.as_bytes()).map(|item| item.unwrap().unwrap_err().reason).collect();
        assert!(
            reasons[0].starts_with("/n is a number") && reasons[0].ends_with("as a string"),
            "{reasons:?}"
        );
        assert_eq!(reasons[1], "/id is given twice");
        assert!(reasons[2].starts_with("/n/0 is a number"), "{reasons:?}");
    }
}
