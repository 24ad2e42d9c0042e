//! Reads JSON text as a `Value`, and refuses what other parsers would read differently:
//!
//! - a name given twice in one object: with serde_json the last one wins, with other parsers the first (RFC 8259, 4; I-JSON, RFC 7493,
//!   forbids it);
//! - an integer beyond 64 bits: it would become the nearest double, and what is sent would differ from what was given. Numbers with a
//!   fraction or an exponent are doubles by agreement (RFC 8259, 6): each stands for the nearest double.
//!
//! In memory a document may take eighty times the size of its text (`[{"a":1},…]`). So values are counted, and memory is reserved, before
//! they are created.
//!
//! Pointers are built only for a refusal, and digits are examined only when a number is large.

use model::json::{MAX_RECORD_BYTES, MAX_VALUES, escape};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value, map::Entry};
use std::{
    cell::{Cell, RefCell},
    fmt,
};

/// 2^63. Numbers from here on, positive or negative, may be integers that do not fit into 64 bits.
const LARGE: f64 = 9_223_372_036_854_775_808.0;

/// The fields whose values have a limit of their own ([`MAX_RECORD_BYTES`]), anywhere in a request.
const PAYLOADS: [&str; 3] = ["attributes", "data", "payload"];

// What a document takes in memory, rounded up: a vector that grew may be half empty, a node of a map has room for eleven entries.
const VALUE_BYTES: usize = 2 * size_of::<Value>();
const NAME_BYTES: usize = 2 * size_of::<String>();
const MAP_BYTES: usize = 640;
/// Memory is reserved in portions of this size.
const PORTION_BYTES: usize = 64_000;

#[derive(Debug)]
pub(crate) struct Unreadable {
    /// A JSON Pointer (RFC 6901).
    pub(crate) pointer: String,
    pub(crate) why: Why,
}

#[derive(Debug)]
pub(crate) enum Why {
    Json(serde_json::Error),
    /// A name is given a second time.
    Twice,
    /// A number that cannot be represented.
    Number,
    /// The document has more than [`MAX_VALUES`].
    TooManyValues,
    /// A field of [`PAYLOADS`] has more than [`MAX_RECORD_BYTES`].
    TooLarge,
    /// There is not enough memory at the moment.
    NoRoom,
}

impl Why {
    pub(crate) const NUMBER: &str =
        "is a number that does not fit into 64 bits (an integer or a double): send it as a string";
    pub(crate) const TOO_MANY_VALUES: &str = "has more than 250,000 values: send it in parts";
    pub(crate) const TOO_LARGE: &str = "is larger than 1 MB of JSON";
}

/// Reads a document that may take as much memory as it needs.
///
/// # Errors
/// When the bytes are not JSON, an object has a name twice, a number does not fit, or a limit is exceeded.
pub(crate) fn read(bytes: &[u8]) -> Result<Value, Unreadable> {
    read_within(bytes, &|_| true)
}

/// The same; `has_room` decides whether the document may take that many bytes of memory in total.
///
/// # Errors
/// As [`read`], and when there is no room.
pub(crate) fn read_within(bytes: &[u8], has_room: &dyn Fn(usize) -> bool) -> Result<Value, Unreadable> {
    let progress = Progress::new(has_room, None);
    let value = run(bytes, &progress)?;
    if progress.large_numbers.get() > 0
        && let Some(wanted) = first_overlong_integer(bytes)
    {
        // Read again only to find the place of the number.
        drop(value);
        return run(bytes, &Progress::new(has_room, Some(wanted)));
    }
    Ok(value)
}

fn run(bytes: &[u8], progress: &Progress<'_>) -> Result<Value, Unreadable> {
    let mut parser = serde_json::Deserializer::from_slice(bytes);
    let read = Reader { progress }.deserialize(&mut parser).and_then(|value| parser.end().map(|()| value));
    read.map_err(|error| {
        let why = match progress.why.take() {
            Some(why) => why,
            None if error.to_string().starts_with("number out of range") => Why::Number,
            None => Why::Json(error),
        };
        if matches!(why, Why::TooManyValues | Why::NoRoom) {
            // A fault of the whole document, not of a place in it.
            progress.steps.borrow_mut().clear();
        }
        let pointer = progress.steps.borrow().iter().rev().fold(String::new(), |mut pointer, step| {
            pointer.push('/');
            pointer.push_str(step);
            pointer
        });
        Unreadable { pointer, why }
    })
}

