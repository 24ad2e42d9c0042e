//! Reading records from JSON Lines, CSV and deb822: one parser a format, all of them streaming, none of them stopped by a bad
//! record. A record that cannot be read is a [`Reject`] with its line; the next one is read as if nothing had been.

mod csv_rows;
mod deb822;
mod format;
mod json_lines;
mod lines;
mod source;

pub use format::Format;
pub use source::{RecordSource, Row};

use serde_json::{Map, Value};
use std::io;

/// A record as it stands in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// Where it begins, counted from 1.
    pub line: u64,
    /// Its attributes.
    pub attributes: Map<String, Value>,
}

/// A record that cannot be taken in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reject {
    /// Where it begins, counted from 1.
    pub line: u64,
    /// Why.
    pub reason: String,
}

impl Reject {
    pub(crate) fn new(line: u64, reason: impl Into<String>) -> Self {
        Self { line, reason: reason.into() }
    }
}

/// What a parser hands over: records and rejects; an error of the disk ends it.
pub(crate) type Item = io::Result<Result<Parsed, Reject>>;
