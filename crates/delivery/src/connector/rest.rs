//! `rest`: a resource per record. PUT with all attributes when it is new, PATCH with a JSON merge patch (RFC 7396) for a delta, DELETE for a
//! deletion.
//!
//! A merge patch cannot set null and, applied to an uncertain state, may leave parts of it: then the whole state is PUT.

use model::attributes::Attributes;
use reqwest::Method;
use url::Url;

use super::{Draft, send_plan::SendPlan, webhook::RecordContent};

/// The record's name cannot be part of a path: `.` and `..` mean something else there in every spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a record whose type or id is . or .. has no address: it cannot be sent to a rest integration")]
pub(super) struct NoAddress;

pub(super) fn draft(
    endpoint: &Url,
    content: RecordContent<'_>,
    plan: &SendPlan,
    accepted: Option<&Attributes>,
) -> Result<Draft, NoAddress> {
    let url = address(endpoint, content.record_type, content.record_id)?;
    let patch = match plan {
        SendPlan::Difference { changes, is_uncertain: false } => {
            accepted.and_then(|accepted| changes.to_merge_patch(accepted))
        }
        _ => None,
    };
    Ok(match (plan, patch) {
        (SendPlan::Deletion { .. }, _) => {
            Draft { method: Method::DELETE, url, content_type: None, body: Vec::new() }
        }
        (_, Some(patch)) => Draft {
            content_type: Some("application/merge-patch+json"),
            ..Draft::json(Method::PATCH, url, &patch)
        },
        (_, None) => Draft::json(Method::PUT, url, content.attributes),
    })
}

/// `{endpoint}/{type}/{id}`, the query of the endpoint kept.
fn address(endpoint: &Url, record_type: &str, record_id: &str) -> Result<String, NoAddress> {
    if [record_type, record_id].iter().any(|part| matches!(*part, "." | "..")) {
        return Err(NoAddress);
    }
    let base = endpoint.path().trim_end_matches('/');
    let path = format!("{base}/{}/{}", segment(record_type), segment(record_id));
    let mut url = endpoint.clone();
    url.set_path(&path);
    url.set_fragment(None);
    Ok(url.into())
}

/// Everything but RFC 3986's unreserved characters is percent-encoded.
fn segment(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::rules::diff::Changes;
    use serde_json::{Value, json};

    #[test]
    fn each_record_has_its_own_address() {
        for (endpoint, kind, id, address_is) in [
            ("https://x.test", "product", "1", "https://x.test/product/1"),
            ("https://x.test/api/", "product", "a b", "https://x.test/api/product/a%20b"),
            ("https://x.test/api?key=1#top", "a/b", "../x", "https://x.test/api/a%2Fb/..%2Fx?key=1"),
            ("https://x.test/a", "grö?e", "1#2%2F", "https://x.test/a/gr%C3%B6%3Fe/1%232%252F"),
            ("https://x.test/a", "...", "\\x", "https://x.test/a/.../%5Cx"),
        ] {
            let endpoint = Url::parse(endpoint).unwrap();
            assert_eq!(address(&endpoint, kind, id).as_deref(), Ok(address_is));
        }
        let endpoint = Url::parse("https://x.test/a/b").unwrap();
        assert_eq!(address(&endpoint, "..", "1"), Err(NoAddress));
        assert_eq!(address(&endpoint, "a", "."), Err(NoAddress));
    }

    #[test]
    fn the_method_says_what_the_body_is() {
        let object = |value: Value| value.as_object().unwrap().clone();
        let (now, accepted) = (object(json!({"a": 2, "n": null})), object(json!({"a": 1, "n": null})));
        let difference = |now: Value, is_uncertain| SendPlan::Difference {
            changes: Changes::between(&accepted, &object(now)),
            is_uncertain,
        };
        for (plan, method, body) in [
            (SendPlan::Whole, Method::PUT, json!({"a": 2, "n": null})),
            (difference(json!({"a": 2, "n": null}), false), Method::PATCH, json!({"a": 2})),
            (difference(json!({"a": 2, "n": null}), true), Method::PUT, json!({"a": 2, "n": null})),
            // A merge patch cannot set null.
            (difference(json!({"a": null, "n": null}), false), Method::PUT, json!({"a": 2, "n": null})),
            (difference(json!({"a": 2}), false), Method::PATCH, json!({"a": 2, "n": null})),
        ] {
            let content = RecordContent { record_type: "t", record_id: "1", version: 2, attributes: &now };
            let draft =
                draft(&Url::parse("https://x.test").unwrap(), content, &plan, Some(&accepted)).unwrap();
            assert_eq!(draft.method, method, "{plan:?}");
            assert_eq!(serde_json::from_slice::<Value>(&draft.body).unwrap(), body);
            let is_patch = draft.content_type == Some("application/merge-patch+json");
            assert_eq!(is_patch, method == Method::PATCH);
        }
    }
}
