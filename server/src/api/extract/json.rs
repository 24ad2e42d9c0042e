//! JSON bodies: their type (415), and what they are read as: unknown fields and wrong types are 422 with a JSON Pointer.

use super::{body::read_body, document::document, objects::ObjectsOnly};
use crate::api::problem::Problem;
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, header};
use model::{json::escape, problem::Faults, text::sanitise};
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::{Path, Segment};

/// A body that is required.
#[derive(Debug)]
pub struct Json<T>(pub T);

/// A body that may be absent, which reads as `{}`.
#[derive(Debug)]
pub struct OptionalJson<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send + 'static> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        if media_type(request.headers()) != Some("application/json") {
            return Err(Problem::unsupported_media_type("application/json"));
        }
        document(request, |value| Ok(Self(typed(value, "")?))).await
    }
}

impl<S: Send + Sync, T: DeserializeOwned + Send + 'static> FromRequest<S> for OptionalJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        if media_type(request.headers()) == Some("application/json") {
            let (parts, body) = request.into_parts();
            let body = read_body(Request::from_parts(parts.clone(), body)).await?;
            if body.is_empty() {
                return Ok(Self(typed(Value::Object(serde_json::Map::new()), "")?));
            }
            let Json(read) = Json::from_request(Request::from_parts(parts, body.into()), state).await?;
            return Ok(Self(read));
        }
        if !read_body(request).await?.is_empty() {
            return Err(Problem::unsupported_media_type("application/json"));
        }
        Ok(Self(typed(Value::Object(serde_json::Map::new()), "")?))
    }
}

/// The content type without its parameters; `None` when it names a charset other than UTF-8.
pub fn media_type(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    let mut parts = value.split(';').map(str::trim);
    let media_type = parts.next()?;
    let is_utf8 = parts.all(|parameter| {
        parameter.split_once('=').is_none_or(|(name, value)| {
            !name.trim().eq_ignore_ascii_case("charset")
                || value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
        })
    });
    let known = ["application/json", "application/cloudevents+json", "application/cloudevents-batch+json"];
    is_utf8.then(|| known.into_iter().find(|known| known.eq_ignore_ascii_case(media_type)))?
}

/// Reads a checked document as a type; faults are below `prefix`.
///
/// # Errors
/// The fault serde found, with its pointer.
pub fn typed<T: DeserializeOwned>(value: Value, prefix: &str) -> Result<T, Faults> {
    serde_path_to_error::deserialize(ObjectsOnly(value)).map_err(|error| {
        let mut pointer = format!("{prefix}{}", pointer(error.path()));
        let message = error.inner().to_string();
        // serde names these fields in the message, and its path ends at the object around them.
        for start in ["unknown field `", "missing field `", "duplicate field `"] {
            let named = message.strip_prefix(start).and_then(|rest| rest.split('`').next());
            if let Some(field) = named {
                let step = format!("/{}", escape(field));
                if !pointer.ends_with(&step) {
                    pointer.push_str(&step);
                }
            }
        }
        let mut faults = Faults::default();
        faults.add(pointer, in_words(&message));
        faults
    })
}

/// What serde found, without the names of Rust types.
pub(super) fn in_words(message: &str) -> String {
    if message.starts_with("data did not match any variant") {
        return "matches none of the accepted forms".to_owned();
    }
    if message == "invalid digit found in string" || message.starts_with("number too ") {
        return "must be a whole number that is not too large".to_owned();
    }
    if message == "unsupported value" {
        return "was given twice".to_owned();
    }
    let message = &in_terms_of_json(message);
    let message = message.strip_prefix("missing field").map_or_else(
        || message.strip_prefix("unknown field").map_or_else(|| message.to_owned(), known_fields),
        |_| "is required".to_owned(),
    );
    sanitise(&message, 500)
}

fn in_terms_of_json(message: &str) -> String {
    let Some((found, expected)) = message.split_once(", expected ") else { return message.to_owned() };
    let found = match found {
        "invalid type: sequence" => "invalid type: array",
        "invalid type: map" => "invalid type: object",
        _ => found,
    };
    let expected = match expected {
        "i8" | "i16" | "i32" | "i64" => "a whole number",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number from 0 on",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "an array",
        "a map" => "an object",
        _ if expected.starts_with("struct ") || expected.starts_with("internally tagged") => "an object",
        _ if expected.starts_with("a formatted UUID") || expected == "a UUID string" => "a UUID",
        _ if expected.starts_with("tuple ") => "an array",
        _ => expected,
    };
    format!("{found}, expected {expected}")
}

