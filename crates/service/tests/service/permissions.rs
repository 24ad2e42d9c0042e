//! Every use case with the permission it needs. The list is read from the signatures; a new use case belongs in it.

use std::{collections::BTreeMap, fs, path::Path};

/// The permission of each use case, by name.
const USE_CASES: &[(&str, &str)] = &[];

#[test]
fn every_use_case_names_its_permission() {
    let listed: BTreeMap<_, _> =
        USE_CASES.iter().map(|(name, permission)| ((*name).to_owned(), (*permission).to_owned())).collect();
    assert_eq!(listed.len(), USE_CASES.len(), "one is listed twice");
    let found = use_cases(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let missing: Vec<_> =
        found.iter().filter(|(name, permission)| listed.get(*name) != Some(permission)).collect();
    assert!(missing.is_empty(), "not listed, or with another permission: {missing:#?}");
    let gone: Vec<_> = listed.keys().filter(|name| !found.contains_key(*name)).collect();
    assert!(gone.is_empty(), "listed, but there is no such use case: {gone:?}");
}

/// Name and permission of each `pub async fn` with `&self`; a permission of "" has none.
fn use_cases(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("the sources are there") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            found.extend(use_cases(&path));
            continue;
        }
        let source = fs::read_to_string(&path).expect("readable");
        for rest in source.split("    pub async fn ").skip(1) {
            let signature = rest.split(" {\n").next().unwrap_or_default();
            let name = signature.split(['(', '<']).next().unwrap_or_default();
            if signature.contains("&self") {
                found.insert(name.to_owned(), permission(signature).unwrap_or_default());
            }
        }
    }
    found
}

fn permission(signature: &str) -> Option<String> {
    let (_, allowed) = signature.split_once("actor: &Allowed<")?;
    let (path, _) = allowed.split_once('>')?;
    Some(path.trim_start_matches("permission::").to_owned())
}
