//! One line: who did what to what, before and after behind it, and the buttons that take it back or do it again.

use crate::{
    calls::audit::{AuditLine, RepeatAuditEntry, UndoAuditEntry},
    components::{AuditWords, DeltaDiff},
    state::page_url::PageUrl,
    ui::{Ago, Button, Fact, Facts, Glyph, HiddenFields, Link, PostForm},
};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::audit::AuditEntry;
use serde_json::Value;
use std::collections::BTreeMap;

/// A row of the table.
#[component]
pub fn Line(
    /// The line.
    line: AuditLine,
    /// What things are called.
    labels: BTreeMap<String, String>,
    /// The page, for links that narrow it.
    url: PageUrl,
    /// For the times.
    #[prop(into)]
    now: Signal<DateTime<Utc>>,
    /// Where its buttons come back to.
    back: String,
) -> impl IntoView {
    let AuditLine { entry, may_undo, may_repeat } = line;
    let undo = ServerAction::<UndoAuditEntry>::new();
    let repeat = ServerAction::<RepeatAuditEntry>::new();
    let hidden = HiddenFields::default().with("id", entry.id.to_string()).with("back", back);
    let (hidden_too, words) = (hidden.clone(), sentence(&entry));
    let narrowed = |name: &str, value: &str| {
        url.clone().without("cursor").without("actor_name").with(name, value).to_string()
    };
    let by = if entry.actor_id.is_empty() {
        narrowed("actor_name", &entry.actor_name)
    } else {
        narrowed("actor_id", &entry.actor_id)
    };
    let (undo_says, repeat_says) = (format!("Undo: {words}"), format!("Repeat: {words}"));
    let (name, kind) = (entry.actor_name.clone(), actor_kind(&entry));
    let name_says = format!("Everything {name} did");
    let everything = entry.object_id.as_deref().map(|id| narrowed("object_id", id));
    let remark = match (entry.undoes, entry.repeats, entry.undone_by) {
        (_, _, Some(_)) => " · taken back since",
        (Some(_), ..) => " · takes back an earlier change",
        (_, Some(_), _) => " · done again",
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
                    <Behind entry=entry labels=labels everything=everything />
                </details>
            </td>
            <td class="rest text-muted align-top">{address}</td>
            <td class="deed align-top">
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
                                <PostForm action=repeat hidden=hidden_too>
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

/// What it was done to, with a link where it has a page.
#[component]
fn Subject(entry: AuditEntry, labels: BTreeMap<String, String>) -> impl IntoView {
    let id = entry.object_id.unwrap_or_default();
    let label = labels.get(&id).cloned();
    let path = match entry.object_kind.as_str() {
        // Gone: its page would not be found.
        "integration" => label.is_some().then(|| format!("/integrations/{id}")),
        "job" if entry.action.contains(".bulk_") && !id.is_empty() => Some(format!("/operations/{id}")),
        "job" if !id.is_empty() => Some(format!("/jobs/{id}")),
        "operation" => Some(format!("/operations/{id}")),
        "dead_letter" if entry.action.contains(".bulk_") && !id.is_empty() => {
            Some(format!("/operations/{id}"))
        }
        _ => None,
    };
    // Whoever signs in is named already.
    let text =
        label.or_else(|| (!id.is_empty()).then(|| short(&id))).filter(|_| entry.object_kind != "session");
    text.map(|text| match path {
        Some(path) => {
            view! { <Link href=path class="font-semibold hover:underline">{text}</Link> }.into_any()
        }
        None => view! { <b class="font-semibold" title=id>{text}</b> }.into_any(),
    })
}

/// What is behind a line: the fields as they were and are, and what an investigator asks for.
#[component]
fn Behind(entry: AuditEntry, labels: BTreeMap<String, String>, everything: Option<String>) -> impl IntoView {
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
                <Fact name="Line"><span class="font-mono">{entry.id.to_string()}</span></Fact>
                {everything
                    .map(|href| view! { <Fact name="More"><Link href=href>"Everything done to it"</Link></Fact> })}
            </Facts>
        </div>
    }
    .into_any()
}

fn sentence(entry: &AuditEntry) -> String {
    // Of a newer version: its own word says more than none.
    AuditWords::of(&entry.action).map_or_else(|| entry.action.clone(), AuditWords::sentence)
}

fn actor_kind(entry: &AuditEntry) -> String {
    match entry.actor_kind.as_str() {
        "user" => entry.role.clone(),
        "api_key" => format!("key, {}", entry.role),
        "admin_key" => "key of the environment".to_owned(),
        "system" => "the program".to_owned(),
        "nobody" => "not signed in".to_owned(),
        other => other.to_owned(),
    }
}

/// Ids begin with their time and end with what tells them apart.
fn short(id: &str) -> String {
    let length = id.chars().count();
    if length <= 13 {
        id.to_owned()
    } else {
        format!("…{}", id.chars().skip(length - 8).collect::<String>())
    }
}
