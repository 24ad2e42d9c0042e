//! The layers around every request, one per file. Each takes only the part of the state that it needs; the router puts them in order.

mod anonymous_limits;
mod client_address;
pub(crate) mod client_body;
mod content_encoding;
mod idempotency;
mod key;
pub(crate) mod origin;
pub(crate) mod request_id;
pub(crate) mod request_memory;
mod security_headers;
pub mod session;
pub(crate) mod uncancelled;

pub(crate) use anonymous_limits::with_anonymous_limits;
pub use client_address::{ClientAddress, TrustedProxies};
pub use client_body::Pace;
pub(crate) use content_encoding::decompress;
pub(crate) use idempotency::{KEYLESS_PATH, KeyedCalls, idempotent};
pub(crate) use key::authenticate_key;
pub use request_id::RequestId;
pub use request_memory::RequestMemory;
pub(crate) use security_headers::{is_https, safe_headers};
