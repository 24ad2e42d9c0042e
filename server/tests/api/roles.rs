//! Every route × every role × own, foreign and unknown objects. The routes come from the OpenAPI document, so that none is forgotten.

use crate::support::{Client, Receiver, Server, a_job, a_webhook, an_app, an_event};
use model::actor::Role::{self, Auditor, Operator, Portal, Producer, Support, Worker};
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

const UNKNOWN: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

/// The roles that may call an operation, written out here so that a change of the rules is noticed.
fn allowed(method: &str, path: &str) -> &'static [Role] {
    const READERS: &[Role] = &[Operator, Support, Auditor, Portal];
    const OPERATORS_AND_SUPPORT: &[Role] = &[Operator, Support];
    match (method, path) {
        (
            "get",
            "/workers" | "/rate-limits" | "/audit-log" | "/api-keys" | "/users" | "/users/{id}"
            | "/audit-log/{id}" | "/retention",
        ) => &[Operator, Auditor],
        ("get", "/jobs" | "/jobs/{id}" | "/jobs/{id}/explain") => {
            &[Operator, Support, Auditor, Portal, Producer]
        }
        // Of the whole deployment.
        ("get", "/stats/levels" | "/saved-views" | "/saved-views/{id}") => &[Operator, Support, Auditor],
        ("get", _) => READERS,
        ("post", "/events" | "/jobs") => &[Operator, Producer],
        (
            "post",
            "/integrations/{id}/resync"
            | "/resyncs/{id}/pause"
            | "/resyncs/{id}/resume"
            | "/resyncs/{id}/cancel",
        ) => &[Operator, Portal],
        (
            "post",
            "/jobs/bulk"
            | "/dead-letters/bulk"
            | "/jobs/{id}/requeue"
            | "/jobs/{id}/cancel"
            | "/dead-letters/{id}/requeue"
            | "/dead-letters/{id}/restore",
        ) => OPERATORS_AND_SUPPORT,
        ("post" | "patch" | "delete", "/saved-views" | "/saved-views/{id}") => OPERATORS_AND_SUPPORT,
        ("post", _) if path.starts_with("/operations/") || path.starts_with("/failures/") => {
            OPERATORS_AND_SUPPORT
        }
        _ => &[Operator],
    }
}

fn operations() -> Vec<(String, String)> {
    let document = serde_json::to_value(server::api::document()).unwrap();
    let paths = document["paths"].as_object().unwrap();
    paths
        .iter()
        .flat_map(|(path, item)| {
            item.as_object().unwrap().keys().map(|method| (method.clone(), path.clone()))
        })
        .collect()
}

