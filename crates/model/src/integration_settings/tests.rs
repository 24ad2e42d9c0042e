use super::*;
use serde_json::json;

fn faults(body: serde_json::Value) -> Vec<String> {
    let new: NewIntegration = serde_json::from_value(body).unwrap();
    new.check().err().map_or_else(Vec::new, |f| f.0.into_iter().map(|fault| fault.pointer).collect())
}

#[test]
fn every_invalid_field_is_named() {
    let app_id = AppId::generate();
    let with = |fields: serde_json::Value| {
        let mut body = json!({"app_id": app_id, "name": "Shop", "integration_type": "webhook", "endpoint_url": "https://x.test"});
        for (key, value) in fields.as_object().unwrap() {
            body[key] = value.clone();
        }
        faults(body)
    };
    let none: [&str; 0] = [];
    assert_eq!(with(json!({})), none);
    assert_eq!(with(json!({"retry_schedule": "0s, 10s,1m"})), none);
    assert_eq!(with(json!({"retry_schedule": "exponential"})), none);
    for (fields, pointer) in [
        (json!({"name": ""}), "/name"),
        (json!({"endpoint_url": null}), "/endpoint_url"),
        (json!({"rate_limit": {"requests": 0, "per_seconds": 1}}), "/rate_limit/requests"),
        (json!({"rate_limit": [{"requests": 1, "per_seconds": 86_401}]}), "/rate_limit/0/per_seconds"),
        (json!({"rate_limit": []}), "/rate_limit"),
        (json!({"max_concurrency": 0}), "/max_concurrency"),
        (json!({"timeout_ms": 99}), "/timeout_ms"),
        (json!({"max_attempts": 101}), "/max_attempts"),
        (json!({"retry_schedule": ""}), "/retry_schedule"),
        (json!({"retry_schedule": "1s,,2s"}), "/retry_schedule"),
        (json!({"retry_schedule": "25h"}), "/retry_schedule"),
        (json!({"retry_schedule": format!("1s{}", " ".repeat(2_000))}), "/retry_schedule"),
        (json!({"record_types": ["ok", ""]}), "/record_types/1"),
        (json!({"headers": {"a b": "x"}}), "/headers/a b"),
        (json!({"headers": {"Webhook-Id": "x"}}), "/headers/Webhook-Id"),
        (json!({"credentials": {"authorization": "a\nb"}}), "/credentials/authorization"),
        (json!({"headers": {"Authorization": "Bearer x"}}), "/headers/Authorization"),
        (json!({"headers": {"proxy-authorization": "x"}}), "/headers/proxy-authorization"),
        (json!({"headers": {"cookie": "x"}}), "/headers/cookie"),
        (json!({"headers": {"X-API-Key": "x"}}), "/headers/X-API-Key"),
        (json!({"headers": {"x-shop-access-token": "x"}}), "/headers/x-shop-access-token"),
        (json!({"headers": {"X-Tenant": "ok", "accept-language": "en"}, "name": ""}), "/name"),
        (json!({"bundle_window_seconds": 5}), "/bundle_window_seconds"),
        (json!({"debounce": {"seconds": 0, "max_seconds": 5}}), "/debounce/seconds"),
        (json!({"debounce": {"seconds": 3_601, "max_seconds": 3_601}}), "/debounce/seconds"),
        (json!({"debounce": {"seconds": 5, "max_seconds": 4}}), "/debounce/max_seconds"),
        (json!({"debounce": {"seconds": 5, "max_seconds": 86_401}}), "/debounce/max_seconds"),
        (json!({"debounce": {"seconds": 5, "max_seconds": 5}, "integration_type": "bundle"}), "/debounce"),
    ] {
        assert_eq!(with(fields.clone()), [pointer], "{fields}");
    }
}
