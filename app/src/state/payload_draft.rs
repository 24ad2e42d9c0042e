//! Reads a typed payload, or says what is wrong with it and where. The server and the page use it; a refused payload comes back in the
//! page's address when it is short enough.

use super::page_url::PageUrl;
use model::json::{self, MAX_RECORD_BYTES};
use model::rules::masking::{MASK, MASK_OF_ANOTHER};
use serde_json::Value;

const DRAFT: &str = "draft[payload]";
/// A longer draft is not carried in the address.
const MAX_DRAFT_BYTES: usize = 4_000;

/// Parses the payload.
///
/// # Errors
/// A sentence, with line and column where they are known.
pub fn parse(text: &str) -> Result<Value, String> {
    if text.len() > MAX_RECORD_BYTES {
        return Err("It is larger than 1 MB.".to_owned());
    }
    let value: Value = serde_json::from_str(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let said = error.to_string();
        let said = said.split(" at line ").next().unwrap_or_default();
        if line == 0 {
            format!("Not valid JSON: {said}.")
        } else {
            format!("Line {line}, column {column}: {said}.")
        }
    })?;
    if let Some(number) = too_large(text) {
        return Err(format!(
            "{number} does not fit into 64 bits and would become another number: write it as a string."
        ));
    }
    json::check(&value).map_err(|fault| format!("{} {}.", fault.pointer, fault.detail))?;
    if contains_mask(&value) {
        return Err(format!(
            "It contains {MASK}: reveal the values first, or the mask would be sent instead of them."
        ));
    }
    Ok(value)
}

/// The first integer that would lose digits. The text is valid JSON.
fn too_large(text: &str) -> Option<&str> {
    let mut is_outside = true;
    let mut is_escaped = false;
    let of_strings = |c: char| {
        let was_outside = is_outside;
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => is_outside = !is_outside,
            _ => {}
        }
        !(was_outside && (c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E')))
    };
    let is_integer = |token: &&str| token.trim_start_matches('-').bytes().all(|b| b.is_ascii_digit());
    text.split(of_strings)
        .filter(|token| token.len() > 18)
        .filter(is_integer)
        .find(|token| token.parse::<i64>().is_err() && token.parse::<u64>().is_err())
}

fn contains_mask(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(MASK) || text == MASK_OF_ANOTHER,
        Value::Array(items) => items.iter().any(contains_mask),
        Value::Object(fields) => fields.values().any(contains_mask),
        _ => false,
    }
}

/// The address that shows the form again, with what was typed.
pub fn carry(url: PageUrl, text: &str) -> PageUrl {
    // Editing begins with revealed values, so they stay revealed.
    let url = url.with("edit", 1).with("revealed", 1);
    if text.len() > MAX_DRAFT_BYTES { url } else { url.with(DRAFT, text) }
}

/// The typed payload of a refused form.
pub fn carried(url: &PageUrl) -> Option<String> {
    url.get(DRAFT).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_has_its_position() {
        for (text, begins) in [
            ("{\n  \"a\": 1,\n}", "Line 3, column 1: trailing comma"),
            ("", "Line 1, column 0: EOF"),
            ("{\"a\": \"\\u0000\"}", "/a contains a NUL"),
            ("{\"a\": [\"[masked]\"]}", "It contains [masked]"),
            ("{\"a\": [1, -12345678901234567890]}", "-12345678901234567890 does not fit into 64 bits"),
            ("1 2", "Line 1, column 3: trailing characters"),
        ] {
            let fault = parse(text).expect_err(text);
            assert!(fault.starts_with(begins), "{fault}");
        }
        assert_eq!(parse(" {\"n\": 18446744073709551615} "), Ok(serde_json::json!({"n": u64::MAX})));
    }

    #[test]
    fn digits_in_a_string_are_no_number() {
        let text = r#"{"a": "1\"123456789012345678901234567890", "b": 1.5e300, "c": -9223372036854775808}"#;
        assert!(parse(text).is_ok());
    }

    #[test]
    fn a_short_draft_comes_back_and_a_long_one_is_left_to_the_browser() {
        let url = carry(PageUrl::parse("/jobs/1"), "{a");
        assert_eq!((carried(&url).as_deref(), url.get("edit")), (Some("{a"), Some("1")));
        assert_eq!(carried(&carry(PageUrl::parse("/jobs/1"), &"a".repeat(5_000))), None);
    }
}
