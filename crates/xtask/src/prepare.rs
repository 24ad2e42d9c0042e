//! Writes `.sqlx`: the description of every compile-time checked statement, so that building needs no database.
//!
//! This does what `cargo sqlx prepare` does, without that tool: the macros are expanded against a fresh, migrated cluster
//! with `SQLX_OFFLINE_DIR` set, and each writes its description there.

use crate::{process, progress, services::Services, workspace};
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Statement file → its content.
type Statements = BTreeMap<OsString, String>;

/// Brings `.sqlx` up to date.
pub(crate) fn write() -> Result<()> {
    let services = Services::start()?;
    let current = progress::step("describe statements", || describe(&services))?;
    let committed = workspace::root().join(".sqlx");
    fs::create_dir_all(&committed)?;
    for stale in read(&committed)?.keys().filter(|name| !current.contains_key(*name)) {
        fs::remove_file(committed.join(stale))?;
    }
    for (name, content) in &current {
        fs::write(committed.join(name), content)?;
    }
    progress::note(&format!("{} statements in .sqlx", current.len()));
    Ok(())
}

/// Fails when `.sqlx` does not match the sources.
pub(crate) fn check() -> Result<()> {
    check_with(&Services::start()?)
}

/// As [`check`], on a running cluster.
pub(crate) fn check_with(services: &Services) -> Result<()> {
    compare(&describe(services)?)
}

/// Fails when `.sqlx` has other statements than these.
fn compare(current: &Statements) -> Result<()> {
    let committed = read(&workspace::root().join(".sqlx"))?;
    let mut faults = Vec::new();
    for (name, content) in current {
        match committed.get(name) {
            None => faults.push(format!("missing: {}", statement(content))),
            Some(other) if other != content => faults.push(format!("changed: {}", statement(content))),
            Some(_) => {}
        }
    }
    faults.extend(
        committed
            .iter()
            .filter(|(name, _)| !current.contains_key(*name))
            .map(|(_, content)| format!("no longer used: {}", statement(content))),
    );
    if !faults.is_empty() {
        bail!(".sqlx is stale, run `make prepare` and commit it\n  {}", faults.join("\n  "));
    }
    progress::note(&format!("{} statements are up to date", current.len()));
    Ok(())
}

fn describe(services: &Services) -> Result<Statements> {
    let describer = Describer::start(services)?;
    expand_all_macros(&describer)?;
    describer.statements()
}

/// A migrated database, and a folder in which each statement that is compiled with it is described.
pub(crate) struct Describer {
    database: String,
    scratch: PathBuf,
}

impl Describer {
    /// For a build that compiles all crates anyway. `None` when some of them were built before: cargo may consider them fresh, and expand nothing.
    pub(crate) fn of_first_build(services: &Services) -> Result<Option<Self>> {
        let built = fs::read_dir(workspace::target_dir().join("debug/deps"));
        let is_first = !built
            .into_iter()
            .flatten()
            .flatten()
            .any(|file| file.file_name().to_string_lossy().starts_with("libqueue-"));
        is_first.then(|| Self::start(services)).transpose()
    }

    fn start(services: &Services) -> Result<Self> {
        migrate(services)?;
        let scratch = workspace::target_dir().join(format!("prepare-{}", std::process::id()));
        fs::create_dir_all(scratch.join("sqlx"))?;
        Ok(Self { database: services.url("prepare"), scratch })
    }

    pub(crate) fn describe<'a>(&self, build: &'a mut Command) -> &'a mut Command {
        build
            .env("SQLX_OFFLINE", "false")
            .env("SQLX_OFFLINE_DIR", self.scratch.join("sqlx"))
            .env("DATABASE_URL", &self.database)
    }

    fn statements(self) -> Result<Statements> {
        read(&self.scratch.join("sqlx"))
    }

    /// Fails when `.sqlx` does not match what was compiled.
    pub(crate) fn check(self) -> Result<()> {
        compare(&self.statements()?)
    }
}

impl Drop for Describer {
    fn drop(&mut self) {
        // Best effort: what stays only takes space.
        let _ = fs::remove_dir_all(&self.scratch);
    }
}

