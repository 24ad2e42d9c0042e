//! JSON text read as a `Value`, and refused where another reader would see something else:
//!
//! - a name given twice in one object: serde_json would let the last one win, other readers the first (RFC 8259, 4; I-JSON, RFC 7493,
//!   forbids it);
//! - an integer beyond 64 bits: it would become the nearest double, and what is sent on would no longer be what was given. Numbers with a
//!   fraction or an exponent are doubles by agreement (RFC 8259, 6): each stands for the double nearest to it.
//!
//! What a text becomes in memory may be eighty times as long as the text (`[{"a":1},…]`): values are counted, and memory is asked for, before
//! they are made.
//!
//! The place is put together only when there is something to refuse, and the digits are looked at only when a number is large.

use model::json::{MAX_RECORD_BYTES, MAX_VALUES, escape};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value, map::Entry};
use std::{
    cell::{Cell, RefCell},
    fmt,
};

/// What no integer of 64 bits reaches below, and none without a sign above.
const LARGE: f64 = 9_223_372_036_854_775_808.0;

/// The fields whose values have a limit of their own ([`MAX_RECORD_BYTES`]), wherever in a request they stand.
const PAYLOADS: [&str; 3] = ["attributes", "data", "payload"];

// What a document takes in memory, a little more rather than less: a vector that grew is half empty, a node of a map has room for eleven.
const VALUE_BYTES: usize = 2 * size_of::<Value>();
const NAME_BYTES: usize = 2 * size_of::<String>();
const MAP_BYTES: usize = 640;
/// Memory is asked for in portions.
const PORTION_BYTES: usize = 64_000;

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
    /// It has more than [`MAX_VALUES`].
    TooManyValues,
    /// A field of [`PAYLOADS`] has more than [`MAX_RECORD_BYTES`].
    TooLarge,
    /// There is no memory for it now.
    NoRoom,
}

impl Why {
    /// What to do about a number.
    pub(crate) const NUMBER: &str =
        "is a number that 64 bits do not hold (an integer or a double): send it as a string";
    /// And about too many values.
    pub(crate) const TOO_MANY_VALUES: &str = "has more than 250,000 values: send it in parts";
    /// And about one that is too large.
    pub(crate) const TOO_LARGE: &str = "is larger than 1 MB of JSON";
}

/// Reads a document that may take as much memory as it needs.
///
/// # Errors
/// When the bytes are no JSON, an object names something twice, a number does not fit, or a limit is passed.
pub(crate) fn read(bytes: &[u8]) -> Result<Value, Unreadable> {
    read_within(bytes, &|_| true)
}

/// The same, where `has_room` is asked whether the document may take so many bytes of memory in all.
///
/// # Errors
/// As [`read`], and when there is no room.
pub(crate) fn read_within(bytes: &[u8], has_room: &dyn Fn(usize) -> bool) -> Result<Value, Unreadable> {
    let notes = Notes::new(has_room, None);
    let value = run(bytes, &notes)?;
    if notes.larges.get() > 0
        && let Some(wanted) = overlong_integer(bytes)
    {
        // Read again for the place of the number alone.
        drop(value);
        return run(bytes, &Notes::new(has_room, Some(wanted)));
    }
    Ok(value)
}

