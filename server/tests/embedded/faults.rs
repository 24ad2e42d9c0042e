//! Errors of the embedded database, each in one clear line.

use crate::support::DataDir;
use server::embedded_postgres::{EmbeddedError, EmbeddedPostgres};
use std::{fs, os::unix::fs::PermissionsExt, path::Path};

async fn refused(path: &Path) -> EmbeddedError {
    let error = EmbeddedPostgres::start(path).await.unwrap_err();
    assert!(!error.to_string().contains('\n'), "{error}");
    error
}

#[tokio::test]
async fn a_second_owner_is_refused_with_the_pid_of_the_first() {
    let data_dir = DataDir::empty();
    let database = EmbeddedPostgres::start(data_dir.path()).await.unwrap();
    let error = refused(data_dir.path()).await;
    assert!(
        matches!(error, EmbeddedError::Owned { pid: Some(pid), .. } if pid == std::process::id()),
        "{error}"
    );
    database.stop().await.unwrap();
}

#[tokio::test]
async fn a_file_instead_of_the_directory_is_refused() {
    let data_dir = DataDir::empty();
    let file = data_dir.path().join("file");
    fs::write(&file, "").unwrap();
    for path in [file.clone(), file.join("below")] {
        let error = refused(&path).await;
        assert!(matches!(error, EmbeddedError::NotADirectory { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn a_read_only_disk_is_refused() {
    let error = refused(Path::new("/sys/headgate")).await;
    assert!(matches!(error, EmbeddedError::ReadOnly { .. } | EmbeddedError::NotWritable { .. }), "{error:?}");
}

#[tokio::test]
async fn a_cluster_of_another_version_is_refused_with_both_versions() {
    let data_dir = DataDir::empty();
    EmbeddedPostgres::start(data_dir.path()).await.unwrap().stop().await.unwrap();
    fs::write(data_dir.path().join("postgres/data/PG_VERSION"), "99\n").unwrap();
    let error = refused(data_dir.path()).await;
    assert!(
        matches!(&error, EmbeddedError::VersionDiffers { made_by: 99, found, .. } if !found.is_empty()),
        "{error}"
    );
}

#[tokio::test]
async fn a_server_that_refuses_to_start_is_quoted() {
    let data_dir = DataDir::empty();
    EmbeddedPostgres::start(data_dir.path()).await.unwrap().stop().await.unwrap();
    fs::remove_dir_all(data_dir.path().join("postgres/data/global")).unwrap();
    let error = refused(data_dir.path()).await;
    assert!(
        matches!(&error, EmbeddedError::Start { reason, .. } if reason.contains("database system")),
        "{error}"
    );
}

#[tokio::test]
async fn as_root_the_directory_closed_to_the_databases_user_is_named() {
    if !nix::unistd::Uid::effective().is_root() {
        return;
    }
    let data_dir = DataDir::empty();
    fs::set_permissions(data_dir.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let error = refused(&data_dir.path().join("below")).await;
    assert!(matches!(&error, EmbeddedError::Unreachable { path, .. } if path == data_dir.path()), "{error}");
}
