//! Rate limits now and over time, and the jobs that wait for them: composed of the list of limits, the sampler's gauges and the history.

use crate::{Allowed, Headgate, ServiceError, permission};
use chrono::Utc;
use insight::store::rate_limits::{self, RateLimitRow, SharedLimit};
use model::actor::Scope;
use model::id::IntegrationId;
use model::limit_use::{LimitOverTime, LimitWindow};
use model::page::Page;
use model::rate_limit::{RateLimit, RateLimitStatus};
use model::rules::what_if::{WhatIf, what_if};
use model::stats::{IntegrationGauge, Snapshot};
use model::views::rate_limits::{Cells, LimitList, LimitQuery, LimitRow, PAGE_ROWS};
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

impl Headgate {
    /// Every limit of every integration, on one page.
    pub async fn rate_limits(
        &self,
        actor: &Allowed<permission::ReadDeployment>,
    ) -> Result<Page<RateLimitStatus>, ServiceError> {
        let rows = rate_limits::list(&self.lists, actor.scope(), None).await?;
        Ok(Page { items: rows.into_iter().map(status).collect(), next_cursor: None })
    }

    /// The use of each limit of an integration over time; empty without a limit.
    ///
    /// # Errors
    /// No such integration.
    pub async fn limit_use(
        &self,
        actor: &Allowed<permission::Read>,
        id: IntegrationId,
        window: LimitWindow,
    ) -> Result<Page<LimitOverTime>, ServiceError> {
        self.delivery.integration(actor.scope(), id).await?;
        let asked = rate_limits::limits_of(&self.lists, id).await?;
        let used = rate_limits::history(&self.lists, &asked, window).await?;
        let items = asked.into_iter().zip(used).map(|(limit, used)| LimitOverTime {
            key: limit.key,
            limit: limit.requests,
            per_seconds: limit.per_seconds,
            integration_ids: limit.integrations,
            used,
        });
        Ok(Page { items: items.collect(), next_cursor: None })
    }

    /// The page of limits that the console asks for.
    ///
    /// # Errors
    /// The integration to be edited does not exist.
    pub async fn limit_list(
        &self,
        actor: &Allowed<permission::ReadDeployment>,
        query: &LimitQuery,
    ) -> Result<LimitList, ServiceError> {
        let scope = actor.scope();
        let limits = rate_limits::list(&self.lists, scope, None).await?;
        let all = composed(limits, &*self.snapshot().await?);
        let total = i64::try_from(all.len()).unwrap_or(i64::MAX);
        let mut fitting: Vec<_> = all.into_iter().filter(|row| fits(row, &query.name)).collect();
        fitting.sort_by(most_urgent_first);
        let matched = i64::try_from(fitting.len()).unwrap_or(i64::MAX);
        let rows = fitting.into_iter().skip((query.page - 1) * PAGE_ROWS).take(PAGE_ROWS).collect();
        let edited = match query.edited {
            Some(id) => Some(self.shown(actor, self.delivery.integration(scope, id).await?).await?),
            None => None,
        };
        let rows = self.with_history(rows, query.window).await?;
        let (page, window) = (query.page, query.window);
        Ok(LimitList { rows, matched, total, page, window, edited, as_of: Utc::now() })
    }

    /// The limits that apply to one integration.
    pub(crate) async fn limits_of_integration(
        &self,
        scope: Scope,
        id: IntegrationId,
        window: LimitWindow,
    ) -> Result<Vec<LimitRow>, ServiceError> {
        let own = rate_limits::list(&self.lists, scope, Some(id)).await?;
        let limits = match own.first().is_some_and(|row| row.rate_limit_key.is_some()) {
            // A shared limit counts the jobs of all its integrations.
            true => {
                let keys: Vec<_> = own.into_iter().map(|row| row.key).collect();
                let all = rate_limits::list(&self.lists, scope, None).await?;
                all.into_iter().filter(|row| keys.contains(&row.key)).collect()
            }
            false => own,
        };
        self.with_history(composed(limits, &*self.snapshot().await?), window).await
    }

