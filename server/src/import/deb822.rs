//! deb822: stanzas of `Field: value` lines separated by empty lines (deb822(5)), as in Debian's package index.
//!
//! A parser of our own, because the existing crates neither report the line of a fault nor continue after it.

use super::lines::{Line, Lines};
use super::{Item, Parsed, Reject};
use serde_json::{Map, Value};
use std::io::BufRead;

/// Lines that begin with `#` are comments.
#[derive(Debug)]
pub(super) struct Deb822<R>(Lines<R>);

impl<R: BufRead> Deb822<R> {
    pub(super) fn new(reader: R) -> Self {
        Self(Lines::new(reader))
    }
}

impl<R: BufRead> Iterator for Deb822<R> {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        let mut stanza = Stanza::default();
        loop {
            match self.0.next() {
                Err(error) => return Some(Err(error)),
                Ok(Some((line, Line::Text(text)))) if text.trim_matches([' ', '\t']).is_empty() => {
                    let _ = line;
                    if stanza.first_line.is_some() {
                        break;
                    }
                }
                Ok(Some((line, Line::Text(text)))) => stanza.add(line, &text),
                Ok(Some((line, Line::NotUtf8))) => {
                    stanza.reject(line, "is not valid UTF-8".to_owned());
                }
                Ok(Some((line, Line::TooLong))) => {
                    stanza.reject(line, "is longer than 4 MB".to_owned());
                }
                Ok(None) if stanza.first_line.is_some() => break,
                Ok(None) => return None,
            }
        }
        Some(Ok(stanza.finish()))
    }
}

#[derive(Default)]
struct Stanza {
    first_line: Option<u64>,
    fields: Vec<(String, String)>,
    /// The line and what is wrong with it.
    fault: Option<(u64, String)>,
}

impl Stanza {
    fn add(&mut self, line: u64, text: &str) {
        if text.starts_with('#') {
            return;
        }
        if let Some(more) = text.strip_prefix([' ', '\t']) {
            match self.fields.last_mut() {
                Some((_, value)) => {
                    value.push('\n');
                    // A line with only a dot stands for an empty line.
                    value.push_str(if more.trim_end() == "." { "" } else { more.trim_end() });
                    self.first_line.get_or_insert(line);
                }
                None => self.reject(line, "continues a field, but there is none".to_owned()),
            }
            return;
        }
        let Some((name, value)) = text.split_once(':').filter(|(name, _)| is_field_name(name)) else {
            return self.reject(line, "is not `Field: value`".to_owned());
        };
        self.first_line.get_or_insert(line);
        if self.fields.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
            return self.reject(line, format!("gives the field {name} a second time"));
        }
        self.fields.push((name.to_owned(), value.trim().to_owned()));
    }

    /// The first fault is the one that is reported.
    fn reject(&mut self, line: u64, fault: String) {
        self.first_line.get_or_insert(line);
        self.fault.get_or_insert((line, fault));
    }

    fn finish(self) -> Result<Parsed, Reject> {
        let line = self.first_line.unwrap_or_default();
        if let Some((at, fault)) = self.fault {
            // A reject names the stanza's first line by itself.
            return Err(Reject::new(line, if at == line { fault } else { format!("line {at} {fault}") }));
        }
        let attributes: Map<String, Value> =
            self.fields.into_iter().map(|(name, value)| (name, Value::from(value))).collect();
        Ok(Parsed { line, attributes })
    }
}

/// US-ASCII without control characters, spaces and colons, not beginning with `#` or `-` (Debian policy 5.1).
fn is_field_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with(['#', '-']) && name.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Result<Parsed, Reject>> {
        Deb822::new(text.as_bytes()).map(Result::unwrap).collect()
    }

    #[test]
    fn stanzas_are_read_with_their_long_fields() {
        let text = "\n\nPackage: zlib\nVersion:1.3\nDescription: compression\n two\n .\n  indented\nHomepage: https://zlib.net:443/\n\
                    \n \n# a comment\nPackage: acl\nEmpty:\n\n\n";
        let stanzas = read(text);
        assert_eq!(stanzas.len(), 2);
        let first = stanzas[0].as_ref().unwrap();
        assert_eq!(first.line, 3);
        assert_eq!(first.attributes["Version"], "1.3");
        assert_eq!(first.attributes["Description"], "compression\ntwo\n\n indented");
        assert_eq!(first.attributes["Homepage"], "https://zlib.net:443/");
        let second = stanzas[1].as_ref().unwrap();
        assert_eq!((second.line, &second.attributes["Empty"]), (13, &Value::from("")));
    }

    #[test]
    fn a_bad_stanza_is_rejected_whole_and_the_next_one_is_read() {
        for (bad, reason) in [
            ("Package: a\nnonsense", "line 2 is not `Field: value`"),
            ("Package: a\nB: 1\nb: 2", "line 3 gives the field b a second time"),
            (" leading: a", "continues a field, but there is none"),
            ("two words: a", "is not `Field: value`"),
            (": a", "is not `Field: value`"),
        ] {
            let stanzas = read(&format!("{bad}\n\nPackage: good\n"));
            assert_eq!(stanzas[0], Err(Reject::new(1, reason)), "{bad}");
            assert_eq!(stanzas[1].as_ref().unwrap().attributes["Package"], "good", "{bad}");
        }
    }

    #[test]
    fn invalid_utf8_rejects_only_its_stanza() {
        let stanzas: Vec<_> =
            Deb822::new(&b"Package: a\nX: \xff\n\nPackage: b"[..]).map(Result::unwrap).collect();
        assert_eq!(stanzas[0], Err(Reject::new(1, "line 2 is not valid UTF-8")));
        assert_eq!(stanzas[1].as_ref().unwrap().attributes["Package"], "b");
    }
}