/// Which of the large numbers, counted from 0, is the first integer that does not fit into 64 bits.
fn first_overlong_integer(bytes: &[u8]) -> Option<usize> {
    let mut large_numbers = 0;
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
                        return Some(large_numbers);
                    }
                    large_numbers += 1;
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

/// The state of reading a document.
struct Progress<'a> {
    /// The path to what is refused, the innermost step first.
    steps: RefCell<Vec<String>>,
    /// Set when we refuse something that serde_json accepts.
    why: Cell<Option<Why>>,
    /// Numbers read so far that are large and not integers of 64 bits.
    large_numbers: Cell<usize>,
    /// Which of them is to be refused.
    refused: Option<usize>,
    /// Values read so far.
    values: Cell<usize>,
    /// Memory they take, and how much of it is reserved.
    memory: Cell<usize>,
    reserved: Cell<usize>,
    has_room: &'a dyn Fn(usize) -> bool,
    /// Bytes of the payload that is being read: at least those of its shortest text.
    payload: Cell<Option<usize>>,
}

impl<'a> Progress<'a> {
    fn new(has_room: &'a dyn Fn(usize) -> bool, refused: Option<usize>) -> Self {
        Self {
            steps: RefCell::default(),
            why: Cell::default(),
            large_numbers: Cell::default(),
            refused,
            values: Cell::default(),
            memory: Cell::default(),
            reserved: Cell::default(),
            has_room,
            payload: Cell::default(),
        }
    }

    /// Counts a value before it is created, by the length of its text.
    fn value<E: Error>(&self, text: usize) -> Result<(), E> {
        self.values.set(self.values.get() + 1);
        if self.values.get() > MAX_VALUES {
            return Err(self.refuse(Why::TooManyValues));
        }
        // Plus the comma or bracket after it.
        self.takes(VALUE_BYTES + text, text + 1)
    }

    /// Counts bytes in memory, and the least bytes of the text.
    fn takes<E: Error>(&self, memory: usize, text: usize) -> Result<(), E> {
        self.memory.set(self.memory.get() + memory);
        if self.memory.get() >= self.reserved.get() {
            self.reserved.set(self.memory.get() + PORTION_BYTES);
            if !(self.has_room)(self.reserved.get()) {
                return Err(self.refuse(Why::NoRoom));
            }
        }
        if let Some(bytes) = self.payload.get() {
            self.payload.set(Some(bytes + text));
            if bytes + text > MAX_RECORD_BYTES {
                return Err(self.refuse(Why::TooLarge));
            }
        }
        Ok(())
    }

    fn refuse<E: Error>(&self, why: Why) -> E {
        self.why.set(Some(why));
        E::custom("refused")
    }
}

#[derive(Clone, Copy)]
struct Reader<'a> {
    progress: &'a Progress<'a>,
}

