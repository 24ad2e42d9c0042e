//! Filters on masked values. Whoever sees a value masked must not find it by a filter either: a match would confirm a guess.

use super::{MASK, Masking};
use crate::filter::PayloadMatch;

impl Masking {
    /// The paths of a filter whose values are masked when they are shown. A value that is the mask comes from a filter that was shown masked;
    /// searching for it would answer that nothing matches.
    #[must_use]
    pub fn hidden<'a>(&self, filter: &'a PayloadMatch) -> Vec<&'a str> {
        let documents = filter.documents().into_iter();
        filter
            .iter()
            .zip(documents)
            .filter(|((_, value), documents)| {
                *value == MASK || documents.iter().any(|document| self.value(&mut document.clone()) > 0)
            })
            .map(|((path, _), _)| path)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_path_is_hidden_where_its_value_would_be_masked() {
        let masking = Masking::new(["customer.email", "phone", "address.*"]);
        for (path, value, is_hidden) in [
            ("apiKey", "k", true),
            ("user.password", "1234", true),
            ("card.number", "4111", true),
            ("a.b.phone", "1", true),
            ("Customer.E-Mail", "a@x.test", true),
            ("customer.email.host", "x.test", true),
            ("address.town", "t", true),
            ("note", "password=hunter2", true),
            ("body", r#"{"token":"t"}"#, true),
            ("customer.name", "Ada", false),
            ("email", "a@x.test", false),
            ("address", "t", false),
            ("order.id", "17", false),
            ("note", "a password: nothing more", false),
            ("token", "", false),
            ("token", MASK, true),
            ("order.id", MASK, true),
        ] {
            let filter: PayloadMatch = serde_json::from_value(json!({ path: value })).unwrap();
            let hidden = masking.hidden(&filter);
            assert_eq!(!hidden.is_empty(), is_hidden, "{path}={value}");
            assert!(hidden.iter().all(|hidden| *hidden == path));
        }
        let filter = serde_json::from_value(json!({"order.id": "17", "pin": "1", "phone": "2"})).unwrap();
        assert_eq!(masking.hidden(&filter), ["phone", "pin"]);
    }
}
