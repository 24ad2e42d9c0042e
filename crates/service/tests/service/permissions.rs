//! Every use case with the permission it needs. The list is read from the signatures; a new use case belongs in it.

use std::{collections::BTreeMap, fs, path::Path};

/// The use cases by the permission they need.
const USE_CASES: &[(&str, &[&str])] = &[
    (
        "OpenConsole",
        &[
            "bin",
            "charts",
            "dead_letter_list",
            "failure_list",
            "find",
            "integration_charts",
            "integration_list",
            "integration_page",
            "job_list",
            "job_page",
            "nav_counts",
            "operation_list",
            "operation_page",
            "overview",
            "resync_list",
            "saved_view",
            "saved_views",
            "trail_page",
        ],
    ),
    (
        "Read",
        &[
            "activity",
            "answers",
            "app",
            "apps",
            "binned",
            "breaker_flips",
            "dead_letter",
            "dead_letter_groups",
            "dead_letters",
            "export_dead_letters",
            "failure",
            "failures",
            "gauges",
            "integration",
            "integrations",
            "levels",
            "limit_use",
            "live_events",
            "operation",
            "operations",
            "record",
            "records",
            "resync",
            "resyncs",
            "sent_records",
            "snapshot_at",
            "status",
            "throughput",
            "trail",
        ],
    ),
    ("ReadJobs", &["explain_job", "job", "jobs"]),
    (
        "ReadDeployment",
        &[
            "api_keys",
            "audit_entry",
            "audit_list",
            "audit_log",
            "key_list",
            "limit_list",
            "rate_limits",
            "retention",
            "user",
            "user_list",
            "users",
            "workers",
            "workers_page",
        ],
    ),
    ("ReadUnmasked", &["reveal_job"]),
    (
        "SteerJobs",
        &[
            "bulk",
            "bulk_preview",
            "cancel_job",
            "confirmed_bulk",
            "mark_failure",
            "requeue_dead_letter",
            "requeue_job",
            "restore_dead_letter",
            "retry_failure",
            "set_failure_note",
            "steer_operation",
        ],
    ),
    ("Purge", &["purge_dead_letter"]),
    ("SaveViews", &["change_view", "delete_view", "save_view"]),
    ("Resync", &["start_resync", "steer_resync"]),
    (
        "Configure",
        &[
            "bulk_integrations",
            "confirmed_integration_bulk",
            "create_app",
            "create_integration",
            "delete_app",
            "delete_integration",
            "drain_worker",
            "edit_job",
            "integration_bulk_question",
            "pause_integration",
            "repeat",
            "resume_integration",
            "rotate_secret",
            "steer_breaker",
            "test_integration",
            "undo",
            "update_app",
            "update_integration",
        ],
    ),
    ("ManageAccess", &["create_api_key", "create_user", "delete_user", "revoke_api_key", "update_user"]),
    ("Produce", &["accept_events", "create_jobs"]),
];

#[test]
fn every_use_case_names_its_permission() {
    let pairs =
        USE_CASES.iter().flat_map(|(permission, names)| names.iter().map(move |name| (*name, *permission)));
    let listed: BTreeMap<String, String> =
        pairs.map(|(name, permission)| (name.to_owned(), permission.to_owned())).collect();
    let found = use_cases(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let missing: Vec<_> =
        found.iter().filter(|(name, permission)| listed.get(*name) != Some(permission)).collect();
    assert!(missing.is_empty(), "not listed, or with another permission: {missing:#?}");
    let gone: Vec<_> = listed.keys().filter(|name| !found.contains_key(*name)).collect();
    assert!(gone.is_empty(), "listed, but there is no such use case: {gone:?}");
}

/// Name and permission of each `pub async fn` with `&self`; a permission of "" has none.
fn use_cases(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("the sources are there") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            found.extend(use_cases(&path));
            continue;
        }
        let source = fs::read_to_string(&path).expect("readable");
        for rest in source.split("    pub async fn ").skip(1) {
            let signature = rest.split(" {\n").next().unwrap_or_default();
            let name = signature.split(['(', '<']).next().unwrap_or_default();
            if signature.contains("&self") {
                found.insert(name.to_owned(), permission(signature).unwrap_or_default());
            }
        }
    }
    found
}

fn permission(signature: &str) -> Option<String> {
    let (_, allowed) = signature.split_once("actor: &Allowed<")?;
    let (path, _) = allowed.split_once('>')?;
    Some(path.trim_start_matches("permission::").to_owned())
}
