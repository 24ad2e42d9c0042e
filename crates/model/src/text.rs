//! Foreign text (error messages, response excerpts, names from outside) made safe to store and to show.

/// The most characters of a foreign answer that are kept.
pub const EXCERPT_CHARS: usize = 2_000;

/// Replaces what Postgres refuses (NUL) and what upsets terminals (other control characters but tab and newline) by U+FFFD, and
/// cuts after `most` characters with an ellipsis. Applied at every write of foreign text (RELIABILITY 2.25).
#[must_use]
pub fn sanitise(text: &str, most: usize) -> String {
    let mut clean = String::with_capacity(text.len().min(most.saturating_mul(4)));
    for (count, c) in text.chars().enumerate() {
        if count == most {
            clean.push('…');
            break;
        }
        clean.push(if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c });
    }
    clean
}

/// [`sanitise`] for bytes that may be no UTF-8.
#[must_use]
pub fn sanitise_bytes(bytes: &[u8], most: usize) -> String {
    sanitise(&String::from_utf8_lossy(bytes), most)
}

/// A number for people: `-1,204`.
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

/// An error with its causes in one text. Many errors say their cause themselves: what was said is not repeated.
#[must_use]
pub fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = String::new();
    for cause in std::iter::successors(Some(error), |error| error.source()) {
        let said = cause.to_string();
        if !text.contains(&said) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&said);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{error::Error, fmt, io};

    #[test]
    fn what_postgres_or_a_terminal_refuses_is_replaced() {
        for (given, kept) in [
            ("plain", "plain"),
            ("a\0b", "a\u{fffd}b"),
            ("\u{1b}[31mred", "\u{fffd}[31mred"),
            ("two\nlines\t.", "two\nlines\t."),
            ("äöü€", "äöü€"),
        ] {
            assert_eq!(sanitise(given, 100), kept);
        }
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!(sanitise("äöüß", 3), "äöü…");
        assert_eq!(sanitise("äöü", 3), "äöü");
        assert_eq!(sanitise_bytes(b"a\xffb", 9), "a\u{fffd}b");
    }

    #[test]
    fn a_cause_is_said_once() {
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
