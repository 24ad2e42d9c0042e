//! Start, stop and restart of the embedded database.

use crate::support::{DataDir, insert_row, row_count};
use nix::sys::signal::{Signal, kill};
use server::embedded_postgres::EmbeddedPostgres;
use sqlx::{Connection, PgConnection};
use std::{fs, os::unix::fs::PermissionsExt};

#[tokio::test]
async fn data_survive_a_stop_and_the_next_start_creates_no_new_cluster() {
    let data_dir = DataDir::empty();
    let database = EmbeddedPostgres::start(data_dir.path()).await.unwrap();
    insert_row(database.url()).await;
    let url = database.url().to_owned();
    let created_at =
        fs::metadata(data_dir.path().join("postgres/data/PG_VERSION")).unwrap().modified().unwrap();
    database.stop().await.unwrap();
    assert!(data_dir.postmaster().is_none());

    let database = EmbeddedPostgres::start(data_dir.path()).await.unwrap();
    assert_eq!(database.url(), url);
    assert_eq!(row_count(database.url()).await, 1);
    let found_at =
        fs::metadata(data_dir.path().join("postgres/data/PG_VERSION")).unwrap().modified().unwrap();
    assert_eq!(created_at, found_at);
    database.stop().await.unwrap();
}

#[tokio::test]
async fn an_existing_private_directory_can_be_used() {
    let data_dir = DataDir::empty();
    let private = data_dir.path().join("private");
    fs::create_dir(&private).unwrap();
    fs::set_permissions(&private, fs::Permissions::from_mode(0o700)).unwrap();
    let database = EmbeddedPostgres::start(&private).await.unwrap();
    assert_eq!(
        fs::metadata(&private).unwrap().permissions().mode() & 0o066,
        0,
        "nobody else may read or write it"
    );
    database.stop().await.unwrap();
}

#[tokio::test]
async fn it_listens_on_no_port_and_has_our_settings() {
    let data_dir = DataDir::empty();
    let database = EmbeddedPostgres::start(data_dir.path()).await.unwrap();
    let mut connection = PgConnection::connect(database.url()).await.unwrap();
    for (name, expected) in [
        ("listen_addresses", ""),
        ("jit", "off"),
        ("synchronous_commit", "on"),
        ("fsync", "on"),
        ("TimeZone", "UTC"),
        ("server_encoding", "UTF8"),
        ("idle_in_transaction_session_timeout", "1min"),
    ] {
        let value: String = sqlx::query_scalar("select current_setting($1)")
            .bind(name)
            .fetch_one(&mut connection)
            .await
            .unwrap();
        assert_eq!(value, expected, "{name}");
    }
    database.stop().await.unwrap();
}

#[tokio::test]
async fn a_killed_database_is_restarted() {
    let data_dir = DataDir::empty();
    let mut database = EmbeddedPostgres::start(data_dir.path()).await.unwrap();
    let url = database.url().to_owned();
    insert_row(&url).await;
    let first = data_dir.postmaster().unwrap();
    let exited = database.exited();
    kill(first, Signal::SIGKILL).unwrap();
    exited.await;

    let runs_again = async {
        while PgConnection::connect(&url).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ = database.keep_running() => {}
        () = runs_again => {}
    }
    assert_ne!(data_dir.postmaster(), Some(first));
    assert_eq!(row_count(&url).await, 1);
    database.stop().await.unwrap();
}

#[tokio::test]
async fn a_path_too_long_for_a_socket_works_too() {
    let data_dir = DataDir::empty();
    let long = data_dir.path().join("a-directory-with-a-very-long-name".repeat(4));
    let database = EmbeddedPostgres::start(&long).await.unwrap();
    assert!(database.url().contains("host=%2Ftmp%2Fheadgate-"), "{}", database.url());
    insert_row(database.url()).await;
    let socket_dir =
        database.url().split("host=").nth(1).unwrap().split('&').next().unwrap().replace("%2F", "/");
    database.stop().await.unwrap();

    fs::remove_dir_all(&socket_dir).unwrap();
    fs::write(&socket_dir, "somebody else's").unwrap();
    let error = EmbeddedPostgres::start(&long).await.unwrap_err().to_string();
    fs::remove_file(&socket_dir).unwrap();
    assert!(error.contains("too long for a socket"), "{error}");
}
