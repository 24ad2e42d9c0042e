//! Release builds: the files as they were when the program was built.

use super::SiteFile;
use axum::body::Bytes;
use std::borrow::Cow;

#[derive(rust_embed::RustEmbed)]
#[folder = "../target/site"]
struct Site;

pub(super) fn load(path: &str) -> Option<SiteFile> {
    let file = Site::get(path)?;
    let bytes = match file.data {
        Cow::Borrowed(bytes) => Bytes::from_static(bytes),
        Cow::Owned(bytes) => bytes.into(),
    };
    let version = file.metadata.sha256_hash().iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    Some(SiteFile { bytes, version })
}
