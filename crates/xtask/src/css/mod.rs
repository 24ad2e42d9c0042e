//! The console's style sheet: Tailwind utilities found in `app/src`, made in Rust by encre-css, and `style/base.css`.

mod forbidden;
mod generate;
mod lint;
mod literals;

use crate::{progress, workspace};
use anyhow::{Context, Result};
use std::{fs, path::PathBuf};

/// A source file of the console.
struct Source {
    /// Relative to the workspace's root.
    file: PathBuf,
    text: String,
}

/// Checks the class names, then writes `target/site/pkg/headgate.css`.
pub(crate) fn build() -> Result<()> {
    progress::step("css", || {
        let (sources, base) = load()?;
        let config = generate::config()?;
        lint::check(&sources, &base, &config)?;
        let css = generate::style_sheet(&sources, &base, &config);
        let out = workspace::pkg_dir();
        fs::create_dir_all(&out)?;
        fs::write(out.join("headgate.css"), &css)?;
        progress::note(&format!("{} bytes from {} source files", css.len(), sources.len()));
        Ok(())
    })
}

/// Checks the class names alone.
pub(crate) fn check() -> Result<()> {
    progress::step("class names", || {
        let (sources, base) = load()?;
        lint::check(&sources, &base, &generate::config()?)
    })
}

fn load() -> Result<(Vec<Source>, String)> {
    let root = workspace::root();
    let mut sources = Vec::new();
    for path in workspace::files_below(&root.join("app/src"))? {
        if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            let file = path.strip_prefix(&root).unwrap_or(&path).to_path_buf();
            sources.push(Source { file, text });
        }
    }
    let base = fs::read_to_string(root.join("style/base.css")).context("style/base.css")?;
    Ok((sources, base))
}
