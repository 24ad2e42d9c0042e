//! Secrets in unparsed text: `{"password": "x"`, `token=x`, `Authorization: Bearer x`. The text may be cut anywhere.

use super::{MASK, MASK_OF_ANOTHER};

/// Whether a string may contain fields: JSON within JSON, a URL with a query, a form, headers.
pub(super) fn may_hold_fields(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with(['{', '['])
        || text.contains("://")
        || (text.contains('=') && !text.contains(' '))
        || is_scheme(text)
}

/// Masks the values of names that `is_secret`, in one pass. `None`: there is no such value.
pub(super) fn masked(text: &str, is_secret: impl Fn(&str) -> bool) -> Option<String> {
    let bytes = text.as_bytes();
    let mut out = String::new();
    let mut kept = 0;
    let mut at = 0;
    while at < bytes.len() {
        let secret = match bytes[at] {
            b':' | b'=' => name_before(text, at).filter(|name| is_secret(name)).map(|_| value(text, at)),
            b'b' | b'B' if begins_word(bytes, at) && is_scheme(&text[at..]) => bearer(text, at),
            _ => None,
        };
        match secret.filter(|(from, to)| reveals(&text[*from..*to])) {
            Some((from, to)) => {
                out.push_str(&text[kept..from]);
                out.push_str(MASK);
                (kept, at) = (to, to);
            }
            None => at += 1,
        }
    }
    (kept > 0).then(|| {
        out.push_str(&text[kept..]);
        out
    })
}

/// The name that ends before a `:` or `=`, with or without quotes around it.
fn name_before(text: &str, at: usize) -> Option<&str> {
    let before = text[..at].trim_end_matches([' ', '\t']);
    let before = before.trim_end_matches(['"', '\'', '\\']);
    let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let begin = before
        .rfind(|c| !is_of_name(c))
        .map_or(0, |end| end + before[end..].chars().next().map_or(1, char::len_utf8));
    Some(&before[begin..]).filter(|name| !name.is_empty() && name.len() <= 100)
}

/// Start and end of the value after a `:` or `=`, without its quotes.
fn value(text: &str, separator: usize) -> (usize, usize) {
    let bytes = text.as_bytes();
    let mut from = separator + 1;
    while bytes.get(from).is_some_and(|b| matches!(b, b' ' | b'\t')) {
        from += 1;
    }
    let rest = &text[from..];
    if let Some(inner) = rest.strip_prefix("\\\"") {
        return (from + 2, from + 2 + inner.find("\\\"").unwrap_or(inner.len()));
    }
    match rest.as_bytes().first() {
        Some(&quote @ (b'"' | b'\'')) => (from + 1, from + 1 + quoted(&rest.as_bytes()[1..], quote)),
        Some(b'{' | b'[') => (from, from + nested(rest.as_bytes())),
        _ => {
            // A header ends with its line; a form's field has no spaces.
            let is_header = bytes[separator] == b':';
            let ends = |c: char| {
                matches!(c, ',' | ';' | '&' | '"' | '\'' | '<' | ')' | '}' | ']' | '\n' | '\r')
                    || (!is_header && c.is_whitespace())
            };
            (from, from + rest.find(ends).map_or(rest.len(), |end| rest[..end].trim_end().len()))
        }
    }
}

