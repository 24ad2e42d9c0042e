//! The log: text for people, JSON for machines, on standard error.
//!
//! Foreign text cannot steer a terminal: fields are written through `Debug`, which escapes control characters, and what comes from
//! outside is sanitised before it is stored. A log that cannot be written (a closed pipe) is silent, never fatal.

use crate::config::{LogFormat, TelemetrySettings};
use std::io::{self, IsTerminal as _, Write};
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
        let mut stderr = io::stderr().lock();
        if bytes.iter().any(|byte| is_control(*byte)) {
            stderr.write_all(&escape(bytes))?;
        } else {
            stderr.write_all(bytes)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
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
    use super::escape;

    #[test]
    fn escape_sequences_reach_no_terminal() {
        assert_eq!(escape(b"a\x1b[31mred\x07\n"), b"a\\x1b[31mred\\x07\n");
        assert_eq!(escape("grün\tok\n".as_bytes()), "grün\tok\n".as_bytes());
    }
}
