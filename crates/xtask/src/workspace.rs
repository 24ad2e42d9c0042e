//! Where things are, whatever directory the step was started from.

use std::path::{Path, PathBuf};

/// The workspace's root. Asked at run time first: a checkout may be moved after xtask was built.
pub(crate) fn root() -> PathBuf {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest.ancestors().nth(2).map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// Where cargo puts native artefacts.
pub(crate) fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |dir| root().join(dir))
}

/// The program as `run` and the tests build it.
pub(crate) fn debug_program() -> PathBuf {
    target_dir().join("debug/headgate")
}

/// The wasm build has a directory of its own, so that it never waits for the lock of a native build.
pub(crate) fn front_target_dir() -> PathBuf {
    target_dir().join("front")
}

/// What the server serves from disk (debug) or embeds (release). Always below the root, because `server` looks there.
pub(crate) fn site_dir() -> PathBuf {
    root().join("target/site")
}

/// Generated files of the site: script, wasm, style.
pub(crate) fn pkg_dir() -> PathBuf {
    site_dir().join("pkg")
}

/// All files below `dir` in a stable order; nothing when it does not exist.
pub(crate) fn files_below(dir: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![dir.to_path_buf()];
    while let Some(folder) = folders.pop() {
        if !folder.is_dir() {
            continue;
        }
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    Ok(files)
}
