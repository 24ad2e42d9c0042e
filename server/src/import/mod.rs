//! Reads records from JSON Lines, CSV and deb822, with one streaming parser per format. A record that cannot be read becomes a [`Reject`] with
//! its line, and reading continues with the next one.

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

/// A record of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// Where it begins, counted from 1.
    pub line: u64,
    pub attributes: Map<String, Value>,
}

/// A record that cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reject {
    /// Where it begins, counted from 1.
    pub line: u64,
    pub reason: String,
}

impl Reject {
    pub(crate) fn new(line: u64, reason: impl Into<String>) -> Self {
        Self { line, reason: reason.into() }
    }
}

/// What a parser yields: records and rejects, or an I/O error, which ends the import.
pub(crate) type Item = io::Result<Result<Parsed, Reject>>;
