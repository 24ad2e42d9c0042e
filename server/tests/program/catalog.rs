//! Real input: a Debian package index is imported and delivered to three systems, which all end with the same records.
//!
//! The index is the machine's own (`apt-cache dumpavail`), or a generated one.

use crate::support::{Api, Behaviour, Database, Program, Receiver, eventually, run};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

const RECORDS: usize = 3_000;
const TIMEOUT: Duration = Duration::from_secs(300);

type Catalog = BTreeMap<String, Map<String, Value>>;
/// By record: the fields that were set, and those that were unset.
type Changed = BTreeMap<String, (Vec<String>, Vec<String>)>;

#[tokio::test]
async fn every_receiver_ends_with_the_source_and_changes_are_sent_as_deltas() {
    let index = index();
    let mut source = parse(&index);
    let database = Database::create().await;
    // Quick retries, to show that nothing is lost by failures.
    let program = Program::serve(&database, &[("HEADGATE_RETRY_SCHEDULE", "100ms,200ms,500ms,1s")]).await;
    let api = program.api();
    let app = api.app("debian").await;
    let receivers = [
        (Receiver::start(Behaviour::AlwaysOk).await, "plain", json!({})),
        (
            Receiver::start(Behaviour::AlwaysOk).await,
            "limited",
            json!({"rate_limit": {"requests": 400, "per_seconds": 1}}),
        ),
        (Receiver::start(Behaviour::FailsOneIn(9)).await, "flaky", json!({"max_attempts": 100})),
    ];
    let mut integrations = Vec::new();
    for (receiver, name, more) in &receivers {
        integrations.push(api.webhook(&app, name, &receiver.url, more.clone()).await);
    }

    import(&database, &index, "0 left out").await;
    wait_until_sent(&api, &integrations, source.len()).await;
    for (receiver, name, _) in &receivers {
        assert_same(&receiver.copy(), &source, name);
        assert!(
            receiver.take_bodies().iter().all(|body| body["full"] == true),
            "{name}: the first send is full"
        );
    }
    assert!(receivers[2].0.requests() > source.len() as u64, "some requests were retried");

    let (changed, deleted) = change(&mut source);
    for id in &deleted {
        let event =
            json!({"app_id": app, "type": "record.deleted", "record_type": "package", "record_id": id});
        api.post("/events", &event).await;
    }
    import(&database, &print(&source), &format!("{} changed", changed.len())).await;
    wait_until_sent(&api, &integrations, source.len()).await;
    for (receiver, name, _) in &receivers {
        assert_same(&receiver.copy(), &source, name);
        let bodies = receiver.take_bodies();
        let touched: BTreeSet<_> =
            bodies.iter().map(|body| body["record"]["id"].as_str().unwrap().to_owned()).collect();
        let expected: BTreeSet<_> = changed.keys().chain(&deleted).cloned().collect();
        assert_eq!(touched, expected, "{name}: only what changed");
        for body in bodies.iter().filter(|body| body["type"] != "record.deleted") {
            assert_eq!(body["full"], false, "{name}: {body}");
            let id = body["record"]["id"].as_str().unwrap();
            let names = |part: &Value| part.as_object().map(|set| set.keys().cloned().collect::<Vec<_>>());
            assert_eq!(names(&body["changes"]["set"]), Some(changed[id].0.clone()), "{name}: {id}");
            assert_eq!(body["changes"]["unset"], json!(changed[id].1), "{name}: {id}");
        }
    }

    import(&database, &print(&source), &format!("{} unchanged", source.len())).await;
    for integration in &integrations {
        assert_eq!(
            api.get(&format!("/integrations/{integration}/status")).await["backlog"],
            0,
            "no changes, no jobs"
        );
    }
    assert_eq!(program.stop().await, Some(0));
    database.drop().await;
}

async fn import(database: &Database, index: &str, words: &str) {
    let import = ["import", "records", "--app", "debian", "--record-type", "package", "--format", "deb822"];
    let output = run(&import, &[("HEADGATE_DATABASE_URL", database.url())], index).await;
    assert_eq!(output.code, Some(0), "{}", output.err);
    assert!(output.err.contains(words), "{words}: {}", output.err);
}

