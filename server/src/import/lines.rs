//! Numbered lines of a file of any size, each of bounded length, so that a file without newlines does not fill the memory.

use std::io::{self, BufRead};

/// A record may have 1 MB, which escapes may more than double.
pub(super) const MAX_LINE_BYTES: usize = 4 << 20;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// Without the newline.
    Text(String),
    NotUtf8,
    /// Longer than [`MAX_LINE_BYTES`].
    TooLong,
}

/// Reads lines and counts them from 1.
#[derive(Debug)]
pub(super) struct Lines<R> {
    reader: R,
    number: u64,
    buffer: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, number: 0, buffer: Vec::new() }
    }

    /// The number of the line and the line; `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<(u64, Line)>> {
        self.buffer.clear();
        let mut is_too_long = false;
        let mut has_any = false;
        loop {
            let chunk = match self.reader.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                chunk => chunk?,
            };
            if chunk.is_empty() {
                break;
            }
            has_any = true;
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let part = &chunk[..end.unwrap_or(chunk.len())];
            if self.buffer.len() + part.len() > MAX_LINE_BYTES {
                is_too_long = true;
            } else if !is_too_long {
                self.buffer.extend_from_slice(part);
            }
            let used = end.map_or(chunk.len(), |end| end + 1);
            self.reader.consume(used);
            if end.is_some() {
                break;
            }
        }
        if !has_any {
            return Ok(None);
        }
        self.number += 1;
        if is_too_long {
            return Ok(Some((self.number, Line::TooLong)));
        }
        if self.buffer.last() == Some(&b'\r') {
            self.buffer.pop();
        }
        // Files from Windows may begin with a byte order mark.
        let bytes = if self.number == 1 {
            self.buffer.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&self.buffer)
        } else {
            &self.buffer
        };
        let line = std::str::from_utf8(bytes).map_or(Line::NotUtf8, |text| Line::Text(text.to_owned()));
        Ok(Some((self.number, line)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_bounded_and_checked() {
        let long = "x".repeat(MAX_LINE_BYTES + 1);
        let text = [b"\xef\xbb\xbfone\r\n\n".as_slice(), b"\xff\n", long.as_bytes(), b"\nlast"].concat();
        let mut lines = Lines::new(io::BufReader::with_capacity(7, &text[..]));
        let mut read = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            read.push(line);
        }
        assert_eq!(
            read,
            [
                (1, Line::Text("one".into())),
                (2, Line::Text(String::new())),
                (3, Line::NotUtf8),
                (4, Line::TooLong),
                (5, Line::Text("last".into())),
            ]
        );
    }
}
