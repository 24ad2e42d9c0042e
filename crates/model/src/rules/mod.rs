//! Pure decisions: everything they need is passed in, including the time.

pub mod backoff;
pub mod breaker;
pub mod cause;
pub mod diff;
pub mod explain;
pub mod fingerprint;
pub mod growth;
pub mod halving;
pub mod health;
pub mod masking;
pub mod narrowing;
pub mod permission;
pub mod plain_cause;
pub mod transition;
pub mod undo;
pub mod verdict;
pub mod what_if;
