//! Bulk actions on integrations: buttons below the list, and the question before an action, with the count.

use crate::{
    calls::{error::CallError, integration_list::BulkIntegrations},
    components::Failure,
    format,
    pages::bulk_question::origin,
    state::{base_path, page_url::PageUrl},
    ui::{Button, ButtonKind, Dialog, Glyph, HiddenFields, LinkButton, PostForm, TextField, form_action},
};
use leptos::prelude::*;
use model::{integration_bulk::IntegrationBulkAction, views::integration_list::BulkQuestion};

/// Buttons for selected rows, and for all that match. Each leads to its question, which has an address of its own.
#[component]
pub fn BulkActions(
    /// The list, without a question in its address.
    here: PageUrl,
    /// How many match the filters.
    matched: i64,
) -> impl IntoView {
    let to = base_path::current().join("/integrations");
    let ask = |action: &str| here.clone().without("page").with("confirm", action).to_string();
    let all = format::count(matched);
    view! {
        <form id="chosen" method="get" action=to class="flex flex-wrap items-center gap-2 px-4 py-2.5 border-t border-line">
            <input type="hidden" name="back" value=here.to_string() />
            <span class="type-label text-muted mr-1">"Selected:"</span>
            <Button glyph=Glyph::Pause name="confirm" value="pause">"Pause"</Button>
            <Button glyph=Glyph::Play name="confirm" value="resume">"Resume"</Button>
            <Button glyph=Glyph::Gauge name="confirm" value="set_limit">"Set limit"</Button>
            <span class="type-label text-muted ml-auto mr-1">{"All matches:"}</span>
            <LinkButton href=ask("pause")>{format!("Pause {all}")}</LinkButton>
            <LinkButton href=ask("resume")>{format!("Resume {all}")}</LinkButton>
            <LinkButton href=ask("set_limit")>{format!("Limit {all}")}</LinkButton>
        </form>
    }
    .into_any()
}

#[component]
pub fn Question(
    action: IntegrationBulkAction,
    /// How many it would affect, and some of their names.
    answer: Result<BulkQuestion, CallError>,
    /// The page with the question in its address.
    url: PageUrl,
) -> impl IntoView {
    let run = form_action::<BulkIntegrations>();
    let BulkQuestion { matched, names } = match answer {
        Ok(question) => question,
        Err(error) => return view! { <Failure error=error /> }.into_any(),
    };
    let close = origin(&url).to_string();
    let integrations = format::counted(matched, "integration", "integrations");
    let more = matched - names.len() as i64;
    let who = if more > 0 {
        format!("{} and {} more.", names.join(", "), format::count(more))
    } else {
        format!("{}.", names.join(", "))
    };
    let (title, text, button_text) = match action {
        IntegrationBulkAction::Pause => (
            format!("Pause {integrations}?"),
            "Their jobs wait until they are resumed. Running attempts finish.",
            format!("Pause {integrations}"),
        ),
        IntegrationBulkAction::Resume => (
            format!("Resume {integrations}?"),
            "Waiting jobs are sent again, as their limits allow. Disabled ones stay disabled.",
            format!("Resume {integrations}"),
        ),
        IntegrationBulkAction::SetLimit | IntegrationBulkAction::ClearLimit => (
            format!("Set the limit of {integrations}?"),
            "It replaces their limits from the next request, also for integrations that share a key with one of them. Leave requests empty to \
             remove the limits.",
            format!("Set limit of {integrations}"),
        ),
    };
    if matched == 0 {
        return view! {
            <Dialog title="Nothing selected" close=close.clone()>
                <p class="text-muted">"Select rows first, or filter the list."</p>
                <div class="flex justify-end mt-4">
                    <LinkButton href=close>"Back"</LinkButton>
                </div>
            </Dialog>
        }
        .into_any();
    }
    let hidden = HiddenFields::default()
        .with("bulk[action]", action.as_str())
        .with("bulk[query]", url.query())
        .with("bulk[matched]", matched.to_string())
        .with("back", close.clone());
    let is_limit = action == IntegrationBulkAction::SetLimit;
    view! {
        <Dialog title=title close=close.clone()>
            <p class="text-muted">{text}</p>
            <p class="mt-2">{who}</p>
            <PostForm action=run hidden=hidden>
                {is_limit
                    .then(|| {
                        view! {
                            <div class="grid grid-cols-2 gap-3 mt-3">
                                <TextField
                                    name="bulk[requests]"
                                    label="Requests"
                                    kind="number"
                                    range=Some((1, 1_000_000))
                                    hint=Some("Empty: no limit".to_owned())
                                />
                                <TextField
                                    name="bulk[per_seconds]"
                                    label="Window, seconds"
                                    kind="number"
                                    range=Some((1, 86_400))
                                    value="1"
                                    required=true
                                />
                            </div>
                        }
                    })}
                <div class="flex flex-wrap justify-end gap-2 mt-4">
                    <LinkButton href=close>"Back"</LinkButton>
                    <Button kind=ButtonKind::Primary>{button_text}</Button>
                </div>
            </PostForm>
        </Dialog>
    }
    .into_any()
}
