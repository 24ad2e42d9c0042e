//! Saved views: private ones are visible to their owner only, shared ones are changed by owner and operators.

use crate::support::{Client, Server};
use model::actor::Role;
use serde_json::{Value, json};
use sqlx::PgPool;

async fn names(client: &Client) -> Vec<String> {
    let list = client.get("/saved-views").await.ok(200);
    list["items"].as_array().unwrap().iter().map(|view| view["name"].as_str().unwrap().to_owned()).collect()
}

fn path(view: &Value) -> String {
    format!("/saved-views/{}", view["id"].as_str().unwrap())
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_private_view_is_visible_to_its_owner_only(pool: PgPool) {
    let server = Server::start(pool).await;
    let (ada, ben) = (server.person("ada", Role::Support).await, server.person("ben", Role::Operator).await);
    let new = json!({"name": "Mine", "query": "status=failed&error=503", "is_pinned": true});
    let mine = ada.post("/saved-views", new).await.ok(201);
    assert_eq!(
        (&mine["is_own"], &mine["is_shared"], &mine["is_pinned"]),
        (&json!(true), &json!(false), &json!(true))
    );
    assert_eq!(mine["count"], Value::Null, "unknown is not 0");
    assert_eq!(names(&ada).await, ["Mine"]);
    // Not even an operator learns that it exists.
    for other in [&ben, &server.operator()] {
        assert!(names(other).await.is_empty());
        other.patch(&path(&mine), json!({"name": "Yours"})).await.problem(404);
        other.patch(&path(&mine), json!({})).await.problem(404);
        other.delete(&path(&mine)).await.problem(404);
    }
    ben.patch(&path(&mine), json!({"is_pinned": true})).await.problem(404);
    ada.patch(&path(&mine), json!({"is_shared": true})).await.ok(200);
    assert_eq!(names(&ben).await, ["Mine"]);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_shared_view_is_changed_by_its_owner_and_by_operators(pool: PgPool) {
    let server = Server::start(pool).await;
    let ada = server.person("ada", Role::Support).await;
    let ben = server.person("ben", Role::Support).await;
    let eve = server.person("eve", Role::Operator).await;
    let new = json!({"name": "Ours", "query": "status=failed", "is_shared": true});
    let ours = ada.post("/saved-views", new).await.ok(201);
    ben.patch(&path(&ours), json!({"name": "Ben's"})).await.problem(403);
    for faulty in [json!({"name": ""}), json!({"query": "status=nonsense"}), json!({"alert_at": 0})] {
        ben.patch(&path(&ours), faulty.clone()).await.problem(403);
        ada.patch(&path(&ours), faulty).await.problem(422);
    }
    ben.delete(&path(&ours)).await.problem(403);
    // Pins are personal.
    let pinned = ben.patch(&path(&ours), json!({"is_pinned": true})).await.ok(200);
    assert_eq!((&pinned["is_pinned"], &pinned["owner_name"]), (&json!(true), &json!("ada")));
    assert_eq!(ada.get("/saved-views").await.ok(200)["items"][0]["is_pinned"], false);
    let changed = eve.patch(&path(&ours), json!({"name": "Everybody's", "alert_at": 100})).await.ok(200);
    assert_eq!(
        (&changed["name"], &changed["alert_at"], &changed["is_own"]),
        (&json!("Everybody's"), &json!(100), &json!(false))
    );
    ada.patch(&path(&ours), json!({"alert_at": null})).await.ok(200);
    let auditor = server.person("kim", Role::Auditor).await;
    assert_eq!(names(&auditor).await, ["Everybody's"]);
    auditor.patch(&path(&ours), json!({"is_pinned": true})).await.problem(403);
    eve.delete(&path(&ours)).await.ok(204);
    let log = server.operator().get("/audit-log?object_kind=saved_view").await.ok(200);
    let actions: Vec<_> =
        log["items"].as_array().unwrap().iter().map(|line| line["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["saved_view.delete", "saved_view.update", "saved_view.update", "saved_view.create"]);
    assert_eq!(log["items"][2]["before"], json!({"name": "Ours", "alert_at": null}));
    assert_eq!(log["items"][2]["after"], json!({"name": "Everybody's", "alert_at": 100}));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn invalid_views_are_refused_with_an_explanation(pool: PgPool) {
    let server = Server::start(pool).await;
    let ada = server.person("ada", Role::Support).await;
    let save = async |client: &Client, body: Value| client.post("/saved-views", body).await;
    let view = |name: &str, query: &str| json!({"name": name, "query": query});
    for (query, message) in [
        ("stauts=failed", "no parameter “stauts”"),
        ("status=nonsense", "not understood"),
        ("columns=colour", "no column “colour”"),
        ("response_status=503", "needs another filter with it"),
    ] {
        let answer = save(&ada, view("A", query)).await;
        assert_eq!(answer.pointers(422), ["/query"], "{query}");
        assert!(answer.text.contains(message), "{query}: {}", answer.text);
    }
    assert_eq!(save(&ada, view("", "status=failed")).await.pointers(422), ["/name"]);
    assert_eq!(save(&ada, view(&"x".repeat(81), "status=failed")).await.pointers(422), ["/name"]);
    let alert = json!({"name": "A", "query": "status=failed", "alert_at": 10_001});
    assert_eq!(save(&ada, alert).await.pointers(422), ["/alert_at"]);
    save(&ada, view("Dead", "status=failed")).await.ok(201);
    assert_eq!(save(&ada, view("dead", "status=pending")).await.pointers(422), ["/name"]);
    // Keys have neither private views nor pins.
    let key = server.key(Role::Support, None).await;
    let asked = json!({"name": "K", "query": "status=failed", "is_pinned": true});
    assert_eq!(save(&key, asked).await.pointers(422), ["/is_shared", "/is_pinned"]);
    let shared = save(&key, json!({"name": "K", "query": "status=failed", "is_shared": true})).await.ok(201);
    assert_eq!((&shared["owner_name"], &shared["is_own"]), (&Value::Null, &json!(false)));
    assert_eq!(
        server.operator().patch(&path(&shared), json!({"is_shared": false})).await.pointers(422),
        ["/is_shared"]
    );
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn views_and_pins_per_user_are_limited(pool: PgPool) {
    let server = Server::start(pool).await;
    let ada = server.person("ada", Role::Support).await;
    for n in 0..50 {
        let new = json!({"name": format!("View {n}"), "query": "status=failed", "is_pinned": n < 12});
        ada.post("/saved-views", new).await.ok(201);
    }
    let answer = ada.post("/saved-views", json!({"name": "One more", "query": ""})).await;
    answer.problem(422);
    assert!(answer.text.contains("you have 50 views already: delete one first"), "{}", answer.text);
    let list = ada.get("/saved-views").await.ok(200);
    let last = list["items"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(ada.patch(&path(&last), json!({"is_pinned": true})).await.pointers(422), ["/is_pinned"]);
    ada.delete(&path(&last)).await.ok(204);
    ada.post("/saved-views", json!({"name": "One more", "query": ""})).await.ok(201);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn deleting_a_user_deletes_private_views_and_keeps_shared_ones(pool: PgPool) {
    let server = Server::start(pool.clone()).await;
    let ada = server.person("ada", Role::Support).await;
    ada.post("/saved-views", json!({"name": "Mine", "query": "status=failed", "alert_at": 1})).await.ok(201);
    ada.post("/saved-views", json!({"name": "Ours", "query": "status=failed", "is_shared": true}))
        .await
        .ok(201);
    let users = server.operator().get("/users").await.ok(200);
    let id = users["items"][0]["id"].as_str().unwrap().to_owned();
    server.operator().delete(&format!("/users/{id}")).await.ok(204);
    let left: Vec<String> =
        sqlx::query_scalar("select name from headgate.saved_views").fetch_all(&pool).await.unwrap();
    assert_eq!(left, ["Ours"]);
    assert_eq!(names(&server.operator()).await, ["Ours"]);
}
