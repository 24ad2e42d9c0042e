//! Choice of the list's columns: a folded form, remembered for the next visit.

use crate::calls::jobs::ChooseColumns as Choose;
use crate::state::job_columns::heading;
use crate::state::page_url::PageUrl;
use crate::ui::{Button, ButtonKind, HiddenFields, PostForm, form_action};
use leptos::prelude::*;
use model::job_columns::{JobColumn, JobColumns};

#[component]
pub fn ChooseColumns(
    columns: JobColumns,
    /// The list, without a question in its address.
    here: PageUrl,
) -> impl IntoView {
    let choose = form_action::<Choose>();
    let back = HiddenFields::default().with("back", here.to_string());
    let first = JobColumns::default();
    let is_first = columns == first;
    let summary = if is_first { "Columns".to_owned() } else { format!("Columns: {}", sentence(&columns)) };
    let reset = first.iter().fold(back.clone(), |fields, column| fields.with("columns[]", column.as_str()));
    let ticks = JobColumn::ALL
        .into_iter()
        .map(|column| {
            let (word, label) = (column.as_str(), heading(column));
            view! {
                <label class="inline-flex items-center gap-2 min-h-6">
                    <input type="checkbox" class="check" name="columns[]" value=word checked=columns.has(column) />
                    <span>
                        <span class="sr-only">"Column "</span>
                        {label}
                    </span>
                </label>
            }
        })
        .collect_view();
    view! {
        <details class="more px-4 pb-3">
            <summary>{summary}</summary>
            <PostForm action=choose class="pt-1" hidden=back>
                <fieldset class="columns">
                    <legend class="type-label text-muted pb-1">"Shown next to the job, and kept for your next visit."</legend>
                    {ticks}
                </fieldset>
                <Button kind=ButtonKind::Primary>"Show these columns"</Button>
            </PostForm>
            {(!is_first)
                .then(|| {
                    view! {
                        <PostForm action=choose class="pt-2" hidden=reset>
                            <Button>"Default columns"</Button>
                        </PostForm>
                    }
                })}
        </details>
    }
    .into_any()
}

/// The labels of the columns.
fn sentence(columns: &JobColumns) -> String {
    let labels: Vec<_> = columns.iter().map(|column| heading(column).to_lowercase()).collect();
    if labels.is_empty() { "only the job".to_owned() } else { labels.join(", ") }
}
