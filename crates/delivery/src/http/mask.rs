//! Some receivers answer with the headers they were sent. What is kept of an answer is shown to people who may not see the
//! credentials, so these are removed from it first.

use crate::Secret;

const MASK: &str = "[masked]";
/// A shorter value is no secret, and would mask harmless text.
const MIN_SECRET_BYTES: usize = 4;

/// The secrets of one request.
#[derive(Clone)]
pub(crate) struct Mask(Secret<Vec<String>>);

impl std::fmt::Debug for Mask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Mask")
    }
}

impl Mask {
    /// Masks header values; for `Bearer abc` also `abc` alone, for several signatures each of them.
    pub(crate) fn of<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let mut secrets: Vec<String> = values
            .into_iter()
            .flat_map(|value| std::iter::once(value.trim()).chain(value.split_whitespace().skip(1)))
            .flat_map(|value| std::iter::once(value).chain(value.strip_prefix("v1,")))
            .filter(|value| value.len() >= MIN_SECRET_BYTES)
            .flat_map(written)
            .collect();
        // Longest first: a part must not be replaced inside the whole.
        secrets.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        secrets.dedup();
        Self(Secret::new(secrets))
    }

    /// Replaces the secrets in a text.
    #[must_use]
    pub(crate) fn apply(&self, text: &str) -> String {
        self.0.expose().iter().fold(text.to_owned(), |text, secret| text.replace(secret, MASK))
    }
}

/// A value, and its forms within a JSON string: many writers escape the slash as well, which base64 contains.
fn written(value: &str) -> impl Iterator<Item = String> {
    let quoted = serde_json::Value::from(value).to_string();
    let in_json = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or(value).to_owned();
    [value.to_owned(), in_json.replace('/', r"\/"), in_json].into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_that_were_sent_are_masked_in_the_answer() {
        let mask = Mask::of([
            "Bearer s3cr3tvalue",
            " k3yk3y ",
            "v1,AAAA= v1,BBBB=",
            "abc",
            "1",
            r#"p"ss\w/rd"#,
            "v1,C/C/=",
        ]);
        for (answer, kept) in [
            ("authorization: Bearer s3cr3tvalue", "authorization: [masked]"),
            (r#"{"token":"s3cr3tvalue"}"#, r#"{"token":"[masked]"}"#),
            ("k3yk3y and k3yk3y", "[masked] and [masked]"),
            ("v1,AAAA= v1,BBBB=", "[masked]"),
            ("only BBBB= of it", "only [masked] of it"),
            (r#"p"ss\w/rd"#, "[masked]"),
            (r#"{"key":"p\"ss\\w/rd"}"#, r#"{"key":"[masked]"}"#),
            (r#"{"key":"p\"ss\\w\/rd"}"#, r#"{"key":"[masked]"}"#),
            (r#"{"signature":"v1,C\/C\/="}"#, r#"{"signature":"[masked]"}"#),
            (r#"{"signature":"C\/C\/="}"#, r#"{"signature":"[masked]"}"#),
            ("abc 1 is too short to be one", "abc 1 is too short to be one"),
        ] {
            assert_eq!(mask.apply(answer), kept);
        }
        assert!(!format!("{mask:?}").contains("s3cr3t"));
    }
}
