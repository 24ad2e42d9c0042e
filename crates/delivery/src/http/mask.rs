//! Some receivers answer with the headers they were sent. What is kept of an answer is shown to people who may not know the
//! credentials, so these are taken out of it first.

use crate::Secret;

/// What stands in the place of a secret.
const MASK: &str = "[masked]";
/// Anything shorter would mask innocent text, and is no secret.
const SHORTEST: usize = 4;

/// The secrets of one request.
#[derive(Clone)]
pub struct Mask(Secret<Vec<String>>);

impl std::fmt::Debug for Mask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Mask")
    }
}

impl Mask {
    /// Masks header values; of `Bearer abc` also `abc` alone, of several signatures each.
    pub fn of<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let mut secrets: Vec<String> = values
            .into_iter()
            .flat_map(|value| std::iter::once(value.trim()).chain(value.split_whitespace().skip(1)))
            .flat_map(|value| std::iter::once(value).chain(value.strip_prefix("v1,")))
            .filter(|value| value.len() >= SHORTEST)
            .map(str::to_owned)
            .collect();
        // The longest first: a part must not be replaced inside the whole.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self(Secret::new(secrets))
    }

    /// The text without them.
    #[must_use]
    pub fn apply(&self, text: &str) -> String {
        self.0.expose().iter().fold(text.to_owned(), |text, secret| text.replace(secret, MASK))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_as_a_secret_does_not_come_back() {
        let mask = Mask::of(["Bearer s3cr3tvalue", " k3yk3y ", "v1,AAAA= v1,BBBB=", "abc", "1"]);
        for (answer, kept) in [
            ("authorization: Bearer s3cr3tvalue", "authorization: [masked]"),
            (r#"{"token":"s3cr3tvalue"}"#, r#"{"token":"[masked]"}"#),
            ("k3yk3y and k3yk3y", "[masked] and [masked]"),
            ("v1,AAAA= v1,BBBB=", "[masked]"),
            ("only BBBB= of it", "only [masked] of it"),
            ("abc 1 is too short to be one", "abc 1 is too short to be one"),
        ] {
            assert_eq!(mask.apply(answer), kept);
        }
        assert!(!format!("{mask:?}").contains("s3cr3t"));
    }
}
