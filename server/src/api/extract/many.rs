//! Bodies that are one item or an array of up to 1,000 of them.

use super::{
    body::document,
    json::{media_type, typed},
};
use crate::api::problem::Problem;
use axum::extract::{FromRequest, Request};
use model::problem::Faults;
use serde::de::DeserializeOwned;
use serde_json::Value;
use utoipa::ToSchema;

const MAX_ITEMS: usize = 1_000;
/// Faults listed at most: a thousand broken items usually have the same few kinds.
const MAX_FAULTS: usize = 100;

/// One item, or an array of 1 to 1,000.
#[derive(ToSchema)]
#[serde(untagged)]
pub enum OneOrMany<T: ToSchema> {
    /// One item.
    One(T),
    /// 1 to 1,000.
    Many(Vec<T>),
}

/// One item or several, in the order they were sent.
#[derive(Debug)]
pub struct Many<T> {
    pub items: Vec<T>,
    is_array: bool,
}

impl<T> Many<T> {
    /// Whether the body was an array: pointers of faults then begin with the index.
    pub fn is_array(&self) -> bool {
        self.is_array
    }

    /// Reads a document that is one item or an array of them; `read` converts each, given its pointer.
    ///
    /// # Errors
    /// The first hundred faults, by item and field.
    pub fn from_document(
        document: Value,
        read: impl Fn(Value, &str) -> Result<T, Faults>,
    ) -> Result<Self, Faults> {
        let (values, is_array) = match document {
            Value::Array(values) => (values, true),
            one => (vec![one], false),
        };
        let mut faults = Faults::default();
        if values.is_empty() || values.len() > MAX_ITEMS {
            faults.add("", format!("must be one item or an array of 1 to 1,000, not of {}", values.len()));
            return Err(faults);
        }
        let mut items = Vec::with_capacity(values.len());
        for (index, value) in values.into_iter().enumerate() {
            let prefix = if is_array { format!("/{index}") } else { String::new() };
            match read(value, &prefix) {
                Ok(item) => items.push(item),
                Err(part) => faults.0.extend(part.0),
            }
            if faults.0.len() >= MAX_FAULTS {
                break;
            }
        }
        faults.into_result()?;
        Ok(Self { items, is_array })
    }
}

impl<S: Send + Sync, T: DeserializeOwned + Send + 'static> FromRequest<S> for Many<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        if media_type(request.headers()) != Some("application/json") {
            return Err(Problem::unsupported_media_type("application/json"));
        }
        document(request, |value| Ok(Self::from_document(value, typed)?)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn items_keep_their_order_and_faults_their_index() {
        let many = Many::<i64>::from_document(json!([3, 1, 2]), typed).unwrap();
        assert_eq!(many.items, [3, 1, 2]);
        assert!(many.is_array() && !Many::<i64>::from_document(json!(7), typed).unwrap().is_array());
        let faults = Many::<i64>::from_document(json!([1, "x", 2, null]), typed).unwrap_err();
        assert_eq!(faults.0.iter().map(|f| f.pointer.as_str()).collect::<Vec<_>>(), ["/1", "/3"]);
    }

    #[test]
    fn one_to_a_thousand_items_are_accepted() {
        assert!(Many::<i64>::from_document(json!(vec![0; 1_000]), typed).is_ok());
        assert!(Many::<i64>::from_document(json!(vec![0; 1_001]), typed).is_err());
        assert!(Many::<i64>::from_document(json!([]), typed).is_err());
    }
}
