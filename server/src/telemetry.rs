//! The log on standard error, as text or JSON.
//!
//! Foreign text cannot control a terminal: fields are written with `Debug`, which escapes control characters, and text from outside is sanitised
//! before it is stored. A log that cannot be written (a closed pipe) is silent, never fatal. Long lines are shortened, because a slow statement of
//! ten thousand characters makes the lines around it hard to find.

use crate::config::{LogFormat, TelemetrySettings};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write};
use tracing_subscriber::{EnvFilter, fmt::MakeWriter};

/// Starts the log of this process; later calls change nothing.
pub fn start(settings: &TelemetrySettings) {
    // Without notices such as "relation already exists, skipping" and single statements; slow statements are warnings and stay. Nor what a pool
    // says of each connection that breaks or is late in an outage: whoever wanted it says so.
    let quiet =
        "sqlx::postgres::notice=warn,sqlx::query=warn,sqlx::pool=error,sqlx_core::pool=error,hyper_util=warn";
    // The user's filter comes last and wins.
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

/// Standard error, with every control character except newline and tab escaped.
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
        // `fmt` writes one whole line at a time.
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

/// Longer lines are shortened.
const MAX_LINE_BYTES: usize = 3_000;
/// Characters kept of the beginning and of the end of a long text.
const KEPT_CHARS: (usize, usize) = (1_200, 600);

/// Removes the middle of a line of text. A JSON object stays valid: the middle of its long strings is removed.
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
    let chars = text.chars().count();
    let (begin, end) = KEPT_CHARS;
    let Some(omitted) = chars.checked_sub(begin + end).filter(|count| *count > 0) else {
        return text.to_owned();
    };
    let head: String = text.chars().take(begin).collect();
    let tail: String = text.chars().skip(chars - end).collect();
    format!("{head} [… {omitted} characters omitted …] {tail}")
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
    fn control_characters_are_escaped() {
        assert_eq!(escape(b"a\x1b[31mred\x07\n"), b"a\\x1b[31mred\\x07\n");
        assert_eq!(escape("grün\tok\n".as_bytes()), "grün\tok\n".as_bytes());
    }

    #[test]
    fn a_long_line_keeps_its_beginning_and_end() {
        let short = "WARN slow statement summary=\"select 1 …\" elapsed=1.2s\n";
        assert_eq!(shorten(short.as_bytes()), short.as_bytes());
        let long = format!("WARN slow statement db.statement=\"{}\" elapsed=1.2s\n", "grün ".repeat(2_000));
        let line = String::from_utf8(shorten(long.as_bytes()).into_owned()).unwrap();
        assert!(
            line.len() <= MAX_LINE_BYTES && line.starts_with("WARN slow") && line.ends_with("elapsed=1.2s\n"),
            "{line}"
        );
        assert!(line.contains(" characters omitted …] "), "{line}");
    }

    #[test]
    fn a_long_object_stays_valid_json() {
        let line = json!({ "level": "WARN", "db.statement": "x".repeat(9_000), "elapsed_secs": 1.2 })
            .to_string()
            + "\n";
        let line = shorten(line.as_bytes()).into_owned();
        assert!(line.len() <= MAX_LINE_BYTES && line.ends_with(b"\n"));
        let fields: Value = serde_json::from_slice(&line).unwrap();
        assert_eq!((&fields["level"], &fields["elapsed_secs"]), (&json!("WARN"), &json!(1.2)));
    }
}
