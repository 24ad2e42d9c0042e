//! A database for one test, on the server of `DATABASE_URL`.

use super::Proxy;
use sqlx::{Connection as _, Executor as _, PgConnection, postgres::PgConnectOptions};
use std::str::FromStr as _;

pub(crate) struct Database {
    server: PgConnectOptions,
    name: String,
    url: String,
}

impl Database {
    pub(crate) async fn create() -> Self {
        let given = std::env::var("DATABASE_URL").expect("DATABASE_URL names a server for tests");
        let server = PgConnectOptions::from_str(&given).unwrap();
        let name = format!("program_{}", uuid::Uuid::now_v7().simple());
        let mut connection = PgConnection::connect_with(&server).await.unwrap();
        connection
            .execute(sqlx::AssertSqlSafe(format!("create database {name} template template0")))
            .await
            .unwrap();
        let (address, query) = given.split_once('?').unwrap_or((&given, ""));
        let (host, _) = address.rsplit_once('/').unwrap();
        let url = format!("{host}/{name}?{query}");
        Self { server, name, url }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The same database behind a proxy that can be switched off.
    pub(crate) async fn behind_a_proxy(&self) -> Proxy {
        Proxy::start(&self.server, &self.name).await
    }

    pub(crate) async fn drop(self) {
        let mut connection = PgConnection::connect_with(&self.server).await.unwrap();
        connection
            .execute(sqlx::AssertSqlSafe(format!("drop database if exists {} with (force)", self.name)))
            .await
            .unwrap();
    }
}
