//! Limits with the jobs that wait for them and their use: put together from the list of limits, the sampler's gauges and the history.

use super::context::ConsoleContext;
use crate::{
    calls::{
        error::CallError,
        rate_limits::{Cells, LimitList, LimitRow, PAGE_ROWS},
    },
    state::page_url::PageUrl,
};
use chrono::Utc;
use insight::store::rate_limits::{self, RateLimitRow, SharedLimit, history};
use model::{
    actor::{Actor, Scope},
    id::IntegrationId,
    limit_use::LimitWindow,
    rate_limit::RateLimit,
    rules::what_if::{WhatIf, what_if},
    stats::IntegrationGauge,
};
use std::collections::{BTreeMap, HashMap};

pub async fn load(cx: &ConsoleContext, actor: &Actor, url: &PageUrl) -> Result<LimitList, CallError> {
    let scope = actor.scope();
    let window = url.get("window").map_or(Ok(LimitWindow::default()), str::parse);
    let window = window.map_err(|_| CallError::Invalid("window must be 1h or 24h".to_owned()))?;
    let page = url.get("page").map_or(Ok(1), str::parse::<usize>);
    let page = page.ok().filter(|page| (1..=10_000).contains(page));
    let page = page.ok_or_else(|| CallError::Invalid("page must be a number from 1".to_owned()))?;
    let wanted = url.get("name").unwrap_or_default().to_lowercase();
    let all = rows(cx, rate_limits::list(&cx.pool, scope, None).await?).await?;
    let total = i64::try_from(all.len()).unwrap_or(i64::MAX);
    let mut fitting: Vec<_> = all.into_iter().filter(|row| fits(row, &wanted)).collect();
    fitting.sort_by(|a, b| {
        let urgency =
            |row: &LimitRow| (row.outstanding, i64::from(row.used) * 1_000 / i64::from(row.requests.max(1)));
        urgency(b).cmp(&urgency(a)).then_with(|| a.key.cmp(&b.key))
    });
    let matched = i64::try_from(fitting.len()).unwrap_or(i64::MAX);
    let rows = fitting.into_iter().skip((page - 1) * PAGE_ROWS).take(PAGE_ROWS).collect();
    let edited = match url.get("edit").and_then(|id| id.parse::<IntegrationId>().ok()) {
        Some(id) => Some(cx.delivery.shown_to(actor, cx.delivery.integration(scope, id).await?).await?),
        None => None,
    };
    let rows = with_history(cx, rows, window).await?;
    Ok(LimitList { rows, matched, total, page, window, edited, as_of: Utc::now() })
}

/// The limits that apply to one integration.
pub async fn of_integration(
    cx: &ConsoleContext,
    scope: Scope,
    id: IntegrationId,
    window: LimitWindow,
) -> Result<Vec<LimitRow>, CallError> {
    let own = rate_limits::list(&cx.pool, scope, Some(id)).await?;
    let rows = match own.first().is_some_and(|row| row.rate_limit_key.is_some()) {
        // A shared limit counts the jobs of all its integrations.
        true => {
            let keys: Vec<_> = own.into_iter().map(|row| row.key).collect();
            let all = rate_limits::list(&cx.pool, scope, None).await?;
            rows(cx, all.into_iter().filter(|row| keys.contains(&row.key)).collect()).await?
        }
        false => rows(cx, own).await?,
    };
    with_history(cx, rows, window).await
}

fn fits(row: &LimitRow, wanted: &str) -> bool {
    let names = row.members.iter().map(|(_, name)| name.as_str());
    names
        .chain([row.app_name.as_str(), row.shared_key.as_deref().unwrap_or_default()])
        .any(|name| name.to_lowercase().contains(wanted))
}

/// One row per limit, although the list has a row per limit and integration.
async fn rows(cx: &ConsoleContext, limits: Vec<RateLimitRow>) -> Result<Vec<LimitRow>, CallError> {
    let snapshot = cx.snapshot().await?;
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
            held_until: None,
            backlog: 0,
            outstanding: 0,
            accepted_per_minute: Some(0),
            eta_seconds: None,
            cells: Cells::default(),
        });
        row.held_until = row.held_until.max(limit.held_until);
        if let Some(gauge) = gauges.get(&limit.integration_id) {
            row.backlog += gauge.backlog;
            row.outstanding += gauge.backlog + gauge.to_be_retried;
            row.accepted_per_minute =
                row.accepted_per_minute.zip(gauge.accepted_per_minute).map(|(a, b)| a + b);
            row.eta_seconds = gauge.eta_seconds;
        }
        row.members.push((limit.integration_id, limit.integration_name));
    }
    Ok(rows
        .into_values()
        .map(|mut row| {
            row.members.sort_by(|a, b| a.1.cmp(&b.1).then(a.0.cmp(&b.0)));
            row.eta_seconds = eta(&row, &gauges);
            row
        })
        .collect())
}

/// For one integration the sampler's estimate. For several the best that the limit allows; none where more jobs arrive than it allows,
/// or where one of them sends nothing.
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
        WhatIf::Nothing => Some(0),
        WhatIf::Never { .. } => None,
    }
}

async fn with_history(
    cx: &ConsoleContext,
    rows: Vec<LimitRow>,
    window: LimitWindow,
) -> Result<Vec<LimitRow>, CallError> {
    let asked: Vec<_> = rows
        .iter()
        .map(|row| SharedLimit {
            key: row.key.clone(),
            integrations: row.members.iter().map(|(id, _)| *id).collect(),
            requests: row.requests,
            per_seconds: row.per_seconds,
        })
        .collect();
    let used = history(&cx.pool, &asked, window).await?;
    Ok(rows.into_iter().zip(used).map(|(row, used)| LimitRow { cells: used.into(), ..row }).collect())
}
