//! Texts that identify something: of which length and characters they may be.

use crate::{limits, text};

/// What a key must be, as a sentence.
pub const KEY: &str =
    "must be 1 to 255 characters without control characters, those of text direction among them";

/// 1 to 255 characters, none of them a [control character](text::is_control).
#[must_use]
pub fn is_key(key: &str) -> bool {
    limits::KEY_CHARS.contains(&key.chars().count()) && !key.contains(text::is_control)
}

/// What a record's type or id must be, as a sentence.
pub const RECORD_KEY: &str = "must be 1 to 255 characters without control characters, those of text direction among them, and neither . nor ..";

/// Whether this can be the type or id of a record. Both are segments of the path that `rest` sends to, so `.` and `..` are excluded.
#[must_use]
pub fn is_record_key(key: &str) -> bool {
    is_key(key) && key != "." && key != ".."
}
