//! Integrations: health, flow, limits, breakers, re-syncs.

pub(super) mod answers_card;
pub(super) mod breaker_panel;
pub(super) mod breaker_style;
pub(super) mod eta_words;
pub(super) mod flow_chart;
pub(super) mod gauge_table;
pub mod gauge_words;
mod health_sentence;
pub(super) mod integration_health;
pub(super) mod integration_link;
pub(super) mod latency_card;
pub(super) mod levels_chart;
pub(super) mod limit_strip;
pub(super) mod rate_limit_use;
pub(super) mod resync_state;
pub(super) mod throughput_chart;
pub(super) mod what_if;
pub(super) mod windows;

pub use answers_card::AnswersCard;
pub use breaker_panel::BreakerPanel;
pub use breaker_style::{BreakerBadge, BreakerStyle};
pub use eta_words::eta_words;
pub use flow_chart::FlowChart;
pub use gauge_table::{GaugeRow, GaugeTable};
pub use integration_health::{HealthBadge, HealthText, Judged, row_of};
pub use integration_link::IntegrationLink;
pub use latency_card::LatencyCard;
pub use levels_chart::LevelsChart;
pub use limit_strip::{LimitStrip, allowed, edits_in, moment};
pub use rate_limit_use::{RateLimitUseMeter, limits_in_words};
pub use resync_state::{ResyncBadge, ResyncProgress};
pub use throughput_chart::ThroughputChart;
pub use what_if::WhatIf;
pub use windows::window_segments;
