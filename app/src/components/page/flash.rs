//! The outcome of a form, carried by the address it redirects to: a word and numbers, never free text, so that no crafted link
//! can put words into our mouth.

use crate::{
    format::{self, count},
    state::page_url::{self, PageUrl},
    ui::{Glyph, Notice, Tone},
};
use leptos::prelude::*;
use model::{id::OperationId, job::JobStatus};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flash {
    Requeued,
    Cancelled,
    CancelRequested,
    DoneBefore,
    Purged,
    Started,
    Held,
    OperationPaused,
    OperationResumed,
    OperationAborted,
    OperationUndone,
    Restored,
    Paused,
    Resumed,
    BreakerProbes,
    BreakerClosed,
    BreakerHeld,
    LimitsSaved,
    Draining,
    IntegrationsPaused,
    IntegrationsResumed,
    IntegrationsLimited,
    ResyncStarted,
    ResyncPaused,
    ResyncResumed,
    ResyncCancelled,
    CountChanged,
    NothingSelected,
    Gone,
    Forbidden,
    SignedOut,
    Conflict,
    OthersChanged,
    TooSoon,
    Invalid,
    Unavailable,
    Raced,
    Broken,
    Undone,
    Repeated,
    UserSaved,
    UserCreated,
    UserDeleted,
    KeyCreated,
    KeyRevoked,
    ChangedSince,
    UndoneBefore,
    NothingMatches,
    FailureSnoozed,
    FailureFixed,
    FailureReopened,
    NotePublished,
    NoteWithdrawn,
    Revealed,
    Edited,
    ViewSaved,
    ViewChanged,
    ViewPinned,
    ViewUnpinned,
    ViewDeleted,
}