impl Reader<'_> {
    /// Adds a step to the path, while the error travels up from what is refused.
    fn step(self, step: impl FnOnce() -> String) {
        self.progress.steps.borrow_mut().push(step());
    }

    /// Reads the value of a field; a payload is counted as a whole.
    fn field<'de, A: MapAccess<'de>>(self, name: &str, fields: &mut A) -> Result<Value, A::Error> {
        let payload = &self.progress.payload;
        if payload.get().is_some() || !PAYLOADS.contains(&name) {
            return fields.next_value_seed(self);
        }
        payload.set(Some(0));
        let read = fields.next_value_seed(self);
        if payload.replace(None).is_some_and(|bytes| bytes > MAX_RECORD_BYTES) {
            // The payload is too large, not the part of it that was read last.
            self.progress.steps.borrow_mut().clear();
        }
        read
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

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        self.progress.value(4)?;
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        self.progress.value(1)?;
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        self.progress.value(1)?;
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        self.progress.value(1)?;
        if is_large(value) {
            let nth = self.progress.large_numbers.get();
            if self.progress.refused == Some(nth) {
                return Err(self.progress.refuse(Why::Number));
            }
            self.progress.large_numbers.set(nth + 1);
        }
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        self.progress.value(value.len() + 2)?;
        Ok(Value::String(value.to_owned()))
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        self.progress.value(4)?;
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        self.progress.value(1)?;
        let mut read = Vec::new();
        while let Some(item) =
            items.next_element_seed(self).inspect_err(|_| self.step(|| read.len().to_string()))?
        {
            read.push(item);
        }
        Ok(Value::Array(read))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        self.progress.value(1)?;
        let mut read = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            let map = if read.is_empty() { MAP_BYTES } else { 0 };
            // Plus quotes and colon in the text.
            self.progress.takes(map + NAME_BYTES + name.len(), name.len() + 3)?;
            let value = self.field(&name, &mut fields).inspect_err(|_| self.step(|| escape(&name)))?;
            match read.entry(name) {
                Entry::Vacant(entry) => {
                    entry.insert(value);
                }
                Entry::Occupied(entry) => {
                    self.step(|| escape(entry.key()));
                    return Err(self.progress.refuse(Why::Twice));
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
    fn an_integer_beyond_64_bits_is_refused_with_its_place() {
        let long = format!(r#"{{"a": {}}}"#, "9".repeat(400));
        for (text, place) in [
            ("18446744073709551616", ""),
            ("-9223372036854775809", ""),
            (r#"{"b": 1, "a": 12345678901234567890123456789}"#, "/a"),
            // Not the doubles before it, nor strings that look like numbers.
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
    fn a_number_is_read_as_the_nearest_double() {
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
            // Its text is read as the same value again.
            assert_eq!(read(value.to_string().as_bytes()).unwrap(), value, "{text}");
        }
    }

    #[test]
    fn values_are_counted_before_they_are_created() {
        let most = format!("[{}]", vec!["1"; MAX_VALUES - 1].join(","));
        assert!(read(most.as_bytes()).is_ok());
        for text in [most.replacen('1', "1,1", 1), format!(r#"{{"a": {most}}}"#)] {
            let Unreadable { pointer, why } = refused(&text);
            assert!(matches!(why, Why::TooManyValues) && pointer.is_empty(), "{why:?} at {pointer:?}");
        }
    }

    #[test]
    fn a_payload_is_refused_before_it_is_parsed() {
        let text = |bytes| "x".repeat(bytes);
        let Unreadable { pointer, why } =
            refused(&format!(r#"[{{"n": 1}}, {{"payload": {{"a": ["{}"]}}}}]"#, text(MAX_RECORD_BYTES)));
        assert!(matches!(why, Why::TooLarge), "{why:?}");
        assert_eq!(pointer, "/1/payload");
        // Each payload has a limit of its own, and whitespace does not count.
        let (one, space) = (text(900_000), " ".repeat(900_000));
        let both = format!(r#"{{"payload": ["{one}",{space}1], "data": "{one}", "other": "{one}{one}"}}"#);
        assert!(read(both.as_bytes()).is_ok());
    }

    #[test]
    fn a_document_takes_no_more_memory_than_it_reserved() {
        for text in [
            format!("[{}]", vec![r#"{"a":1}"#; 100_000].join(",")),
            format!("[{}]", vec!["1"; 200_000].join(",")),
            format!("[{}]", vec!["{}"; 200_000].join(",")),
            format!("{{{}}}", (0..100_000).map(|n| format!("\"{n}\":0")).collect::<Vec<_>>().join(",")),
        ] {
            let asked_for = Cell::new(0);
            let value = read_within(text.as_bytes(), &|bytes| {
                asked_for.set(bytes);
                true
            });
            let takes = size(&value.unwrap());
            assert!(asked_for.get() >= takes, "{} asked for, {takes} taken: {:.30}", asked_for.get(), text);
            let room = asked_for.get() / 2;
            let Err(refused) = read_within(text.as_bytes(), &|bytes| bytes <= room) else {
                panic!("{text:.30}")
            };
            assert!(matches!(refused.why, Why::NoRoom), "{refused:?}");
        }
    }

    /// Bytes in memory as the standard library lays it out: a vector's capacity, a map's nodes of eleven entries with at least five used.
    fn size(value: &Value) -> usize {
        match value {
            Value::Array(items) => {
                items.capacity() * size_of::<Value>() + items.iter().map(size).sum::<usize>()
            }
            Value::Object(fields) => {
                let node = 11 * (size_of::<String>() + size_of::<Value>()) + 16;
                let nodes = if fields.is_empty() { 0 } else { 1 + fields.len() / 6 };
                nodes * node + fields.iter().map(|(name, value)| name.capacity() + size(value)).sum::<usize>()
            }
            Value::String(text) => text.capacity(),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
    }

    #[test]
    fn invalid_json_has_a_place_too() {
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
