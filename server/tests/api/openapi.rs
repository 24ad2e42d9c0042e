use crate::support::{Answer, Server};
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_document_names_the_url_it_is_served_at(pool: PgPool) {
    for (base, url) in [("", "/api/v1"), ("/gate", "/gate/api/v1")] {
        let server = Server::below(pool.clone(), base).await;
        let document = server.anonymous().request(Method::GET, &format!("{base}/api/openapi.json"));
        assert_eq!(Answer::of(document).await.ok(200)["servers"][0]["url"], url);
    }
}

/// Every operation of the API.
const OPERATIONS: &[(&str, &str)] = &[
    ("get", "/apps"),
    ("post", "/apps"),
    ("get", "/apps/{id}"),
    ("patch", "/apps/{id}"),
    ("delete", "/apps/{id}"),
    ("get", "/integrations"),
    ("post", "/integrations"),
    ("get", "/integrations/{id}"),
    ("patch", "/integrations/{id}"),
    ("delete", "/integrations/{id}"),
    ("post", "/integrations/{id}/pause"),
    ("post", "/integrations/{id}/resume"),
    ("post", "/integrations/{id}/breaker"),
    ("get", "/integrations/{id}/breaker/flips"),
    ("post", "/integrations/{id}/rotate-secret"),
    ("post", "/integrations/{id}/test"),
    ("get", "/integrations/{id}/status"),
    ("get", "/integrations/{id}/sent"),
    ("post", "/integrations/{id}/resync"),
    ("get", "/resyncs"),
    ("get", "/resyncs/{id}"),
    ("post", "/resyncs/{id}/pause"),
    ("post", "/resyncs/{id}/resume"),
    ("post", "/resyncs/{id}/cancel"),
    ("post", "/events"),
    ("get", "/records"),
    ("get", "/records/trail"),
    ("get", "/records/{app_id}/{record_type}/{record_id}"),
    ("get", "/jobs"),
    ("post", "/jobs"),
    ("post", "/jobs/bulk"),
    ("get", "/jobs/{id}"),
    ("get", "/jobs/{id}/explain"),
    ("post", "/jobs/{id}/requeue"),
    ("post", "/jobs/{id}/cancel"),
    ("get", "/saved-views"),
    ("post", "/saved-views"),
    ("get", "/saved-views/{id}"),
    ("patch", "/saved-views/{id}"),
    ("delete", "/saved-views/{id}"),
    ("get", "/dead-letters"),
    ("get", "/dead-letters/groups"),
    ("post", "/dead-letters/bulk"),
    ("get", "/dead-letters/bin"),
    ("get", "/dead-letters/export"),
    ("post", "/dead-letters/{id}/restore"),
    ("get", "/dead-letters/{id}"),
    ("delete", "/dead-letters/{id}"),
    ("post", "/dead-letters/{id}/requeue"),
    ("get", "/failures"),
    ("get", "/failures/{fingerprint}"),
    ("post", "/failures/{fingerprint}/retry"),
    ("post", "/failures/{fingerprint}/snooze"),
    ("post", "/failures/{fingerprint}/fix"),
    ("post", "/failures/{fingerprint}/reopen"),
    ("post", "/failures/{fingerprint}/tell"),
    ("get", "/operations"),
    ("get", "/operations/{id}"),
    ("post", "/operations/{id}/pause"),
    ("post", "/operations/{id}/resume"),
    ("post", "/operations/{id}/abort"),
    ("post", "/operations/{id}/undo"),
    ("get", "/stats/overview"),
    ("get", "/stats/activity"),
    ("get", "/stats/levels"),
    ("get", "/stats/integrations"),
    ("get", "/stats/integrations/{id}/answers"),
    ("get", "/integrations/{id}/rate-limit-use"),
    ("post", "/integrations/bulk"),
    ("post", "/jobs/{id}/edit"),
    ("get", "/stats/throughput"),
    ("get", "/live"),
    ("get", "/workers"),
    ("post", "/workers/{id}/drain"),
    ("get", "/rate-limits"),
    ("get", "/audit-log"),
    ("get", "/audit-log/{id}"),
    ("post", "/audit-log/{id}/undo"),
    ("post", "/audit-log/{id}/repeat"),
    ("get", "/retention"),
    ("get", "/api-keys"),
    ("post", "/api-keys"),
    ("delete", "/api-keys/{id}"),
    ("get", "/users"),
    ("post", "/users"),
    ("get", "/users/{id}"),
    ("patch", "/users/{id}"),
    ("delete", "/users/{id}"),
];

