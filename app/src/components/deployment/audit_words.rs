//! Actions of the audit log in words, for the log's lines and its filter.

/// An action as the log writes it, and in words that what it was done to follows.
pub struct AuditWords {
    /// `integration.pause`.
    pub action: &'static str,
    /// `paused`.
    pub did: &'static str,
    /// `integration`; empty where the verb says it.
    pub what: &'static str,
}

impl AuditWords {
    /// `None`: a newer version wrote it.
    pub fn of(action: &str) -> Option<&'static Self> {
        ALL.iter().find(|words| words.action == action)
    }

    /// `paused integration`.
    pub fn sentence(&self) -> String {
        format!("{} {}", self.did, self.what).trim_end().to_owned()
    }
}

const fn words(action: &'static str, did: &'static str, what: &'static str) -> AuditWords {
    AuditWords { action, did, what }
}

/// In the order a filter offers them.
pub const ALL: &[AuditWords] = &[
    words("integration.create", "created", "integration"),
    words("integration.update", "changed", "integration"),
    words("integration.delete", "deleted", "integration"),
    words("integration.pause", "paused", "integration"),
    words("integration.resume", "resumed", "integration"),
    words("integration.breaker", "changed the breaker of", "integration"),
    words("integration.rotate_secret", "rotated the signing secret of", "integration"),
    words("integration.test", "sent a test to", "integration"),
    words("resync.start", "started", "re-sync"),
    words("resync.pause", "paused", "re-sync"),
    words("resync.resume", "resumed", "re-sync"),
    words("resync.cancel", "cancelled", "re-sync"),
    words("job.requeue", "requeued", "job"),
    words("job.cancel", "cancelled", "job"),
    words("job.edit", "edited and requeued", "job"),
    words("job.reveal", "revealed masked values of", "job"),
    words("job.bulk_requeue", "bulk-requeued", "jobs"),
    words("job.bulk_cancel", "bulk-cancelled", "jobs"),
    words("saved_view.create", "saved", "view"),
    words("saved_view.update", "changed", "saved view"),
    words("saved_view.delete", "deleted", "saved view"),
    words("dead_letter.requeue", "requeued", "dead letter"),
    words("dead_letter.purge", "purged", "dead letter"),
    words("dead_letter.restore", "restored", "dead letter"),
    words("dead_letter.bulk_requeue", "bulk-requeued", "dead letters"),
    words("dead_letter.bulk_purge", "bulk-purged", "dead letters"),
    words("failure.snooze", "snoozed", "failure group"),
    words("failure.fix", "marked as fixed:", "failure group"),
    words("failure.reopen", "reopened", "failure group"),
    words("failure.tell", "published a note on", "failure group"),
    words("operation.pause", "paused", "bulk operation"),
    words("operation.resume", "resumed", "bulk operation"),
    words("operation.abort", "aborted", "bulk operation"),
    words("operation.undo", "undid", "bulk operation"),
    words("worker.drain", "drained", "worker"),
    words("app.create", "created", "app"),
    words("app.update", "changed", "app"),
    words("app.delete", "deleted", "app"),
    words("user.create", "created", "user"),
    words("user.update", "changed", "user"),
    words("user.set_password", "set the password of", "user"),
    words("user.delete", "deleted", "user"),
    words("api_key.create", "created", "API key"),
    words("api_key.revoke", "revoked", "API key"),
    words("session.sign_in", "signed in", ""),
    words("session.redeem_link", "signed in with a one-time link", ""),
    words("session.sign_out", "signed out", ""),
    words("session.refuse", "failed to sign in", ""),
    words("sign_in_link.create", "created a one-time sign-in link for", "user"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_reads_as_what_somebody_did() {
        let sentence = |action| AuditWords::of(action).map(AuditWords::sentence);
        assert_eq!(sentence("integration.pause").as_deref(), Some("paused integration"));
        assert_eq!(sentence("session.sign_in").as_deref(), Some("signed in"));
        assert_eq!(sentence("newer.thing"), None);
    }
}
