//! What is compiled into the program besides its sources: the reader of the API's documents, and in a release the console's files.

use flate2::{Compression, write::GzEncoder};
use std::{borrow::Cow, env, fs, io, path::Path};
use utoipa_swagger_ui_vendored::SWAGGER_UI_VENDORED;
use zip::ZipArchive;

/// A fifth of what Swagger UI comes with is what a page loads (`api/docs.rs`).
const SWAGGER_UI: [&str; 4] = ["swagger-ui.css", "index.css", "swagger-ui-bundle.js", "favicon-32x32.png"];

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    compress_swagger_ui(Path::new(&env::var("OUT_DIR").map_err(io::Error::other)?))?;
    // Its folder must exist.
    fs::create_dir_all("../target/site")
}

fn compress_swagger_ui(into: &Path) -> io::Result<()> {
    let mut all = ZipArchive::new(io::Cursor::new(SWAGGER_UI_VENDORED))?;
    for name in SWAGGER_UI {
        let path = format!("/dist/{name}");
        let inside = all.file_names().flatten().find(|inside| inside.ends_with(&path)).map(Cow::into_owned);
        let inside = inside.ok_or_else(|| io::Error::other(format!("Swagger UI has no {name}")))?;
        let file = fs::File::create(into.join(format!("{name}.gz")))?;
        let mut compressed = GzEncoder::new(file, Compression::best());
        io::copy(&mut all.by_name(&inside)?, &mut compressed)?;
        compressed.finish()?;
    }
    Ok(())
}
