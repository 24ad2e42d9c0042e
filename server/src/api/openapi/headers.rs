//! Response headers that clients use.

use super::IDEMPOTENCY_KEY;
use utoipa::openapi::path::{Operation, Parameter, PathItem};
use utoipa::openapi::{HeaderBuilder, KnownFormat, ObjectBuilder, RefOr, SchemaFormat, Type};

const ETAG: &str =
    "The version: send it as `If-Match` with a change or a deletion that is based on this answer.";
const RETRY_AFTER: &str = "Seconds to wait before sending the request again (RFC 9110, 10.2.3).";
const REPLAYED: &str = "`true`: this is the stored answer of the first call with this `Idempotency-Key`; absent on the first call.";
const BEHIND: &str = "Seconds by which the replica that lists are read from is behind; absent up to 2.";

/// Adds the headers to the answers of a path. `makes_changeable`: what POST creates here can be changed by PATCH.
pub(super) fn write(item: &mut PathItem, makes_changeable: bool) {
    let is_changeable = item.patch.is_some();
    let methods = [&mut item.get, &mut item.post, &mut item.patch, &mut item.put, &mut item.delete];
    for operation in methods.into_iter().flatten() {
        for status in ["409", "429", "503"] {
            add(operation, status, "retry-after", RETRY_AFTER, seconds());
        }
    }
    for operation in [&mut item.get, &mut item.patch].into_iter().flatten().filter(|_| is_changeable) {
        add(operation, "200", "etag", ETAG, text());
    }
    if let Some(get) = &mut item.get {
        add(get, "200", "x-lists-behind-seconds", BEHIND, seconds());
    }
    if let Some(post) = &mut item.post {
        let is_key =
            |parameter: &RefOr<Parameter>| matches!(parameter, RefOr::T(p) if p.name == IDEMPOTENCY_KEY);
        let knows_key = post.parameters.iter().flatten().any(is_key);
        for status in ["200", "201", "202", "204"].into_iter().filter(|_| knows_key) {
            add(post, status, "idempotency-replayed", REPLAYED, text().enum_values(Some(["true"])));
        }
        if makes_changeable {
            add(post, "201", "etag", ETAG, text());
        }
    }
}

fn add(operation: &mut Operation, status: &str, name: &str, description: &str, schema: ObjectBuilder) {
    if let Some(RefOr::T(answer)) = operation.responses.responses.get_mut(status) {
        let header = HeaderBuilder::new().schema(Some(schema)).description(Some(description)).build();
        answer.headers.insert(name.to_owned(), RefOr::T(header));
    }
}

fn text() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

fn seconds() -> ObjectBuilder {
    let whole = SchemaFormat::KnownFormat(KnownFormat::Int64);
    ObjectBuilder::new().schema_type(Type::Integer).format(Some(whole)).minimum(Some(0))
}
