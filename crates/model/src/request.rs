//! A request as it would be sent, for people to repeat it by hand: without what proves who sends it.

use serde::{Deserialize, Serialize};

/// What stands in the place of a secret.
pub const SECRET: &str = "<secret>";

/// The request that the next attempt of a job would make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestPreview {
    /// `POST`, `PUT`, `PATCH`, `DELETE`.
    pub method: String,
    /// Where to.
    pub url: String,
    /// Names and values; of secret ones [`SECRET`].
    pub headers: Vec<(String, String)>,
    /// What is sent; none: a request without a body.
    pub body: Option<String>,
}

impl RequestPreview {
    /// As a command for a POSIX shell.
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

/// One word for the shell, whatever it holds.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_one_word_each_whatever_they_hold() {
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
