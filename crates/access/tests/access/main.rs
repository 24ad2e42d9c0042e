//! Against real Postgres, one database per test.
#![allow(clippy::unwrap_used, reason = "a failed step ends the test, in builders too")]

mod activity;
mod api_keys;
mod audit;
mod idempotency;
mod retention;
mod sign_in;
#[path = "../../../queue/tests/it/support/touched.rs"]
mod touched;
mod users;

use access::{Access, AdminKey, Client};
use model::actor::{Actor, Role};
use model::user::{NewUser, User};
use sqlx::PgPool;

const PASSWORD: &str = "correct horse battery";

fn access(pool: &PgPool) -> Access {
    Access::new(pool.clone(), AdminKey::new(&"k".repeat(40)))
}

fn home() -> Client {
    Client { address: "203.0.113.7".parse().unwrap(), device: None }
}

fn elsewhere() -> Client {
    Client { address: "198.51.100.1".parse().unwrap(), device: None }
}

async fn a_user(access: &Access, email: &str, role: Role) -> User {
    let new = NewUser { email: email.into(), name: None, role, password: PASSWORD.into() };
    access::users::create(access, &Access::system(), new).await.unwrap()
}

async fn actor_of(access: &Access, token: &access::SessionToken) -> Option<Actor> {
    access.actor_of_session(token.expose()).await.unwrap()
}

async fn actions(pool: &PgPool) -> Vec<String> {
    sqlx::query_scalar("select action from headgate.audit_log order by id").fetch_all(pool).await.unwrap()
}
