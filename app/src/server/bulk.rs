//! The form of a bulk action: everything that a query string matches, or the selected rows.

use super::{actor, context};
use crate::calls::error::CallError;
use crate::components::{Flash, Outcome};
use crate::forms::BulkOptions;
use crate::state::page_url::PageUrl;
use crate::state::url_filters::ListQuery;
use chrono::Utc;
use model::operation::{BulkAction, BulkDone, BulkOutcome, BulkStarted, BulkSubject, NewBulk};
use service::permission;
use uuid::Uuid;

#[derive(Clone, Debug)]
pub struct BulkForm {
    pub action: BulkAction,
    /// Rows selected in the form itself.
    pub ids: Vec<Uuid>,
    /// The query string of the confirmation dialog, with selected rows or a filter.
    pub query: String,
    /// The count that the dialog showed.
    pub matched: Option<i64>,
    pub how: BulkOptions,
}

/// What the query string of a confirmation dialog asks for.
pub fn asked(action: BulkAction, query: &str) -> Result<NewBulk, CallError> {
    wanted(action, Vec::new(), query)?.ok_or_else(|| CallError::Invalid("Nothing is selected.".to_owned()))
}

/// Runs the action, unless more match by now than the dialog showed.
pub async fn run(subject: BulkSubject, form: BulkForm) -> Result<Outcome, CallError> {
    let actor = actor::allowed::<permission::SteerJobs>()?;
    let (action, matched) = (form.action, form.matched);
    let Some(wanted) = read(form)? else { return Ok(Flash::NothingSelected.into()) };
    let has_hold = wanted.hold_seconds != Some(0);
    let headgate = context::current()?.headgate;
    match headgate.confirmed_bulk(&actor, subject, wanted, matched).await? {
        Some(outcome) => notice(action, outcome, has_hold),
        None => Ok(Flash::CountChanged.into()),
    }
}

fn notice(action: BulkAction, outcome: BulkOutcome, has_hold: bool) -> Result<Outcome, CallError> {
    Ok(match outcome {
        BulkOutcome::Done(BulkDone { changed, skipped, operation_id, .. }) => {
            let flash = match action {
                BulkAction::Requeue => Flash::Requeued,
                BulkAction::Cancel => Flash::Cancelled,
                BulkAction::Purge => Flash::Purged,
                BulkAction::Undo => Flash::OperationUndone,
                BulkAction::Delete => return Err(CallError::Broken),
            };
            Outcome { flash, n: changed, skipped, operation: operation_id }
        }
        BulkOutcome::Started(BulkStarted { matched, operation_id }) => Outcome {
            flash: if has_hold { Flash::Held } else { Flash::Started },
            n: matched,
            skipped: 0,
            operation: Some(operation_id),
        },
    })
}

/// None: the form was sent with neither a filter nor selected rows.
fn read(form: BulkForm) -> Result<Option<NewBulk>, CallError> {
    let BulkForm { action, ids, query, how, .. } = form;
    let Some(wanted) = wanted(action, ids, &query)? else { return Ok(None) };
    Ok(Some(NewBulk {
        rate_per_second: number(&how.rate_per_second, "/rate_per_second")?,
        hold_seconds: number(&how.hold_seconds, "/hold_seconds")?,
        reason: Some(how.reason.trim().to_owned()).filter(|reason| !reason.is_empty()),
        ..wanted
    }))
}

fn number(typed: &str, field: &str) -> Result<Option<i32>, CallError> {
    match typed.trim() {
        "" => Ok(None),
        typed => {
            typed.parse().map(Some).map_err(|_| CallError::Invalid(format!("{field}: must be a number")))
        }
    }
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
