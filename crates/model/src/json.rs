//! Limits of JSON documents: no NUL, at most 64 levels, a size.
//!
//! Numbers are 64-bit integers or IEEE 754 doubles. An integer beyond 64 bits is refused where text is parsed; a number with a fraction or an
//! exponent becomes the nearest double (RFC 8259, 6). Numbers with more digits have to be sent as strings.

use serde::Serialize;
use serde_json::{Map, Number, Value};

/// Levels of arrays and objects a document may have.
pub const MAX_DEPTH: usize = 64;
/// Bytes of one record's attributes, as JSON text.
pub const MAX_RECORD_BYTES: usize = 1_000_000;
/// Bytes of a request.
pub const MAX_REQUEST_BYTES: usize = 16_000_000;
/// Values of a document: each array and object, and each string, number, boolean and null in them. In the worst case, as objects of one field,
/// they take less than eight times the memory of the largest request.
pub const MAX_VALUES: usize = 250_000;

/// Why a document cannot be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// JSON Pointer (RFC 6901), relative to the document.
    pub pointer: String,
    /// Sentence for the sender.
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

/// Whether two values are equal. Numbers are compared by value, as in Postgres: `5`, `5.0` and `5e0` are equal, `0` and `-0.0` too; integers are
/// compared with all their 64 bits.
#[must_use]
pub fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || equal_numbers(a, b),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => equal_objects(a, b),
        (a, b) => a == b,
    }
}

/// [`equal`] of two objects.
#[must_use]
pub fn equal_objects(a: &Map<String, Value>, b: &Map<String, Value>) -> bool {
    a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| equal(a, b)))
}

fn equal_numbers(a: &Number, b: &Number) -> bool {
    /// The value of a 64-bit integer, in any notation.
    fn integer(number: &Number) -> Option<i128> {
        // 2^64 is the first double that is not a 64-bit integer; below it the conversion is exact.
        let of_double = |double: f64| {
            (double.fract() == 0.0 && double.abs() < 18_446_744_073_709_551_616.0).then_some(double as i128)
        };
        number.as_i128().or_else(|| number.as_f64().and_then(of_double))
    }
    match (integer(a), integer(b)) {
        (None, None) => a.as_f64() == b.as_f64(),
        (a, b) => a == b,
    }
}

/// Escapes a reference token of a JSON Pointer.
#[must_use]
pub fn escape(token: &str) -> String {
    token.replace('~', "~0").replace('/', "~1")
}

/// Bytes of the value as JSON text, without allocating it.
#[must_use]
pub fn count_bytes(value: &impl Serialize) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Writing to a counter cannot fail; a value that cannot be serialized is refused later.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
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
    fn numbers_are_compared_by_value() {
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        for (a, b) in [
            ("5", "5.0"),
            ("0", "-0.0"),
            ("0.0", "-0.0"),
            ("-7", "-7e0"),
            ("100000000000000000", "1e17"),
            ("[1, {\"a\": 2.0}]", "[1.0, {\"a\": 2}]"),
            ("9007199254740992", "9007199254740992.0"),
            ("1e300", "1e300"),
        ] {
            assert!(equal(&read(a), &read(b)) && equal(&read(b), &read(a)), "{a} {b}");
        }
        for (a, b) in [
            ("5", "5.5"),
            ("5", "\"5\""),
            ("1", "true"),
            ("0", "null"),
            ("9007199254740993", "9007199254740992.0"),
            ("18446744073709551615", "18446744073709551615.0"),
            ("9223372036854775807", "9223372036854775808"),
            ("-1", "18446744073709551615"),
            ("[1]", "[1, 1]"),
            ("{\"a\": 1}", "{\"b\": 1}"),
            ("{\"a\": 1}", "{\"a\": 1, \"b\": null}"),
        ] {
            assert!(!equal(&read(a), &read(b)) && !equal(&read(b), &read(a)), "{a} {b}");
        }
    }

    #[test]
    fn more_than_sixty_four_levels_are_refused() {
        let nested = |levels: usize| (1..levels).fold(json!([]), |inner, _| json!([inner]));
        assert_eq!(check(&nested(64)), Ok(()));
        assert!(check(&nested(65)).unwrap_err().detail.contains("64"));
    }

    #[test]
    fn bytes_are_counted_as_they_would_be_written() {
        let value = json!({"ä": [1, "x\n"]});
        assert_eq!(count_bytes(&value), value.to_string().len());
    }
}
