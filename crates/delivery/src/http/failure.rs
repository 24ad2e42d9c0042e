//! Why no answer came, in words for people.

use std::{error::Error, io, time::Duration};

use model::rules::{cause, verdict};
use model::text::sanitise;

use super::{open_files, target_guard::Refused};

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SendFailure {
    /// The address may not be reached.
    #[error("{}", Refused)]
    Refused,
    /// This process could open no connection. The request was not sent, and the external system is not to blame.
    #[error("this process has too many open files: nothing was sent")]
    TooManyOpenFiles,
    /// Resolving the name, connecting or the TLS handshake failed. The request was not sent.
    #[error("{0}")]
    NotConnected(String),
    /// No connection in time. The request was not sent.
    #[error("no connection within the time allowed")]
    ConnectTimedOut,
    /// The connection broke after the request may have arrived.
    #[error("the connection broke before an answer came: {0}")]
    Broken(String),
    /// The time was over before an answer came.
    #[error("{}", cause::no_answer_within(*.within))]
    NoAnswer {
        /// How long the attempt could take.
        within: Duration,
    },
}

impl SendFailure {
    /// The answer that the verdict judges.
    #[must_use]
    pub(crate) fn answer(&self) -> verdict::Answer {
        match self {
            Self::Refused => verdict::Answer::Forbidden,
            Self::ConnectTimedOut | Self::NoAnswer { .. } => verdict::Answer::TimedOut,
            Self::TooManyOpenFiles | Self::NotConnected(_) | Self::Broken(_) => {
                verdict::Answer::ConnectionFailed
            }
        }
    }

    /// Whether the receiver may have accepted the request all the same.
    #[must_use]
    pub(crate) fn may_have_arrived(&self) -> bool {
        matches!(self, Self::Broken(_) | Self::NoAnswer { .. })
    }

    /// Reports the attempt's whole time-out instead of the part of it that was left for sending.
    #[must_use]
    pub(crate) fn with_timeout(self, timeout: Duration) -> Self {
        match self {
            Self::NoAnswer { .. } => Self::NoAnswer { within: timeout },
            other => other,
        }
    }

    pub(super) fn of(error: &reqwest::Error) -> Self {
        let causes = || {
            let outermost: &(dyn Error + 'static) = error;
            std::iter::successors(Some(outermost), |cause: &&(dyn Error + 'static)| (*cause).source())
        };
        if causes().any(|cause| cause.is::<Refused>()) {
            return Self::Refused;
        }
        let io_errors = || causes().filter_map(|cause| cause.downcast_ref::<io::Error>());
        if io_errors().any(open_files::are_too_many) {
            return Self::TooManyOpenFiles;
        }
        if error.is_connect() && error.is_timeout() {
            return Self::ConnectTimedOut;
        }
        // The innermost cause says what happened; the outer ones say where in the library.
        let innermost = causes().last().map_or_else(String::new, ToString::to_string);
        let innermost = sanitise(&innermost, 300);
        let io_kind = io_errors().map(innermost_kind).last();
        if !error.is_connect() {
            return Self::Broken(innermost);
        }
        let is_dns = causes().any(|cause| cause.to_string().contains("dns error"));
        Self::NotConnected(match io_kind {
            _ if is_dns => "the name could not be resolved".to_owned(),
            Some(io::ErrorKind::ConnectionRefused) => "connection refused".to_owned(),
            Some(io::ErrorKind::ConnectionReset) => "connection reset while connecting".to_owned(),
            Some(io::ErrorKind::HostUnreachable) => "the host cannot be reached".to_owned(),
            Some(io::ErrorKind::NetworkUnreachable) => "the network cannot be reached".to_owned(),
            Some(io::ErrorKind::UnexpectedEof) => {
                "TLS: the connection was closed during the handshake".to_owned()
            }
            Some(io::ErrorKind::InvalidData) => format!("TLS: {innermost}"),
            _ => format!("no connection: {innermost}"),
        })
    }
}

/// An I/O error that carries another one hides it from `source`; TLS failures come wrapped twice.
fn innermost_kind(mut error: &io::Error) -> io::ErrorKind {
    while let Some(inner) = error.get_ref().and_then(|inner| inner.downcast_ref::<io::Error>()) {
        error = inner;
    }
    error.kind()
}
