//! Selected rows. They stay selected when the list is loaded again and on its other pages, and are cleared when the filters change,
//! so that a selection never has rows that the filters exclude.

use leptos::prelude::*;
use std::collections::BTreeSet;
use uuid::Uuid;

/// The ids, and the list they belong to.
#[derive(Clone, Copy)]
pub struct Selection {
    ids: RwSignal<BTreeSet<Uuid>>,
    list: RwSignal<String>,
    /// The row that was set last, where a range begins.
    anchor: StoredValue<Option<Uuid>>,
}

impl Selection {
    /// Nothing is selected. Create it where it outlives the list's rows.
    pub fn new() -> Self {
        Self { ids: RwSignal::default(), list: RwSignal::default(), anchor: StoredValue::new(None) }
    }

    /// Sets the list that is shown, by its address without a page. `selected` is added to the selection, or replaces that of another list.
    pub fn show_list(self, list: String, selected: impl IntoIterator<Item = Uuid>) {
        let selected: BTreeSet<Uuid> = selected.into_iter().collect();
        if self.list.with_untracked(|own| *own == list) {
            self.ids.update(|ids| ids.extend(selected));
        } else {
            self.list.set(list);
            self.ids.set(selected);
        }
    }

    pub fn has(self, id: Uuid) -> bool {
        self.ids.with(|ids| ids.contains(&id))
    }

    pub fn len(self) -> usize {
        self.ids.with(BTreeSet::len)
    }

    pub fn is_empty(self) -> bool {
        self.ids.with(BTreeSet::is_empty)
    }

    /// Selected rows that are not on this page.
    pub fn elsewhere(self, page: &[Uuid]) -> Vec<Uuid> {
        self.ids.with(|ids| ids.iter().copied().filter(|id| !page.contains(id)).collect())
    }

    /// Selects or deselects a row.
    pub fn set(self, id: Uuid, is_selected: bool) {
        self.anchor.set_value(Some(id));
        self.set_all(&[id], is_selected);
    }

    pub fn set_all(self, ids: &[Uuid], is_selected: bool) {
        self.ids.update(|own| {
            for id in ids {
                if is_selected {
                    own.insert(*id);
                } else {
                    own.remove(id);
                }
            }
        });
    }

    /// Selects or deselects every row of the page from the one that was set last to this one.
    pub fn set_range(self, page: &[Uuid], to: Uuid, is_selected: bool) {
        let position = |id: Uuid| page.iter().position(|own| *own == id);
        let from = self.anchor.get_value().and_then(position);
        match (from, position(to)) {
            (Some(from), Some(at)) => self.set_all(&page[from.min(at)..=from.max(at)], is_selected),
            _ => self.set_all(&[to], is_selected),
        }
        self.anchor.set_value(Some(to));
    }

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
    fn a_selection_stays_with_its_list_and_is_cleared_with_its_filters() {
        Owner::new().with(|| {
            let ids: Vec<Uuid> = (0..5).map(|_| Uuid::now_v7()).collect();
            let selection = Selection::new();
            selection.show_list("/jobs?status=failed".to_owned(), []);
            selection.set(ids[1], true);
            selection.show_list("/jobs?status=failed".to_owned(), []);
            assert!(selection.has(ids[1]), "the same list, loaded again");
            assert_eq!(selection.elsewhere(&ids[2..]), [ids[1]]);
            selection.set_range(&ids, ids[3], true);
            assert_eq!(selection.len(), 3);
            selection.set_range(&ids, ids[2], false);
            assert_eq!(selection.len(), 1);
            selection.show_list("/jobs".to_owned(), [ids[0]]);
            assert!(selection.has(ids[0]) && !selection.has(ids[1]));
        });
    }
}
