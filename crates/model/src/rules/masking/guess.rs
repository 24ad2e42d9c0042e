//! Who reads a value masked must not guess at it: a filter that finds a payload by a value tells that the guess was right.

use super::Masking;
use crate::filter::PayloadMatch;

impl Masking {
    /// The paths of a filter whose values it hides: a payload that has such a value there would not be shown with it.
    #[must_use]
    pub fn hidden<'a>(&self, asked: &'a PayloadMatch) -> Vec<&'a str> {
        let documents = asked.documents().into_iter();
        asked
            .iter()
            .zip(documents)
            .filter(|(_, documents)| documents.iter().any(|document| self.value(&mut document.clone()) > 0))
            .map(|((path, _), _)| path)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_filter_asks_for_what_is_hidden_wherever_its_path_meets_a_mask() {
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
        ] {
            let asked: PayloadMatch = serde_json::from_value(json!({ path: value })).unwrap();
            let hidden = masking.hidden(&asked);
            assert_eq!(!hidden.is_empty(), is_hidden, "{path}={value}");
            assert!(hidden.iter().all(|hidden| *hidden == path));
        }
        let asked = serde_json::from_value(json!({"order.id": "17", "pin": "1", "phone": "2"})).unwrap();
        assert_eq!(masking.hidden(&asked), ["phone", "pin"]);
    }
}
