//! The one error that crosses to the browser. Causes stay in the log.

use super::json::JsonText;
use leptos::{
    prelude::*,
    server_fn::error::{FromServerFnError, ServerFnErrorErr},
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Why a call did not do what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum CallError {
    /// No session, or it ended.
    #[error("sign in first")]
    SignedOut,
    /// The role does not allow it.
    #[error("your role does not allow that")]
    Forbidden,
    /// Not there, or not this app's.
    #[error("not found")]
    NotFound,
    /// The input is wrong; says how.
    #[error("{0}")]
    Invalid(String),
    /// A state does not allow it.
    #[error("{0}")]
    Conflict(String),
    /// Too soon after the last one.
    #[error("try again in {seconds} s")]
    TooSoon {
        /// Until then.
        seconds: i64,
    },
    /// Somebody else changed it after it was shown.
    #[error("somebody else changed it meanwhile")]
    Changed,
    /// Others changed the same at the same moment, several times in a row.
    #[error("others are changing the same right now: try again")]
    Raced,
    /// The search took longer than it may.
    #[error("the search takes too long")]
    TooSlow,
    /// Neither says yes nor no: the server, or the database behind it, is away.
    #[error("the server or its database does not answer")]
    Unavailable,
    /// Our fault.
    #[error("that failed on our side")]
    Broken,
}

impl CallError {
    /// The HTTP status of a call that is refused so, and of a page that shows it.
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

    /// Makes it the status of the page that is being rendered; does nothing in the browser.
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

/// Why a form was refused, and the page that tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{because}")]
pub struct FormRefused {
    /// Why.
    pub because: CallError,
    /// The address that shows a notice, and what was typed; empty when nothing of the form could be read.
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

/// Sets the status of the answer; the server provides it, the browser has none.
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
