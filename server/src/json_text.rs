//! JSON text read as a `Value`, and refused where another reader would see something else:
//!
//! - a name given twice in one object: serde_json would let the last one win, other readers the first (RFC 8259, 4; I-JSON, RFC 7493,
//!   forbids it);
//! - an integer beyond 64 bits: it would become the nearest double, and what is sent on would no longer be what was given. Numbers with a
//!   fraction or an exponent are doubles by agreement (RFC 8259, 6): each stands for the double nearest to it.
//!
//! The place is put together only when there is something to refuse, and the digits are looked at only when a number is large.

use model::json::escape;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value, map::Entry};
use std::{
    cell::{Cell, RefCell},
    fmt,
};

/// What no integer of 64 bits reaches below, and none without a sign above.
const LARGE: f64 = 9_223_372_036_854_775_808.0;

/// Why there is no document.
#[derive(Debug)]
pub(crate) struct Unreadable {
    /// Where: a JSON Pointer (RFC 6901).
    pub(crate) pointer: String,
    /// Why.
    pub(crate) why: Why,
}

/// What is wrong at that place.
#[derive(Debug)]
pub(crate) enum Why {
    /// What the parser says.
    Json(serde_json::Error),
    /// A name is given a second time.
    Twice,
    /// A number that would not come out as it went in.
    Number,
}

impl Why {
    /// What to do about a number.
    pub(crate) const NUMBER: &str =
        "is a number that 64 bits do not hold (an integer or a double): send it as a string";
}

/// # Errors
/// When the bytes are no JSON, an object names something twice, or a number does not fit.
pub(crate) fn read(bytes: &[u8]) -> Result<Value, Unreadable> {
    let notes = Notes::default();
    let value = run(bytes, &notes)?;
    let larges = notes.larges.get();
    if larges > 0
        && let Some(wanted) = overlong_integer(bytes)
    {
        let notes = Notes { refused: Some(wanted), ..Notes::default() };
        run(bytes, &notes)?;
    }
    Ok(value)
}

fn run(bytes: &[u8], notes: &Notes) -> Result<Value, Unreadable> {
    let mut parser = serde_json::Deserializer::from_slice(bytes);
    let read = Reader { notes }.deserialize(&mut parser).and_then(|value| parser.end().map(|()| value));
    read.map_err(|error| {
        let pointer = notes.steps.borrow().iter().rev().fold(String::new(), |mut pointer, step| {
            pointer.push('/');
            pointer.push_str(step);
            pointer
        });
        let why = match notes.why.take() {
            Some(why) => why,
            None if error.to_string().starts_with("number out of range") => Why::Number,
            None => Why::Json(error),
        };
        Unreadable { pointer, why }
    })
}

/// Which of the large numbers, counted from 0, is the first integer that no 64 bits hold.
fn overlong_integer(bytes: &[u8]) -> Option<usize> {
    let mut larges = 0;
    let mut at = 0;
    // The parser has accepted the text: outside strings, digits and signs are parts of numbers.
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at += 1;
                while let Some(inside) = bytes.get(at).filter(|inside| **inside != b'"') {
                    at += if *inside == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            b'-' | b'0'..=b'9' => {
                let rest = &bytes[at..];
                let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
                let length = rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
                at += length;
                let text = std::str::from_utf8(&rest[..length]).unwrap_or_default();
                if text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok() {
                    continue;
                }
                if text.parse().is_ok_and(is_large) {
                    if !text.contains(['.', 'e', 'E']) {
                        return Some(larges);
                    }
                    larges += 1;
                }
            }
            _ => at += 1,
        }
    }
    None
}

fn is_large(number: f64) -> bool {
    number.abs() >= LARGE
}

/// What is found on the way through a document.
#[derive(Default)]
struct Notes {
    /// The steps to what is refused, the innermost first.
    steps: RefCell<Vec<String>>,
    /// Why, when the parser itself would not mind.
    why: Cell<Option<Why>>,
    /// Numbers read so far that are large and no integers of 64 bits.
    larges: Cell<usize>,
    /// Which of them is to be refused.
    refused: Option<usize>,
}

#[derive(Clone, Copy)]
struct Reader<'a> {
    notes: &'a Notes,
}

