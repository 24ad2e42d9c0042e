//! The requests that are accepted, and their events.

use model::event::Event;

/// Whether pointers of faults are within an array or within a single event.
#[derive(Clone, Copy)]
pub(super) enum Form {
    One,
    Array,
}

impl Form {
    pub(super) fn pointer(self, index: usize) -> String {
        match self {
            Self::One => String::new(),
            Self::Array => format!("/{index}"),
        }
    }
}

/// The events of one request, checked: all or none of them are stored.
pub(super) struct Request {
    pub(super) events: Vec<Event>,
    pub(super) form: Form,
}

/// An event and where it came from.
pub(super) struct Given<'a> {
    pub(super) event: &'a Event,
    /// Index of its request.
    pub(super) request: usize,
    form: Form,
    /// Its index within the request.
    index: usize,
}

impl<'a> Given<'a> {
    pub(super) fn of(requests: &'a [Request]) -> Vec<Self> {
        let each = requests.iter().enumerate();
        each.flat_map(|(request, one)| {
            let form = one.form;
            one.events.iter().enumerate().map(move |(index, event)| Self { event, request, form, index })
        })
        .collect()
    }

    pub(super) fn pointer(&self) -> String {
        self.form.pointer(self.index)
    }
}
