//! The signed-in user, as pages ask for it.

use crate::calls::error::CallError;
use crate::calls::session::{Session, load_session};
use leptos::prelude::*;

/// The signed-in user, loaded once: pages wait for it together with their own data.
#[derive(Clone, Copy)]
pub struct Reader(Resource<Result<Session, CallError>>);

impl Reader {
    /// The one of the enclosing page.
    pub fn current() -> Self {
        use_context::<Self>().unwrap_or_else(|| Self(Resource::new_blocking(|| (), |()| load_session())))
    }

    /// `None` while it loads.
    pub fn loaded(self) -> Option<Result<Session, CallError>> {
        self.0.get()
    }

    /// Fails without a session, or with a role that opens no console.
    pub async fn get(self) -> Result<Session, CallError> {
        self.0.await
    }
}
