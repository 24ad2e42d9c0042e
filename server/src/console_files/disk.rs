//! Debug builds read the files in `target/site` at each request.

use super::SiteFile;
use std::fs;
use std::path::{Component, Path};
use std::time::UNIX_EPOCH;

/// Absolute, so that the program finds it from any directory.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/site");

pub(super) fn load(path: &str) -> Option<SiteFile> {
    load_from(Path::new(ROOT), path)
}

pub(super) fn version_of(path: &str) -> Option<String> {
    load(path).map(|file| file.version)
}

/// Paths may have plain names only, so none leaves `root`.
fn load_from(root: &Path, path: &str) -> Option<SiteFile> {
    let path = Path::new(path);
    if !path.components().all(|component| matches!(component, Component::Normal(_))) {
        return None;
    }
    let file = root.join(path);
    let bytes = fs::read(&file).ok()?;
    // Size and time instead of a hash, because hashing megabytes of unoptimised wasm for each request is slow in a debug build.
    let changed = fs::metadata(&file).and_then(|metadata| metadata.modified()).ok()?;
    let nanos = changed.duration_since(UNIX_EPOCH).map_or(0, |age| age.as_nanos());
    Some(SiteFile { version: format!("{:x}-{nanos:x}", bytes.len()), bytes: bytes.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_never_leaves_the_site() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert!(load_from(root, "src/lib.rs").is_some());
        assert!(load_from(&root.join("src"), "../Cargo.toml").is_none());
        assert!(load_from(root, "/etc/passwd").is_none());
        assert!(load_from(root, "src").is_none());
    }
}
