//! Each filter by itself finds its jobs, however many other rows there are and whatever the planner believes about them: by an index, or page
//! by page, none of which reads more rows than allowed.

mod by_id;
mod dead_letters;
mod each_filter;
mod many_jobs;

use insight::store::{job_lists, operations};
use model::actor::{Actor, ActorKind, Role, Scope};
use model::filter::JobFilter;
use model::job::Job;
use model::operation::{BulkAction, BulkStart, BulkSubject, DryRun, NewBulk};
use model::page::{Order, Page, PageRequest};
use sqlx::PgPool;

/// The jobs of all pages, and the number of pages.
async fn all_pages(pool: &PgPool, filter: &JobFilter, limit: i64, order: Order) -> (Vec<Job>, usize) {
    let (mut found, mut pages) = (Vec::new(), 0);
    let mut page = PageRequest { limit, after: None };
    loop {
        let Page { items, next_cursor } =
            job_lists::list_from(pool, Scope::AllApps, filter, page, order).await.unwrap();
        found.extend(items);
        pages += 1;
        let Some(cursor) = next_cursor else { return (found, pages) };
        page = PageRequest::parse(Some(limit), Some(&cursor)).unwrap();
    }
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

async fn dry_run(pool: &PgPool, action: BulkAction, filter: JobFilter) -> DryRun {
    let bulk = NewBulk {
        action,
        ids: None,
        filter: Some(filter),
        dry_run: true,
        rate_per_second: None,
        hold_seconds: None,
        reason: None,
    };
    let operator =
        Actor { kind: ActorKind::System, name: "ops".to_owned(), role: Role::Operator, app_id: None };
    let started = operations::start(pool, &operator, BulkSubject::Jobs, bulk).await.unwrap();
    let BulkStart::DryRun(dry) = started else { panic!("it was done") };
    dry
}
