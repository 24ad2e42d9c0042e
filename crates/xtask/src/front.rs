//! Builds what browsers load into `target/site`: the console as wasm, its style sheet and the files of `public/`.

use crate::lint::Lints;
pub(crate) use crate::split::unsplit::announce_build;
use crate::split::{self, unsplit};
use crate::{compress, css, process, progress, workspace};
use anyhow::{Context, Result, anyhow};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, thread};
use wasm_bindgen_cli_support::Bindgen;

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Mode {
    /// Fast to build.
    Dev,
    /// Small, with compressed forms of each file.
    Release,
    /// As `Dev`, but in one part: for `make dev`, whose pages reload when [`announce_build`] is called. Cargo shows only faults.
    Watch,
}

impl Mode {
    fn profile(self) -> &'static str {
        match self {
            Self::Dev | Self::Watch => "wasm-dev",
            Self::Release => "wasm-release",
        }
    }

    /// What `target/site` notes about its last build.
    fn stamp(self) -> &'static str {
        match self {
            Self::Watch => "wasm-dev, one part",
            Self::Dev | Self::Release => self.profile(),
        }
    }
}

/// Builds all of `target/site`.
pub(crate) fn build(mode: Mode) -> Result<()> {
    build_by(mode, process::run)
}

/// The same for the browser tests, with the lints of the console's browser half.
pub(crate) fn build_with_lints(lints: &mut Lints) -> Result<()> {
    build_by(Mode::Dev, |compile| lints.run(compile))
}

fn build_by(mode: Mode, run: impl FnOnce(&mut Command) -> Result<()>) -> Result<()> {
    css::build()?;
    progress::step("public files", copy_public)?;
    progress::step("wasm", || run(&mut compiler(mode)))?;
    let wasm = compiled(mode);
    progress::step("wasm-bindgen", || {
        if !bind(&wasm, mode)? {
            progress::note("fresh");
        }
        Ok(())
    })?;
    match mode {
        Mode::Dev | Mode::Watch => compress::remove_compressed(&workspace::site_dir()),
        Mode::Release => progress::step("compress", || compress::compress(&workspace::pkg_dir())),
    }
}

/// Builds what is not fresh, as `build(Mode::Watch)`, and shows only faults.
pub(crate) fn rebuild() -> Result<()> {
    css::write()?;
    copy_public()?;
    process::run(&mut compiler(Mode::Watch))?;
    bind(&compiled(Mode::Watch), Mode::Watch)?;
    Ok(())
}

/// Builds it while `work` runs: it has a target directory of its own, and uses one core most of the time.
pub(crate) fn build_during(mode: Mode, work: impl FnOnce() -> Result<()>) -> Result<()> {
    thread::scope(|scope| {
        let site = scope.spawn(|| build(mode));
        let done = work();
        site.join().map_err(|_| anyhow!("the console's build panicked"))??;
        done
    })
}

/// The command that compiles the console for browsers.
fn compiler(mode: Mode) -> Command {
    let mut command = cargo("rustc", mode);
    command.args(["--crate-type", "cdylib"]);
    if mode == Mode::Watch {
        command.arg("--quiet");
    }
    // The table of functions, which the script in place of a split needs; relocations, which the split needs.
    command.args(["--", "-C", "link-arg=--export-table"]);
    if mode != Mode::Watch {
        command.args(["-C", "link-arg=--emit-relocs"]);
    }
    command
}

/// A command of cargo about the console's browser half.
pub(crate) fn cargo(subcommand: &str, mode: Mode) -> Command {
    let mut command = process::cargo();
    command
        .args([subcommand, "--locked", "-p", "app", "--lib", "--target", "wasm32-unknown-unknown"])
        .args(["--no-default-features", "--features", "hydrate", "--profile", mode.profile(), "--target-dir"])
        .arg(workspace::front_target_dir());
    command
}

/// What `compiler` leaves.
fn compiled(mode: Mode) -> PathBuf {
    workspace::front_target_dir().join("wasm32-unknown-unknown").join(mode.profile()).join("app.wasm")
}

/// Runs wasm-bindgen as a library: its version is in our lock file and can never differ from the app's.
/// The page loads `headgate.js` and `headgate_bg.wasm`, so these names stay. False when they are fresh.
fn bind(wasm: &Path, mode: Mode) -> Result<bool> {
    let out = workspace::pkg_dir();
    let stamp = workspace::front_target_dir().join("bound-as");
    let bound = out.join("headgate_bg.wasm");
    let is_fresh = fs::read_to_string(&stamp).is_ok_and(|stamp| stamp == mode.stamp())
        && matches!((modified(&bound), modified(wasm)), (Some(bound), Some(wasm)) if bound > wasm);
    if is_fresh {
        return Ok(false);
    }
    fs::create_dir_all(&out)?;
    let main = match mode {
        Mode::Watch => wasm.to_path_buf(),
        Mode::Dev | Mode::Release => split::split(wasm).context("splitting the wasm")?,
    };
    Bindgen::new()
        .input_path(main)
        .web(true)?
        .typescript(false)
        .debug(mode != Mode::Release)
        .keep_debug(false)
        .remove_name_section(mode == Mode::Release)
        .remove_producers_section(true)
        // Keeps the function table, into which the packs put their functions.
        .keep_lld_exports(true)
        .out_name("headgate")
        .generate(&out)
        .context("wasm-bindgen")?;
    if mode == Mode::Watch {
        unsplit::link()?;
    }
    fs::write(stamp, mode.stamp())?;
    Ok(true)
}

fn modified(file: &Path) -> Option<std::time::SystemTime> {
    fs::metadata(file).and_then(|metadata| metadata.modified()).ok()
}

/// Makes `target/site` equal to `public/`, apart from the generated `pkg`.
fn copy_public() -> Result<()> {
    let (from, to, pkg) = (workspace::root().join("public"), workspace::site_dir(), workspace::pkg_dir());
    for old in workspace::files_below(&to)?.into_iter().filter(|file| !file.starts_with(&pkg)) {
        if !from.join(old.strip_prefix(&to)?).is_file() {
            fs::remove_file(old)?;
        }
    }
    for file in workspace::files_below(&from)? {
        let copy = to.join(file.strip_prefix(&from)?);
        if fs::read(&copy).ok() == Some(fs::read(&file)?) {
            continue;
        }
        if let Some(folder) = copy.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::copy(&file, &copy).with_context(|| file.display().to_string())?;
    }
    Ok(())
}
