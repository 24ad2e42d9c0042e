//! API keys.

use super::{key_form::NewKeyForm, part};
use crate::calls::settings::{RevokeApiKey, forget_new_key};
use crate::components::Confirm;
use crate::format;
use crate::state::clock;
use crate::state::page_url::PageUrl;
use crate::ui::{
    Ago, ButtonKind, Card, CopyButton, EmptyState, Glyph, HiddenFields, LastTime, LinkButton, ListCard,
    PageLinks, Pill, Table, Tone, form_action,
};
use chrono::{DateTime, Utc};
use leptos::{prelude::*, task::spawn_local};
use model::{api_key::ApiKey, id::ApiKeyId, views::settings::KeyList};

/// The list, the key created a moment ago, and the form or question that the address asks for.
#[component]
pub fn ApiKeys(
    list: KeyList,
    /// The key that was just created.
    new_key: Option<String>,
    url: PageUrl,
    may_change: bool,
) -> impl IntoView {
    let KeyList { page, apps, has_more_apps, as_of } = list;
    let now = clock::now_or(as_of);
    let here = part("api-keys", &url);
    let shown = format::counted(page.items.len() as i64, "key shown", "keys shown");
    let pages = PageLinks::by_cursor(&here, page.next_cursor.as_deref(), shown).always_shown();
    let back = here.to_string();
    let asked = url.get("revoke").and_then(|id| id.parse::<ApiKeyId>().ok());
    let question =
        asked.and_then(|id| page.items.iter().find(|key| key.id == id).cloned()).filter(|_| may_change);
    let is_new = may_change && url.get("new") == Some("key");
    let new_href = here.clone().with("new", "key").to_string();
    let is_empty = page.items.is_empty();
    let head = || {
        view! {
            <th scope="col">"Key"</th>
            <th scope="col">"Role"</th>
            <th scope="col">"App"</th>
            <th scope="col">"State"</th>
            <th scope="col" class="grow">"Last used"</th>
            <th scope="col"><span class="sr-only">"Actions"</span></th>
        }
    };
    let rows = page
        .items
        .into_iter()
        .map(|key| {
            let app = key.app_id.map_or_else(
                || "all apps".to_owned(),
                |id| apps.get(&id).cloned().unwrap_or_else(|| format!("app {id}")),
            );
            let revoke = here.clone().with("revoke", key.id).to_string();
            view! { <Row key=key app=app revoke=may_change.then_some(revoke) now=now as_of=as_of /> }
        })
        .collect_view();
    view! {
        {new_key.map(|key| view! { <NewKey key=key /> })}
        <ListCard
            title="API keys"
            sub="newest first"
            aside=move || {
                may_change
                    .then(|| {
                        view! {
                            <div class="ml-auto">
                                <LinkButton href=new_href.clone() kind=ButtonKind::Primary>
                                    "Create key"
                                </LinkButton>
                            </div>
                        }
                    })
            }
            is_empty=is_empty
            empty=|| {
                view! {
                    <EmptyState
                        glyph=Glyph::Plug
                        title="No API keys yet"
                        text="Programs need a key to send events and read the API. A producer's key belongs to one app."
                    />
                }
            }
            pages=pages
        >
            <Table label="API keys" stacks=true head=head>
                {rows}
            </Table>
        </ListCard>
        {is_new.then(|| view! { <NewKeyForm url=url.clone() back=back.clone() apps=apps has_more_apps=has_more_apps /> })}
        {question.map(|key| view! { <RevokeQuestion key=key back=back.clone() /> })}
    }
    .into_any()
}

/// The only time a key is shown.
#[component]
fn NewKey(key: String) -> impl IntoView {
    Effect::new(|_| {
        spawn_local(async {
            // If this fails, the cookie ends by itself within a minute.
            let _ = forget_new_key().await;
        });
    });
    view! {
        <div class="mb-3">
            <Card title="Your new key" sub="shown only once, not stored">
                <div class="flex flex-wrap items-center gap-2 px-4 py-3">
                    <code class="font-mono break-all min-w-0">{key.clone()}</code>
                    <CopyButton text=key says="Copy the key" />
                </div>
            </Card>
        </div>
    }
    .into_any()
}

#[component]
fn Row(
    key: ApiKey,
    app: String,
    revoke: Option<String>,
    #[prop(into)] now: Signal<DateTime<Utc>>,
    as_of: DateTime<Utc>,
) -> impl IntoView {
    let has_expired = key.expires_at.is_some_and(|at| at <= as_of);
    let is_live = key.revoked_at.is_none() && !has_expired;
    let (tone, glyph, word) = match (key.revoked_at, has_expired) {
        (Some(_), _) => (Tone::Failed, Glyph::Ban, "Revoked"),
        (None, true) => (Tone::Waiting, Glyph::Clock, "Expired"),
        (None, false) => (Tone::Delivered, Glyph::Check, "Active"),
    };
    let until = key.revoked_at.map(|at| ("revoked ", at)).or(key.expires_at.map(|at| ("expires ", at)));
    let says = format!("Revoke {}", key.name);
    view! {
        <tr>
            <td class="what">
                <b class="font-semibold">{key.name}</b>
                <span class="block type-label text-faint font-mono">
                    {format!("{}_…", key.prefix)}
                </span>
            </td>
            <td class="where">{key.role.as_str()}</td>
            <td class="first">{app}</td>
            <td class="state">
                <Pill tone=tone glyph=glyph label=word />
                {until
                    .map(|(word, at)| {
                        view! {
                            <span class="block type-label text-faint">
                                {word} <Ago at=at now=now />
                            </span>
                        }
                    })}
            </td>
            <td class="when text-muted">
                <LastTime at=key.last_used_at now=now />
            </td>
            <td class="actions">
                <div class="flex justify-end">
                    {revoke
                        .filter(|_| is_live)
                        .map(|href| {
                            view! {
                                <LinkButton href=href kind=ButtonKind::Danger says=says>
                                    "Revoke"
                                </LinkButton>
                            }
                        })}
                </div>
            </td>
        </tr>
    }
    .into_any()
}

#[component]
fn RevokeQuestion(key: ApiKey, back: String) -> impl IntoView {
    let revoke = form_action::<RevokeApiKey>();
    let hidden = HiddenFields::default().with("id", key.id.to_string()).with("back", back.clone());
    view! {
        <Confirm
            action=revoke
            hidden=hidden
            title=format!("Revoke the key {}?", key.name)
            text="Requests with this key are refused at once, for good. Create a new key and switch to it first."
            button_text="Revoke 1 key"
            close=back
        />
    }
    .into_any()
}