impl Flash {
    const ALL: &'static [Self] = &[
        Self::Requeued,
        Self::Cancelled,
        Self::CancelRequested,
        Self::DoneBefore,
        Self::Purged,
        Self::Started,
        Self::Held,
        Self::OperationPaused,
        Self::OperationResumed,
        Self::OperationAborted,
        Self::OperationUndone,
        Self::Restored,
        Self::Paused,
        Self::Resumed,
        Self::BreakerProbes,
        Self::BreakerClosed,
        Self::BreakerHeld,
        Self::LimitsSaved,
        Self::Draining,
        Self::IntegrationsPaused,
        Self::IntegrationsResumed,
        Self::IntegrationsLimited,
        Self::ResyncStarted,
        Self::ResyncPaused,
        Self::ResyncResumed,
        Self::ResyncCancelled,
        Self::CountChanged,
        Self::NothingSelected,
        Self::Gone,
        Self::Forbidden,
        Self::SignedOut,
        Self::Conflict,
        Self::OthersChanged,
        Self::TooSoon,
        Self::Invalid,
        Self::Unavailable,
        Self::Raced,
        Self::Broken,
        Self::Undone,
        Self::Repeated,
        Self::UserSaved,
        Self::UserCreated,
        Self::UserDeleted,
        Self::KeyCreated,
        Self::KeyRevoked,
        Self::ChangedSince,
        Self::UndoneBefore,
        Self::NothingMatches,
        Self::FailureSnoozed,
        Self::FailureFixed,
        Self::FailureReopened,
        Self::NotePublished,
        Self::NoteWithdrawn,
        Self::Revealed,
        Self::Edited,
        Self::ViewSaved,
        Self::ViewChanged,
        Self::ViewPinned,
        Self::ViewUnpinned,
        Self::ViewDeleted,
    ];

    /// The value of the parameter `notice`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Requeued => "requeued",
            Self::Cancelled => "cancelled",
            Self::CancelRequested => "cancel-requested",
            Self::DoneBefore => "done-before",
            Self::Purged => "purged",
            Self::Started => "started",
            Self::Held => "held",
            Self::OperationPaused => "operation-paused",
            Self::OperationResumed => "operation-resumed",
            Self::OperationAborted => "operation-aborted",
            Self::OperationUndone => "operation-undone",
            Self::Restored => "restored",
            Self::Paused => "paused",
            Self::Resumed => "resumed",
            Self::BreakerProbes => "breaker-probes",
            Self::BreakerClosed => "breaker-closed",
            Self::BreakerHeld => "breaker-held",
            Self::LimitsSaved => "limits-saved",
            Self::Draining => "draining",
            Self::IntegrationsPaused => "integrations-paused",
            Self::IntegrationsResumed => "integrations-resumed",
            Self::IntegrationsLimited => "integrations-limited",
            Self::ResyncStarted => "resync-started",
            Self::ResyncPaused => "resync-paused",
            Self::ResyncResumed => "resync-resumed",
            Self::ResyncCancelled => "resync-cancelled",
            Self::CountChanged => "count-changed",
            Self::NothingSelected => "nothing-chosen",
            Self::Gone => "gone",
            Self::Forbidden => "forbidden",
            Self::SignedOut => "signed-out",
            Self::Conflict => "conflict",
            Self::OthersChanged => "others-changed",
            Self::TooSoon => "too-soon",
            Self::Invalid => "invalid",
            Self::Unavailable => "unavailable",
            Self::Raced => "raced",
            Self::Broken => "broken",
            Self::Undone => "undone",
            Self::Repeated => "repeated",
            Self::UserSaved => "user-saved",
            Self::UserCreated => "user-made",
            Self::UserDeleted => "user-deleted",
            Self::KeyCreated => "key-made",
            Self::KeyRevoked => "key-revoked",
            Self::ChangedSince => "changed-since",
            Self::UndoneBefore => "undone-before",
            Self::NothingMatches => "nothing-matches",
            Self::FailureSnoozed => "failure-snoozed",
            Self::FailureFixed => "failure-fixed",
            Self::FailureReopened => "failure-reopened",
            Self::NotePublished => "customers-told",
            Self::NoteWithdrawn => "note-taken-back",
            Self::Revealed => "revealed",
            Self::Edited => "edited",
            Self::ViewSaved => "view-saved",
            Self::ViewChanged => "view-changed",
            Self::ViewPinned => "view-pinned",
            Self::ViewUnpinned => "view-unpinned",
            Self::ViewDeleted => "view-deleted",
        }
    }

    /// The outcome of cancelling a job, by the state it has then.
    pub const fn of_cancel(status: JobStatus) -> Self {
        match status {
            JobStatus::Processing => Self::CancelRequested,
            JobStatus::Completed => Self::DoneBefore,
            _ => Self::Cancelled,
        }
    }

    fn find(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|flash| flash.as_str() == word)
    }

    const fn is_refusal(self) -> bool {
        matches!(
            self,
            Self::NothingSelected
                | Self::CountChanged
                | Self::Gone
                | Self::Forbidden
                | Self::SignedOut
                | Self::Conflict
                | Self::OthersChanged
                | Self::TooSoon
                | Self::Invalid
                | Self::Unavailable
                | Self::Raced
                | Self::Broken
                | Self::ChangedSince
                | Self::UndoneBefore
                | Self::NothingMatches
        )
    }

    fn sentence(self, n: i64) -> String {
        let jobs = || format::counted(n, "job", "jobs");
        let integrations = || format::counted(n, "integration", "integrations");
        match self {
            Self::Requeued => format!("{} requeued with all attempts.", jobs()),
            Self::Cancelled => format!("{} cancelled.", jobs()),
            Self::CancelRequested => {
                "Cancellation requested. Its worker has not stopped yet; no further attempt follows."
                    .to_owned()
            }
            Self::DoneBefore => "It completed before its worker saw the cancel request.".to_owned(),
            Self::Purged => format!("{} purged.", format::counted(n, "dead letter", "dead letters")),
            Self::Started => format!(
                "{} being worked on in the background.",
                if n == 1 { "1 is".to_owned() } else { format!("{} are", count(n)) }
            ),
            Self::Held => format!(
                "Nothing is changed yet: {} held and can be withdrawn.",
                if n == 1 { "1 is".to_owned() } else { format!("{} are", count(n)) }
            ),
            Self::OperationPaused => "Paused. What is done stays done.".to_owned(),
            Self::OperationResumed => "Resumed. It continues where it stopped.".to_owned(),
            Self::OperationAborted => "Aborted. What is done stays done.".to_owned(),
            Self::OperationUndone => "Being undone, except for jobs tried since.".to_owned(),
            Self::Restored => {
                format!("{} restored.", format::counted(n, "dead letter", "dead letters"))
            }
            Self::Paused => "Paused. Its jobs are kept and wait.".to_owned(),
            Self::Resumed => "Resumed. Waiting jobs go out again.".to_owned(),
            Self::BreakerProbes => "Probing. A few jobs are let through as a test.".to_owned(),
            Self::BreakerClosed => "Closed. Waiting jobs go out again.".to_owned(),
            Self::BreakerHeld => "Held open. Its jobs wait in place until then.".to_owned(),
            Self::LimitsSaved => "Limits saved. They apply from the next request on.".to_owned(),
            Self::IntegrationsPaused => format!("{} paused. Their jobs are kept and wait.", integrations()),
            Self::IntegrationsResumed => format!("{} resumed. Waiting jobs go out again.", integrations()),
            Self::IntegrationsLimited => {
                format!("Limits of {} changed, from the next request on.", integrations())
            }
            Self::Draining => "Draining. It finishes its jobs and claims no more.".to_owned(),
            Self::ResyncStarted => "Re-sync started.".to_owned(),
            Self::ResyncPaused => {
                "Re-sync paused: nothing more of it is sent until it is resumed.".to_owned()
            }
            Self::ResyncResumed => "Re-sync resumed.".to_owned(),
            Self::ResyncCancelled => "Re-sync cancelled, and its waiting jobs with it.".to_owned(),
            Self::CountChanged => {
                "More match now than you confirmed. Nothing was changed; check the count and try again.".to_owned()
            }
            Self::NothingSelected => "Nothing selected: select rows first.".to_owned(),
            Self::Gone => "That no longer exists.".to_owned(),
            Self::Forbidden => "Your role does not allow that.".to_owned(),
            Self::SignedOut => "Nothing was done: you are signed out.".to_owned(),
            Self::Conflict => "Its state does not allow that any more. Nothing was changed.".to_owned(),
            Self::OthersChanged => {
                "Somebody else changed it meanwhile. Nothing was saved: check what it is now, then save again.".to_owned()
            }
            Self::TooSoon => format!("Too soon after the last one: try again in {}.", format::age_seconds(n)),
            Self::Invalid => "Nothing was changed: a value is not accepted.".to_owned(),
            Self::Unavailable => {
                "The database does not answer. Nothing was changed; try again in a moment.".to_owned()
            }
            Self::Raced => {
                "Somebody else was changing this at that moment. Nothing was changed; try again.".to_owned()
            }
            Self::Broken => {
                "That failed on our side. Nothing was changed; the cause is in the log.".to_owned()
            }
            Self::Undone => "Undone.".to_owned(),
            Self::Repeated => "Done again.".to_owned(),
            Self::UserSaved => "Saved.".to_owned(),
            Self::UserCreated => "The user can sign in now.".to_owned(),
            Self::UserDeleted => "The user is gone; what was done stays in the audit log.".to_owned(),
            Self::KeyCreated => "Key created. Copy it now: it is shown only once.".to_owned(),
            Self::KeyRevoked => "The key is refused from now on.".to_owned(),
            Self::ChangedSince => {
                "It was changed again since. Nothing was undone: check what it is now.".to_owned()
            }
            Self::UndoneBefore => "That was already undone.".to_owned(),
            Self::NothingMatches => "Nothing matches any more: there was nothing to do.".to_owned(),
            Self::FailureSnoozed => "Snoozed. Its jobs are still retried as before.".to_owned(),
            Self::FailureFixed => "Marked fixed. It reopens by itself when it fails again.".to_owned(),
            Self::FailureReopened => "Open again.".to_owned(),
            Self::NotePublished => format!("Note published for {}.", integrations()),
            Self::NoteWithdrawn => "Note withdrawn: it is no longer shown.".to_owned(),
            Self::Revealed => "Shown to you for 5 minutes; this is in the audit log.".to_owned(),
            Self::ViewSaved => "View saved.".to_owned(),
            Self::ViewChanged => "View changed.".to_owned(),
            Self::ViewPinned => "View pinned. It is counted every few seconds.".to_owned(),
            Self::ViewUnpinned => "View unpinned.".to_owned(),
            Self::ViewDeleted => "View deleted. Jobs are not affected.".to_owned(),
            Self::Edited => "Payload changed and job requeued with all attempts.".to_owned(),
        }
    }

    /// The page the form came from, settled, with the outcome in its address.
    pub fn on(self, back: PageUrl, n: i64, skipped: i64) -> PageUrl {
        let url = back.settled().without("ids[]").with("notice", self.as_str());
        let url = if n == 1 { url } else { url.with("count", n) };
        if skipped > 0 { url.with("skipped", skipped) } else { url }
    }
}

