//! Paths of the workspace, whatever directory the step was started in.

use std::path::{Path, PathBuf};

/// The workspace's root. The variable of the running process counts first, because a checkout may be moved after xtask was built.
pub(crate) fn root() -> PathBuf {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest.ancestors().nth(2).map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// Cargo's target directory of native builds.
pub(crate) fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |dir| root().join(dir))
}

/// The program as built by `run` and the tests.
pub(crate) fn debug_program() -> PathBuf {
    target_dir().join("debug/headgate")
}

/// The target directory of the wasm build, separate so that it never waits for the lock of a native build.
pub(crate) fn front_target_dir() -> PathBuf {
    target_dir().join("front")
}

/// The data of `make dev`, which stays from one start to the next.
pub(crate) fn dev_data_dir() -> PathBuf {
    target_dir().join("dev-data")
}

/// The site that the server reads from disk (debug) or embeds (release). Always below the root, because `server` expects it there.
pub(crate) fn site_dir() -> PathBuf {
    root().join("target/site")
}

/// Generated files of the site: script, wasm, style.
pub(crate) fn pkg_dir() -> PathBuf {
    site_dir().join("pkg")
}

/// All files below `dir` in a stable order; none when it does not exist.
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
