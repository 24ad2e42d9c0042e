//! Bodies that are one item or an array of up to 1,000 of them.

use super::document::document;
use super::json::{media_type, typed};
use crate::api::problem::Problem;
use axum::extract::{FromRequest, Request};
use model::{one_or_many::OneOrMany, problem::Faults};
use serde::de::DeserializeOwned;
use serde_json::Value;

const MAX_ITEMS: usize = 1_000;
/// Faults listed at most: a thousand broken items usually have the same few kinds.
const MAX_FAULTS: usize = 100;

/// A body that is one item or an array.
#[derive(Debug)]
pub struct Many<T>(pub OneOrMany<T>);

/// Reads a document that is one item or an array of them; `read` converts each, given its pointer.
///
/// # Errors
/// The first hundred faults, by item and field.
pub fn one_or_many<T>(
    document: Value,
    read: impl Fn(Value, &str) -> Result<T, Faults>,
) -> Result<OneOrMany<T>, Faults> {
    let values = match document {
        Value::Array(values) => values,
        one => return Ok(OneOrMany::One(read(one, "")?)),
    };
    let mut faults = Faults::default();
    if values.is_empty() || values.len() > MAX_ITEMS {
        faults.add("", format!("must be one item or an array of 1 to 1,000, not of {}", values.len()));
        return Err(faults);
    }
    let mut items = Vec::with_capacity(values.len());
    for (index, value) in values.into_iter().enumerate() {
        match read(value, &format!("/{index}")) {
            Ok(item) => items.push(item),
            Err(part) => faults.0.extend(part.0),
        }
        if faults.0.len() >= MAX_FAULTS {
            break;
        }
    }
    faults.into_result()?;
    Ok(OneOrMany::Many(items))
}

impl<S: Send + Sync, T: DeserializeOwned + Send + 'static> FromRequest<S> for Many<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        if media_type(request.headers()) != Some("application/json") {
            return Err(Problem::unsupported_media_type("application/json"));
        }
        document(request, |value| Ok(Self(one_or_many(value, typed)?))).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn items_keep_their_order_and_faults_their_index() {
        assert_eq!(one_or_many(json!([3, 1, 2]), typed), Ok(OneOrMany::Many(vec![3, 1, 2])));
        assert_eq!(one_or_many(json!(7), typed), Ok(OneOrMany::One(7)));
        let faults = one_or_many::<i64>(json!([1, "x", 2, null]), typed).unwrap_err();
        assert_eq!(faults.0.iter().map(|f| f.pointer.as_str()).collect::<Vec<_>>(), ["/1", "/3"]);
    }

    #[test]
    fn one_to_a_thousand_items_are_accepted() {
        assert!(one_or_many::<i64>(json!(vec![0; 1_000]), typed).is_ok());
        assert!(one_or_many::<i64>(json!(vec![0; 1_001]), typed).is_err());
        assert!(one_or_many::<i64>(json!([]), typed).is_err());
    }
}
