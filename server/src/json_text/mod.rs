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

mod numbers;
mod progress;
mod reader;
#[cfg(test)]
mod tests;

use numbers::first_overlong_integer;
use progress::Progress;
use reader::Reader;
use serde::de::DeserializeSeed as _;
use serde_json::Value;

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
    /// The document has more than [`MAX_VALUES`](model::json::MAX_VALUES).
    TooManyValues,
    /// A field of [`reader::PAYLOADS`] has more than [`MAX_RECORD_BYTES`](model::json::MAX_RECORD_BYTES).
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
