//! The log: text for people, JSON for machines, on standard error.
//!
//! Foreign text cannot steer a terminal: fields are written through `Debug`, which escapes control characters, and what comes from
//! outside is sanitised before it is stored. A log that cannot be written (a closed pipe) is silent, never fatal. What is long is told in
//! part: a slow statement of ten thousand letters hides the lines around it from whoever reads at night.

use crate::config::{LogFormat, TelemetrySettings};
use serde_json::{Map, Value};
use std::{
    borrow::Cow,
    io::{self, IsTerminal as _, Write},
};
use tracing_subscriber::{EnvFilter, fmt::MakeWriter};

/// Sends the log of this process to standard error. Once per process; later calls change nothing.
pub fn start(settings: &TelemetrySettings) {
    // Notices such as "relation already exists, skipping" are no news, and slow statements are the console's business.
    let quiet = "sqlx::postgres::notice=warn,sqlx::query=warn,hyper_util=warn";
    // What the user says comes last and wins.
    let filter = EnvFilter::new(format!("{quiet},{}", settings.filter));
    let builder =
        tracing_subscriber::fmt().with_env_filter(filter).log_internal_errors(false).with_writer(Escaped);
    let outcome = match settings.format {
        LogFormat::Json => builder.json().flatten_event(true).with_ansi(false).try_init(),
        LogFormat::Text => builder.with_target(false).with_ansi(false).try_init(),
    };
    if outcome.is_ok() && settings.otlp_endpoint.is_some() {
        tracing::warn!("OTEL_EXPORTER_OTLP_ENDPOINT is set, but this build exports no traces");
    }
    if outcome.is_ok() && settings.format == LogFormat::Text && io::stderr().is_terminal() {
        tracing::debug!("the log goes to this terminal; HEADGATE_LOG_FORMAT=json is for machines");
    }
}

/// Standard error, with every control character but newline and tab made visible: whatever a message holds, it is only text.
#[derive(Clone, Copy, Debug)]
struct Escaped;

impl<'a> MakeWriter<'a> for Escaped {
    type Writer = Line;
    fn make_writer(&'a self) -> Line {
        Line
    }
}

#[derive(Debug)]
struct Line;

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // `fmt` hands over one whole line at a time.
        let line = shorten(bytes);
        let mut stderr = io::stderr().lock();
        if line.iter().any(|byte| is_control(*byte)) {
            stderr.write_all(&escape(&line))?;
        } else {
            stderr.write_all(&line)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// Bytes from which a line is told in part.
const MAX_LINE_BYTES: usize = 3_000;
/// What remains of a long text: so many letters of its beginning, and so many of its end.
const KEPT_CHARS: (usize, usize) = (1_200, 600);

/// A line of text loses its middle, an object the middle of its long texts: it stays one.
fn shorten(line: &[u8]) -> Cow<'_, [u8]> {
    if line.len() <= MAX_LINE_BYTES {
        return Cow::Borrowed(line);
    }
    let shortened = match serde_json::from_slice::<Map<String, Value>>(line) {
        Ok(mut fields) => {
            for value in fields.values_mut() {
                if let Value::String(text) = value {
                    *text = without_middle(text);
                }
            }
            Value::Object(fields).to_string() + "\n"
        }
        Err(_) => without_middle(&String::from_utf8_lossy(line)),
    };
    Cow::Owned(shortened.into_bytes())
}

fn without_middle(text: &str) -> String {
    let letters = text.chars().count();
    let (begin, end) = KEPT_CHARS;
    let Some(omitted) = letters.checked_sub(begin + end).filter(|count| *count > 0) else {
        return text.to_owned();
    };
    let head: String = text.chars().take(begin).collect();
    let tail: String = text.chars().skip(letters - end).collect();
    format!("{head} [… {omitted} letters left out …] {tail}")
}

fn is_control(byte: u8) -> bool {
    (byte < b' ' && byte != b'\n' && byte != b'\t') || byte == 0x7f
}

fn escape(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len() + 16);
    for &byte in bytes {
        if is_control(byte) {
            text.extend(format!("\\x{byte:02x}").bytes());
        } else {
            text.push(byte);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{MAX_LINE_BYTES, escape, shorten};
    use serde_json::{Value, json};

    #[test]
    fn escape_sequences_reach_no_terminal() {
        assert_eq!(escape(b"a\x1b[31mred\x07\n"), b"a\\x1b[31mred\\x07\n");
        assert_eq!(escape("grün\tok\n".as_bytes()), "grün\tok\n".as_bytes());
    }

    #[test]
    fn of_a_long_line_begin_and_end_are_told() {
        let short = "WARN slow statement summary=\"select 1 …\" elapsed=1.2s\n";
        assert_eq!(shorten(short.as_bytes()), short.as_bytes());
        let long = format!("WARN slow statement db.statement=\"{}\" elapsed=1.2s\n", "grün ".repeat(2_000));
        let told = String::from_utf8(shorten(long.as_bytes()).into_owned()).unwrap();
        assert!(
            told.len() <= MAX_LINE_BYTES && told.starts_with("WARN slow") && told.ends_with("elapsed=1.2s\n"),
            "{told}"
        );
        assert!(told.contains(" letters left out …] "), "{told}");
    }

    #[test]
    fn a_long_object_stays_one() {
        let line = json!({ "level": "WARN", "db.statement": "x".repeat(9_000), "elapsed_secs": 1.2 })
            .to_string()
            + "\n";
        let told = shorten(line.as_bytes()).into_owned();
        assert!(told.len() <= MAX_LINE_BYTES && told.ends_with(b"\n"));
        let fields: Value = serde_json::from_slice(&told).unwrap();
        assert_eq!((&fields["level"], &fields["elapsed_secs"]), (&json!("WARN"), &json!(1.2)));
    }
}