async fn wait_until_sent(api: &Api, integrations: &[String], records: usize) {
    for integration in integrations {
        eventually("everything is sent", TIMEOUT, async || {
            let status = api.get(&format!("/integrations/{integration}/status")).await;
            assert_eq!(status["dead_letters"], 0, "{status}");
            let is_still = ["backlog", "processing", "to_be_retried"].iter().all(|count| status[*count] == 0);
            (is_still && status["records_in_sync"] == records).then_some(())
        })
        .await;
    }
}

fn assert_same(copy: &Catalog, source: &Catalog, name: &str) {
    assert_eq!(copy.len(), source.len(), "{name}");
    for (id, record) in source {
        assert_eq!(copy.get(id), Some(record), "{name}: {id}");
    }
}

/// Gives some hundred packages a new version, removes a field from some, and a few packages. Returns the fields set and unset by id, and the deleted ids.
fn change(source: &mut Catalog) -> (Changed, Vec<String>) {
    let ids: Vec<String> = source.keys().cloned().collect();
    let mut changed = BTreeMap::new();
    for id in ids.iter().step_by(10) {
        let record = source.get_mut(id).unwrap();
        record
            .insert("Version".into(), json!(format!("{}+test1", record["Version"].as_str().unwrap_or("0"))));
        let mut unset = Vec::new();
        if changed.len() % 3 == 0 && record.remove("Maintainer").is_some() {
            unset.push("Maintainer".to_owned());
        }
        changed.insert(id.clone(), (vec!["Version".to_owned()], unset));
    }
    let deleted: Vec<String> = ids.iter().skip(5).step_by(100).cloned().collect();
    source.retain(|id, _| !deleted.contains(id));
    (changed, deleted)
}

/// The machine's own index, truncated; or a generated one.
fn index() -> String {
    let own = std::process::Command::new("apt-cache").arg("dumpavail").output();
    let own = own.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let mut seen = BTreeSet::new();
    let stanzas: Vec<&str> = own
        .split("\n\n")
        .filter(|stanza| {
            stanza.lines().next().is_some_and(|first| first.starts_with("Package: ") && seen.insert(first))
        })
        .take(RECORDS)
        .collect();
    if stanzas.len() >= 1_000 { stanzas.join("\n\n") } else { print(&generated()) }
}

fn generated() -> Catalog {
    (0..RECORDS)
        .map(|n| {
            let record = json!({
                "Package": format!("lib{n}"),
                "Version": format!("{}.{}-{}", n % 9, n % 31, n % 4 + 1),
                "Maintainer": format!("Team {} <team{}@example.test>", n % 40, n % 40),
                "Depends": format!("libc6 (>= 2.{}), lib{}", n % 36, n / 2),
                "Description": format!("library number {n} – größer\nA longer text.\n\nWith a second paragraph."),
                "Size": (n * 7_919 % 1_000_000).to_string(),
            });
            (format!("lib{n}"), record.as_object().unwrap().clone())
        })
        .collect()
}

/// Parses deb822(5), independently of the program's own parser.
fn parse(index: &str) -> Catalog {
    let mut catalog = Catalog::new();
    for stanza in index.split("\n\n").filter(|stanza| !stanza.trim().is_empty()) {
        let mut record = Map::new();
        let mut field = String::new();
        for line in stanza.lines() {
            if let Some(more) = line.strip_prefix(' ') {
                let Value::String(value) = record.get_mut(&field).unwrap() else { unreachable!() };
                value.push('\n');
                value.push_str(if more == "." { "" } else { more.trim_end() });
            } else {
                let (name, value) = line.split_once(':').unwrap();
                field = name.to_owned();
                record.insert(field.clone(), json!(value.trim()));
            }
        }
        catalog.insert(record["Package"].as_str().unwrap().to_owned(), record);
    }
    catalog
}

fn print(catalog: &Catalog) -> String {
    let mut text = String::new();
    for record in catalog.values() {
        // The package name comes first, as in every index.
        let name = record.get_key_value("Package");
        for (field, value) in name.into_iter().chain(record.iter().filter(|(field, _)| *field != "Package")) {
            let value = value.as_str().unwrap();
            let (first, more) =
                value.split_once('\n').map_or((value, None), |(first, more)| (first, Some(more)));
            writeln!(text, "{field}: {first}").unwrap();
            for line in more.into_iter().flat_map(|more| more.split('\n')) {
                writeln!(text, " {}", if line.is_empty() { "." } else { line }).unwrap();
            }
        }
        text.push('\n');
    }
    text
}
