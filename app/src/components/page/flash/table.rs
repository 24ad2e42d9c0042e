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
    Requeued            "requeued"             Delivered "{jobs} requeued. Attempts start over.";
    Cancelled           "cancelled"            Delivered "{jobs} cancelled.";
    CancelRequested     "cancel-requested"     Delivered "Cancellation requested. The worker has not stopped yet; there are no further attempts.";
    DoneBefore          "done-before"          Delivered "It completed before its worker saw the cancel request.";
    Purged              "purged"               Delivered "{dead letters} purged.";
    Started             "started"              Delivered "{are} being processed in the background.";
    Held                "held"                 Delivered "Nothing has changed yet: {are} waiting for the start delay. Abort to call it off.";
    OperationPaused     "operation-paused"     Delivered "Paused. Changes made so far stay.";
    OperationResumed    "operation-resumed"    Delivered "Resumed. It continues where it stopped.";
    OperationAborted    "operation-aborted"    Delivered "Aborted. Changes made so far stay.";
    OperationUndone     "operation-undone"     Delivered "Undoing, except for jobs attempted since.";
    Restored            "restored"             Delivered "{dead letters} restored.";
    Paused              "paused"               Delivered "Paused. Its jobs wait.";
    Resumed             "resumed"              Delivered "Resumed. Waiting jobs are sent again.";
    BreakerProbes       "breaker-probes"       Delivered "Probing. A few jobs go through as a test.";
    BreakerClosed       "breaker-closed"       Delivered "Closed. Waiting jobs are sent again.";
    BreakerHeld         "breaker-held"         Delivered "Held open. Its jobs wait until then.";
    LimitsSaved         "limits-saved"         Delivered "Limits saved. They apply from the next request.";
    Draining            "draining"             Delivered "Draining. It finishes its jobs and claims no more.";
    IntegrationsPaused  "integrations-paused"  Delivered "{integrations} paused. Their jobs wait.";
    IntegrationsResumed "integrations-resumed" Delivered "{integrations} resumed. Waiting jobs are sent again.";
    IntegrationsLimited "integrations-limited" Delivered "Limits of {integrations} saved. They apply from the next request.";
    ResyncStarted       "resync-started"       Delivered "Re-sync started.";
    ResyncPaused        "resync-paused"        Delivered "Re-sync paused. Nothing more is sent until it is resumed.";
    ResyncResumed       "resync-resumed"       Delivered "Re-sync resumed.";
    ResyncCancelled     "resync-cancelled"     Delivered "Re-sync and its waiting jobs cancelled.";
    CountChanged        "count-changed"        Failed    "More match now than you confirmed. Nothing was changed; check the count and try again.";
    NothingSelected     "nothing-chosen"       Failed    "Nothing selected: select rows first.";
    Gone                "gone"                 Failed    "That no longer exists.";
    Forbidden           "forbidden"            Failed    "Your role does not allow that.";
    SignedOut           "signed-out"           Failed    "Nothing was done: you are signed out.";
    Conflict            "conflict"             Failed    "Not possible in its current state. Nothing was changed.";
    OthersChanged       "others-changed"       Failed    "Someone else changed it in the meantime. Nothing was saved: check the current values, then save again.";
    TooSoon             "too-soon"             Failed    "Too soon after the last one: try again in {age}.";
    Invalid             "invalid"              Failed    "Nothing was changed: a value is invalid.";
    Unavailable         "unavailable"          Failed    "The database is not responding. Nothing was changed; try again in a moment.";
    Raced               "raced"                Failed    "Someone else was changing this at the same time. Nothing was changed; try again.";
    Broken              "broken"               Failed    "Something went wrong. Nothing was changed; details are in the server log.";
    Undone              "undone"               Delivered "Undone.";
    Repeated            "repeated"             Delivered "Repeated.";
    UserSaved           "user-saved"           Delivered "Saved.";
    UserCreated         "user-made"            Delivered "The user can sign in now.";
    UserDeleted         "user-deleted"         Delivered "User deleted. Their actions stay in the audit log.";
    KeyCreated          "key-made"             Delivered "Key created. Copy it now: it is shown only once.";
    KeyRevoked          "key-revoked"          Delivered "Key revoked. Requests with it are refused.";
    ChangedSince        "changed-since"        Failed    "It has changed since. Nothing was undone: check its current state.";
    UndoneBefore        "undone-before"        Failed    "That was already undone.";
    NothingMatches      "nothing-matches"      Failed    "Nothing matches any more. Nothing was changed.";
    FailureSnoozed      "failure-snoozed"      Delivered "Snoozed. Its jobs are still retried.";
    FailureFixed        "failure-fixed"        Delivered "Marked as fixed. It reopens if it fails again.";
    FailureReopened     "failure-reopened"     Delivered "Reopened.";
    NotePublished       "customers-told"       Delivered "Note published for {integrations}.";
    NoteWithdrawn       "note-taken-back"      Delivered "Note withdrawn.";
    Revealed            "revealed"             Delivered "Revealed to you for 5 minutes. Recorded in the audit log.";
    Edited              "edited"               Delivered "Payload changed and job requeued. Attempts start over.";
    ViewSaved           "view-saved"           Delivered "View saved.";
    ViewChanged         "view-changed"         Delivered "View changed.";
    ViewPinned          "view-pinned"          Delivered "View pinned. It is counted every few seconds.";
    ViewUnpinned        "view-unpinned"        Delivered "View unpinned.";
    ViewDeleted         "view-deleted"         Delivered "View deleted. Jobs are not affected.";
}
