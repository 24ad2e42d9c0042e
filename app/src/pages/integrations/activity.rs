//! What people did to an integration, newest first.

use crate::ui::{Card, Instant};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::{audit::AuditEntry, text::shown};

#[component]
pub fn Activity(
    entries: Vec<AuditEntry>,
    /// Decides which times are today's.
    as_of: DateTime<Utc>,
    /// The audit log of this integration.
    all: String,
) -> impl IntoView {
    let is_empty = entries.is_empty();
    view! {
        <Card title="Activity" more=(all, "Audit log".to_owned())>
            {is_empty.then(|| view! { <p class="px-4 pt-1 pb-4 text-muted">"No changes yet."</p> })}
            <ul class="grid gap-1.5 px-4 pt-1 pb-4 empty:hidden" aria-label="Activity">
                {entries
                    .into_iter()
                    .map(|entry| {
                        let what = words(&entry);
                        view! {
                            <li class="type-label">
                                <span class="text-faint">
                                    <Instant at=entry.at now=as_of />
                                </span>
                                " "
                                <b class="font-semibold">{entry.actor_name}</b>
                                <span class="text-muted break-any">{format!(" {what}")}</span>
                            </li>
                        }
                    })
                    .collect_view()}
            </ul>
        </Card>
    }
    .into_any()
}

fn words(entry: &AuditEntry) -> String {
    let verb = match entry.action.as_str() {
        "integration.create" => return "created it".to_owned(),
        "integration.pause" => return "paused it".to_owned(),
        "integration.resume" => return "resumed it".to_owned(),
        "integration.breaker" => return "changed its breaker".to_owned(),
        "integration.rotate_secret" => return "rotated the signing secret".to_owned(),
        "integration.test" => return "sent a test".to_owned(),
        "integration.update" => "changed",
        other => return other.replace(['.', '_'], " "),
    };
    let object =
        |value: &Option<serde_json::Value>| value.as_ref().and_then(|value| value.as_object().cloned());
    let (before, after) =
        (object(&entry.before).unwrap_or_default(), object(&entry.after).unwrap_or_default());
    let fields: Vec<_> = after
        .iter()
        .map(|(name, now)| {
            let was = before.get(name).map(short).unwrap_or_default();
            format!("{} from {was} to {}", name.replace('_', " "), short(now))
        })
        .collect();
    if fields.is_empty() {
        "saved it without changes".to_owned()
    } else {
        format!("{verb} {}", fields.join("; "))
    }
}

fn short(value: &serde_json::Value) -> String {
    const MAX_CHARS: usize = 60;
    let limit = |value: &serde_json::Value| {
        let (requests, seconds) = (value.get("requests")?.as_i64()?, value.get("per_seconds")?.as_i64()?);
        Some(crate::format::limit(requests, seconds))
    };
    let debounce = |value: &serde_json::Value| {
        let (quiet, longest) = (value.get("seconds")?.as_i64()?, value.get("max_seconds")?.as_i64()?);
        Some(crate::format::debounce(quiet, longest))
    };
    if let Some(words) = limit(value).or_else(|| debounce(value)) {
        return words;
    }
    let text = match value {
        serde_json::Value::Null => "none".to_owned(),
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Array(several) if several.iter().all(|one| limit(one).is_some()) => {
            several.iter().filter_map(limit).collect::<Vec<_>>().join(" and ")
        }
        other => other.to_string(),
    };
    let text = shown(&text);
    let cut: String = text.chars().take(MAX_CHARS).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_change_says_the_old_and_the_new_value() {
        let entry = |action: &str, before, after| AuditEntry {
            id: model::id::AuditEntryId::generate(),
            at: DateTime::UNIX_EPOCH,
            actor_kind: "user".to_owned(),
            actor_id: "1".to_owned(),
            actor_name: "Ada".to_owned(),
            role: "operator".to_owned(),
            app_id: None,
            action: action.to_owned(),
            object_kind: "integration".to_owned(),
            object_id: None,
            before,
            after,
            address: None,
            request_id: None,
            undoes: None,
            repeats: None,
            undone_by: None,
            can_undo: false,
            can_repeat: false,
        };
        let update = entry(
            "integration.update",
            Some(json!({"rate_limit": {"requests": 10, "per_seconds": 1}, "max_attempts": null})),
            Some(
                json!({"rate_limit": [{"requests": 5, "per_seconds": 1}, {"requests": 60, "per_seconds": 60}], "max_attempts": 3}),
            ),
        );
        assert_eq!(
            words(&update),
            "changed max attempts from none to 3; rate limit from 10/s to 5/s and 60/min"
        );
        let debounce =
            |seconds, longest| Some(json!({"debounce": {"seconds": seconds, "max_seconds": longest}}));
        assert_eq!(
            words(&entry("integration.update", debounce(60, 3600), Some(json!({"debounce": null})))),
            "changed debounce from until 60 s of quiet, 3,600 s at the latest to none"
        );
        assert_eq!(words(&entry("integration.pause", None, None)), "paused it");
        assert_eq!(words(&entry("integration.update", None, None)), "saved it without changes");
    }
}
