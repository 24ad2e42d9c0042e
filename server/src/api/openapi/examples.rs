//! Examples of requests and answers, for the calls a reader tries first. A test sends each of them.

use serde_json::{Value, json};
use utoipa::openapi::{OpenApi, RefOr, path::Operation};

const APP: &str = "01a1fdd8-5f0e-7c32-9b1d-2f6f3d8f9a01";
const INTEGRATION: &str = "01a1fdd8-6a41-7e0b-8c55-0d9f6be1c202";
const JOB: &str = "01a1fdd9-0c77-7b19-a3de-5b0c8a4e7303";
const OPERATION: &str = "01a1fdda-2c63-7d5e-9b10-7a4e6c1d0f06";
const AT: &str = "2026-11-20T10:15:30Z";

struct Example {
    path: &'static str,
    content_type: &'static str,
    request: Value,
    status: &'static str,
    answer: Value,
}

fn examples() -> [Example; 7] {
    [
        Example {
            path: "/apps",
            content_type: "application/json",
            request: json!({"name": "Nordwind GmbH", "slug": "nordwind"}),
            status: "201",
            answer: json!({"id": APP, "name": "Nordwind GmbH", "slug": "nordwind", "created_at": AT, "updated_at": AT}),
        },
        Example {
            path: "/integrations",
            content_type: "application/json",
            request: json!({
                "app_id": APP, "name": "ERP", "integration_type": "webhook", "endpoint_url": "https://erp.example.com/hooks/headgate",
                "rate_limit": {"requests": 10, "per_seconds": 1}, "record_types": ["product"],
                "headers": {"x-tenant": "nordwind"}, "credentials": {"authorization": "Bearer s3cret"},
            }),
            status: "201",
            answer: json!({
                "id": INTEGRATION, "app_id": APP, "name": "ERP", "integration_type": "webhook", "is_built_in": false,
                "endpoint_url": "https://erp.example.com/hooks/headgate", "state": "active", "state_reason": null,
                "breaker": {"state": "closed", "since": null, "probe_at": null, "held_until": null, "failures_in_a_row": 0, "at_once": null,
                            "reason": null},
                "rate_limit": {"requests": 10, "per_seconds": 1}, "rate_limit_key": null, "max_concurrency": 50, "timeout_ms": null,
                "max_attempts": null, "retry_schedule": null, "record_types": ["product"], "headers": {"x-tenant": "nordwind"}, "bundle_window_seconds": null, "debounce": null,
                "has_credentials": true, "metadata": {}, "created_at": AT, "updated_at": AT,
                "signing_secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            }),
        },
        Example {
            path: "/integrations/{id}/breaker",
            content_type: "application/json",
            request: json!({"action": "probe"}),
            status: "200",
            answer: json!({
                "id": INTEGRATION, "app_id": APP, "name": "ERP", "integration_type": "webhook", "is_built_in": false,
                "endpoint_url": "https://erp.example.com/hooks/headgate", "state": "active", "state_reason": null,
                "breaker": {"state": "half_open", "since": AT, "probe_at": null, "held_until": null, "failures_in_a_row": 20, "at_once": 3,
                            "reason": "requested by hand: 3 probes decide"},
                "rate_limit": null, "rate_limit_key": null, "max_concurrency": 50, "timeout_ms": null, "max_attempts": null, "retry_schedule": null,
                "record_types": null, "headers": {}, "bundle_window_seconds": null, "debounce": null, "has_credentials": false, "metadata": {},
                "created_at": AT, "updated_at": AT,
            }),
        },
        Example {
            path: "/events",
            content_type: "application/json",
            request: json!([
                {
                    "app_id": APP, "type": "record.updated", "record_type": "product", "record_id": "sku-1",
                    "attributes": {"title": "Lamp", "price": 19.9, "stock": 120}, "occurred_at": AT, "correlation_id": "order-7",
                },
                {"app_id": APP, "type": "record.deleted", "record_type": "product", "record_id": "sku-2"},
            ]),
            status: "202",
            answer: json!({"accepted": 2, "records_changed": 1, "jobs_created": 1, "jobs_coalesced": 0, "unchanged": 1, "repeated": 0, "stale": 0}),
        },
        Example {
            path: "/events",
            content_type: "application/cloudevents+json",
            request: json!({
                "specversion": "1.0", "id": "e-1", "source": "/shop", "type": "record.updated", "subject": "product/sku-1", "time": AT,
                "data": {"price": 21.5}, "appid": APP, "correlationid": "order-8",
            }),
            status: "202",
            answer: json!({"accepted": 1, "records_changed": 1, "jobs_created": 0, "jobs_coalesced": 1, "unchanged": 0, "repeated": 0, "stale": 0}),
        },
        Example {
            path: "/jobs",
            content_type: "application/json",
            request: json!({
                "integration_id": INTEGRATION, "job_type": "export.nightly", "payload": {"day": "2026-11-20"},
                "deduplication_id": "export-2026-11-20", "priority": 10, "max_attempts": 5,
            }),
            status: "201",
            answer: json!({"items": [{"id": JOB, "outcome": "created"}]}),
        },
        Example {
            path: "/jobs/bulk",
            content_type: "application/json",
            request: json!({
                "action": "cancel", "filter": {"integration_id": INTEGRATION, "job_type": "export.nightly"}, "reason": "wrong day",
            }),
            status: "200",
            answer: json!({"matched": 1, "changed": 1, "skipped": 0, "operation_id": OPERATION}),
        },
    ]
}

/// Adds the examples to the document.
pub(super) fn write(openapi: &mut OpenApi) {
    read(openapi);
    let bulk_of_letters = Example {
        path: "/dead-letters/bulk",
        content_type: "application/json",
        request: json!({
            "action": "requeue", "filter": {"integration_id": INTEGRATION, "error": "timed out"}, "rate_per_second": 20, "dry_run": true,
        }),
        status: "200",
        answer: json!({
            "matched": 240, "breakdown": [{"integration_id": INTEGRATION, "status": "failed", "count": 240}], "sample": [JOB],
            "sample_rows": [
                {
                    "job_id": JOB, "integration_id": INTEGRATION, "job_type": "record.updated", "record_type": "product",
                    "record_id": "sku-1",
                },
            ],
            "added_load": [
                {
                    "integration_ids": [INTEGRATION], "added": 240, "pending": 12, "requests": 20, "per_seconds": 1,
                    "drain_seconds": 13,
                },
            ],
            "eta_seconds": 42,
        }),
    };
    for example in examples().into_iter().chain([bulk_of_letters]) {
        let item = openapi.paths.paths.get_mut(example.path);
        if let Some(operation) = item.and_then(|item| item.post.as_mut()) {
            write_one(operation, example);
        }
    }
}

/// Answers of calls without a body.
fn read(openapi: &mut OpenApi) {
    let level = |at: &str, backlog: Option<i64>| json!({"at": at, "backlog": backlog, "processing": backlog.map(|_| 6), "to_be_retried": backlog.map(|_| 0), "dead_letters": backlog.map(|_| 36)});
    let answers = [
        (
            "/stats/levels",
            json!({"step_seconds": 60, "buckets": [level("2026-11-20T10:14:00Z", None), level("2026-11-20T10:15:00Z", Some(1_204))]}),
        ),
        (
            "/stats/activity",
            json!({
                "items": [
                    {
                        "id": "01a1fdda-1b52-7a60-8d11-3c9e2f7a5b04", "at": AT, "kind": "breaker", "action": "breaker.open",
                        "message": "ERP: breaker opened", "reason": "20 attempts in a row failed; the last: 502 Bad Gateway",
                        "app_id": APP, "integration_id": INTEGRATION, "actor": null,
                    },
                    {
                        "id": "01a1fdd9-7f10-7c02-b6a4-9d0e1c2b3a05", "at": "2026-11-20T10:14:02Z", "kind": "deploy", "action": "deploy",
                        "message": "Headgate 0.2.0 runs for the first time", "reason": null, "app_id": null, "integration_id": null,
                        "actor": null,
                    },
                ],
                "next_cursor": null,
            }),
        ),
    ];
    for (path, answer) in answers {
        let item = openapi.paths.paths.get_mut(path);
        if let Some(operation) = item.and_then(|item| item.get.as_mut())
            && let Some(RefOr::T(response)) = operation.responses.responses.get_mut("200")
            && let Some(RefOr::T(content)) = response.content.get_mut("application/json")
        {
            content.example = Some(answer);
        }
    }
}

fn write_one(operation: &mut Operation, example: Example) {
    if let Some(RefOr::T(body)) = operation.request_body.as_mut()
        && let Some(RefOr::T(content)) = body.content.get_mut(example.content_type)
    {
        content.example = Some(example.request);
    }
    if let Some(RefOr::T(answer)) = operation.responses.responses.get_mut(example.status)
        && let Some(RefOr::T(content)) = answer.content.get_mut("application/json")
    {
        content.example.get_or_insert(example.answer);
    }
}
