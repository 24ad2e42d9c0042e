//! Each table has one owner: the crate whose sources write it. Another crate calls the owner, or is listed here with the reason why it does not.

use sqlx::PgPool;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The tables of each crate.
const OWNERS: [(&str, &[&str]); 4] = [
    (
        "queue",
        &[
            "batch_deltas",
            "batches",
            "bin",
            "breaker_flips",
            "breakers",
            "claim_batches",
            "dead_letter_jobs",
            "failing_jobs",
            "finished_jobs",
            "job_attempts",
            "job_count_deltas",
            "job_counts",
            "jobs",
            "lane_wakes",
            "lanes",
            "leader",
            "rate_limits",
            "ready",
            "recounts",
            "serialize_keys",
            "serialized_jobs",
            "system_events",
            "tidied",
            "waiting",
            "workers",
        ],
    ),
    (
        "delivery",
        &[
            "apps",
            "deletions",
            "event_ids",
            "in_sync_count_deltas",
            "in_sync_counts",
            "integrations",
            "record_count_deltas",
            "record_counts",
            "records",
            "resyncs",
            "sent_records",
            "uncertain_records",
        ],
    ),
    (
        "insight",
        &[
            "answers",
            "failure_counts",
            "failure_deltas",
            "failure_groups",
            "failure_trend",
            "gauge_minutes",
            "integration_marks",
            "latency_deltas",
            "live_snapshots",
            "operation_jobs",
            "operations",
            "rate_limit_use",
            "saved_view_counts",
            "saved_view_pins",
            "saved_views",
            "throughput",
            "throughput_deltas",
            "total_minutes",
            "totals",
        ],
    ),
    (
        "access",
        &[
            "api_keys",
            "audit_log",
            "idempotency_keys",
            "sessions",
            "sign_in_links",
            "sign_in_throttles",
            "users",
        ],
    ),
];

/// Who else writes a table, and why.
const EXCEPTIONS: [(&str, &str, &str); 14] = [
    ("queue", "apps", "a program without Headgate creates the app of its lanes"),
    (
        "queue",
        "integrations",
        "a program's lane is an integration of type external; the API and the console show it",
    ),
    (
        "queue",
        "uncertain_records",
        "part of the statement that ends an attempt: what became of its record is unknown",
    ),
    (
        "queue",
        "throughput_deltas",
        "appended by the statement that ends a job, so that no end is missed or counted twice",
    ),
    ("queue", "latency_deltas", "appended by the worker that measured"),
    ("queue", "failure_deltas", "appended by the statement that ends an attempt"),
    ("queue", "integration_marks", "the last error is part of the statement that ends an attempt"),
    ("delivery", "batches", "the batch of a re-sync is made, paused and deleted with it, in one statement"),
    ("delivery", "batch_deltas", "jobs taken out of a cancelled re-sync"),
    ("delivery", "jobs", "successors are taken out of a cancelled re-sync in the statement that locks it"),
    ("delivery", "lanes", "limits that integrations share are set for all of them in one statement"),
    ("delivery", "rate_limits", "limits go when no integration has them any more"),
    ("insight", "failing_jobs", "rows of jobs that ended otherwise are swept here, where they are counted"),
    ("bench", "*", "it fills databases of its own, and measures"),
];

/// What writes: the words before the name of a table.
const WRITES: [&str; 4] =
    ["insert into headgate.", "update headgate.", "delete from headgate.", "truncate headgate."];

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn every_table_is_written_by_its_owner(pool: PgPool) {
    let tables: Vec<String> = sqlx::query_scalar(
        "select relname::text from pg_class c
         where relnamespace = 'headgate'::regnamespace and relkind in ('r', 'p') and not relispartition order by 1",
    )
    .fetch_all(&pool)
    .await
    .unwrap();
    let owners: BTreeMap<&str, &str> =
        OWNERS.iter().flat_map(|(owner, tables)| tables.iter().map(|table| (*table, *owner))).collect();
    assert_eq!(
        owners.len(),
        OWNERS.iter().map(|(_, tables)| tables.len()).sum::<usize>(),
        "a table has two owners"
    );
    let unowned: Vec<_> = tables.iter().filter(|table| !owners.contains_key(table.as_str())).collect();
    assert!(unowned.is_empty(), "tables without an owner: {unowned:?}");
    let gone: Vec<_> = owners.keys().filter(|table| !tables.iter().any(|name| name == *table)).collect();
    assert!(gone.is_empty(), "there are no such tables: {gone:?}");

    let mut used = BTreeSet::new();
    let mut faults = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (name, sources) in crates(&root) {
        for file in sources_below(&sources) {
            let text = fs::read_to_string(&file).unwrap();
            for table in written_tables(&text) {
                let exception =
                    EXCEPTIONS.iter().find(|(by, of, _)| *by == name && (*of == table || *of == "*"));
                match (owners.get(table.as_str()), exception) {
                    (Some(owner), _) if *owner == name => {}
                    (Some(_), Some((by, of, _))) => {
                        used.insert((*by, *of));
                    }
                    (owner, _) => {
                        let owner = owner.unwrap_or(&"nobody");
                        faults.push(format!("{}: {name} writes {table}, which {owner} owns", file.display()));
                    }
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let unused: Vec<_> =
        EXCEPTIONS.iter().filter(|(by, of, _)| *of != "*" && !used.contains(&(*by, *of))).collect();
    assert!(unused.is_empty(), "exceptions nobody needs any more: {unused:?}");
}

/// The name of each crate, and the folder of its sources.
fn crates(root: &Path) -> Vec<(String, PathBuf)> {
    let mut found: Vec<(String, PathBuf)> = fs::read_dir(root.join("crates"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.path().join("src")))
        .collect();
    found.extend(["app", "server"].map(|name| (name.to_owned(), root.join(name).join("src"))));
    found
}

fn sources_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(sources_below(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "sql") {
            files.push(path);
        }
    }
    files
}

/// The tables that the SQL of a source file writes. Rows of `expired!` name theirs as a literal.
fn written_tables(text: &str) -> BTreeSet<String> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let words = code.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ");
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
    let after = |what: &str| -> Vec<String> {
        let rests = words.match_indices(what).map(|(at, found)| &words[at + found.len()..]);
        rests.map(|rest| rest.chars().take_while(|c| is_name(*c)).collect()).collect()
    };
    let mut tables: BTreeSet<String> = WRITES.iter().copied().flat_map(after).collect();
    tables.extend(after("expired!(\""));
    tables.remove("");
    tables
}

#[test]
fn written_tables_are_found() {
    let text = "insert into\n  headgate.jobs (id) … expired!(\"bin\", …) … for update headgate … \"delete from headgate.\" + $table";
    assert_eq!(written_tables(text), BTreeSet::from(["jobs".to_owned(), "bin".to_owned()]));
}