fn document() -> Value {
    serde_json::to_value(server::api::document()).unwrap()
}

#[test]
fn the_document_has_exactly_the_expected_operations() {
    let document = document();
    let mut found: Vec<(String, String)> = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for method in item.as_object().unwrap().keys() {
            found.push((method.clone(), path.clone()));
        }
    }
    found.sort();
    let mut expected: Vec<(String, String)> =
        OPERATIONS.iter().map(|(method, path)| ((*method).to_owned(), (*path).to_owned())).collect();
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn every_operation_is_documented() {
    let document = document();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    let tags: Vec<&str> =
        document["tags"].as_array().unwrap().iter().filter_map(|t| t["name"].as_str()).collect();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let at = format!("{method} {path}");
            assert!(operation["summary"].is_string(), "{at} has no summary");
            assert!(tags.contains(&operation["tags"][0].as_str().unwrap()), "{at} has no known tag");
            let responses = operation["responses"].as_object().unwrap();
            assert!(responses.keys().any(|status| status.starts_with('2')), "{at} never succeeds");
            for status in ["401", "403", "503"] {
                let schema = &responses[status]["content"]["application/problem+json"]["schema"]["$ref"];
                assert_eq!(schema, "#/components/schemas/Problem", "{at} {status}");
            }
            let named = path.matches('{').count();
            let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
            let declared = parameters.iter().filter(|p| p["in"] == "path").count();
            assert_eq!(declared, named, "{at}");
            let schema =
                |ok: &Value| ok["content"]["application/json"]["schema"]["$ref"].as_str().map(str::to_owned);
            let is_list =
                responses.get("200").and_then(schema).is_some_and(|schema| schema.contains("/Page_"));
            let is_paged = parameters.iter().any(|p| p["name"] == "cursor");
            let one_page = [
                "/workers",
                "/rate-limits",
                "/saved-views",
                "/stats/integrations",
                "/integrations/{id}/rate-limit-use",
            ];
            // It contains a page of jobs.
            let holds_a_page = is_list || path == "/records/trail";
            assert_eq!(holds_a_page && !one_page.contains(&path.as_str()), is_paged, "{at}");
        }
    }
    let schemes = document["components"]["securitySchemes"].as_object().unwrap();
    assert_eq!((&schemes["key"]["scheme"], &schemes["session"]["in"]), (&"bearer".into(), &"cookie".into()));
}

#[test]
fn a_payload_is_any_json_value() {
    let document = document();
    for schema in ["NewJob", "Job", "DeadLetter"] {
        let payload = &document["components"]["schemas"][schema]["properties"]["payload"];
        assert!(payload["description"].is_string(), "{schema} has none: {payload}");
        assert!(
            payload.get("type").is_none() && !payload.to_string().contains("object"),
            "{schema}: {payload}"
        );
    }
}

#[test]
fn every_reference_resolves() {
    fn walk(value: &Value, schemas: &serde_json::Map<String, Value>) {
        match value {
            Value::Object(fields) => {
                if let Some(name) =
                    fields.get("$ref").and_then(|r| r.as_str()?.strip_prefix("#/components/schemas/"))
                {
                    assert!(schemas.contains_key(name), "{name} is missing");
                }
                fields.values().for_each(|field| walk(field, schemas));
            }
            Value::Array(items) => items.iter().for_each(|item| walk(item, schemas)),
            _ => {}
        }
    }
    let document = document();
    walk(&document, document["components"]["schemas"].as_object().unwrap());
}