impl Reader<'_> {
    /// On the way back up from what is refused.
    fn passed(self, step: impl FnOnce() -> String) {
        self.notes.steps.borrow_mut().push(step());
    }
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        if is_large(value) {
            let nth = self.notes.larges.get();
            if self.notes.refused == Some(nth) {
                self.notes.why.set(Some(Why::Number));
                return Err(E::custom("an integer is too large"));
            }
            self.notes.larges.set(nth + 1);
        }
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut read = Vec::new();
        while let Some(item) =
            items.next_element_seed(self).inspect_err(|_| self.passed(|| read.len().to_string()))?
        {
            read.push(item);
        }
        Ok(Value::Array(read))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut read = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            let value = fields.next_value_seed(self).inspect_err(|_| self.passed(|| escape(&name)))?;
            match read.entry(name) {
                Entry::Vacant(entry) => {
                    entry.insert(value);
                }
                Entry::Occupied(entry) => {
                    self.passed(|| escape(entry.key()));
                    self.notes.why.set(Some(Why::Twice));
                    return Err(A::Error::custom("a name is given twice"));
                }
            }
        }
        Ok(Value::Object(read))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> Unreadable {
        match read(text.as_bytes()) {
            Err(unreadable) => unreadable,
            Ok(value) => panic!("{text} was read as {value}"),
        }
    }

    #[test]
    fn a_name_given_twice_is_refused_with_its_place() {
        for (text, place) in [
            (r#"{"a": 1, "a": 1}"#, "/a"),
            (
                r#"[{"b": 1}, {"attributes": {"x/y": [0, {"~": 1, "n": 2, "~": 3}]}}]"#,
                "/1/attributes/x~1y/1/~0",
            ),
            (r#"{"é": 1, "\u00e9": 2}"#, "/é"),
            (r#"{"": 1, "": 2"#, "/"),
        ] {
            let Unreadable { pointer, why } = refused(text);
            assert!(matches!(why, Why::Twice), "{text}: {why:?}");
            assert_eq!(pointer, place);
        }
    }

    #[test]
    fn an_integer_that_64_bits_do_not_hold_is_refused_with_its_place() {
        let long = format!(r#"{{"a": {}}}"#, "9".repeat(400));
        for (text, place) in [
            ("18446744073709551616", ""),
            ("-9223372036854775809", ""),
            (r#"{"b": 1, "a": 12345678901234567890123456789}"#, "/a"),
            // Not the doubles before it, nor what only looks like a number.
            (
                r#"{"z": [1e300, "123456789012345678901\"2", 1.5e20], "a": [-1e19, 100000000000000000000]}"#,
                "/a/1",
            ),
            (r#"[{"x": {"1e400": 1e400}}]"#, "/0/x/1e400"),
            (&long, "/a"),
        ] {
            let Unreadable { pointer, why } = refused(text);
            assert!(matches!(why, Why::Number), "{text}: {why:?}");
            assert_eq!(pointer, place, "{text}");
        }
    }

    #[test]
    fn a_number_that_is_read_means_the_double_nearest_to_its_text() {
        for text in [
            "18446744073709551615",
            "-9223372036854775808",
            "12345678901234567890123456789.0",
            "1.2345678901234567890123456789e28",
            "0.1",
            "-0.0",
            "122.416294033786585",
            "9007199254740993.0",
            "2.2250738585072011e-308",
            "5e-324",
            "1.7976931348623157e308",
            "1e23",
            "0.30000000000000004",
        ] {
            let value = read(text.as_bytes()).unwrap();
            if value.is_f64() {
                assert_eq!(
                    value.as_f64().unwrap().to_bits(),
                    text.parse::<f64>().unwrap().to_bits(),
                    "{text}"
                );
            } else {
                assert_eq!(value.to_string(), text);
            }
            // As it is sent, it is read as the same again.
            assert_eq!(read(value.to_string().as_bytes()).unwrap(), value, "{text}");
        }
    }

    #[test]
    fn what_is_no_json_has_a_place_too() {
        for (text, place) in [
            (r#"{"a": [1, "\ud800"]}"#, "/a/1"),
            (r#"{"a": tru}"#, "/a"),
            (r#"[{"a": "#, "/0/a"),
            ("{} x", ""),
        ] {
            let Unreadable { pointer, why } = refused(text);
            assert!(matches!(why, Why::Json(_)), "{text}: {why:?}");
            assert_eq!(pointer, place, "{text}");
        }
    }

    #[test]
    fn everything_else_reads_as_serde_json_reads_it() {
        for text in [
            r#"{"a": {"a": [1, -1, 1.5, 1e300, 18446744073709551615, -0.0, true, null, "x\n\u00e9"]}, "b": {}, "c": []}"#,
            "[]",
            "7",
            "\"x\"",
            "null",
            "",
            "{\"a\":",
            "[1,]",
            "{} x",
            "\"\\ud800\"",
            "{1: 2}",
        ] {
            match (read(text.as_bytes()), serde_json::from_str::<Value>(text)) {
                (Ok(ours), Ok(theirs)) => assert_eq!(ours, theirs, "{text}"),
                (Err(Unreadable { why: Why::Json(ours), .. }), Err(theirs)) => {
                    assert_eq!(ours.to_string(), theirs.to_string(), "{text}");
                }
                other => panic!("{text}: {other:?}"),
            }
        }
    }

    /// `cargo test -p server --release -- --ignored --nocapture`: against serde_json alone, on a request of 1,000 events.
    #[test]
    #[ignore = "a measurement"]
    fn what_the_checks_cost() {
        let event = r#"{"app_id":"01890a5d-ac96-774b-bcce-b302099a8057","type":"record.updated","record_type":"product","record_id":"sku-1",
            "attributes":{"title":"A lamp for the desk","price":19.99,"stock":120,"tags":["a","b"],"size":{"w":10.5,"h":20}}}"#;
        let text = format!("[{}]", vec![event; 1_000].join(","));
        let time = |work: &dyn Fn()| {
            (0..7)
                .map(|_| {
                    let began = std::time::Instant::now();
                    (0..20).for_each(|_| work());
                    began.elapsed()
                })
                .min()
        };
        let ours = time(&|| drop(read(text.as_bytes()).unwrap()));
        let theirs = time(&|| drop(serde_json::from_str::<Value>(&text).unwrap()));
        println!("ours {ours:?}, serde_json {theirs:?}");
    }
}