/// Bytes up to the closing quote.
fn quoted(bytes: &[u8], quote: u8) -> usize {
    let mut at = 0;
    while at < bytes.len() && bytes[at] != quote {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at.min(bytes.len())
}

/// Bytes of an object or array, including its last bracket.
fn nested(bytes: &[u8]) -> usize {
    let (mut at, mut depth) = (0, 0_usize);
    while at < bytes.len() {
        match bytes[at] {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            b'"' => at += 1 + quoted(&bytes[at + 1..], b'"'),
            _ => {}
        }
        at += 1;
        if depth == 0 {
            break;
        }
    }
    at.min(bytes.len())
}

fn begins_word(bytes: &[u8], at: usize) -> bool {
    at.checked_sub(1).is_none_or(|before| !bytes[before].is_ascii_alphanumeric())
}

/// `Bearer …` and `Basic …`, as in an authorization header.
fn is_scheme(text: &str) -> bool {
    ["bearer ", "basic "]
        .iter()
        .any(|scheme| text.get(..scheme.len()).is_some_and(|head| head.eq_ignore_ascii_case(scheme)))
}

/// What is shorter is a word: `basic plan`, `bearer of news`.
const MIN_CREDENTIAL_CHARS: usize = 8;

fn bearer(text: &str, at: usize) -> Option<(usize, usize)> {
    let from = at + text[at..].find(' ')? + 1;
    let is_of_token = |c: char| c.is_ascii_alphanumeric() || "-._~+/=".contains(c);
    let length = text[from..].find(|c| !is_of_token(c)).unwrap_or(text.len() - from);
    let credential = &text[from..from + length];
    let is_credential =
        length >= MIN_CREDENTIAL_CHARS && credential.contains(|c: char| !c.is_ascii_lowercase());
    is_credential.then_some((from, from + length))
}

/// False for null, booleans, empty values and masks.
fn reveals(value: &str) -> bool {
    !matches!(value.trim(), "" | "null" | "true" | "false" | "{}" | "[]" | MASK | MASK_OF_ANOTHER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::masking::name;

    fn shown(text: &str) -> String {
        masked(text, name::is_secret).unwrap_or_else(|| text.to_owned())
    }

    #[test]
    fn values_of_secret_names_are_masked_in_any_notation() {
        for (text, want) in [
            (r#"{"password":"hunter2","id":7}"#, r#"{"password":"[masked]","id":7}"#),
            (r#"{"password" : "a\"b", "id": 7}"#, r#"{"password" : "[masked]", "id": 7}"#),
            (r#"{"pin": 1234}"#, r#"{"pin": [masked]}"#),
            (r#"{"card":{"n":"4111","x":[1,"}"]},"id":7}"#, r#"{"card":[masked],"id":7}"#),
            (r#"{"card":{"n":"41"#, r#"{"card":[masked]"#),
            (r#"{"token":"cut of"#, r#"{"token":"[masked]"#),
            (r#"{"body":"{\"token\":\"abc\",\"n\":1}"}"#, r#"{"body":"{\"token\":\"[masked]\",\"n\":1}"}"#),
            ("a=1&access_token=xyz&b=2", "a=1&access_token=[masked]&b=2"),
            ("https://x.test/?apiKey=k#top", "https://x.test/?apiKey=[masked]"),
            ("Authorization: Bearer abc.def\nHost: x", "Authorization: [masked]\nHost: x"),
            ("got 'secret': 'äöü', ok", "got 'secret': '[masked]', ok"),
            ("refused Bearer eyJhbGciOi.J9", "refused Bearer [masked]"),
            ("Größe: 5, iban: DE89 3704 0044, ok", "Größe: 5, iban: [masked], ok"),
        ] {
            assert_eq!(shown(text), want);
        }
    }

    #[test]
    fn text_without_secrets_is_not_changed() {
        for text in [
            "",
            ":",
            "=",
            "upstream timed out: try again",
            r#"{"password":null,"token":"","auth":false}"#,
            "basic plan and bearer of news",
            "token",
            "token:",
            r#"{"error":"invalid_request","field":"title"}"#,
            r#"{"token":"[masked]"}"#,
        ] {
            assert_eq!(masked(text, name::is_secret), None, "{text}");
        }
    }

    #[test]
    fn a_text_may_be_cut_anywhere() {
        let text =
            r#"{"käse":"ü","card":{"a":["\"",{"b":1}]},"password":"p\\", 'token' = 'ß', Bearer abcdefgh1"#;
        for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
            assert!(!shown(&text[..end]).contains("p\\"), "{end}");
        }
    }
}
