//! Builds what browsers load into `target/site`: the console as wasm, its style sheet and the files of `public/`.

use crate::{compress, css, process, progress, split, workspace};
use anyhow::{Context, Result, anyhow};
use std::{
    fs,
    path::{Path, PathBuf},
    thread,
};
use wasm_bindgen_cli_support::Bindgen;

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Mode {
    /// Fast to build.
    Dev,
    /// Small, with compressed forms of each file.
    Release,
}

impl Mode {
    fn profile(self) -> &'static str {
        match self {
            Self::Dev => "wasm-dev",
            Self::Release => "wasm-release",
        }
    }
}

/// Builds all of `target/site`.
pub(crate) fn build(mode: Mode) -> Result<()> {
    css::build()?;
    progress::step("public files", copy_public)?;
    let wasm = progress::step("wasm", || compile(mode))?;
    progress::step("wasm-bindgen", || bind(&wasm, mode))?;
    match mode {
        Mode::Dev => compress::remove_compressed(&workspace::site_dir()),
        Mode::Release => progress::step("compress", || compress::compress(&workspace::pkg_dir())),
    }
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

fn compile(mode: Mode) -> Result<PathBuf> {
    let target_dir = workspace::front_target_dir();
    process::run(
        process::cargo()
            .args(["rustc", "--locked", "-p", "app", "--lib", "--target", "wasm32-unknown-unknown"])
            .args(["--no-default-features", "--features", "hydrate", "--profile", mode.profile()])
            .args(["--crate-type", "cdylib"])
            .arg("--target-dir")
            .arg(&target_dir)
            // Relocations, which the split needs.
            .args(["--", "-C", "link-arg=--emit-relocs"]),
    )?;
    Ok(target_dir.join("wasm32-unknown-unknown").join(mode.profile()).join("app.wasm"))
}

/// Runs wasm-bindgen as a library: its version is in our lock file and can never differ from the app's.
/// The page loads `headgate.js` and `headgate_bg.wasm`, so these names stay.
fn bind(wasm: &Path, mode: Mode) -> Result<()> {
    let out = workspace::pkg_dir();
    let stamp = workspace::front_target_dir().join("bound-as");
    let bound = out.join("headgate_bg.wasm");
    let is_fresh = fs::read_to_string(&stamp).is_ok_and(|profile| profile == mode.profile())
        && matches!((modified(&bound), modified(wasm)), (Some(bound), Some(wasm)) if bound > wasm);
    if is_fresh {
        progress::note("fresh");
        return Ok(());
    }
    fs::create_dir_all(&out)?;
    let main = split::split(wasm).context("splitting the wasm")?;
    Bindgen::new()
        .input_path(main)
        .web(true)?
        .typescript(false)
        .debug(mode == Mode::Dev)
        .keep_debug(false)
        .remove_name_section(mode == Mode::Release)
        .remove_producers_section(true)
        // Keeps the function table, into which the packs put their functions.
        .keep_lld_exports(true)
        .out_name("headgate")
        .generate(&out)
        .context("wasm-bindgen")?;
    fs::write(stamp, mode.profile())?;
    Ok(())
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
