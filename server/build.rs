//! The console's files are compiled into a release: their folder must exist.

use std::{fs, path::Path};

fn main() {
    let site = Path::new("../target/site");
    if let Err(error) = fs::create_dir_all(site) {
        println!("cargo:warning={}: {error}", site.display());
    }
    println!("cargo:rerun-if-changed=build.rs");
}
