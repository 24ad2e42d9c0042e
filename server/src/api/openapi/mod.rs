//! The OpenAPI 3.1 document, generated from the handlers. What all operations have in common is added here: problems, path parameters, the
//! `Idempotency-Key` of POST.

mod examples;
mod headers;
mod limits;

use crate::api::problem::{CONTENT_TYPE, Document};
use crate::middleware::KEYLESS_PATH;
use crate::state::AppState;
use axum::Router;
use model::limits::KEY_CHARS;
use model::opened::{ExplainedJob, LiveUpdate};
use model::operation::NewBulk;
use model::snapshot_changes::SnapshotChanges;
use model::stats::{IntegrationGauge, Snapshot};
use utoipa::{
    OpenApi as _, ToSchema as _,
    openapi::{
        ContentBuilder, InfoBuilder, KnownFormat, ObjectBuilder, OpenApi, OpenApiBuilder, Ref, RefOr,
        Required, ResponseBuilder, SchemaFormat, ServerBuilder, Type,
        path::{Operation, Parameter, ParameterBuilder, ParameterIn, PathItem},
        security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme},
        tag::TagBuilder,
    },
};
use utoipa_axum::router::OpenApiRouter;

/// Tags, in the order in which a reader needs them.
const TAGS: &[(&str, &str)] = &[
    ("Apps", "The tenants of the platform."),
    (
        "Integrations",
        "An app's connections to external systems: their state, their limits, what they were last sent.",
    ),
    ("Re-syncs", "Sending an integration its catalog again."),
    ("Events", "Incoming changes of records, plain or as CloudEvents 1.0."),
    ("Records", "The catalog: Headgate's copy of the apps' records."),
    ("Jobs", "Units of work for an integration: create, find, explain, requeue, cancel."),
    ("Dead letters", "Jobs that will not be retried by themselves."),
    ("Failures", "What fails, by cause, and what to do about it."),
    ("Operations", "Bulk actions and deletions that run in the background."),
    ("Statistics", "Gauges, rollups and the live stream."),
    ("Deployment", "Processes, rate limits, the audit log."),
    ("Access", "Users and keys of the API."),
];

const DESCRIPTION: &str = "\
JSON in and out; snake_case; UUIDv7 ids; RFC 3339 times in UTC. Send a key as `Authorization: Bearer KEY`.

**Roles**: `operator` may do everything; `support` reads, requeues and cancels; `auditor` reads everything; `producer` sends events and \
jobs of its app and reads its jobs; `worker` is reserved and may call nothing yet; `portal` reads its own app and starts re-syncs.

**Errors** are problem documents (RFC 9457): `type`, `title`, `status`, `detail`, and `errors` with a JSON Pointer for each fault of an \
input. What does not exist and what belongs to another app get the same answer: 404.

**Lists** take `limit` (1 to 500, default 50) and `cursor`, and answer `{\"items\": […], \"next_cursor\": \"…\" or null}`, newest first. \
A page of a filter that no index serves may have fewer than `limit` items, or none, and a page of payloads or records ends after some 8 MB: only a `next_cursor` of null ends a list. \
When lists come from a replica that is more than two seconds behind, answers to GET have `x-lists-behind-seconds`.

A filter without a value (`?app_id=`) counts as not given, because forms send all of their fields. `limit`, `cursor` and switches such as \
`dry_run` must have a value or be left out: an empty cursor would start over.

**Times** are RFC 3339, with years of four digits.

**Idempotency-Key** on a POST makes it safe to repeat for 24 hours: the first answer is returned again, with `idempotency-replayed: true`. \
The effect of a call with a key and its answer are stored together or not at all: after a 503 or a broken connection, send it again. \
The same key with another body is 422; while the first call is in progress, a repeat waits for a second and is then 409 with `retry-after`. \
Refused calls are not stored. `/integrations/{id}/test` takes no key: it sends a sample each time.

**Numbers** are integers of 64 bits or doubles (RFC 8259, section 6). Larger integers, and numbers beyond the range of a double, are refused (422): \
send them as strings. A number with a fraction or an exponent becomes the nearest double, and is returned as the shortest text of that \
double; decimals that must keep more digits belong in strings. Where the schema says `integer`, `242.0` is not one. A name given twice in one object is refused, because parsers do not agree \
which one counts.