/// Applies `migrations/*.sql` in the order of their numbers with `psql`, which is part of the server's packages. The database is made from `template0`,
/// because the tests may have migrated the default template.
fn migrate(services: &Services) -> Result<()> {
    let psql = |database: &str| {
        let mut command = Command::new(psql_binary());
        command.args(["--no-psqlrc", "-qAt", "-v", "ON_ERROR_STOP=1", "-d"]).arg(services.url(database));
        command.env("PGOPTIONS", "-c client_min_messages=warning");
        command
    };
    process::run_quietly(psql("postgres").args([
        "-c",
        "drop database if exists prepare",
        "-c",
        "create database prepare template template0",
    ]))?;
    for file in workspace::files_below(&workspace::root().join("migrations"))? {
        if file.extension().is_some_and(|extension| extension == "sql") {
            process::run_quietly(psql("prepare").arg("-f").arg(&file))
                .with_context(|| file.display().to_string())?;
        }
    }
    Ok(())
}

fn psql_binary() -> PathBuf {
    let next_to_server = crate::services::find_binaries().map(|folder| folder.join("psql"));
    next_to_server.filter(|psql| psql.is_file()).unwrap_or_else(|| "psql".into())
}

/// Cargo would consider the members fresh and expand nothing. A compiler wrapper with a name of its own makes cargo build
/// them again while all other crates are shared with `make check`; these builds are deleted afterwards.
fn expand_all_macros(describer: &Describer) -> Result<()> {
    let wrapper = describer.scratch.join("rustc-wrapper");
    std::os::unix::fs::symlink(process::find("env").context("no program `env`")?, &wrapper)?;
    let mut artefacts = Vec::new();
    let mut check = process::cargo();
    check
        .args([
            "check",
            "--locked",
            "--workspace",
            "--all-targets",
            "--message-format=json-render-diagnostics",
        ])
        .env("RUSTC_WORKSPACE_WRAPPER", &wrapper)
        .env("CARGO_INCREMENTAL", "0");
    let result = process::run_captured(describer.describe(&mut check), |message| {
        artefacts.extend(artefacts_of_members(message));
    });
    for artefact in &artefacts {
        remove(artefact);
    }
    result
}

/// The files that a message of cargo about one of our own crates names.
fn artefacts_of_members(message: &str) -> Vec<PathBuf> {
    let Ok(message) = serde_json::from_str::<serde_json::Value>(message) else { return Vec::new() };
    let is_of_member = message["manifest_path"]
        .as_str()
        .is_some_and(|manifest| Path::new(manifest).starts_with(workspace::root()));
    let files = message["filenames"].as_array().filter(|_| is_of_member);
    files.into_iter().flatten().filter_map(|file| file.as_str().map(PathBuf::from)).collect()
}

/// Removes `lib<crate>-<hash>.rmeta` and its fingerprint. Best effort: a file that stays only takes space.
fn remove(artefact: &Path) {
    let _ = fs::remove_file(artefact);
    let stem = artefact.file_stem().unwrap_or_default().to_string_lossy();
    let (Some((_, hash)), Some(profile)) = (stem.rsplit_once('-'), artefact.ancestors().nth(2)) else {
        return;
    };
    for note in fs::read_dir(profile.join(".fingerprint")).into_iter().flatten().flatten() {
        if note.file_name().to_string_lossy().ends_with(&format!("-{hash}")) {
            let _ = fs::remove_dir_all(note.path());
        }
    }
}

fn read(folder: &Path) -> Result<Statements> {
    let mut statements = Statements::new();
    for file in workspace::files_below(folder)? {
        if let Some(name) = file.file_name() {
            statements.insert(name.to_owned(), fs::read_to_string(&file)?);
        }
    }
    Ok(statements)
}

/// The first words of a statement, to recognise it by.
fn statement(content: &str) -> String {
    let text = serde_json::from_str::<serde_json::Value>(content)
        .ok()
        .and_then(|description| Some(description["query"].as_str()?.to_owned()))
        .unwrap_or_default();
    let words: Vec<&str> = text.split_whitespace().take(14).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_shown_by_its_first_words() {
        let content = r#"{"query": "select\n  id\nfrom jobs", "hash": "x"}"#;
        assert_eq!(statement(content), "select id from jobs");
    }

    #[test]
    fn only_artefacts_of_our_own_crates_are_deleted() {
        let own = workspace::root().join("crates/queue/Cargo.toml");
        let message =
            serde_json::json!({"manifest_path": own, "filenames": ["/t/debug/deps/libqueue-1f.rmeta"]});
        assert_eq!(
            artefacts_of_members(&message.to_string()),
            [PathBuf::from("/t/debug/deps/libqueue-1f.rmeta")]
        );
        let foreign =
            serde_json::json!({"manifest_path": "/registry/serde/Cargo.toml", "filenames": ["/t/x-1.rmeta"]});
        assert!(artefacts_of_members(&foreign.to_string()).is_empty());
        assert!(artefacts_of_members("not json").is_empty());
    }
}