/// An outcome with its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub flash: Flash,
    /// A count, or seconds.
    pub n: i64,
    /// How many were skipped.
    pub skipped: i64,
    /// The bulk operation that does it or did it.
    pub operation: Option<OperationId>,
}

impl From<Flash> for Outcome {
    fn from(flash: Flash) -> Self {
        Self { flash, n: 1, skipped: 0, operation: None }
    }
}

/// The line above a page's content when its address carries an outcome.
#[component]
pub fn FlashBar() -> impl IntoView {
    let url = page_url::current();
    move || {
        let url = url.get();
        let flash = url.get("notice").and_then(Flash::find)?;
        let number = |name| url.get(name).and_then(|n| n.parse::<i64>().ok());
        let mut text = flash.sentence(number("count").unwrap_or(1).max(0));
        if let Some(skipped) = number("skipped").filter(|n| *n > 0) {
            text.push_str(&format!(" {} skipped: not in a state that allows it any more.", count(skipped)));
        }
        let (tone, glyph) =
            if flash.is_refusal() { (Tone::Failed, Glyph::Alert) } else { (Tone::Delivered, Glyph::Check) };
        let operation = url
            .get("operation")
            .and_then(|id| id.parse::<OperationId>().ok())
            .map(|id| (format!("/operations/{id}"), "Follow it"));
        Some(
            view! { <Notice tone=tone glyph=glyph text=text dismiss=url.settled().to_string() more=operation /> },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_is_found_by_its_word_and_has_a_sentence() {
        for flash in Flash::ALL.iter().copied() {
            assert_eq!(Flash::find(flash.as_str()), Some(flash));
            assert!(flash.sentence(2).ends_with('.'), "{flash:?}");
        }
        assert_eq!(Flash::find("<script>"), None);
    }

    #[test]
    fn the_address_keeps_its_filters_and_loses_question_and_selection() {
        let back = PageUrl::parse("/dead-letters?error=503&confirm=purge&ids%5B%5D=1&ids%5B%5D=2");
        assert_eq!(
            Flash::Purged.on(back, 2, 1).to_string(),
            "/dead-letters?error=503&notice=purged&count=2&skipped=1"
        );
        assert_eq!(Flash::Requeued.sentence(1), "1 job requeued with all attempts.");
    }
}