#[test]
fn limits_are_in_the_schemas() {
    let document = document();
    let schemas = &document["components"]["schemas"];
    for (schema, field, limits) in [
        ("NewJob", "priority", json!({"minimum": -100, "maximum": 100})),
        ("NewJob", "max_attempts", json!({"minimum": 1, "maximum": 100})),
        ("NewJob", "timeout_ms", json!({"minimum": 100, "maximum": 3_600_000})),
        ("NewJob", "deduplication_id", json!({"minLength": 1, "maxLength": 255})),
        ("NewJob", "serialize_key", json!({"minLength": 1, "maxLength": 255})),
        ("Event", "record_type", json!({"minLength": 1, "maxLength": 255})),
        ("Event", "record_id", json!({"minLength": 1, "maxLength": 255})),
        ("RateLimit", "requests", json!({"minimum": 1, "maximum": 1_000_000})),
        ("RateLimit", "per_seconds", json!({"minimum": 1, "maximum": 86_400})),
        ("NewIntegration", "max_concurrency", json!({"minimum": 1, "maximum": 10_000})),
        ("NewIntegration", "retry_schedule", json!({"minLength": 1, "maxLength": 2_000})),
        ("IntegrationChanges", "timeout_ms", json!({"minimum": 100, "maximum": 3_600_000})),
        ("NewJobBulk", "action", json!({"enum": ["requeue", "cancel"]})),
        ("NewDeadLetterBulk", "action", json!({"enum": ["requeue", "purge"]})),
        ("NewDeadLetterBulk", "ids", json!({"minItems": 1, "maxItems": 1_000})),
        ("NewResync", "record_ids", json!({"minItems": 1, "maxItems": 1_000})),
        ("NewIntegration", "endpoint_url", json!({"minLength": 1, "maxLength": 2_000})),
        ("CloudEvent", "id", json!({"minLength": 1})),
        ("CloudEvent", "source", json!({"minLength": 1})),
        ("CloudEvent", "specversion", json!({"enum": ["1.0"]})),
        ("SetFailureNote", "note", json!({"minLength": 1, "maxLength": 500})),
    ] {
        let shown = &schemas[schema]["properties"][field];
        for (limit, value) in limits.as_object().unwrap() {
            assert_eq!(&shown[limit], value, "{schema}.{field}: {shown}");
        }
    }
    for (schema, field) in [
        ("NewIntegration", "record_types"),
        ("IntegrationChanges", "record_types"),
        ("NewResync", "record_ids"),
    ] {
        let item = &schemas[schema]["properties"][field]["items"];
        assert_eq!(
            (&item["minLength"], &item["maxLength"]),
            (&json!(1), &json!(255)),
            "{schema}.{field}: {item}"
        );
    }
    let batch =
        &document["paths"]["/events"]["post"]["requestBody"]["content"]["application/cloudevents-batch+json"];
    assert_eq!(
        (&batch["schema"]["minItems"], &batch["schema"]["maxItems"]),
        (&json!(1), &json!(1_000)),
        "{batch}"
    );
    for (schema, item) in [("OneOrMany_Event", "Event"), ("OneOrMany_NewJob", "NewJob")] {
        let item = json!({"$ref": format!("#/components/schemas/{item}")});
        let forms = &schemas[schema]["oneOf"];
        assert_eq!(
            (&forms[0], &forms[1]["items"], &forms[1]["maxItems"]),
            (&item, &item, &json!(1_000)),
            "{forms}"
        );
    }
    assert!(schemas["JobFilter"]["properties"]["record_id"].get("maxLength").is_none());
    // Fields that cannot be null are not nullable.
    assert_eq!(schemas["IntegrationChanges"]["properties"]["name"]["type"], "string");
    assert!(schemas["IntegrationChanges"].get("required").is_none());
}

#[test]
fn roles_are_described_and_the_reserved_one_is_named_where_keys_are_created() {
    let document = document();
    let role = document["components"]["schemas"]["Role"].clone();
    let described = role["description"].as_str().unwrap();
    for name in role["enum"].as_array().unwrap() {
        assert!(described.contains(&format!("`{}`", name.as_str().unwrap())), "{name}: {described}");
    }
    let created = document["paths"]["/api-keys"]["post"]["description"].as_str().unwrap();
    for text in [described, created] {
        assert!(text.contains("`worker` is reserved") && text.contains("may call nothing yet"), "{text}");
    }
}

#[test]
fn every_answer_is_described_and_every_refusal_is_a_problem() {
    let document = document();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            for (status, answer) in operation["responses"].as_object().unwrap() {
                let at = format!("{method} {path} {status}");
                assert!(
                    answer["description"].as_str().is_some_and(|text| !text.is_empty()),
                    "{at}: {answer}"
                );
                if status.starts_with(['4', '5']) {
                    let schema = &answer["content"]["application/problem+json"]["schema"]["$ref"];
                    assert_eq!(schema, "#/components/schemas/Problem", "{at}");
                }
            }
        }
    }
    for (path, method, status) in [
        ("/events", "post", "404"),
        ("/jobs", "post", "404"),
        ("/integrations", "post", "404"),
        ("/apps/{id}", "delete", "409"),
        ("/integrations/{id}", "delete", "409"),
        ("/integrations/{id}/resync", "post", "429"),
        ("/users/{id}", "patch", "409"),
        ("/users/{id}", "delete", "409"),
    ] {
        assert!(document["paths"][path][method]["responses"][status].is_object(), "{method} {path} {status}");
    }
}

