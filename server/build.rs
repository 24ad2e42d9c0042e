//! The console's files are compiled into a release: the folder must exist, and a change in it must be noticed.

use std::{env, fs, path::Path};

fn main() {
    let site = Path::new("../target/site");
    if let Err(error) = fs::create_dir_all(site) {
        println!("cargo:warning={}: {error}", site.display());
    }
    // A debug build reads them from disk: watching them would compile the server anew after each change of the console.
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    println!("cargo:rerun-if-changed={}", if is_release { "../target/site" } else { "build.rs" });
}
