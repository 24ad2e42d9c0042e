//! What PATCH can change has an etag, and a change based on another version is refused.

use crate::support::{Client, Server, an_app};
use serde_json::{Value, json};
use sqlx::PgPool;

/// An object of each kind that the document has a PATCH for: its path and two changes of it.
async fn objects(client: &Client) -> Vec<(String, Value, Value)> {
    let app = an_app(client, "Shop").await;
    let created = [
        ("/apps", json!({"name": "Other"})),
        ("/integrations", json!({"app_id": app, "name": "Nightly", "integration_type": "external"})),
        ("/users", json!({"email": "ada@example.test", "role": "support", "password": "correct horse"})),
        ("/saved-views", json!({"name": "Failed", "query": "status=failed", "is_shared": true})),
    ];
    let mut objects = Vec::new();
    for (list, new) in created {
        let created = client.post(list, new).await;
        assert!(created.header("etag").starts_with('"'), "{list}");
        let path = format!("{list}/{}", created.ok(201)["id"].as_str().unwrap());
        objects.push((path, json!({"name": "One"}), json!({"name": "Another"})));
    }
    let document = serde_json::to_value(server::api::document()).unwrap();
    for (path, item) in document["paths"].as_object().unwrap() {
        if item.get("patch").is_some() {
            let list = path.strip_suffix("/{id}").unwrap();
            assert!(objects.iter().any(|(own, ..)| own.starts_with(list)), "{path} is not tested");
        }
    }
    objects
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_change_based_on_another_version_is_refused(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator();
    for (path, one, another) in objects(&client).await {
        let read = client.get(&path).await;
        let tag = read.header("etag").to_owned();
        assert!(tag.starts_with('"'), "{path}");
        let with = |tag: &str| client.clone().with("if-match", tag);
        let changed = with(&tag).patch(&path, one.clone()).await;
        assert_eq!(changed.ok(200)["name"], "One", "{path}");
        assert_ne!(changed.header("etag"), tag, "{path}");
        for stale in [tag.as_str(), "\"0\"", &format!("W/{tag}")] {
            with(stale).patch(&path, another.clone()).await.problem(412);
            with(stale).delete(&path).await.problem(412);
        }
        for no_tag in ["", "nonsense", tag.trim_matches('"')] {
            for refused in
                [with(no_tag).patch(&path, another.clone()).await, with(no_tag).delete(&path).await]
            {
                assert_eq!(refused.problem(422)["errors"][0]["pointer"], "if-match", "{path}: {no_tag}");
            }
        }
        let now = client.get(&path).await;
        assert_eq!((now.header("etag"), &now.json()["name"]), (changed.header("etag"), &json!("One")));
        with(&format!("\"0\", {}", now.header("etag"))).patch(&path, another.clone()).await.ok(200);
        with("*").patch(&path, one.clone()).await.ok(200);
        let last = client.patch(&path, another).await;
        assert_eq!(with(&format!("W/{}", last.header("etag"))).delete(&path).await.status, 204, "{path}");
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn only_one_of_two_changes_based_on_one_version_is_made(pool: PgPool) {
    let server = Server::start(pool).await;
    let client = server.operator();
    for (path, one, another) in objects(&client).await {
        let client = client.clone().with("if-match", client.get(&path).await.header("etag"));
        let (one, another) = tokio::join!(client.patch(&path, one), client.patch(&path, another));
        let mut statuses = [one.status, another.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 412], "{path}");
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_form_of_the_console_does_not_overwrite_other_changes(pool: PgPool) {
    let server = Server::start(pool).await;
    let (client, eve) = (server.operator(), server.person("eve", model::actor::Role::Operator).await);
    let objects = objects(&client).await;
    let forms = [
        ("/integrations/", "edit-limits", "limits[max_concurrency]=7"),
        ("/users/", "update-user", "name=Mine&role=support"),
        ("/saved-views/", "change-view", "view[name]=Mine&view[shared]=true"),
    ];
    for (list, call, fields) in forms {
        let (path, one, _) = objects.iter().find(|(path, ..)| path.starts_with(list)).unwrap();
        let shown = client.get(path).await;
        let tag = shown.header("etag").trim_matches('"').to_owned();
        let changed = client.patch(path, one.clone()).await.ok(200);
        let id = path.strip_prefix(list).unwrap();
        let save = async |tag: &str| {
            let form = format!("id={id}&etag=%22{tag}%22&back=%2Fjobs&{fields}");
            eve.form(&format!("/console/{call}"), form).await
        };
        let refused = save(&tag).await;
        assert_eq!(refused.status, 412, "{call}: {}", refused.text);
        assert!(
            refused.json()["page"].as_str().unwrap().contains("notice=others-changed"),
            "{}",
            refused.text
        );
        let now = client.get(path).await;
        assert_eq!(now.json()["updated_at"], changed["updated_at"], "{call}");
        assert_eq!(save(now.header("etag").trim_matches('"')).await.status, 200, "{call}");
        assert_ne!(client.get(path).await.json()["updated_at"], changed["updated_at"], "{call}");
    }
}
