//! New migration files change no Rust source: without this line cargo would embed yesterday's list.
fn main() {
    println!("cargo:rerun-if-changed=../../migrations");
}
