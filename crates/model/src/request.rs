//! A preview of a job's request, without credentials, to be sent by hand.

use serde::{Deserialize, Serialize};

/// Placeholder of a secret.
pub const SECRET: &str = "<secret>";

/// The request that the next attempt of a job would make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestPreview {
    /// `POST`, `PUT`, `PATCH`, `DELETE`.
    pub method: String,
    /// Full URL.
    pub url: String,
    /// Names and values; secret values are [`SECRET`].
    pub headers: Vec<(String, String)>,
    /// The body, if the request has one.
    pub body: Option<String>,
}

impl RequestPreview {
    /// A curl command for a POSIX shell.
    #[must_use]
    pub fn to_curl(&self) -> String {
        let mut lines = vec![format!("curl --request {} {}", self.method, quoted(&self.url))];
        lines.extend(
            self.headers
                .iter()
                .map(|(name, value)| format!("--header {}", quoted(&format!("{name}: {value}")))),
        );
        lines.extend(self.body.as_deref().map(|body| format!("--data-raw {}", quoted(body))));
        lines.join(" \\\n  ")
    }
}

/// Quoted as one word of the shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_the_command_are_quoted() {
        let preview = RequestPreview {
            method: "POST".into(),
            url: "https://x.test/?a=1&b=$HOME".into(),
            headers: vec![("authorization".into(), SECRET.into())],
            body: Some(r#"{"title":"it's `x`"}"#.into()),
        };
        assert_eq!(
            preview.to_curl(),
            "curl --request POST 'https://x.test/?a=1&b=$HOME' \\\n  --header 'authorization: <secret>' \\\n  \
             --data-raw '{\"title\":\"it'\\''s `x`\"}'"
        );
    }
}
