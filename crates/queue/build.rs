//! A new migration file changes no Rust source: without this line cargo would embed the old list.
fn main() {
    println!("cargo:rerun-if-changed=../../migrations");
}
