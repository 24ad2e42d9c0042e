//! Dead letters by integration and cause: each number equals that of the list it links to.

use super::failing::{Failing, because};
use crate::support::given_up;
use insight::store::failures;
use model::actor::Scope;
use model::dead_letter_grid::{DeadLetterGrid, GridPageRequest};
use model::failure::CauseId;
use model::filter::JobFilter;
use model::id::{AppId, IntegrationId};
use model::page::PageRequest;
use sqlx::PgPool;
use std::collections::BTreeMap;

const REASONS: [&str; 8] = [
    "the shelf is full",
    "the door is locked",
    "no such shop",
    "price missing",
    "title missing",
    "too heavy",
    "too light",
    "wrong colour",
];

async fn grid(pool: &PgPool, filter: &JobFilter, position: GridPageRequest) -> DeadLetterGrid {
    insight::store::dead_letters::grid(pool, Scope::AllApps, filter, position).await.unwrap().unwrap()
}

/// Number of dead letters in the list.
async fn listed(pool: &PgPool, filter: &JobFilter) -> i64 {
    let page = PageRequest { limit: 500, after: None };
    i64::try_from(
        insight::store::dead_letters::list(pool, Scope::AllApps, filter, page).await.unwrap().items.len(),
    )
    .unwrap()
}

fn narrowed(filter: &JobFilter, integration_id: Option<IntegrationId>, cause: Option<CauseId>) -> JobFilter {
    JobFilter {
        integration_id: integration_id.or(filter.integration_id),
        fingerprint: cause.map(|cause| cause.to_string()).or(filter.fingerprint.clone()),
        ..filter.clone()
    }
}

async fn grid_that_equals_its_lists(pool: &PgPool, filter: &JobFilter) -> DeadLetterGrid {
    let grid = grid(pool, filter, GridPageRequest::default()).await;
    assert_eq!(grid.total, listed(pool, filter).await, "{filter:?}");
    for cause in &grid.causes {
        assert_eq!(cause.total, listed(pool, &narrowed(filter, None, Some(cause.cause))).await);
    }
    for row in &grid.rows {
        assert_eq!(row.total, listed(pool, &narrowed(filter, Some(row.integration_id), None)).await);
        for (count, cause) in row.counts.iter().zip(&grid.causes) {
            let own = narrowed(filter, Some(row.integration_id), Some(cause.cause));
            assert_eq!(*count, listed(pool, &own).await, "{own:?}");
        }
    }
    grid
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn each_number_equals_that_of_the_list_it_links_to(pool: PgPool) {
    let failing = Failing::new(&pool).await;
    let (one, other) = (failing.world.lane().await, failing.world.lane().await);
    for (lane, reason, n) in [(one, 0, 3), (one, 1, 1), (other, 1, 4)] {
        failing.fail(lane, n, &because(REASONS[reason], given_up())).await;
    }
    let everything = JobFilter::default();
    // Deltas that are not folded yet count too.
    let before = grid_that_equals_its_lists(&pool, &everything).await;
    while failures::fold(&pool, failing.term).await.unwrap() > 0 {}
    let grid = grid_that_equals_its_lists(&pool, &everything).await;
    assert_eq!(grid, before);
    let totals: Vec<_> =
        grid.causes.iter().map(|cause| (cause.error.contains(REASONS[1]), cause.total)).collect();
    assert_eq!((grid.total, totals), (8, vec![(true, 5), (false, 3)]));
    let rows: BTreeMap<_, _> =
        grid.rows.iter().map(|row| (row.integration_id, (row.total, row.counts.clone()))).collect();
    assert_eq!(rows, BTreeMap::from([(one, (4, vec![1, 3])), (other, (4, vec![4, 0]))]));

    let fingerprint = Some(grid.causes[0].cause.to_string());
    for filter in [
        JobFilter { integration_id: Some(one), ..everything.clone() },
        JobFilter { app_id: Some(failing.world.app_id), ..everything.clone() },
        JobFilter { app_id: Some(AppId::generate()), ..everything.clone() },
        JobFilter { fingerprint, ..everything.clone() },
        // These are counted from the rows, because there are no counters for them.
        JobFilter { error: Some("DOOR".to_owned()), ..everything.clone() },
        JobFilter { job_type: Some("no such".to_owned()), ..everything.clone() },
    ] {
        grid_that_equals_its_lists(&pool, &filter).await;
    }
    let foreign = Scope::App(AppId::generate());
    let none = insight::store::dead_letters::grid(&pool, foreign, &everything, GridPageRequest::default())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(none, DeadLetterGrid::default());
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn what_does_not_fit_is_counted_and_reached_by_paging(pool: PgPool) {
    let failing = Failing::new(&pool).await;
    for reason in REASONS {
        let lane = failing.world.lane().await;
        failing.fail(lane, 1, &because(reason, given_up())).await;
    }
    // One cause everywhere: many integrations have the same count, so the id decides the order.
    for _ in 0..16 {
        let lane = failing.world.lane().await;
        failing.fail(lane, 1, &because(REASONS[0], given_up())).await;
    }
    let first = grid(&pool, &JobFilter::default(), GridPageRequest::default()).await;
    assert_eq!((first.rows.len(), first.integrations_total), (20, 24));
    assert_eq!((first.causes.len(), first.causes_total), (6, 8));
    assert_eq!((first.total, first.causes[0].total, first.other_causes()), (24, 17, 2));
    assert_eq!(first.other_integrations().iter().sum::<i64>(), 4);

    // Page in both directions to the end: every cell occurs once.
    let mut cells = BTreeMap::new();
    let mut position = GridPageRequest::default();
    loop {
        let page = grid(&pool, &JobFilter::default(), position).await;
        for row in &page.rows {
            for (count, cause) in row.counts.iter().zip(&page.causes) {
                let seen = cells.insert((row.integration_id, cause.cause), *count);
                assert_eq!(seen, None, "seen twice");
            }
        }
        position = match (page.next_integrations, page.next_causes) {
            (Some(next), _) => GridPageRequest { integrations_after: Some(next), ..position },
            (None, Some(next)) => GridPageRequest { causes_after: Some(next), integrations_after: None },
            (None, None) => break,
        };
    }
    assert_eq!((cells.len(), cells.values().sum::<i64>()), (24 * 8, 24));
}