const UNKNOWN_ID: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_answer_to_an_unknown_parameter_is_described(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator();
    let document = document();
    let mut refused = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let Some(operation) = item.get("get") else { continue };
        let steps = path.split('/').map(|step| if step.starts_with('{') { UNKNOWN_ID } else { step });
        let concrete = steps.collect::<Vec<_>>().join("/");
        let answer = client.get(&format!("{concrete}?nonsense=1")).await;
        assert!(operation["responses"][answer.status.to_string()].is_object(), "{path}: {}", answer.status);
        if answer.status == 422 {
            let detail = answer.json()["errors"][0]["detail"].as_str().unwrap().to_owned();
            assert!(detail.starts_with("is not known here") && !detail.ends_with(": "), "{path}: {detail}");
            refused.push(path.as_str());
        }
    }
    for path in ["/workers", "/rate-limits", "/saved-views", "/stats/integrations", "/jobs", "/live"] {
        assert!(refused.contains(&path), "{path} is not refused: {refused:?}");
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_examples_work_as_shown(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator();
    let document = document();
    let mut ids: Vec<(String, String)> = Vec::new();
    for (path, kind, status) in [
        ("/apps", "application/json", 201),
        ("/integrations", "application/json", 201),
        ("/integrations/{id}/breaker", "application/json", 200),
        ("/events", "application/json", 202),
        ("/events", "application/cloudevents+json", 202),
        ("/jobs", "application/json", 201),
        ("/jobs/bulk", "application/json", 200),
        ("/dead-letters/bulk", "application/json", 200),
    ] {
        let operation = &document["paths"][path]["post"];
        let example = &operation["requestBody"]["content"][kind]["example"];
        let body = ids.iter().fold(example.to_string(), |text, (shown, made)| text.replace(shown, made));
        let concrete_path =
            ids.last().map_or_else(|| path.to_owned(), |(_, made)| path.replace("{id}", made));
        let answer = client.send(&concrete_path, Some(kind), body).await.ok(status);
        let shown = &operation["responses"][status.to_string()]["content"]["application/json"]["example"];
        let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&answer), names(shown), "{path}");
        if kind == "application/json" && matches!(path, "/events" | "/jobs/bulk") {
            assert_eq!(answer["accepted"], shown["accepted"], "{path}");
            assert_eq!(answer["matched"], shown["matched"], "{path}");
        }
        if let (Some(shown), Some(made)) = (shown["id"].as_str(), answer["id"].as_str()) {
            ids.push((shown.to_owned(), made.to_owned()));
        }
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn document_and_swagger_ui_are_served_from_the_binary(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.anonymous();
    let get = async |path: &str| Answer::of(client.request(Method::GET, path)).await;
    let served = get("/api/openapi.json").await;
    assert_eq!(served.header("content-type"), "application/json");
    assert_eq!(served.ok(200), document());
    let page = get("/api/docs").await;
    assert_eq!(page.status, 200);
    let policy = page.header("content-security-policy");
    assert!(policy.contains("script-src 'self'") && !policy.contains("unsafe"), "{policy}");
    assert!(!page.text.contains("http://") && !page.text.contains("https://"), "loads from elsewhere");
    for (file, kind) in [
        ("swagger-ui.css", "text/css"),
        ("index.css", "text/css"),
        ("swagger-ui-bundle.js", "text/javascript"),
        ("start.js", "text/javascript"),
        ("favicon-32x32.png", "image/png"),
    ] {
        assert!(page.text.contains(&format!("docs/{file}")), "{file}");
        let answer = Answer { text: String::new(), ..get_bytes(&client, &format!("/api/docs/{file}")).await };
        assert_eq!(answer.status, 200, "{file}");
        assert!(answer.header("content-type").starts_with(kind), "{file}: {}", answer.header("content-type"));
    }
    for licence in ["LICENSE", "NOTICE"] {
        let answer = get(&format!("/api/docs/{licence}")).await;
        assert_eq!((answer.status, answer.header("content-type")), (200, "text/plain"), "{licence}");
    }
    get("/api/docs/nonsense.js").await.problem(404);
}

/// Does not read the body as text.
async fn get_bytes(client: &crate::support::Client, path: &str) -> Answer {
    let response = client.request(Method::GET, path).send().await.unwrap();
    Answer { status: response.status().as_u16(), headers: response.headers().clone(), text: String::new() }
}

#[test]
fn the_answers_of_bulk_actions_are_distinguishable() {
    let document = document();
    for (path, status) in [("/jobs/bulk", "200"), ("/dead-letters/bulk", "200")] {
        let content = &document["paths"][path]["post"]["responses"][status]["content"];
        let forms = content["application/json"]["schema"]["oneOf"].as_array().unwrap();
        let required: Vec<&Value> = forms
            .iter()
            .map(|form| {
                let name = form["$ref"].as_str().unwrap().rsplit('/').next().unwrap();
                &document["components"]["schemas"][name]["required"]
            })
            .collect();
        // Each requires a field that the other does not have.
        assert_eq!(required.len(), 2, "{path}");
        let has = |required: &Value, name: &str| required.as_array().unwrap().contains(&json!(name));
        assert!(has(required[0], "breakdown") && !has(required[1], "breakdown"), "{path}");
        assert!(has(required[1], "changed") && !has(required[0], "changed"), "{path}");
        let started = &document["paths"][path]["post"]["responses"]["202"]["content"]["application/json"];
        assert_eq!(started["schema"]["$ref"], "#/components/schemas/BulkStarted", "{path}");
    }
}

#[test]
fn headers_and_parameters_are_documented() {
    let document = document();
    let of = |method: &str, path: &str| document["paths"][path][method].clone();
    let header = |operation: &Value, status: &str, name: &str| {
        operation["responses"][status]["headers"][name]["schema"]["type"].clone()
    };
    for (method, path, status, name, kind) in [
        ("post", "/events", "503", "retry-after", "integer"),
        ("post", "/events", "409", "retry-after", "integer"),
        ("post", "/apps", "201", "etag", "string"),
        ("post", "/apps", "201", "idempotency-replayed", "string"),
        ("get", "/apps/{id}", "200", "etag", "string"),
        ("get", "/jobs", "200", "x-lists-behind-seconds", "integer"),
    ] {
        assert_eq!(header(&of(method, path), status, name), kind, "{method} {path} {status} {name}");
    }
    assert!(header(&of("post", "/events"), "201", "etag").is_null());
    for path in ["/apps/{id}", "/integrations/{id}", "/users/{id}", "/saved-views/{id}"] {
        let delete = of("delete", path);
        assert!(delete["responses"]["412"].is_object(), "{path}");
        let names = delete["parameters"].as_array().unwrap().iter().map(|p| p["name"].as_str().unwrap());
        assert!(names.into_iter().any(|name| name == "If-Match"), "{path}");
    }
    let parameter = |path: &str, name: &str| {
        let parameters = of("get", path)["parameters"].as_array().cloned().unwrap();
        parameters.into_iter().find(|p| p["name"] == name).unwrap()
    };
    for (path, companion) in [("/jobs", "status=processing"), ("/dead-letters", "app_id")] {
        for name in ["attempt_min", "worker_id", "payload"] {
            let description = parameter(path, name)["description"].as_str().unwrap().to_owned();
            assert!(
                description.contains("needs another filter with it") && description.contains(companion),
                "{description}"
            );
        }
    }
    let payload = &parameter("/jobs", "payload")["schema"];
    assert!(payload["type"] == "string" || payload["type"] == json!(["string", "null"]), "{payload}");
    let q = parameter("/records/trail", "q");
    assert_eq!((&q["required"], &q["schema"]["maxLength"]), (&json!(true), &json!(255)));
    let schemas = document["components"]["schemas"].as_object().unwrap();
    for (name, schema) in schemas.iter().filter(|(name, _)| name.ends_with("Changes")) {
        for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
            assert!(schema.get("default").is_none(), "{name}.{field}: {schema}");
        }
    }
    for (name, field, limit) in [
        ("Event", "record_id", "pattern"),
        ("NewJob", "job_type", "pattern"),
        ("NewUser", "password", "minLength"),
        ("NewUser", "email", "maxLength"),
    ] {
        assert!(schemas[name]["properties"][field].get(limit).is_some(), "{name}.{field} {limit}");
    }
}
