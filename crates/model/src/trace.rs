//! The trace context of a request (W3C Trace Context, `traceparent`).

use std::{fmt, str::FromStr};

/// A trace context. Displayed and parsed as the value of `traceparent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceContext {
    /// Id of the whole trace, never zero.
    pub trace_id: u128,
    /// Id of the span that made the request, never zero.
    pub parent_id: u64,
    /// Whether the trace is recorded: the only flag that is propagated.
    pub is_sampled: bool,
}

/// Not a valid header. The standard says to ignore such a one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not a traceparent of W3C Trace Context")]
pub struct NotATraceparent;

impl FromStr for TraceContext {
    type Err = NotATraceparent;

    fn from_str(text: &str) -> Result<Self, NotATraceparent> {
        let mut parts = text.splitn(5, '-');
        let mut next = |digits| hex(parts.next(), digits);
        let (version, trace_id) = (next(2)?, next(32)?);
        let (parent_id, flags) = (next(16)?, next(2)?);
        // A later version may have more parts; 255 is not a version.
        let is_readable = match version {
            0 => parts.next().is_none(),
            version => version != 0xff,
        };
        let parent_id = u64::try_from(parent_id).map_err(|_| NotATraceparent)?;
        if !is_readable || trace_id == 0 || parent_id == 0 {
            return Err(NotATraceparent);
        }
        Ok(Self { trace_id, parent_id, is_sampled: flags & 1 == 1 })
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { trace_id, parent_id, is_sampled } = self;
        write!(f, "00-{trace_id:032x}-{parent_id:016x}-{:02x}", u8::from(*is_sampled))
    }
}

/// Parses exactly so many digits, in lower case.
fn hex(part: Option<&str>, digits: usize) -> Result<u128, NotATraceparent> {
    part.filter(|part| part.len() == digits && part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')))
        .and_then(|part| u128::from_str_radix(part, 16).ok())
        .ok_or(NotATraceparent)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const PARENT: &str = "00f067aa0ba902b7";

    #[test]
    fn a_traceparent_reads_back() {
        for flags in ["00", "01"] {
            let text = format!("00-{TRACE}-{PARENT}-{flags}");
            assert_eq!(text.parse::<TraceContext>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn unknown_flags_and_parts_of_later_versions_are_ignored() {
        for text in [format!("00-{TRACE}-{PARENT}-03"), format!("cc-{TRACE}-{PARENT}-01-what-else")] {
            let read = text.parse::<TraceContext>().unwrap();
            assert_eq!(read.to_string(), format!("00-{TRACE}-{PARENT}-01"), "{text}");
        }
    }

    #[test]
    fn invalid_values_are_refused() {
        let (no_trace, no_parent) = ("0".repeat(32), "0".repeat(16));
        for text in [
            String::new(),
            format!("ff-{TRACE}-{PARENT}-01"),
            format!("00-{no_trace}-{PARENT}-01"),
            format!("00-{TRACE}-{no_parent}-01"),
            format!("00-{}-{PARENT}-01", TRACE.to_uppercase()),
            format!("00-{TRACE}-{PARENT}-01-more"),
            format!("00-{TRACE}-{PARENT}-1"),
            format!("00-{TRACE}-{PARENT}"),
            format!("0-{TRACE}-{PARENT}-01"),
            format!("00-{}-{PARENT}-01", &TRACE[1..]),
            format!("00-+{}-{PARENT}-01", &TRACE[1..]),
        ] {
            assert_eq!(text.parse::<TraceContext>(), Err(NotATraceparent), "{text}");
        }
    }
}