/// Only the status, because a stream has no end.
async fn status(client: &Client, method: &str, path: &str) -> u16 {
    let method: Method = method.to_uppercase().parse().unwrap();
    let mut request = client.request(method.clone(), &format!("/api/v1{path}"));
    if method != Method::GET {
        request = request.header("content-type", "application/json").body("{}");
    }
    request.send().await.unwrap().status().as_u16()
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn each_role_may_call_exactly_its_operations(pool: PgPool) {
    let server = Server::start(pool).await;
    let app = an_app(&server.operator(), "Own").await;
    let mut clients = vec![(None, server.anonymous())];
    for &role in Role::ALL {
        let app = matches!(role, Producer | Portal | Worker).then_some(app.as_str());
        clients.push((Some(role), server.key(role, app).await));
    }
    clients.push((Some(Worker), server.key(Worker, None).await));
    for (method, path) in operations() {
        let concrete = path
            .replace("{id}", UNKNOWN)
            .replace("{app_id}", UNKNOWN)
            .replace("{record_type}", "product")
            .replace("{record_id}", "1");
        for (role, client) in &clients {
            let status = status(client, &method, &concrete).await;
            let at = format!("{method} {path} as {role:?}: {status}");
            match role {
                None => assert_eq!(status, 401, "{at}"),
                Some(role) if allowed(&method, &path).contains(role) => {
                    assert!(!matches!(status, 401 | 403 | 405) && status < 500, "{at}");
                    if path.contains("{id}") {
                        assert!(matches!(status, 404 | 422), "{at}");
                    }
                }
                Some(_) => assert_eq!(status, 403, "{at}"),
            }
        }
    }
}

/// One object of each kind an app has.
struct Objects {
    app: String,
    integration: String,
    job: String,
    dead_letter: String,
    resync: String,
}

async fn objects(server: &Server, name: &str, rejected_before: u64) -> Objects {
    let client = server.operator();
    let app = an_app(&client, name).await;
    let receiver = Receiver::answering(400).await;
    let integration = a_webhook(&client, &app, &receiver.url()).await;
    client.post("/events", an_event(&app, "1")).await.ok(202);
    server.recorded(rejected_before + 1).await;
    client.act(&format!("/integrations/{integration}/pause")).await.ok(200);
    let letters = client.get(&format!("/dead-letters?app_id={app}")).await.ok(200);
    let resync = client.act(&format!("/integrations/{integration}/resync")).await.ok(202);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    Objects {
        job: a_job(&client, &integration).await,
        dead_letter: text(&letters["items"][0]["id"]),
        resync: text(&resync["resync_id"]),
        app,
        integration,
    }
}

impl Objects {
    fn path(&self, path: &str) -> Option<String> {
        let id = match path.trim_start_matches('/').split('/').next().unwrap() {
            "apps" => &self.app,
            "integrations" => &self.integration,
            "jobs" => &self.job,
            "dead-letters" => &self.dead_letter,
            "resyncs" => &self.resync,
            "records" => &self.app,
            _ => return None,
        };
        let path = path.replace("{id}", id).replace("{app_id}", id);
        Some(path.replace("{record_type}", "product").replace("{record_id}", "1"))
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_portal_sees_only_its_own_app(pool: PgPool) {
    let server = Server::with_workers(pool).await;
    let own = objects(&server, "Own", 0).await;
    let foreign = objects(&server, "Foreign", 1).await;
    let portal = server.key(Portal, Some(&own.app)).await;
    let mut checked = 0;
    for (method, path) in operations() {
        let is_json = !matches!(path.as_str(), "/live" | "/dead-letters/export");
        if method != "get" || !is_json || !allowed(&method, &path).contains(&Portal) {
            continue;
        }
        if !path.contains('{') {
            let question = if path == "/records/trail" { "q=Foreign" } else { "" };
            let answer = portal.get(&format!("{path}?{question}")).await;
            answer.ok(200);
            for id in
                [&foreign.app, &foreign.integration, &foreign.job, &foreign.dead_letter, &foreign.resync]
            {
                assert!(!answer.text.contains(id.as_str()), "{path} shows {id}");
            }
            continue;
        }
        let (Some(own), Some(foreign)) = (own.path(&path), foreign.path(&path)) else { continue };
        portal.get(&own).await.ok(200);
        let unknown = path
            .replace("{id}", UNKNOWN)
            .replace("{app_id}", UNKNOWN)
            .replace("{record_type}", "product")
            .replace("{record_id}", "1");
        let (foreign, unknown) = (portal.get(&foreign).await, portal.get(&unknown).await);
        assert_eq!(foreign.problem(404), unknown.problem(404), "{path}");
        checked += 1;
    }
    assert!(checked >= 8, "only {checked} routes with an id");
    // Filters and cursors do not lead to other apps.
    for filter in [
        format!("app_id={}", foreign.app),
        format!("integration_id={}", foreign.integration),
        format!("q={}", foreign.job),
    ] {
        for list in ["/jobs", "/dead-letters"] {
            let found = portal.get(&format!("{list}?{filter}")).await.ok(200);
            assert_eq!(found["items"], json!([]), "{list}?{filter}");
        }
    }
    let cursor = format!("c1{}", foreign.job.replace('-', ""));
    assert!(!portal.get(&format!("/jobs?cursor={cursor}")).await.text.contains(&foreign.app));
    for step in ["pause", "resume", "cancel"] {
        portal.act(&format!("/resyncs/{}/{step}", foreign.resync)).await.problem(404);
    }
    portal.act(&format!("/resyncs/{}/pause", own.resync)).await.ok(200);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_portal_sees_no_internals_of_the_deployment(pool: PgPool) {
    let server = Server::with_workers(pool).await;
    let own = objects(&server, "Own", 0).await;
    let (client, eve) = (server.operator(), server.person("eve", Operator).await);
    let integration = format!("/integrations/{}", own.integration);
    eve.patch(
        &integration,
        json!({"headers": {"x-tenant": "of-the-platform"}, "metadata": {"crm": "kept-by-the-platform"}}),
    )
    .await
    .ok(200);
    let hold = json!({"action": "hold", "until": chrono::Utc::now() + chrono::TimeDelta::hours(1)});
    eve.post(&format!("{integration}/breaker"), hold).await.ok(200);
    let letter = client.get(&format!("/dead-letters/{}", own.dead_letter)).await.ok(200);
    let worker = letter["attempts"][0]["worker_id"].as_str().unwrap();

    let internals =
        ["eve@example.test", "HEADGATE_ADMIN_API_KEY", "of-the-platform", "kept-by-the-platform", worker];
    let mut seen = Vec::new();
    let portal = server.key(Portal, Some(&own.app)).await;
    for (method, path) in operations() {
        if method != "get" || path == "/live" || !allowed(&method, &path).contains(&Portal) {
            continue;
        }
        let path = match path.as_str() {
            "/records/trail" => "/records/trail?q=Own".to_owned(),
            _ if path.contains('{') => own.path(&path).unwrap_or(path),
            _ => path,
        };
        let (for_operator, for_portal) = (client.get(&path).await, portal.get(&path).await);
        assert_eq!(for_operator.status, for_portal.status, "{path}");
        for word in internals {
            assert!(!for_portal.text.contains(word), "{path} shows {word}: {}", for_portal.text);
            if for_operator.text.contains(word) {
                seen.push(word);
            }
        }
    }
    for word in internals {
        assert!(seen.contains(&word), "{word} is shown to nobody");
    }
    for role in [Support, Auditor] {
        let shown = server.key(role, None).await.get(&integration).await.ok(200);
        assert_eq!(shown["headers"], json!({"x-tenant": "[masked]"}), "{role}");
        let person = server.person(role.as_str(), role).await;
        let call = format!("/console/integration?id={}&window=24h", own.integration);
        let shown = person.open(&call).await.ok(200);
        assert_eq!(shown["integration"]["headers"], json!({"x-tenant": "[masked]"}), "{role}");
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_role_without_purge_cannot_purge_in_bulk(pool: PgPool) {
    let server = Server::start(pool).await;
    let support = server.key(Support, None).await;
    let purge = json!({"action": "purge", "filter": {"status": "failed"}});
    support.post("/dead-letters/bulk", purge.clone()).await.problem(403);
    server.operator().post("/dead-letters/bulk", purge).await.ok(200);
}
