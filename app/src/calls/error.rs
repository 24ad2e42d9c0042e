//! The one error type that is sent to the browser. Internal causes stay in the log.

use super::json::JsonText;
use leptos::prelude::*;
use leptos::server_fn::error::{FromServerFnError, ServerFnErrorErr};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum CallError {
    /// No session, or it has ended.
    #[error("sign in first")]
    SignedOut,
    #[error("your role does not allow that")]
    Forbidden,
    /// It does not exist, or belongs to another app.
    #[error("not found")]
    NotFound,
    /// The input is wrong; the text says how.
    #[error("{0}")]
    Invalid(String),
    /// The current state does not allow it.
    #[error("{0}")]
    Conflict(String),
    /// Rate limited.
    #[error("try again in {seconds} s")]
    TooSoon { seconds: i64 },
    /// Somebody else changed it after it was shown (`If-Match`).
    #[error("someone else changed it in the meantime")]
    Changed,
    /// Concurrent changes won several times in a row, or a lock was not free in time.
    #[error("someone else is changing this at the same time: try again")]
    Raced,
    /// The statement timed out.
    #[error("the search takes too long")]
    TooSlow,
    /// The server, or its database, does not answer.
    #[error("the server or its database is not responding")]
    Unavailable,
    /// An internal error.
    #[error("something went wrong")]
    Broken,
}

impl CallError {
    /// The HTTP status of the call, and of a page that shows the error.
    pub const fn status(&self) -> u16 {
        match self {
            Self::SignedOut => 401,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::Invalid(_) => 422,
            Self::Conflict(_) | Self::Raced => 409,
            Self::Changed => 412,
            Self::TooSoon { .. } => 429,
            Self::TooSlow | Self::Unavailable => 503,
            Self::Broken => 500,
        }
    }

    /// Sets the status of the page that is being rendered; does nothing in the browser.
    pub fn set_response_status(&self) {
        ResponseStatus::set(self.status());
    }
}

impl FromServerFnError for CallError {
    type Encoder = JsonText;

    fn from_server_fn_error(error: ServerFnErrorErr) -> Self {
        match error {
            ServerFnErrorErr::Request(_) => Self::Unavailable,
            ServerFnErrorErr::Args(detail) | ServerFnErrorErr::MissingArg(detail) => Self::Invalid(detail),
            _ => Self::Broken,
        }
    }
}

/// Why a form was refused, and the page that says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{because}")]
pub struct FormRefused {
    pub because: CallError,
    /// The address that shows a notice and the typed input; empty when the form could not be read.
    pub page: String,
}

impl From<CallError> for FormRefused {
    fn from(because: CallError) -> Self {
        Self { because, page: String::new() }
    }
}

impl FromServerFnError for FormRefused {
    type Encoder = JsonText;

    fn from_server_fn_error(error: ServerFnErrorErr) -> Self {
        CallError::from_server_fn_error(error).into()
    }
}

/// Sets the status of the response. The server provides it as a context; the browser does not.
#[derive(Clone)]
pub struct ResponseStatus(pub Arc<dyn Fn(u16) + Send + Sync>);

impl ResponseStatus {
    /// The status of the page that is being rendered.
    pub fn set(status: u16) {
        if let Some(Self(set)) = use_context::<Self>() {
            set(status);
        }
    }
}
