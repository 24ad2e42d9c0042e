//! A row of the audit log: who did what to what, before and after, and buttons to undo or repeat it.

use crate::calls::audit::{RepeatAuditEntry, UndoAuditEntry};
use crate::components::{AuditWords, DeltaDiff};
use crate::state::page_url::PageUrl;
use crate::ui::{Ago, Button, Fact, Facts, Glyph, HiddenFields, Link, PostForm, form_action};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::{audit::AuditEntry, views::audit::AuditLine};
use serde_json::Value;
use std::collections::BTreeMap;

#[component]
pub fn Line(
    line: AuditLine,
    /// Names of objects by id.
    labels: BTreeMap<String, String>,
    /// The page, for links that filter it.
    url: PageUrl,
    /// Ages are relative to it.
    #[prop(into)]
    now: Signal<DateTime<Utc>>,
    /// Where its buttons lead back to.
    back: String,
) -> impl IntoView {
    let AuditLine { entry, may_undo, may_repeat } = line;
    let undo = form_action::<UndoAuditEntry>();
    let repeat = form_action::<RepeatAuditEntry>();
    let hidden = HiddenFields::default().with("id", entry.id.to_string()).with("back", back);
    let (hidden_copy, words) = (hidden.clone(), sentence(&entry));
    let filtered = |name: &str, value: &str| {
        url.clone().without("cursor").without("actor_name").with(name, value).to_string()
    };
    let by = if entry.actor_id.is_empty() {
        filtered("actor_name", &entry.actor_name)
    } else {
        filtered("actor_id", &entry.actor_id)
    };
    let (undo_says, repeat_says) = (format!("Undo: {words}"), format!("Repeat: {words}"));
    let (name, kind) = (entry.actor_name.clone(), actor_kind(&entry));
    let name_says = format!("Everything {name} did");
    let everything = entry.object_id.as_deref().map(|id| filtered("object_id", id));
    let remark = match (entry.undoes, entry.repeats, entry.undone_by) {
        (_, _, Some(_)) => " · later undone",
        (Some(_), ..) => " · undoes an earlier change",
        (_, Some(_), _) => " · repeats an earlier change",
        _ => "",
    };
    let address = entry.address.clone().unwrap_or_else(|| "–".to_owned());
    let at = entry.at;
    view! {
        <tr>
            <td class="when text-muted align-top">
                <Ago at=at now=now />
            </td>
            <td class="where align-top">
                <Link href=by class="hover:underline" says=name_says>
                    {name}
                </Link>
                <span class="block type-caption text-faint">{kind}</span>
            </td>
            <td class="what grow align-top">
                {words} " " <Subject entry=entry.clone() labels=labels.clone() />
                <span class="type-label text-faint">{remark}</span>
                <details class="fold">
                    <summary>"Before and after"</summary>
                    <Details entry=entry labels=labels everything=everything />
                </details>
            </td>
            <td class="rest text-muted align-top">{address}</td>
            <td class="actions align-top">
                <div class="flex justify-end gap-1.5">
                    {may_undo
                        .then(|| {
                            view! {
                                <PostForm action=undo hidden=hidden>
                                    <Button glyph=Glyph::Undo says=undo_says>"Undo"</Button>
                                </PostForm>
                            }
                        })}
                    {may_repeat
                        .then(|| {
                            view! {
                                <PostForm action=repeat hidden=hidden_copy>
                                    <Button glyph=Glyph::Sync says=repeat_says>"Repeat"</Button>
                                </PostForm>
                            }
                        })}
                </div>
            </td>
        </tr>
    }
    .into_any()
}

/// The object, with a link if it has a page.
#[component]
fn Subject(entry: AuditEntry, labels: BTreeMap<String, String>) -> impl IntoView {
    let id = entry.object_id.unwrap_or_default();
    let label = labels.get(&id).cloned();
    let path = match entry.object_kind.as_str() {
        // A deleted one has no page.
        "integration" => label.is_some().then(|| format!("/integrations/{id}")),
        "job" if entry.action.contains(".bulk_") && !id.is_empty() => Some(format!("/operations/{id}")),
        "job" if !id.is_empty() => Some(format!("/jobs/{id}")),
        "operation" => Some(format!("/operations/{id}")),
        "dead_letter" if entry.action.contains(".bulk_") && !id.is_empty() => {
            Some(format!("/operations/{id}"))
        }
        _ => None,
    };
    // Of a session, the actor is the object.
    let text =
        label.or_else(|| (!id.is_empty()).then(|| short(&id))).filter(|_| entry.object_kind != "session");
    text.map(|text| match path {
        Some(path) => {
            view! { <Link href=path class="font-semibold hover:underline">{text}</Link> }.into_any()
        }
        None => view! { <b class="font-semibold" title=id>{text}</b> }.into_any(),
    })
}

/// Details: the fields before and after, and what an investigation needs.
#[component]
fn Details(entry: AuditEntry, labels: BTreeMap<String, String>, everything: Option<String>) -> impl IntoView {
    let app = entry.app_id.map(|id| {
        let id = id.to_string();
        labels.get(&id).cloned().unwrap_or_else(|| format!("deleted app {id}"))
    });
    let fields = |value: Option<Value>| value.and_then(|value| value.as_object().cloned());
    let (before, after) = (fields(entry.before), fields(entry.after));
    let has_fields = before.is_some() || after.is_some();
    view! {
        <div class="mt-2 -mx-4">
            {has_fields.then(|| view! { <DeltaDiff before=before after=after.unwrap_or_default() /> })}
            <Facts>
                <Fact name="Action">{entry.action}</Fact>
                <Fact name="Role">{entry.role}</Fact>
                {app.map(|app| view! { <Fact name="App">{app}</Fact> })}
                {entry.object_id.map(|id| view! { <Fact name="Id"><span class="font-mono">{id}</span></Fact> })}
                {entry.request_id.map(|id| view! { <Fact name="Request"><span class="font-mono">{id}</span></Fact> })}
                <Fact name="Entry id"><span class="font-mono">{entry.id.to_string()}</span></Fact>
                {everything
                    .map(|href| view! { <Fact name="More"><Link href=href>"All its changes"</Link></Fact> })}
            </Facts>
        </div>
    }
    .into_any()
}

fn sentence(entry: &AuditEntry) -> String {
    // An action of a newer version is shown as it is written.
    AuditWords::of(&entry.action).map_or_else(|| entry.action.clone(), AuditWords::sentence)
}

fn actor_kind(entry: &AuditEntry) -> String {
    match entry.actor_kind.as_str() {
        "user" => entry.role.clone(),
        "api_key" => format!("key, {}", entry.role),
        "admin_key" => "admin key".to_owned(),
        "system" => "Headgate".to_owned(),
        "nobody" => "not signed in".to_owned(),
        other => other.to_owned(),
    }
}

/// Ids begin with their time; their ends differ.
fn short(id: &str) -> String {
    let length = id.chars().count();
    if length <= 13 {
        id.to_owned()
    } else {
        format!("…{}", id.chars().skip(length - 8).collect::<String>())
    }
}
