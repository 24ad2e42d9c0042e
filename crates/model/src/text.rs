//! Makes foreign text (error messages, response excerpts, names) safe to store and to show.

use std::borrow::Cow;

/// At most so many characters of an answer are kept.
pub const EXCERPT_CHARS: usize = 2_000;

/// Whether a character is not allowed in names: a control character, or one that changes the direction of the text around it, so that
/// `invoice\u{202e}fdp.exe` reads as something else (Unicode's embeddings, overrides and isolates: UAX 9, 2.1 to 2.4). The direction marks of
/// ordinary Arabic and Hebrew text are allowed.
#[must_use]
pub fn is_control(c: char) -> bool {
    c.is_control() || is_turning(c)
}

fn is_turning(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Escapes characters that change the direction of text, as in JSON.
#[must_use]
pub fn shown(text: &str) -> Cow<'_, str> {
    if !text.contains(is_turning) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        push_shown(&mut shown, c);
    }
    Cow::Owned(shown)
}

fn push_shown(text: &mut String, c: char) {
    if is_turning(c) {
        text.push_str(&format!("\\u{:04x}", u32::from(c)));
    } else {
        text.push(c);
    }
}

/// Replaces NUL, which Postgres refuses, and other control characters except tab and newline, which disturb terminals, by U+FFFD; [escapes](shown)
/// characters that change the direction of text; and cuts after `max_chars` characters with an ellipsis. Applied whenever foreign text is stored.
#[must_use]
pub fn sanitise(text: &str, max_chars: usize) -> String {
    let mut clean = String::with_capacity(text.len().min(max_chars.saturating_mul(4)));
    for (count, c) in text.chars().enumerate() {
        if count == max_chars {
            clean.push('…');
            break;
        }
        push_shown(&mut clean, if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c });
    }
    clean
}

/// [`sanitise`] for bytes that may not be UTF-8.
#[must_use]
pub fn sanitise_bytes(bytes: &[u8], max_chars: usize) -> String {
    sanitise(&String::from_utf8_lossy(bytes), max_chars)
}

/// A number with thousands separators: `-1,204`.
#[must_use]
pub fn grouped(n: i64) -> String {
    let digits = n.unsigned_abs().to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if n < 0 {
        out.push('-');
    }
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// With a capital first letter: `Dead letters`.
#[must_use]
pub fn capitalise(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// A place in a row: `1st`, `2nd`, `11th`, `22nd`.
#[must_use]
pub fn ordinal(n: i64) -> String {
    let suffix = match (n % 100, n % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{n}{suffix}")
}

/// An error with its causes in one text. Many errors contain the text of their cause, which is then not repeated.
#[must_use]
pub fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = String::new();
    for cause in std::iter::successors(Some(error), |error| error.source()) {
        let message = cause.to_string();
        if !text.contains(&message) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&message);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{error::Error, fmt, io};

    #[test]
    fn ordinals_read_as_people_say_them() {
        for (n, want) in [
            (1, "1st"),
            (2, "2nd"),
            (3, "3rd"),
            (5, "5th"),
            (11, "11th"),
            (12, "12th"),
            (22, "22nd"),
            (111, "111th"),
        ] {
            assert_eq!(ordinal(n), want);
        }
    }

    #[test]
    fn the_first_letter_becomes_a_capital() {
        assert_eq!(
            [capitalise("dead letters"), capitalise("änderung"), capitalise("")],
            ["Dead letters", "Änderung", ""]
        );
    }

    #[test]
    fn control_characters_are_replaced() {
        for (given, kept) in [
            ("plain", "plain"),
            ("a\0b", "a\u{fffd}b"),
            ("\u{1b}[31mred", "\u{fffd}[31mred"),
            ("two\nlines\t.", "two\nlines\t."),
            ("äöü€", "äöü€"),
            ("a\u{202e}fdp.exe", "a\\u202efdp.exe"),
            ("\u{200f}שלום", "\u{200f}שלום"),
        ] {
            assert_eq!(sanitise(given, 100), kept);
        }
    }

    #[test]
    fn characters_that_change_the_direction_are_escaped() {
        assert_eq!(shown("\u{2066}a\u{2069}"), "\\u2066a\\u2069");
        let plain = "\u{200f}שלום 1";
        assert!(matches!(shown(plain), Cow::Borrowed(text) if text == plain));
        assert!(['\u{202e}', '\u{2066}', '\0', '\n'].into_iter().all(is_control) && !is_control('\u{200e}'));
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!(sanitise("äöüß", 3), "äöü…");
        assert_eq!(sanitise("äöü", 3), "äöü");
        assert_eq!(sanitise_bytes(b"a\xffb", 9), "a\u{fffd}b");
    }

    #[test]
    fn a_cause_is_not_repeated() {
        #[derive(Debug)]
        struct Outer(&'static str, io::Error);
        impl fmt::Display for Outer {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.0)
            }
        }
        impl Error for Outer {
            fn source(&self) -> Option<&(dyn Error + 'static)> {
                Some(&self.1)
            }
        }
        let refused = || io::Error::other("refused");
        for (says, whole) in [
            ("the database", "the database: refused"),
            ("the database: refused (1)", "the database: refused (1)"),
        ] {
            assert_eq!(causes(&Outer(says, refused())), whole);
        }
    }
}
