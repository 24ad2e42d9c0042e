//! Combines parts into packs.
//!
//! A split has a part for every set of pages that share code, some ten for each page and most of them tiny. What many pages
//! need is in one pack, fetched once; the rest is in a pack for each page. What two or three pages share is in the packs of
//! all of them: sending a little twice costs less than dozens of requests.

use std::collections::{BTreeMap, BTreeSet};

/// The pack with the parts that many pages need.
const COMMON: &str = "common";

/// A part is common if at least one in this many pages needs it.
const COMMON_ONE_IN: usize = 3;

/// A piece of wasm.
pub(super) struct Part {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
}

/// All packs of a split.
pub(super) struct Packs<'a> {
    parts: BTreeMap<&'a str, &'a [u8]>,
    /// The parts of each pack.
    contents: BTreeMap<&'a str, BTreeSet<&'a str>>,
    pages: Vec<&'a str>,
}

impl<'a> Packs<'a> {
    /// Packs the parts that each page needs.
    pub(super) fn of(needed: &'a BTreeMap<String, Vec<Part>>) -> Self {
        let mut users = BTreeMap::<_, usize>::new();
        for part in needed.values().flatten() {
            *users.entry(part.name.as_str()).or_default() += 1;
        }
        let is_common = |part: &str| {
            let users = users.get(part).copied().unwrap_or_default();
            users > 1 && users * COMMON_ONE_IN >= needed.len()
        };
        let mut packs = Self { parts: BTreeMap::new(), contents: BTreeMap::new(), pages: Vec::new() };
        for (page, parts) in needed {
            packs.pages.push(page);
            packs.contents.entry(page).or_default();
            for part in parts {
                let pack = if is_common(&part.name) { COMMON } else { page };
                packs.contents.entry(pack).or_default().insert(&part.name);
                packs.parts.insert(&part.name, &part.bytes);
            }
        }
        packs
    }

    /// Each pack with its parts, in their order in the file.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &BTreeSet<&'a str>)> {
        self.contents.iter().map(|(pack, parts)| (*pack, parts))
    }

    pub(super) fn part(&self, name: &str) -> &[u8] {
        self.parts.get(name).copied().unwrap_or_default()
    }

    pub(super) fn pages(&self) -> impl Iterator<Item = &str> {
        self.pages.iter().copied()
    }

    /// The packs that a page needs.
    pub(super) fn needed_by(&self, page: &'a str) -> impl Iterator<Item = &str> {
        [COMMON, page]
            .into_iter()
            .filter(|pack| self.contents.get(pack).is_some_and(|parts| !parts.is_empty()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(pages: &[(&str, &[&str])]) -> BTreeMap<String, Vec<Part>> {
        let part = |name: &&str| Part { name: (*name).to_owned(), bytes: name.as_bytes().to_vec() };
        pages.iter().map(|(page, parts)| ((*page).to_owned(), parts.iter().map(part).collect())).collect()
    }

    #[test]
    fn what_many_pages_need_is_sent_once() {
        let cut = cut(&[
            ("a", &["all", "ab", "only_a"]),
            ("b", &["all", "ab", "only_b"]),
            ("c", &["all"]),
            ("d", &["all"]),
            ("e", &["all"]),
            ("f", &["all"]),
            ("g", &["all"]),
        ]);
        let packs = Packs::of(&cut);
        let contents: BTreeMap<_, Vec<_>> =
            packs.iter().map(|(pack, parts)| (pack, parts.iter().copied().collect())).collect();
        assert_eq!(contents["common"], ["all"]);
        assert_eq!(contents["a"], ["ab", "only_a"], "two of seven pages: sent with each");
        assert_eq!(packs.needed_by("a").collect::<Vec<_>>(), ["common", "a"]);
        assert_eq!(packs.needed_by("c").collect::<Vec<_>>(), ["common"]);
    }

    #[test]
    fn what_one_page_needs_is_never_common() {
        let cut = cut(&[("a", &["only_a"])]);
        let packs = Packs::of(&cut);
        assert_eq!(packs.needed_by("a").collect::<Vec<_>>(), ["a"]);
    }
}
