//! The console's list of integrations: filtered, ordered and grouped in memory, from the sampler's newest gauges. The database is not queried,
//! however many integrations there are.

use crate::{Allowed, Headgate, ServiceError, permission};
use chrono::{DateTime, Utc};
use model::id::AppId;
use model::integration::IntegrationState;
use model::integration_query::{Group, IntegrationQuery, Only, Order};
use model::rules::health::Health;
use model::stats::IntegrationGauge;
use model::views::integration_list::{IntegrationGroup, IntegrationList, IntegrationRow, PAGE_ROWS};
use std::{cmp::Ordering, collections::BTreeMap};

/// With more apps the list offers a text field instead of a selection.
const MAX_APPS: usize = 200;

impl Headgate {
    /// The page of integrations, or of groups of them, that a query asks for.
    pub async fn integration_list(
        &self,
        actor: &Allowed<permission::OpenConsole>,
        query: &IntegrationQuery,
    ) -> Result<IntegrationList, ServiceError> {
        let snapshot = self.snapshot().await?;
        let all = snapshot.integrations.iter().filter(|gauge| actor.scope().contains(gauge.app_id));
        let all: Vec<_> = all.collect();
        let judged = all
            .iter()
            .filter(|gauge| is_named(query, gauge))
            .map(|gauge| (Health::of(gauge, snapshot.at), *gauge));
        let judged: Vec<Judged<'_>> = judged.collect();
        let counts = Only::ALL
            .map(|only| judged.iter().filter(|(health, gauge)| is_in(only, *health, gauge)).count() as i64);
        let mut fitting: Vec<_> =
            judged.into_iter().filter(|(health, gauge)| is_in(query.only, *health, gauge)).collect();
        let matched = fitting.len() as i64;
        let skipped = (query.page - 1) * PAGE_ROWS;
        let (rows, groups, groups_total) = match query.group {
            Some(group) => {
                let groups = grouped(group, &fitting);
                let total = groups.len() as i64;
                (Vec::new(), groups.into_iter().skip(skipped).take(PAGE_ROWS).collect(), total)
            }
            None => {
                fitting.sort_by(|a, b| compare(query, a, b));
                let page = fitting.into_iter().skip(skipped).take(PAGE_ROWS);
                (page.map(|(_, gauge)| self.integration_row(gauge)).collect(), Vec::new(), 0)
            }
        };
        let apps: BTreeMap<AppId, &str> =
            all.iter().map(|gauge| (gauge.app_id, gauge.app_name.as_str())).collect();
        Ok(IntegrationList {
            rows,
            groups,
            groups_total,
            matched,
            total: all.len() as i64,
            apps_total: apps.len() as i64,
            counts: counts.to_vec(),
            apps: choices(&apps),
            as_of: snapshot.at,
        })
    }

    fn integration_row(&self, gauge: &IntegrationGauge) -> IntegrationRow {
        let backlogs = self.live.backlogs(gauge.integration_id).into_iter().map(|(_, n)| n).collect();
        IntegrationRow { gauge: gauge.clone(), backlogs }
    }
}

/// Whether the list shows an integration with this gauge of the snapshot.
pub(crate) fn is_listed(query: &IntegrationQuery, now: DateTime<Utc>, gauge: &IntegrationGauge) -> bool {
    is_named(query, gauge) && (query.only == Only::All || is_in(query.only, Health::of(gauge, now), gauge))
}

/// The apps by name; none when there are too many to choose from.
fn choices(apps: &BTreeMap<AppId, &str>) -> Vec<(AppId, String)> {
    if apps.len() > MAX_APPS {
        return Vec::new();
    }
    let mut choices: Vec<_> = apps.iter().map(|(id, name)| (*id, (*name).to_owned())).collect();
    choices.sort_by(|a, b| a.1.cmp(&b.1).then(a.0.cmp(&b.0)));
    choices
}

fn is_named(query: &IntegrationQuery, gauge: &IntegrationGauge) -> bool {
    (query.app_id.is_empty() || gauge.app_id.to_string() == query.app_id)
        && query.kind.is_none_or(|kind| kind == gauge.integration_type)
        && (query.text.is_empty()
            || gauge.name.to_lowercase().contains(&query.text)
            || gauge.app_name.to_lowercase().contains(&query.text))
}

fn is_in(only: Only, health: Health, gauge: &IntegrationGauge) -> bool {
    match only {
        Only::All => true,
        Only::Attention => health.needs_attention(),
        Only::Working => gauge.backlog + gauge.processing + gauge.to_be_retried > 0,
        Only::Paused => gauge.state != IntegrationState::Active,
    }
}

type Judged<'a> = (Health, &'a IntegrationGauge);

/// Largest first, names from a to z; unknown values come last in either direction. Ties: worst first.
fn compare(query: &IntegrationQuery, a: &Judged<'_>, b: &Judged<'_>) -> Ordering {
    let directed = |order: Ordering| if query.is_reversed { order.reverse() } else { order };
    let by_value = |value: fn(&Judged<'_>) -> Option<f64>| match (value(a), value(b)) {
        (Some(a), Some(b)) => directed(b.total_cmp(&a)),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    };
    let asked = match query.order {
        Order::Name => directed(a.1.name.to_lowercase().cmp(&b.1.name.to_lowercase())),
        Order::State => by_value(|(health, _)| Some(f64::from(health.severity))),
        Order::Backlog => by_value(|(_, g)| Some(g.backlog as f64)),
        Order::Eta => by_value(|(_, g)| g.eta_seconds.filter(|_| g.backlog > 0).map(|n| n as f64)),
        Order::Accepted => by_value(|(_, g)| g.accepted_per_minute.map(|n| n as f64)),
        Order::Delivered => by_value(|(_, g)| Some(g.delivered_per_minute as f64)),
        Order::Limit => {
            by_value(|(_, g)| g.rate_limit.map(|l| f64::from(l.used) / f64::from(l.limit.max(1))))
        }
        Order::P95 => by_value(|(_, g)| g.latency.map(|latency| latency.p95_ms as f64)),
        Order::Failing => by_value(|(_, g)| failing(g)),
        Order::Refused => by_value(|(_, g)| g.refused_share),
        Order::Dead => by_value(|(_, g)| Some(g.dead_letters as f64)),
        Order::Oldest => {
            by_value(|(_, g)| g.oldest_pending_age_seconds.filter(|_| g.backlog > 0).map(|n| n as f64))
        }
    };
    asked.then_with(|| Health::worst_first(*a, *b))
}