fn known_fields(rest: &str) -> String {
    rest.split_once(", ").map_or_else(
        || "is not known here".to_owned(),
        // Set by Headgate itself, never by a client.
        |(_, known)| {
            let known = known.trim_start_matches("there are no fields").replace(", `masked_names`", "");
            if known.is_empty() {
                "is not known here".to_owned()
            } else {
                format!("is not known here: {known}")
            }
        },
    )
}

fn pointer(path: &Path) -> String {
    path.iter().fold(String::new(), |mut pointer, segment| {
        match segment {
            Segment::Seq { index } => pointer.push_str(&format!("/{index}")),
            Segment::Map { key } => pointer.push_str(&format!("/{}", escape(key))),
            Segment::Enum { .. } | Segment::Unknown => {}
        }
        pointer
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::integration_settings::NewIntegration;
    use serde_json::json;

    #[test]
    fn faults_have_a_pointer_to_the_field() {
        let app_id = "01890a5d-ac96-774b-bcce-b302099a8057";
        let base = json!({"app_id": app_id, "name": "n", "integration_type": "webhook"});
        for (field, value, pointer) in [
            ("nonsense", json!(1), "/nonsense"),
            ("app_id", json!("x"), "/app_id"),
            ("app_id", json!(5), "/app_id"),
            ("integration_type", json!("fax"), "/integration_type"),
            ("max_concurrency", json!("50"), "/max_concurrency"),
            ("max_concurrency", json!(1.5), "/max_concurrency"),
            ("record_types", json!(["a", 5]), "/record_types/1"),
            ("headers", json!({"a/b": 5}), "/headers/a~1b"),
            ("headers", json!([["a", "b"]]), "/headers"),
            ("debounce", json!([1, 5]), "/debounce"),
            ("rate_limit", json!([[1, 1]]), "/rate_limit/0"),
            ("rate_limit", json!("fast"), "/rate_limit"),
            ("rate_limit", json!({"requests": 1, "per_seconds": 1, "burst": 5}), "/rate_limit/burst"),
            ("rate_limit", json!({"requests": "1", "per_seconds": 1}), "/rate_limit/requests"),
            ("rate_limit", json!({"requests": 1}), "/rate_limit/per_seconds"),
            (
                "rate_limit",
                json!([{"requests": 1, "per_seconds": 1}, {"requests": 1, "per_seconds": null}]),
                "/rate_limit/1/per_seconds",
            ),
            ("rate_limit", json!([{"requests": 1, "per_seconds": 1, "a/b": 1}]), "/rate_limit/0/a~1b"),
        ] {
            let mut document = base.clone();
            document[field] = value;
            let Err(faults) = typed::<NewIntegration>(document, "") else { panic!("{field} was accepted") };
            assert_eq!(faults.0[0].pointer, pointer, "{faults}");
        }
        let Err(faults) = typed::<NewIntegration>(json!({"app_id": app_id, "name": "n"}), "/3") else {
            panic!()
        };
        assert_eq!(
            (faults.0[0].pointer.as_str(), faults.0[0].detail.as_str()),
            ("/3/integration_type", "is required")
        );
    }

    #[test]
    fn an_array_is_no_struct_and_an_object_no_list() {
        let found = |value: Value, pointer: &str| {
            let faults = typed::<NewIntegration>(value, "").map(|_| ()).unwrap_err();
            assert_eq!(faults.0[0].pointer, pointer);
            faults.0[0].detail.clone()
        };
        let app_id = "01890a5d-ac96-774b-bcce-b302099a8057";
        assert_eq!(found(json!([app_id, "n", "webhook"]), ""), "invalid type: array, expected an object");
        let fields =
            json!({"app_id": app_id, "name": "n", "integration_type": "webhook", "record_types": {}});
        assert_eq!(found(fields, "/record_types"), "invalid type: object, expected an array");
    }

    #[test]
    fn an_unknown_field_is_refused_with_those_that_are_known() {
        for (message, says) in [
            ("unknown field `x`, expected `a` or `b`", "is not known here: expected `a` or `b`"),
            ("unknown field `x`, there are no fields", "is not known here"),
        ] {
            assert_eq!(in_words(message), says);
        }
    }
}
