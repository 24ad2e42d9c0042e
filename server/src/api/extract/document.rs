//! A body as a JSON document, and its checks: syntax (400 with line and column), duplicate names, numbers that would change, NUL and depth (422
//! with a JSON Pointer).
//!
//! A document becomes a `Value` first: that bounds recursion, and lets the NUL and depth checks name a place. Only then is it read as the type
//! the handler wants. Large documents are parsed on a blocking thread, so that other requests do not wait.

use super::body::{read_body, share};
use crate::api::problem::Problem;
use crate::json_text::{self, Unreadable, Why};
use crate::middleware::request_memory::Share;
use axum::extract::Request;
use model::{json::check, problem::FieldError, text::sanitise};
use serde_json::{Value, error::Category};

/// Documents from this size on are parsed on a blocking thread: a megabyte takes some ten milliseconds.
const LARGE_BODY_BYTES: usize = 64_000;

/// Reads the body as a document and converts it with `read`.
///
/// # Errors
/// As [`read_body`]; faults of the text with their pointers; those of `read`.
pub async fn document<T: Send + 'static>(
    request: Request,
    read: impl FnOnce(Value) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let share = share(&request);
    let body = read_body(request).await?;
    let is_large = body.len() >= LARGE_BODY_BYTES;
    let work = move || {
        let value = parse_document(&body, &share)?;
        drop(body);
        read(value)
    };
    if !is_large {
        return work();
    }
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
        tracing::error!(%error, "reading a document failed");
        Err(Problem::internal())
    })
}

/// # Errors
/// 400 with pointer, line and column when it is not JSON; 422 with a pointer for duplicate names, numbers, too many values, NUL and depth;
/// 413 for a payload of more than 1 MB; 503 while other requests use the memory.
fn parse_document(body: &[u8], share: &Share) -> Result<Value, Problem> {
    let has_room = |bytes| share.grow_to(body.len() + bytes);
    let value = json_text::read_within(body, &has_room).map_err(|Unreadable { pointer, why }| {
        let error = match why {
            Why::Twice => return Problem::fault(pointer, "is given twice"),
            Why::Number => return Problem::fault(pointer, Why::NUMBER),
            Why::TooManyValues => return Problem::fault(pointer, Why::TOO_MANY_VALUES),
            Why::TooLarge => {
                let detail = Why::TOO_LARGE.to_owned();
                return Problem::too_large(
                    format!("{pointer} {detail}."),
                    vec![FieldError { pointer, detail }],
                );
            }
            Why::NoRoom => return Problem::no_room(),
            Why::Json(error) => error,
        };
        if error.to_string().starts_with("recursion limit exceeded") {
            return Problem::fault("", "is nested deeper than 64 levels");
        }
        let what = match error.classify() {
            Category::Eof if body.is_empty() => return Problem::malformed("The body is empty."),
            Category::Eof => format!("ends too soon, at line {} column {}", error.line(), error.column()),
            _ => format!("is not JSON: {}", sanitise(&error.to_string(), 200)),
        };
        Problem::malformed_at(pointer, what)
    })?;
    check(&value).map_err(|fault| Problem::fault(fault.pointer, fault.detail))?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::middleware::RequestMemory;

    #[test]
    fn invalid_json_is_refused_with_its_place() {
        for (body, part) in [
            (&b""[..], "empty"),
            (b"{\"a\": ", "line 1 column 6"),
            (b"{\n \"a\": tru}", "line 2"),
            (b"\xff", "not JSON"),
            (br#"{"a": "\ud800"}"#, "within /a."),
        ] {
            let problem = parse_document(body, &RequestMemory::default().share()).unwrap_err();
            assert_eq!(problem.status(), 400);
            assert!(problem.detail().contains(part), "{}", problem.detail());
        }
        for body in [
            r#"{"a": 1e999}"#.to_owned(),
            r#"{"a": 12345678901234567890123456789}"#.to_owned(),
            r#"{"a": "x\u0000"}"#.to_owned(),
            r#"{"a": 1, "a": 2}"#.to_owned(),
            format!("{}{}", "[".repeat(65), "]".repeat(65)),
            "[".repeat(9_999),
        ] {
            assert_eq!(
                parse_document(body.as_bytes(), &RequestMemory::default().share()).unwrap_err().status(),
                422
            );
        }
    }
}