**Sizes**: a request may have 16 MB, as sent and after decompression if its `content-encoding` is `gzip` or `zstd` (one member or frame), and 250,000 values (each array and object, and everything \
in them); a record or a payload 1 MB. A body that arrives more slowly than 32 kB a second is 408; a large request while too many others are being read is 503 with \
`retry-after`.";

pub(super) fn empty() -> OpenApiRouter<AppState> {
    let info = InfoBuilder::new()
        .title("Headgate")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(DESCRIPTION))
        .build();
    let tags = TAGS.iter().map(|(name, text)| TagBuilder::new().name(*name).description(Some(*text)).build());
    OpenApiRouter::with_openapi(OpenApiBuilder::new().info(info).tags(Some(tags)).build())
}

/// The document as it is served at the root.
pub fn document() -> OpenApi {
    finish(super::resources(), "").1
}

/// Splits routes and document, and completes the document; `base` is the mount prefix.
pub(super) fn finish(resources: OpenApiRouter<AppState>, base: &str) -> (Router<AppState>, OpenApi) {
    let (router, mut openapi) = resources.split_for_parts();
    openapi.servers = Some(vec![ServerBuilder::new().url(format!("{base}/api/v1")).build()]);
    #[derive(utoipa::OpenApi)]
    #[openapi(components(schemas(
        Document,
        NewBulk,
        Snapshot,
        SnapshotChanges,
        LiveUpdate<ExplainedJob>,
        LiveUpdate<IntegrationGauge>,
        LiveUpdate<model::operation::Operation>
    )))]
    struct Shared;
    openapi.merge(Shared::openapi());
    let components = openapi.components.get_or_insert_default();
    components.add_security_scheme(
        "key",
        SecurityScheme::Http(
            HttpBuilder::new()
                .scheme(HttpAuthScheme::Bearer)
                .description(Some("An API key, created under /api-keys or set as HEADGATE_ADMIN_API_KEY."))
                .build(),
        ),
    );
    components.add_security_scheme(
        "session",
        SecurityScheme::ApiKey(ApiKey::Cookie(ApiKeyValue::with_description(
            "headgate",
            "The console's session (`__Host-headgate` over https). Writes must come from the console's own pages.",
        ))),
    );
    openapi.security = Some(vec![
        SecurityRequirement::new::<_, [&str; 0], &str>("key", []),
        SecurityRequirement::new::<_, [&str; 0], &str>("session", []),
    ]);
    let changeable: Vec<String> = openapi
        .paths
        .paths
        .iter()
        .filter(|(_, item)| item.patch.is_some())
        .map(|(path, _)| path.clone())
        .collect();
    for (path, item) in &mut openapi.paths.paths {
        complete(path, item);
        let makes_changeable = changeable.contains(&format!("{path}/{{id}}"));
        headers::write(item, makes_changeable);
    }
    limits::write(&mut openapi);
    examples::write(&mut openapi);
    (router, openapi)
}

fn complete(path: &str, item: &mut PathItem) {
    let methods = [
        (&mut item.get, false),
        (&mut item.post, true),
        (&mut item.patch, false),
        (&mut item.put, false),
        (&mut item.delete, false),
    ];
    for (operation, is_post) in methods {
        let Some(operation) = operation else { continue };
        let parameters = operation.parameters.get_or_insert_default();
        for name in names(path) {
            if !declared(parameters).any(|p| p.name == name) {
                parameters.push(RefOr::T(path_parameter(name)));
            }
        }
        if is_post && path != KEYLESS_PATH {
            parameters.push(RefOr::T(idempotency_key()));
        }
        limits::narrow(path, parameters);
        add_problems(path, operation, is_post);
    }
    if let Some(patch) = &mut item.patch {
        for operation in [Some(patch), item.delete.as_mut()].into_iter().flatten() {
            operation.parameters.get_or_insert_default().push(RefOr::T(if_match()));
            for (status, why) in [
                ("412", "It was changed since: it has another etag than `If-Match`."),
                ("422", "The input has faults, each with a pointer to it."),
            ] {
                operation.responses.responses.entry(status.to_owned()).or_insert_with(|| problem(why));
            }
        }
    }
}

