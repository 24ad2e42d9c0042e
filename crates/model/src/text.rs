//! Foreign text (error messages, response excerpts, names from outside) made safe to store and to show.

/// The most characters of a foreign answer that are kept.
pub const EXCERPT_CHARS: usize = 2_000;

/// Replaces what Postgres refuses (NUL) and what upsets terminals (other control characters but tab and newline) by U+FFFD, and
/// cuts after `most` characters with an ellipsis. Applied at every write of foreign text (RELIABILITY 2.25).
#[must_use]
pub fn sanitise(text: &str, most: usize) -> String {
    let mut clean = String::with_capacity(text.len().min(most * 4));
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
