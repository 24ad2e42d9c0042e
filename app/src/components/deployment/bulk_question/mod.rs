//! The question before a bulk action: how many, which, what it adds to the limits, how long it takes; and the reason and rate.

mod details;

use self::details::Details;
use super::operation_words::{things, verb};
use crate::calls::bulk::Bulk;
use crate::ui::{Button, ButtonKind, Dialog, FormAction, HiddenFields, LinkButton, PostForm, TextField};
use leptos::prelude::*;
use model::operation::{AT_ONCE, BulkAction, BulkSubject};
use model::views::bulk::BulkPreview;

#[component]
pub fn BulkQuestion(
    /// Jobs or dead letters.
    subject: BulkSubject,
    /// What is to be done.
    action: BulkAction,
    /// What it would affect.
    preview: BulkPreview,
    bulk: FormAction<Bulk>,
    /// The query of the page that asks: its filters or selected rows.
    query: String,
    /// The page without the dialog.
    close: String,
) -> impl IntoView {
    let BulkPreview { run, names } = preview;
    let button_text = format!("{} {}", verb(action), things(subject, run.matched));
    let hidden = HiddenFields::default()
        .with("subject", subject.as_str())
        .with("action", action.as_str())
        .with("query", query)
        .with("matched", run.matched.to_string())
        .with("back", close.clone());
    let is_big = run.matched > AT_ONCE;
    view! {
        <Dialog title=format!("{button_text}?") close=close.clone()>
            <p class="text-muted">{what_follows(action)}</p>
            <Details run=run names=names />
            <PostForm action=bulk hidden=hidden class="mt-2">
                <div class="flex flex-col gap-1">
                    <TextField name="how[reason]" label="Reason" placeholder="For the audit log" />
                    {is_big
                        .then(|| {
                            view! {
                                <div class="flex flex-wrap gap-x-3">
                                    <TextField
                                        name="how[rate_per_second]"
                                        label="Max per second"
                                        kind="number"
                                        range=Some((1, 10_000))
                                        placeholder="No limit"
                                    />
                                    <TextField
                                        name="how[hold_seconds]"
                                        label="Start delay, seconds"
                                        kind="number"
                                        value="30".to_owned()
                                        range=Some((0, 3_600))
                                    />
                                </div>
                            }
                        })}
                </div>
                <div class="flex flex-wrap justify-end gap-2 mt-4">
                    <LinkButton href=close>"Back"</LinkButton>
                    <Button kind=if action == BulkAction::Requeue { ButtonKind::Primary } else { ButtonKind::DangerSolid }>
                        {button_text}
                    </Button>
                </div>
            </PostForm>
        </Dialog>
    }
    .into_any()
}

fn what_follows(action: BulkAction) -> &'static str {
    match action {
        BulkAction::Requeue => {
            "Attempts start over, and jobs are sent as their integrations' limits allow. For 24 hours you can undo this for jobs not attempted yet."
        }
        BulkAction::Cancel => {
            "Cancelled jobs are not sent. Their changes stay in the record and are sent with its next change. You can undo this for 24 hours."
        }
        BulkAction::Purge => {
            "They move to the bin and can be restored for 24 hours. Then their jobs, payloads and failure histories are deleted permanently."
        }
        BulkAction::Undo => "Each goes back to its previous state.",
        BulkAction::Delete => "It is deleted permanently.",
    }
}