fn add_problems(path: &str, operation: &mut Operation, is_post: bool) {
    let has_input = operation.request_body.is_some()
        || declared(operation.parameters.as_deref().unwrap_or_default())
            .any(|p| p.parameter_in == ParameterIn::Query);
    let has_body = operation.request_body.is_some();
    let problems = [
        (true, "401", "No credential, or one that is invalid or has expired."),
        (true, "403", "The role does not allow this."),
        (path.contains('{'), "404", "It does not exist, or belongs to another app."),
        (
            is_post && matches!(path, "/events" | "/jobs" | "/integrations"),
            "404",
            "What an id in the body names does not exist, or belongs to another app: see errors.",
        ),
        (has_body, "400", "The body is not JSON: see errors for the place."),
        (has_body, "408", "The body arrived more slowly than 32 kB a second."),
        (has_body, "413", "The request is larger than 16 MB, or a record or payload larger than 1 MB."),
        (
            has_body,
            "415",
            "The content type is none of those accepted, or the content encoding neither gzip nor zstd.",
        ),
        (is_post, "409", "It conflicts with the current state, or the same call is in progress."),
        (has_input || is_post, "422", "The input has faults, each with a pointer to it."),
        (
            true,
            "503",
            "The database is unavailable, other calls lock what this one needs, there are too many connections or too many large requests, or the \
             search took too long: see retry-after.",
        ),
    ];
    for (applies, status, description) in problems {
        if applies && !operation.responses.responses.contains_key(status) {
            operation.responses.responses.insert(status.to_owned(), problem(description));
        }
    }
    // A handler describes when a refusal happens; its content is always a problem document.
    for (status, answer) in &mut operation.responses.responses {
        let RefOr::T(answer) = answer else { continue };
        if answer.content.is_empty() && status.starts_with(['4', '5']) {
            let headers = std::mem::take(&mut answer.headers);
            *answer = refusal(&answer.description);
            answer.headers = headers;
        } else if answer.description.is_empty() {
            answer.description = if status == "204" { "Done." } else { "The answer." }.to_owned();
        }
    }
}

/// The parameters; none of ours is a reference.
fn declared(parameters: &[RefOr<Parameter>]) -> impl Iterator<Item = &Parameter> {
    parameters.iter().filter_map(|parameter| match parameter {
        RefOr::T(parameter) => Some(parameter),
        RefOr::Ref(_) => None,
    })
}

fn problem(description: &str) -> RefOr<utoipa::openapi::Response> {
    RefOr::T(refusal(description))
}

fn refusal(description: &str) -> utoipa::openapi::Response {
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name(Document::name()))).build();
    ResponseBuilder::new().description(description).content(CONTENT_TYPE, content).build()
}

/// The names in braces.
fn names(path: &str) -> Vec<String> {
    path.split('/').filter_map(|step| step.strip_prefix('{')?.strip_suffix('}')).map(str::to_owned).collect()
}

fn path_parameter(name: String) -> Parameter {
    let text = ObjectBuilder::new().schema_type(Type::String);
    let schema = match name.as_str() {
        "record_type" | "record_id" => {
            text.min_length(Some(*KEY_CHARS.start())).max_length(Some(*KEY_CHARS.end()))
        }
        "fingerprint" => text.min_length(Some(1)),
        _ => text.format(Some(SchemaFormat::KnownFormat(KnownFormat::Uuid))),
    };
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .schema(Some(schema))
        .build()
}

fn if_match() -> Parameter {
    header(
        "If-Match",
        "The etag of what was read: if it was changed since, nothing is done (412). `*`, or quoted etags separated by commas; a weak etag counts \
         like the strong one.",
        ObjectBuilder::new().schema_type(Type::String),
    )
}

const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

fn idempotency_key() -> Parameter {
    header(
        IDEMPOTENCY_KEY,
        "1 to 255 visible characters: the same call sent again within 24 hours is done once.",
        ObjectBuilder::new()
            .schema_type(Type::String)
            .min_length(Some(1))
            .max_length(Some(255))
            .pattern(Some("^[!-~]+$")),
    )
}

fn header(name: &str, description: &str, schema: ObjectBuilder) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(description))
        .schema(Some(schema))
        .build()
}
