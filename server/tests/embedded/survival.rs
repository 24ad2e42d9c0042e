//! The start after a program was killed.

use crate::support::{DataDir, Victim, row_count, run_as_victim};
use nix::sys::signal::{Signal, kill};
use server::embedded_postgres::EmbeddedPostgres;
use std::fs;

#[tokio::test]
async fn the_next_start_after_kill_9_finds_all_data() {
    if run_as_victim().await {
        return;
    }
    let data_dir = DataDir::empty();
    Victim::start("survival::the_next_start_after_kill_9_finds_all_data", &data_dir, None).kill();
    let database = EmbeddedPostgres::start(data_dir.path()).await.unwrap();
    assert_eq!(row_count(database.url()).await, 1);
    database.stop().await.unwrap();
}

#[tokio::test]
async fn a_database_that_outlived_its_program_is_taken_over() {
    if run_as_victim().await {
        return;
    }
    let data_dir = DataDir::empty();
    // Without setpriv there is no parent-death signal, so the database keeps running.
    let victim = Victim::start(
        "survival::a_database_that_outlived_its_program_is_taken_over",
        &data_dir,
        Some("/nowhere"),
    );
    let orphan = data_dir.postmaster().unwrap();
    victim.kill();
    kill(orphan, None).unwrap();

    let database = EmbeddedPostgres::start(data_dir.path()).await.unwrap();
    assert_ne!(data_dir.postmaster(), Some(orphan));
    assert_eq!(row_count(database.url()).await, 1);
    database.stop().await.unwrap();
}

#[tokio::test]
async fn program_and_database_killed_together_recover() {
    if run_as_victim().await {
        return;
    }
    let data_dir = DataDir::empty();
    let victim = Victim::start("survival::program_and_database_killed_together_recover", &data_dir, None);
    kill(data_dir.postmaster().unwrap(), Signal::SIGKILL).unwrap();
    victim.kill();
    let database = EmbeddedPostgres::start(data_dir.path()).await.unwrap();
    assert_eq!(row_count(database.url()).await, 1);
    database.stop().await.unwrap();
}

#[tokio::test]
async fn a_stale_pid_file_with_the_id_of_another_process_does_not_prevent_the_start() {
    let data_dir = DataDir::empty();
    EmbeddedPostgres::start(data_dir.path()).await.unwrap().stop().await.unwrap();
    let data = data_dir.path().join("postgres/data");
    let other_pid = std::process::id();
    fs::write(
        data.join("postmaster.pid"),
        format!("{other_pid}\n{}\n1700000000\n5432\n/nowhere\n\n 1 1\nready\n", data.display()),
    )
    .unwrap();
    let database = EmbeddedPostgres::start(data_dir.path()).await.unwrap();
    assert_ne!(data_dir.postmaster().unwrap().as_raw().unsigned_abs(), other_pid);
    database.stop().await.unwrap();
}
