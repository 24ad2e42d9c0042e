//! An integration as it is now: its numbers are streamed, its charts loaded again.

use crate::calls::integrations::load_integration_charts;
use crate::components::HealthText;
use crate::state::{live, opened, refresh, revision};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::breaker::{Breaker, BreakerState};
use model::integration::Integration;
use model::opened::Opened;
use model::stats::{IntegrationGauge, Window};
use model::views::integration_page::IntegrationCharts;
use std::time::Duration;

#[derive(Clone, Copy)]
pub struct LiveIntegration {
    pub gauge: Memo<IntegrationGauge>,
    /// When it was read.
    pub gauge_at: Memo<DateTime<Utc>>,
    pub breaker: Memo<Breaker>,
    pub health: Memo<HealthText>,
    pub charts: Memo<IntegrationCharts>,
}

impl LiveIntegration {
    /// Begins with what the page was loaded with at `as_of`. A change of the settings by somebody else loads the page again.
    pub fn follow(
        integration: &Integration,
        first: IntegrationGauge,
        first_charts: IntegrationCharts,
        window: Window,
        as_of: DateTime<Utc>,
    ) -> Self {
        let id = integration.id;
        let snapshot = live::current().snapshot();
        let pushed = opened::follow::<IntegrationGauge>(Opened::Integration(id));
        // The newest of the streamed gauges, once they are newer than the page: those of each second, and those pushed after a change.
        let newest = Memo::new(move |_| {
            let sampled = snapshot.with(|s| {
                let s = s.as_ref()?;
                Some((s.at, s.integrations.iter().find(|g| g.integration_id == id)?.clone()))
            });
            let pushed = pushed.with(|pushed| pushed.as_ref().map(|pushed| (pushed.at, pushed.now.clone())));
            let newest = [sampled, pushed].into_iter().flatten().max_by_key(|(at, _)| *at);
            newest.filter(|(at, _)| *at >= as_of).unwrap_or_else(|| (as_of, first.clone()))
        });
        let gauge = Memo::new(move |_| newest.with(|(_, gauge)| gauge.clone()));
        let gauge_at = Memo::new(move |_| newest.with(|(at, _)| *at));
        let closed = match integration.breaker.state {
            BreakerState::Closed => integration.breaker.clone(),
            _ => Breaker::default(),
        };
        // The stream omits closed breakers.
        let breaker = Memo::new(move |_| gauge.with(|g| g.breaker.clone()).unwrap_or_else(|| closed.clone()));
        let health = Memo::new(move |_| gauge.with(|g| HealthText::of(g, as_of)));
        let newer = refresh::every(Duration::from_secs(10), move || load_integration_charts(id, window));
        let charts = Memo::new(move |_| newer.get().unwrap_or_else(|| first_charts.clone()));
        let settings_at = integration.updated_at;
        let revision = revision::current();
        // Somebody else changed the settings. What is typed in the form stays.
        Effect::new(move |_| {
            if charts.with(|charts| charts.settings_at > settings_at) {
                revision.next();
            }
        });
        Self { gauge, gauge_at, breaker, health, charts }
    }
}