/// The share of failed attempts in the last minute; none when no attempt ended.
fn failing(gauge: &IntegrationGauge) -> Option<f64> {
    let tried = gauge.delivered_per_minute + gauge.failed_per_minute;
    (tried > 0).then(|| gauge.failed_per_minute as f64 / tried as f64)
}

fn grouped(by: Group, fitting: &[Judged<'_>]) -> Vec<IntegrationGroup> {
    let mut groups = BTreeMap::<String, IntegrationGroup>::new();
    for (health, gauge) in fitting {
        let (name, narrowed) = match by {
            Group::App => (gauge.app_name.clone(), ("app_id".to_owned(), gauge.app_id.to_string())),
            Group::Type => {
                let kind = gauge.integration_type.as_str().to_owned();
                (kind.clone(), ("type".to_owned(), kind))
            }
        };
        let group = groups.entry(narrowed.1.clone()).or_insert_with(|| IntegrationGroup {
            narrowed,
            name,
            integrations: 0,
            need_attention: 0,
            backlog: 0,
            accepted_per_minute: Some(0),
            delivered_per_minute: 0,
            failed_per_minute: 0,
            dead_letters: 0,
            oldest_pending_age_seconds: None,
        });
        group.integrations += 1;
        group.need_attention += i64::from(health.needs_attention());
        group.backlog += gauge.backlog;
        group.accepted_per_minute =
            group.accepted_per_minute.zip(gauge.accepted_per_minute).map(|(a, b)| a + b);
        group.delivered_per_minute += gauge.delivered_per_minute;
        group.failed_per_minute += gauge.failed_per_minute;
        group.dead_letters += gauge.dead_letters;
        group.oldest_pending_age_seconds =
            group.oldest_pending_age_seconds.max(gauge.oldest_pending_age_seconds);
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.sort_by(|a, b| {
        let urgency = |group: &IntegrationGroup| (group.need_attention, group.backlog, group.dead_letters);
        urgency(b).cmp(&urgency(a)).then_with(|| a.name.cmp(&b.name))
    });
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::fixtures::{idle_gauge, noon};

    fn named(name: &str, backlog: i64) -> IntegrationGauge {
        IntegrationGauge { name: name.to_owned(), backlog, ..idle_gauge() }
    }

    fn sorted(query: &IntegrationQuery, gauges: &[IntegrationGauge]) -> Vec<String> {
        let mut judged: Vec<_> = gauges.iter().map(|gauge| (Health::of(gauge, noon()), gauge)).collect();
        judged.sort_by(|a, b| compare(query, a, b));
        judged.into_iter().map(|(_, gauge)| gauge.name.clone()).collect()
    }

    #[test]
    fn unknown_values_come_last_in_either_direction() {
        let known =
            |name: &str, accepted| IntegrationGauge { accepted_per_minute: Some(accepted), ..named(name, 0) };
        let gauges = [named("unknown", 0), known("few", 1), known("many", 9)];
        let query = |is_reversed| IntegrationQuery {
            order: Order::Accepted,
            is_reversed,
            ..IntegrationQuery::default()
        };
        assert_eq!(sorted(&query(false), &gauges), ["many", "few", "unknown"]);
        assert_eq!(sorted(&query(true), &gauges), ["few", "many", "unknown"]);
    }

    #[test]
    fn a_list_is_filtered_by_names_app_and_work() {
        let busy = named("Shop ERP", 3);
        let listed = |query: &IntegrationQuery| is_listed(query, noon(), &busy);
        let all = IntegrationQuery::default();
        assert!(listed(&all));
        assert!(listed(&IntegrationQuery { text: "erp".to_owned(), ..all.clone() }));
        assert!(listed(&IntegrationQuery { text: "acme".to_owned(), ..all.clone() }), "the app's name");
        assert!(!listed(&IntegrationQuery { text: "crm".to_owned(), ..all.clone() }));
        assert!(listed(&IntegrationQuery { app_id: busy.app_id.to_string(), ..all.clone() }));
        assert!(!listed(&IntegrationQuery { app_id: "nonsense".to_owned(), ..all.clone() }));
        assert!(listed(&IntegrationQuery { only: Only::Working, ..all.clone() }));
        assert!(!listed(&IntegrationQuery { only: Only::Paused, ..all }));
    }

    #[test]
    fn a_group_has_the_sums_of_its_integrations() {
        let (one, other) = (named("a", 2), named("b", 3));
        let judged: Vec<Judged<'_>> =
            [&one, &other].into_iter().map(|gauge| (Health::of(gauge, noon()), gauge)).collect();
        let by_type = grouped(Group::Type, &judged);
        assert_eq!(by_type.len(), 1);
        assert_eq!((by_type[0].integrations, by_type[0].backlog), (2, 5));
        assert_eq!(by_type[0].accepted_per_minute, None, "not known for all of them");
        assert_eq!(grouped(Group::App, &judged).len(), 2);
    }
}
