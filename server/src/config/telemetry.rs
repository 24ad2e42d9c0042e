//! Settings of log and traces.

use super::{error::ConfigError, key::Key, sources::Sources};

const LOG: Key = Key::with_default(
    "HEADGATE_LOG",
    "info",
    "tracing filter",
    "a tracing filter such as info or info,queue=debug",
);
const LOG_FORMAT: Key = Key::with_default("HEADGATE_LOG_FORMAT", "text", "text or json", "text or json");
const OTLP_ENDPOINT: Key =
    Key::optional("OTEL_EXPORTER_OTLP_ENDPOINT", "where traces go", "a URL such as http://collector:4318");

pub(super) const KEYS: [&Key; 3] = [&LOG, &LOG_FORMAT, &OTLP_ENDPOINT];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    /// One object per line.
    Json,
}

#[derive(Clone, Debug)]
pub struct TelemetrySettings {
    /// In the syntax of `tracing-subscriber`.
    pub filter: String,
    pub format: LogFormat,
    pub otlp_endpoint: Option<url::Url>,
}

impl TelemetrySettings {
    pub fn read(sources: &Sources) -> Result<Self, ConfigError> {
        Ok(Self {
            filter: sources.required(&LOG, filter)?,
            format: sources.required(&LOG_FORMAT, |text| match text {
                "text" => Some(LogFormat::Text),
                "json" => Some(LogFormat::Json),
                _ => None,
            })?,
            otlp_endpoint: sources.optional(&OTLP_ENDPOINT, |text| text.parse().ok())?,
        })
    }
}

/// Checked by the filter's own parser, and against the levels: the parser would take a misspelt level for the name of a target.
fn filter(text: &str) -> Option<String> {
    const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
    let is_lone_word = text.chars().all(|c| c.is_ascii_alphanumeric());
    if is_lone_word && !LEVELS.contains(&text.to_ascii_lowercase().as_str()) {
        return None;
    }
    tracing_subscriber::EnvFilter::try_new(text).is_ok().then(|| text.to_owned())
}
