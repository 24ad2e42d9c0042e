//! The deployment as a whole: what needs attention, what happened, bulk operations.

pub(super) mod activity_feed;
pub(super) mod attention;
pub mod audit_words;
pub(super) mod bulk_question;
pub(super) mod growing_failures;
pub(super) mod operation_state;
pub mod operation_words;
pub(super) mod view_alerts;
pub(super) mod warnings;
pub(super) mod worker_trouble;

pub use activity_feed::{ActivityFeed, marks};
pub use attention::Attention;
pub use audit_words::AuditWords;
pub use bulk_question::BulkQuestion;
pub use growing_failures::GrowingFailures;
pub use operation_state::{OperationBadge, OperationProgress};
pub use view_alerts::{AlertPill, ViewAlerts};
pub use warnings::Warnings;
pub use worker_trouble::WorkerTrouble;
