//! Prepares what is compiled into the program besides its sources: Swagger UI, and in a release the console's files.

use flate2::{Compression, write::GzEncoder};
use std::{env, fs, io, path::Path};
use utoipa_swagger_ui_vendored::SWAGGER_UI_VENDORED;
use zip::ZipArchive;

/// The files a page loads (`api/docs.rs`), a fifth of what Swagger UI ships; its licence requires the last two.
const SWAGGER_UI: [&str; 6] = [
    "dist/swagger-ui.css",
    "dist/index.css",
    "dist/swagger-ui-bundle.js",
    "dist/favicon-32x32.png",
    "LICENSE",
    "NOTICE",
];

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    compress_swagger_ui(Path::new(&env::var("OUT_DIR").map_err(io::Error::other)?))?;
    // A release embeds the console from this folder, which must exist.
    if let Err(error) = fs::create_dir_all("../target/site") {
        println!("cargo:warning=../target/site: {error}");
    }
    Ok(())
}

fn compress_swagger_ui(into: &Path) -> io::Result<()> {
    let mut all = ZipArchive::new(io::Cursor::new(SWAGGER_UI_VENDORED))?;
    // The archive has one top-level folder, named after the version.
    let folder = all.file_names().flatten().find_map(|path| Some(path.split_once('/')?.0.to_owned()));
    let folder = folder.ok_or_else(|| io::Error::other("Swagger UI came without a folder"))?;
    for path in SWAGGER_UI {
        let name = path.trim_start_matches("dist/");
        let file = fs::File::create(into.join(format!("{name}.gz")))?;
        let mut compressed = GzEncoder::new(file, Compression::best());
        io::copy(&mut all.by_name(&format!("{folder}/{path}"))?, &mut compressed)?;
        compressed.finish()?;
    }
    Ok(())
}
