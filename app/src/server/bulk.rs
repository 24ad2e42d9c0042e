//! Bulk actions on everything that a query string matches, or on the selected rows.

use super::context;
use crate::{
    calls::{
        error::CallError,
        jobs::{BulkOptions, BulkPreview},
    },
    components::{Flash, Outcome},
    state::{page_url::PageUrl, url_filters::ListQuery},
};
use chrono::Utc;
use insight::store::operations::BulkStart;
use model::{
    actor::Actor,
    filter::JobFilter,
    operation::{BulkAction, BulkDone, BulkOutcome, BulkStarted, BulkSubject, DryRun, NewBulk},
    rules::permission::Permission,
};
use uuid::Uuid;

#[derive(Clone, Debug, Default)]
pub struct BulkForm {
    /// Rows selected in the form itself.
    pub ids: Vec<Uuid>,
    /// The query string of the confirmation dialog, with selected rows or a filter.
    pub query: String,
    /// The count that the dialog showed.
    pub matched: Option<i64>,
    pub how: BulkOptions,
}

pub fn permission(action: BulkAction) -> Permission {
    match action {
        BulkAction::Purge => Permission::Purge,
        BulkAction::Delete => Permission::Configure,
        BulkAction::Requeue | BulkAction::Cancel | BulkAction::Undo => Permission::SteerJobs,
    }
}

/// Counts exactly what the action would change, by integration.
pub async fn preview(
    actor: &Actor,
    subject: BulkSubject,
    action: BulkAction,
    query: &str,
) -> Result<BulkPreview, CallError> {
    let wanted = wanted(action, Vec::new(), query)?.ok_or_else(nothing)?;
    let run = dry_run(actor, subject, wanted).await?;
    let touched = run.breakdown.iter().map(|part| part.integration_id);
    let names = context::current()?.names(actor.scope(), touched, &JobFilter::default()).await?;
    Ok(BulkPreview { run, names })
}

/// Runs the action, unless more jobs match by now than the dialog showed.
pub async fn run(
    actor: &Actor,
    subject: BulkSubject,
    action: BulkAction,
    choice: BulkForm,
) -> Result<Outcome, CallError> {
    let Some(mut wanted) = wanted(action, choice.ids, &choice.query)? else {
        return Ok(Flash::NothingSelected.into());
    };
    wanted.rate_per_second = number(&choice.how.rate_per_second, "/rate_per_second")?;
    wanted.hold_seconds = number(&choice.how.hold_seconds, "/hold_seconds")?;
    wanted.reason = Some(choice.how.reason.trim().to_owned()).filter(|reason| !reason.is_empty());
    let has_hold = wanted.hold_seconds != Some(0);
    if let Some(named) = choice.matched {
        let now = dry_run(actor, subject, wanted.clone()).await?;
        if now.matched > named {
            return Ok(Flash::CountChanged.into());
        }
    }
    let cx = context::current()?;
    Ok(match cx.headgate.bulk(actor, subject, wanted).await? {
        BulkStart::Outcome(BulkOutcome::Done(BulkDone { changed, skipped, operation_id, .. })) => {
            let flash = match action {
                BulkAction::Requeue => Flash::Requeued,
                BulkAction::Cancel => Flash::Cancelled,
                BulkAction::Purge => Flash::Purged,
                BulkAction::Undo => Flash::OperationUndone,
                BulkAction::Delete => return Err(CallError::Broken),
            };
            Outcome { flash, n: changed, skipped, operation: operation_id }
        }
        BulkStart::Outcome(BulkOutcome::Started(BulkStarted { matched, operation_id })) => Outcome {
            flash: if has_hold { Flash::Held } else { Flash::Started },
            n: matched,
            skipped: 0,
            operation: Some(operation_id),
        },
        BulkStart::DryRun(_) => return Err(CallError::Broken),
    })
}

async fn dry_run(actor: &Actor, subject: BulkSubject, wanted: NewBulk) -> Result<DryRun, CallError> {
    let headgate = context::current()?.headgate;
    match headgate.bulk(actor, subject, NewBulk { dry_run: true, ..wanted }).await? {
        BulkStart::DryRun(run) => Ok(run),
        BulkStart::Outcome(_) => Err(CallError::Broken),
    }
}

fn number(typed: &str, field: &str) -> Result<Option<i32>, CallError> {
    match typed.trim() {
        "" => Ok(None),
        typed => {
            typed.parse().map(Some).map_err(|_| CallError::Invalid(format!("{field}: must be a number")))
        }
    }
}

fn nothing() -> CallError {
    CallError::Invalid("Nothing is selected.".to_owned())
}

/// Selected rows take precedence over the filter. None: the form was sent with neither.
fn wanted(action: BulkAction, ids: Vec<Uuid>, query: &str) -> Result<Option<NewBulk>, CallError> {
    let url = PageUrl::parse(&format!("/?{query}"));
    let is_selection = url.get("back").is_some() || !ids.is_empty();
    let ids: Vec<Uuid> = if ids.is_empty() {
        url.all("ids[]").into_iter().filter_map(|id| id.parse().ok()).collect()
    } else {
        ids
    };
    let mut filter = ListQuery::parse(query).map_err(|error| CallError::Invalid(error.to_string()))?.filter;
    let (ids, filter) = match (ids.is_empty(), is_selection || query.is_empty()) {
        (false, _) => (Some(ids), None),
        (true, true) => return Ok(None),
        (true, false) => {
            // "All" means all that exist now. The service refuses an empty filter, so the time makes it explicit.
            if filter.is_empty() {
                filter.created_before = Some(Utc::now());
            }
            (None, Some(filter))
        }
    };
    Ok(Some(NewBulk {
        action,
        ids,
        filter,
        dry_run: false,
        rate_per_second: None,
        hold_seconds: None,
        reason: None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selected_rows_take_precedence_and_an_empty_selection_is_no_filter() {
        let id = Uuid::now_v7();
        let selected = format!("back=%2Fdead-letters%3Ferror%3D503&ids%5B%5D={id}&confirm=purge");
        let bulk = wanted(BulkAction::Purge, Vec::new(), &selected).expect("readable").expect("a selection");
        assert_eq!((bulk.ids, bulk.filter), (Some(vec![id]), None));
        for query in ["", "back=%2Fdead-letters&confirm=purge"] {
            assert_eq!(wanted(BulkAction::Purge, Vec::new(), query).expect("readable"), None, "{query}");
        }
    }

    #[test]
    fn the_query_filters_and_all_means_all_that_exist_now() {
        let bulk = wanted(BulkAction::Requeue, Vec::new(), "error=503&confirm=requeue").expect("readable");
        let filter = bulk.and_then(|bulk| bulk.filter).expect("a filter");
        assert_eq!((filter.error.as_deref(), filter.created_before), (Some("503"), None));
        let all =
            wanted(BulkAction::Purge, Vec::new(), "confirm=purge").expect("readable").expect("a selection");
        assert!(all.filter.is_some_and(|filter| filter.created_before.is_some()));
    }
}
