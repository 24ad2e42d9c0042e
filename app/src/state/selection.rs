//! Rows that are ticked. They stay ticked when the list is loaded again and on its other pages, and are forgotten with the filters they
//! were found by: what is ticked and what the filters say must not come apart unseen.

use leptos::prelude::*;
use std::collections::BTreeSet;
use uuid::Uuid;

/// Ids, and the list they are of.
#[derive(Clone, Copy)]
pub struct Selection {
    ids: RwSignal<BTreeSet<Uuid>>,
    list: RwSignal<String>,
    /// The row that was ticked last, where a range begins.
    anchor: StoredValue<Option<Uuid>>,
}

impl Selection {
    /// Nothing is ticked. Make it where it outlives the list's rows.
    pub fn new() -> Self {
        Self { ids: RwSignal::default(), list: RwSignal::default(), anchor: StoredValue::new(None) }
    }

    /// Says which list is shown, by its address without a page; another one begins with `ticked`.
    pub fn turn_to(self, list: String, ticked: impl IntoIterator<Item = Uuid>) {
        let ticked: BTreeSet<Uuid> = ticked.into_iter().collect();
        if self.list.with_untracked(|own| *own == list) {
            self.ids.update(|ids| ids.extend(ticked));
        } else {
            self.list.set(list);
            self.ids.set(ticked);
        }
    }

    /// Whether a row is ticked.
    pub fn has(self, id: Uuid) -> bool {
        self.ids.with(|ids| ids.contains(&id))
    }

    /// How many are ticked.
    pub fn len(self) -> usize {
        self.ids.with(BTreeSet::len)
    }

    /// Whether none is.
    pub fn is_empty(self) -> bool {
        self.ids.with(BTreeSet::is_empty)
    }

    /// Ticked rows that are not on this page.
    pub fn elsewhere(self, page: &[Uuid]) -> Vec<Uuid> {
        self.ids.with(|ids| ids.iter().copied().filter(|id| !page.contains(id)).collect())
    }

    /// Ticks a row or takes its tick away.
    pub fn set(self, id: Uuid, is_ticked: bool) {
        self.anchor.set_value(Some(id));
        self.set_all(&[id], is_ticked);
    }

    /// The same of many.
    pub fn set_all(self, ids: &[Uuid], is_ticked: bool) {
        self.ids.update(|own| {
            for id in ids {
                if is_ticked {
                    own.insert(*id);
                } else {
                    own.remove(id);
                }
            }
        });
    }

    /// The same of every row of the page from the one that was set before to this one.
    pub fn set_range(self, page: &[Uuid], to: Uuid, is_ticked: bool) {
        let place = |id: Uuid| page.iter().position(|own| *own == id);
        let from = self.anchor.get_value().and_then(place);
        match (from, place(to)) {
            (Some(from), Some(at)) => self.set_all(&page[from.min(at)..=from.max(at)], is_ticked),
            _ => self.set_all(&[to], is_ticked),
        }
        self.anchor.set_value(Some(to));
    }

    /// Unticks everything.
    pub fn clear(self) {
        self.anchor.set_value(None);
        if !self.ids.with_untracked(BTreeSet::is_empty) {
            self.ids.update(BTreeSet::clear);
        }
    }
}

impl Default for Selection {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_stay_with_their_list_and_go_with_its_filters() {
        Owner::new().with(|| {
            let ids: Vec<Uuid> = (0..5).map(|_| Uuid::now_v7()).collect();
            let selection = Selection::new();
            selection.turn_to("/jobs?status=failed".to_owned(), []);
            selection.set(ids[1], true);
            selection.turn_to("/jobs?status=failed".to_owned(), []);
            assert!(selection.has(ids[1]), "the same list, loaded again");
            assert_eq!(selection.elsewhere(&ids[2..]), [ids[1]]);
            selection.set_range(&ids, ids[3], true);
            assert_eq!(selection.len(), 3);
            selection.set_range(&ids, ids[2], false);
            assert_eq!(selection.len(), 1);
            selection.turn_to("/jobs".to_owned(), [ids[0]]);
            assert!(selection.has(ids[0]) && !selection.has(ids[1]));
        });
    }
}
