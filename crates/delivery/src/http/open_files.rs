//! Recognises that this process has too many open files: it then cannot connect, which is not the external system's fault.

use std::{fs::File, io};

/// `EMFILE` (this process) and `ENFILE` (the whole machine), the same on Linux and macOS.
const TOO_MANY: [i32; 2] = [24, 23];

pub(super) fn are_too_many(error: &io::Error) -> bool {
    error.raw_os_error().is_some_and(|code| TOO_MANY.contains(&code))
        || error.get_ref().and_then(|inner| inner.downcast_ref()).is_some_and(are_too_many)
}

/// The real cause of a failed lookup: a resolver that can open neither its settings nor a socket reports that there is no such name.
pub(super) fn cause_of(lookup: io::Error) -> io::Error {
    File::open("/dev/null").err().filter(are_too_many).unwrap_or(lookup)
}