    async fn with_history(
        &self,
        rows: Vec<LimitRow>,
        window: LimitWindow,
    ) -> Result<Vec<LimitRow>, ServiceError> {
        let asked = rows.iter().map(|row| SharedLimit {
            key: row.key.clone(),
            integrations: row.members.iter().map(|(id, _)| *id).collect(),
            requests: row.requests,
            per_seconds: row.per_seconds,
        });
        let used = rate_limits::history(&self.lists, &asked.collect::<Vec<_>>(), window).await?;
        Ok(rows.into_iter().zip(used).map(|(row, used)| LimitRow { cells: used.into(), ..row }).collect())
    }
}

fn status(row: RateLimitRow) -> RateLimitStatus {
    RateLimitStatus {
        integration_id: row.integration_id,
        app_id: row.app_id,
        integration_name: row.integration_name,
        rate_limit_key: row.rate_limit_key,
        limit: row.requests,
        used: row.used,
        per_seconds: row.per_seconds,
        next_free_at: row.next_free_at,
        held_until: row.quiet_until,
    }
}

/// Most outstanding jobs first, then the most used.
fn most_urgent_first(a: &LimitRow, b: &LimitRow) -> Ordering {
    let urgency =
        |row: &LimitRow| (row.outstanding, i64::from(row.used) * 1_000 / i64::from(row.requests.max(1)));
    urgency(b).cmp(&urgency(a)).then_with(|| a.key.cmp(&b.key))
}

fn fits(row: &LimitRow, wanted: &str) -> bool {
    let names = row.members.iter().map(|(_, name)| name.as_str());
    names
        .chain([row.app_name.as_str(), row.shared_key.as_deref().unwrap_or_default()])
        .any(|name| name.to_lowercase().contains(wanted))
}

/// One row per limit, although the list has a row per limit and integration.
fn composed(limits: Vec<RateLimitRow>, snapshot: &Snapshot) -> Vec<LimitRow> {
    let gauges: HashMap<_, _> =
        snapshot.integrations.iter().map(|gauge| (gauge.integration_id, gauge)).collect();
    let mut rows = BTreeMap::<String, LimitRow>::new();
    for limit in limits {
        let row = rows.entry(limit.key.clone()).or_insert_with(|| LimitRow {
            key: limit.key,
            app_id: limit.app_id,
            app_name: limit.app_name,
            shared_key: limit.rate_limit_key,
            members: Vec::new(),
            requests: limit.requests,
            per_seconds: limit.per_seconds,
            used: limit.used,
            quiet_until: None,
            backlog: 0,
            outstanding: 0,
            accepted_per_minute: Some(0),
            eta_seconds: None,
            cells: Cells::default(),
        });
        row.quiet_until = row.quiet_until.max(limit.quiet_until);
        if let Some(gauge) = gauges.get(&limit.integration_id) {
            row.backlog += gauge.backlog;
            row.outstanding += gauge.backlog + gauge.to_be_retried;
            row.accepted_per_minute =
                row.accepted_per_minute.zip(gauge.accepted_per_minute).map(|(a, b)| a + b);
            row.eta_seconds = gauge.eta_seconds;
        }
        row.members.push((limit.integration_id, limit.integration_name));
    }
    rows.into_values()
        .map(|mut row| {
            row.members.sort_by(|a, b| a.1.cmp(&b.1).then(a.0.cmp(&b.0)));
            row.eta_seconds = eta(&row, &gauges);
            row
        })
        .collect()
}

/// For one integration the sampler's estimate. For several the best that the limit allows: 0 where nothing waits, none where jobs wait and more
/// arrive than it allows, or where one of them sends nothing.
fn eta(row: &LimitRow, gauges: &HashMap<IntegrationId, &IntegrationGauge>) -> Option<i64> {
    if row.members.len() == 1 {
        return row.eta_seconds;
    }
    let is_stuck = |id| gauges.get(id).is_some_and(|gauge| gauge.backlog > 0 && gauge.eta_seconds.is_none());
    if row.members.iter().any(|(id, _)| is_stuck(id)) {
        return None;
    }
    let limit = RateLimit { requests: row.requests, per_seconds: row.per_seconds };
    match what_if(row.outstanding, row.accepted_per_minute, limit) {
        WhatIf::Drains { seconds, .. } => Some(seconds),
        WhatIf::Nothing { .. } | WhatIf::PilesUp { .. } => Some(0),
        WhatIf::Never { .. } => None,
    }
}
