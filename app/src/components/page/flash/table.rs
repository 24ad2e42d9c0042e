//! Every notice once: its name, its word in the address, its tone, and its sentence.

use crate::ui::Tone;

/// Makes the enum and what it knows from one row for each notice.
macro_rules! notices {
    ($($name:ident $word:literal $tone:ident $sentence:literal;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Flash {
            $($name,)*
        }

        impl Flash {
            pub(super) const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The value of the parameter `notice`.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)*
                }
            }

            /// `Failed`: nothing was done.
            pub(super) const fn tone(self) -> Tone {
                match self {
                    $(Self::$name => Tone::$tone,)*
                }
            }

            /// The sentence, with a name in braces where its number belongs.
            pub(super) const fn template(self) -> &'static str {
                match self {
                    $(Self::$name => $sentence,)*
                }
            }
        }
    };
}

notices! {
    Requeued            "requeued"             Delivered "{jobs} requeued with all attempts.";
    Cancelled           "cancelled"            Delivered "{jobs} cancelled.";
    CancelRequested     "cancel-requested"     Delivered "Cancellation requested. Its worker has not stopped yet; no further attempt follows.";
    DoneBefore          "done-before"          Delivered "It completed before its worker saw the cancel request.";
    Purged              "purged"               Delivered "{dead letters} purged.";
    Started             "started"              Delivered "{are} being worked on in the background.";
    Held                "held"                 Delivered "Nothing is changed yet: {are} held and can be withdrawn.";
    OperationPaused     "operation-paused"     Delivered "Paused. What is done stays done.";
    OperationResumed    "operation-resumed"    Delivered "Resumed. It continues where it stopped.";
    OperationAborted    "operation-aborted"    Delivered "Aborted. What is done stays done.";
    OperationUndone     "operation-undone"     Delivered "Being undone, except for jobs tried since.";
    Restored            "restored"             Delivered "{dead letters} restored.";
    Paused              "paused"               Delivered "Paused. Its jobs are kept and wait.";
    Resumed             "resumed"              Delivered "Resumed. Waiting jobs go out again.";
    BreakerProbes       "breaker-probes"       Delivered "Probing. A few jobs are let through as a test.";
    BreakerClosed       "breaker-closed"       Delivered "Closed. Waiting jobs go out again.";
    BreakerHeld         "breaker-held"         Delivered "Held open. Its jobs wait in place until then.";
    LimitsSaved         "limits-saved"         Delivered "Limits saved. They apply from the next request on.";
    Draining            "draining"             Delivered "Draining. It finishes its jobs and claims no more.";
    IntegrationsPaused  "integrations-paused"  Delivered "{integrations} paused. Their jobs are kept and wait.";
    IntegrationsResumed "integrations-resumed" Delivered "{integrations} resumed. Waiting jobs go out again.";
    IntegrationsLimited "integrations-limited" Delivered "Limits of {integrations} changed, from the next request on.";
    ResyncStarted       "resync-started"       Delivered "Re-sync started.";
    ResyncPaused        "resync-paused"        Delivered "Re-sync paused: nothing more of it is sent until it is resumed.";
    ResyncResumed       "resync-resumed"       Delivered "Re-sync resumed.";
    ResyncCancelled     "resync-cancelled"     Delivered "Re-sync cancelled, and its waiting jobs with it.";
    CountChanged        "count-changed"        Failed    "More match now than you confirmed. Nothing was changed; check the count and try again.";
    NothingSelected     "nothing-chosen"       Failed    "Nothing selected: select rows first.";
    Gone                "gone"                 Failed    "That no longer exists.";
    Forbidden           "forbidden"            Failed    "Your role does not allow that.";
    SignedOut           "signed-out"           Failed    "Nothing was done: you are signed out.";
    Conflict            "conflict"             Failed    "Its state does not allow that any more. Nothing was changed.";
    OthersChanged       "others-changed"       Failed    "Somebody else changed it meanwhile. Nothing was saved: check what it is now, then save again.";
    TooSoon             "too-soon"             Failed    "Too soon after the last one: try again in {age}.";
    Invalid             "invalid"              Failed    "Nothing was changed: a value is not accepted.";
    Unavailable         "unavailable"          Failed    "The database does not answer. Nothing was changed; try again in a moment.";
    Raced               "raced"                Failed    "Somebody else was changing this at that moment. Nothing was changed; try again.";
    Broken              "broken"               Failed    "That failed on our side. Nothing was changed; the cause is in the log.";
    Undone              "undone"               Delivered "Undone.";
    Repeated            "repeated"             Delivered "Done again.";
    UserSaved           "user-saved"           Delivered "Saved.";
    UserCreated         "user-made"            Delivered "The user can sign in now.";
    UserDeleted         "user-deleted"         Delivered "The user is gone; what was done stays in the audit log.";
    KeyCreated          "key-made"             Delivered "Key created. Copy it now: it is shown only once.";
    KeyRevoked          "key-revoked"          Delivered "The key is refused from now on.";
    ChangedSince        "changed-since"        Failed    "It was changed again since. Nothing was undone: check what it is now.";
    UndoneBefore        "undone-before"        Failed    "That was already undone.";
    NothingMatches      "nothing-matches"      Failed    "Nothing matches any more: there was nothing to do.";
    FailureSnoozed      "failure-snoozed"      Delivered "Snoozed. Its jobs are still retried as before.";
    FailureFixed        "failure-fixed"        Delivered "Marked fixed. It reopens by itself when it fails again.";
    FailureReopened     "failure-reopened"     Delivered "Open again.";
    NotePublished       "customers-told"       Delivered "Note published for {integrations}.";
    NoteWithdrawn       "note-taken-back"      Delivered "Note withdrawn: it is no longer shown.";
    Revealed            "revealed"             Delivered "Shown to you for 5 minutes; this is in the audit log.";
    Edited              "edited"               Delivered "Payload changed and job requeued with all attempts.";
    ViewSaved           "view-saved"           Delivered "View saved.";
    ViewChanged         "view-changed"         Delivered "View changed.";
    ViewPinned          "view-pinned"          Delivered "View pinned. It is counted every few seconds.";
    ViewUnpinned        "view-unpinned"        Delivered "View unpinned.";
    ViewDeleted         "view-deleted"         Delivered "View deleted. Jobs are not affected.";
}
