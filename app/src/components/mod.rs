//! Components that know Headgate: they show types of `model` in words, colours and numbers.

pub mod deployment;
pub mod integrations;
mod jobs;
mod page;

pub use deployment::{
    ActivityFeed, AlertPill, Attention, AuditWords, BulkQuestion, GrowingFailures, OperationBadge,
    OperationProgress, ViewAlerts, Warnings, WorkerTrouble, marks,
};
pub use integrations::{
    AnswersCard, BreakerBadge, BreakerPanel, BreakerStyle, FlowChart, GaugeRow, GaugeTable, HealthBadge,
    HealthText, IntegrationLink, Judged, LatencyCard, LevelsChart, LimitStrip, RateLimitUseMeter,
    ResyncBadge, ResyncProgress, ThroughputChart, WhatIf, allowed, edits_in, eta_words, limits_in_words,
    moment, row_of, window_segments,
};
pub use jobs::{
    AttemptTimeline, DeltaDiff, History, JobStateBadge, JobStateStyle, JobVerdict, Payload, RecordSyncs,
    RetryPyramid, StateHistory,
};
pub use page::{
    Brand, Confirm, EmptyList, Failure, FilterBar, FilterSentence, Flash, FlashBar, Frame, InstanceBand,
    KeyHelp, LOGO_PATH, LiveBadge, Loaded, NewerRows, Outcome, PageHead, Palette, Reader, Refusal,
    ThemeSwitch, page_table,
};
