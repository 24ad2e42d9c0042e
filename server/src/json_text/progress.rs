//! The state of reading a document: what it has taken so far, and where what is refused is.

use super::Why;
use model::json::{MAX_RECORD_BYTES, MAX_VALUES};
use serde::de::Error;
use serde_json::Value;
use std::cell::{Cell, RefCell};

// What a document takes in memory, rounded up: a vector that grew may be half empty, a node of a map has room for eleven entries.
const VALUE_BYTES: usize = 2 * size_of::<Value>();
pub(super) const NAME_BYTES: usize = 2 * size_of::<String>();
pub(super) const MAP_BYTES: usize = 640;
/// Memory is reserved in portions of this size.
const PORTION_BYTES: usize = 64_000;

pub(super) struct Progress<'a> {
    /// The path to what is refused, the innermost step first.
    pub(super) steps: RefCell<Vec<String>>,
    /// Set when we refuse something that serde_json accepts.
    pub(super) why: Cell<Option<Why>>,
    /// Numbers read so far that are large and not integers of 64 bits.
    pub(super) large_numbers: Cell<usize>,
    /// Which of them is to be refused.
    pub(super) refused: Option<usize>,
    /// Values read so far.
    values: Cell<usize>,
    /// Memory they take, and how much of it is reserved.
    memory: Cell<usize>,
    reserved: Cell<usize>,
    has_room: &'a dyn Fn(usize) -> bool,
    /// Bytes of the payload that is being read: at least those of its shortest text.
    pub(super) payload: Cell<Option<usize>>,
}

impl<'a> Progress<'a> {
    pub(super) fn new(has_room: &'a dyn Fn(usize) -> bool, refused: Option<usize>) -> Self {
        Self {
            steps: RefCell::default(),
            why: Cell::default(),
            large_numbers: Cell::default(),
            refused,
            values: Cell::default(),
            memory: Cell::default(),
            reserved: Cell::default(),
            has_room,
            payload: Cell::default(),
        }
    }

    /// Counts a value before it is created, by the length of its text.
    pub(super) fn value<E: Error>(&self, text: usize) -> Result<(), E> {
        self.values.set(self.values.get() + 1);
        if self.values.get() > MAX_VALUES {
            return Err(self.refuse(Why::TooManyValues));
        }
        // Plus the comma or bracket after it.
        self.takes(VALUE_BYTES + text, text + 1)
    }

    /// Counts bytes in memory, and the least bytes of the text.
    pub(super) fn takes<E: Error>(&self, memory: usize, text: usize) -> Result<(), E> {
        self.memory.set(self.memory.get() + memory);
        if self.memory.get() >= self.reserved.get() {
            self.reserved.set(self.memory.get() + PORTION_BYTES);
            if !(self.has_room)(self.reserved.get()) {
                return Err(self.refuse(Why::NoRoom));
            }
        }
        if let Some(bytes) = self.payload.get() {
            self.payload.set(Some(bytes + text));
            if bytes + text > MAX_RECORD_BYTES {
                return Err(self.refuse(Why::TooLarge));
            }
        }
        Ok(())
    }

    pub(super) fn refuse<E: Error>(&self, why: Why) -> E {
        self.why.set(Some(why));
        E::custom("refused")
    }
}