fn run(bytes: &[u8], notes: &Notes<'_>) -> Result<Value, Unreadable> {
    let mut parser = serde_json::Deserializer::from_slice(bytes);
    let read = Reader { notes }.deserialize(&mut parser).and_then(|value| parser.end().map(|()| value));
    read.map_err(|error| {
        let why = match notes.why.take() {
            Some(why) => why,
            None if error.to_string().starts_with("number out of range") => Why::Number,
            None => Why::Json(error),
        };
        if matches!(why, Why::TooManyValues | Why::NoRoom) {
            // The document's fault, not that of a place in it.
            notes.steps.borrow_mut().clear();
        }
        let pointer = notes.steps.borrow().iter().rev().fold(String::new(), |mut pointer, step| {
            pointer.push('/');
            pointer.push_str(step);
            pointer
        });
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
struct Notes<'a> {
    /// The steps to what is refused, the innermost first.
    steps: RefCell<Vec<String>>,
    /// Why, when the parser itself would not mind.
    why: Cell<Option<Why>>,
    /// Numbers read so far that are large and no integers of 64 bits.
    larges: Cell<usize>,
    /// Which of them is to be refused.
    refused: Option<usize>,
    /// Values read so far.
    values: Cell<usize>,
    /// Memory they take, and how much of it was asked for.
    memory: Cell<usize>,
    asked_for: Cell<usize>,
    has_room: &'a dyn Fn(usize) -> bool,
    /// Bytes of the payload that is being read: what its shortest text has at least.
    payload: Cell<Option<usize>>,
}

impl<'a> Notes<'a> {
    fn new(has_room: &'a dyn Fn(usize) -> bool, refused: Option<usize>) -> Self {
        Self {
            steps: RefCell::default(),
            why: Cell::default(),
            larges: Cell::default(),
            refused,
            values: Cell::default(),
            memory: Cell::default(),
            asked_for: Cell::default(),
            has_room,
            payload: Cell::default(),
        }
    }

    /// Counts a value before it is made, by the length of its text.
    fn value<E: Error>(&self, text: usize) -> Result<(), E> {
        self.values.set(self.values.get() + 1);
        if self.values.get() > MAX_VALUES {
            return Err(self.refuse(Why::TooManyValues));
        }
        // With the comma or bracket behind it.
        self.takes(VALUE_BYTES + text, text + 1)
    }

    /// Counts what takes so many bytes in memory and at least so many in a text.
    fn takes<E: Error>(&self, memory: usize, text: usize) -> Result<(), E> {
        self.memory.set(self.memory.get() + memory);
        if self.memory.get() >= self.asked_for.get() {
            self.asked_for.set(self.memory.get() + PORTION_BYTES);
            if !(self.has_room)(self.asked_for.get()) {
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
    notes: &'a Notes<'a>,
}

impl Reader<'_> {
    /// On the way back up from what is refused.
    fn passed(self, step: impl FnOnce() -> String) {
        self.notes.steps.borrow_mut().push(step());
    }

    /// The value of a field; of a payload, which is counted as a whole.
    fn field<'de, A: MapAccess<'de>>(self, name: &str, fields: &mut A) -> Result<Value, A::Error> {
        let payload = &self.notes.payload;
        if payload.get().is_some() || !PAYLOADS.contains(&name) {
            return fields.next_value_seed(self);
        }
        payload.set(Some(0));
        let read = fields.next_value_seed(self);
        if payload.replace(None).is_some_and(|bytes| bytes > MAX_RECORD_BYTES) {
            // What is too large is the payload, not what was read last of it.
            self.notes.steps.borrow_mut().clear();
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
        self.notes.value(4)?;
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        self.notes.value(1)?;
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        self.notes.value(1)?;
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        self.notes.value(1)?;
        if is_large(value) {
            let nth = self.notes.larges.get();
            if self.notes.refused == Some(nth) {
                return Err(self.notes.refuse(Why::Number));
            }
            self.notes.larges.set(nth + 1);
        }
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        self.notes.value(value.len() + 2)?;
        Ok(Value::String(value.to_owned()))
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        self.notes.value(4)?;
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        self.notes.value(1)?;
        let mut read = Vec::new();
        while let Some(item) =
            items.next_element_seed(self).inspect_err(|_| self.passed(|| read.len().to_string()))?
        {
            read.push(item);
        }
        Ok(Value::Array(read))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        self.notes.value(1)?;
        let mut read = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            let map = if read.is_empty() { MAP_BYTES } else { 0 };
            // In a text it has quotes and a colon.
            self.notes.takes(map + NAME_BYTES + name.len(), name.len() + 3)?;
            let value = self.field(&name, &mut fields).inspect_err(|_| self.passed(|| escape(&name)))?;
            match read.entry(name) {
                Entry::Vacant(entry) => {
                    entry.insert(value);
                }
                Entry::Occupied(entry) => {
                    self.passed(|| escape(entry.key()));
                    return Err(self.notes.refuse(Why::Twice));
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
    fn values_are_counted_before_they_are_made() {
        let most = format!("[{}]", vec!["1"; MAX_VALUES - 1].join(","));
        assert!(read(most.as_bytes()).is_ok());
        for text in [most.replacen('1', "1,1", 1), format!(r#"{{"a": {most}}}"#)] {
            let Unreadable { pointer, why } = refused(&text);
            assert!(matches!(why, Why::TooManyValues) && pointer.is_empty(), "{why:?} at {pointer:?}");
        }
    }

    #[test]
    fn a_payload_is_refused_before_it_is_a_tree() {
        let text = |bytes| "x".repeat(bytes);
        let Unreadable { pointer, why } =
            refused(&format!(r#"[{{"n": 1}}, {{"payload": {{"a": ["{}"]}}}}]"#, text(MAX_RECORD_BYTES)));
        assert!(matches!(why, Why::TooLarge), "{why:?}");
        assert_eq!(pointer, "/1/payload");
        // Each has its own limit, and spaces between its parts are no part of it.
        let (one, space) = (text(900_000), " ".repeat(900_000));
        let both = format!(r#"{{"payload": ["{one}",{space}1], "data": "{one}", "other": "{one}{one}"}}"#);
        assert!(read(both.as_bytes()).is_ok());
    }

    #[test]
    fn a_document_takes_no_more_memory_than_it_asked_for() {
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

    /// Bytes in memory, as the standard library lays it out: a vector as it grew, nodes of a map for eleven, at least five in each.
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
