//! Which numbers do not fit.

/// 2^63. Numbers from here on, positive or negative, may be integers that do not fit into 64 bits.
const LARGE: f64 = 9_223_372_036_854_775_808.0;

/// Which of the large numbers, counted from 0, is the first integer that does not fit into 64 bits.
pub(super) fn first_overlong_integer(bytes: &[u8]) -> Option<usize> {
    let mut large_numbers = 0;
    let mut at = 0;
    // The parser has accepted the text: outside strings, digits and signs are parts of numbers.
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at += 1;
                while let Some(inside) = bytes.get(at).filter(|inside| **inside != b'"') {
                    at += if *inside == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            b'-' | b'0'..=b'9' => {
                let rest = &bytes[at..];
                let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
                let length = rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
                at += length;
                let text = std::str::from_utf8(&rest[..length]).unwrap_or_default();
                if text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok() {
                    continue;
                }
                if text.parse().is_ok_and(is_large) {
                    if !text.contains(['.', 'e', 'E']) {
                        return Some(large_numbers);
                    }
                    large_numbers += 1;
                }
            }
            _ => at += 1,
        }
    }
    None
}

pub(super) fn is_large(number: f64) -> bool {
    number.abs() >= LARGE
}
