//! Extractors of the handlers: actor and permission, body, query, id. Each refuses with a problem that points at the fault.

mod actor;
mod body;
mod document;
mod form;
mod if_match;
mod json;
mod many;
mod objects;
mod path;
mod query;
mod trace;

pub use actor::Can;
pub use body::{read_body, read_form};
pub use document::document;
pub use form::Form;
pub use if_match::IfMatch;
pub use json::{Json, OptionalJson, media_type, typed};
pub use many::{Many, one_or_many};
pub use path::{Id, RecordPath};
pub use query::{ListQuery, MAX_VALUE_CHARS, NoFilter, PageParams, Query};
pub use service::permission::{
    Configure, ManageAccess, OpenConsole, Produce, Purge, Read, ReadDeployment, ReadJobs, Resync, SaveViews,
    SteerJobs,
};
pub use trace::Trace;
