//! What Headgate asks of JSON besides being JSON: no NUL, no more than 64 levels, a size.
//!
//! Numbers are 64-bit integers or IEEE 754 doubles: an integer beyond ±2^63 (2^64 unsigned) becomes the nearest double. Send
//! such a number, or a decimal that must keep its digits, as a string.

use serde_json::Value;

/// Levels of arrays and objects a document may have.
pub const MAX_DEPTH: usize = 64;
/// Bytes of one record's attributes, as JSON text.
pub const MAX_RECORD_BYTES: usize = 1_000_000;
/// Bytes of a request.
pub const MAX_REQUEST_BYTES: usize = 16_000_000;

/// Where a document cannot be stored: a JSON Pointer (RFC 6901) and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// RFC 6901, relative to the document.
    pub pointer: String,
    /// In words, for the one who sent it.
    pub detail: String,
}

/// Checks depth and NUL characters in keys and strings. Postgres refuses NUL in text and jsonb alike.
///
/// # Errors
/// The first fault found.
pub fn check(value: &Value) -> Result<(), Fault> {
    walk(value, &mut String::new(), 1)
}

fn walk(value: &Value, at: &mut String, depth: usize) -> Result<(), Fault> {
    let fault = |at: &str, detail: &str| Err(Fault { pointer: at.to_owned(), detail: detail.to_owned() });
    match value {
        Value::String(text) if text.contains('\0') => fault(at, "contains a NUL character (\\u0000)"),
        Value::Array(_) | Value::Object(_) if depth > MAX_DEPTH => {
            fault(at, "is nested deeper than 64 levels")
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                within(at, &index.to_string(), |at| walk(item, at, depth + 1))?;
            }
            Ok(())
        }
        Value::Object(fields) => {
            for (key, item) in fields {
                if key.contains('\0') {
                    return fault(at, "has a key with a NUL character (\\u0000)");
                }
                within(at, key, |at| walk(item, at, depth + 1))?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn within(
    at: &mut String,
    step: &str,
    go: impl FnOnce(&mut String) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let length = at.len();
    at.push('/');
    at.push_str(&escape(step));
    go(at)?;
    at.truncate(length);
    Ok(())
}

/// One reference token of a JSON Pointer.
#[must_use]
pub fn escape(token: &str) -> String {
    token.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn faults_are_named_by_pointer() {
        for (value, pointer) in [
            (json!({"a": "x\u{0}"}), "/a"),
            (json!({"a/b": ["ok", "\u{0}"]}), "/a~1b/1"),
            (json!({"k\u{0}": 1}), ""),
        ] {
            assert_eq!(check(&value).unwrap_err().pointer, pointer);
        }
        assert_eq!(check(&json!({"a": [1, null, "x", {"b": true}]})), Ok(()));
    }

    #[test]
    fn sixty_four_levels_are_the_most() {
        let nested = |levels: usize| (1..levels).fold(json!([]), |inner, _| json!([inner]));
        assert_eq!(check(&nested(64)), Ok(()));
        assert!(check(&nested(65)).unwrap_err().detail.contains("64"));
    }
}
