//! Users: people who sign in.

use super::part;
use super::user_forms::{EditUser, NewUserForm};
use crate::{
    calls::settings::DeleteUser,
    components::Confirm,
    format,
    state::{clock, page_url::PageUrl},
    ui::{
        ButtonKind, Glyph, HiddenFields, LastTime, LinkButton, ListCard, PageLinks, Pill, Table, Tone,
        form_action,
    },
};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::{user::User, views::settings::UserList};

/// The list, and the form or question that the address asks for.
#[component]
pub fn Users(list: UserList, url: PageUrl, may_change: bool) -> impl IntoView {
    let UserList { page, chosen, own_email, as_of } = list;
    let now = clock::now_or(as_of);
    let here = part("users", &url);
    let shown = format::counted(page.items.len() as i64, "user shown", "users shown");
    let pages = PageLinks::by_cursor(&here, page.next_cursor.as_deref(), shown).always_shown();
    let back = here.to_string();
    let question = url.get("delete").and_then(|_| chosen.clone()).filter(|_| may_change);
    let edited = url.get("edit").and(chosen).filter(|_| may_change);
    let is_new = may_change && url.get("new") == Some("user");
    let new_href = here.clone().with("new", "user").to_string();
    let head = || {
        view! {
            <th scope="col">"User"</th>
            <th scope="col">"Role"</th>
            <th scope="col">"State"</th>
            <th scope="col" class="grow">"Last sign-in"</th>
            <th scope="col"><span class="sr-only">"Actions"</span></th>
        }
    };
    let rows = page
        .items
        .into_iter()
        .map(|user| {
            let edit = here.clone().with("edit", user.id).to_string();
            let is_own = user.email == own_email;
            view! { <Row user=user is_own=is_own edit=may_change.then_some(edit) now=now /> }
        })
        .collect_view();
    view! {
        <ListCard
            title="Users"
            aside=move || {
                may_change
                    .then(|| {
                        view! {
                            <div class="ml-auto">
                                <LinkButton href=new_href.clone() kind=ButtonKind::Primary>
                                    "Add user"
                                </LinkButton>
                            </div>
                        }
                    })
            }
            // Never: its reader is in it.
            is_empty=false
            empty=|| ()
            pages=pages
        >
            <Table label="Users" stacks=true head=head>
                {rows}
            </Table>
        </ListCard>
        {is_new.then(|| view! { <NewUserForm url=url.clone() back=back.clone() /> })}
        {edited.map(|user| view! { <EditUser user=user url=url.clone() back=back.clone() here=here.clone() /> })}
        {question.map(|user| view! { <DeleteQuestion user=user back=back.clone() /> })}
    }
    .into_any()
}

#[component]
fn Row(
    user: User,
    is_own: bool,
    edit: Option<String>,
    #[prop(into)] now: Signal<DateTime<Utc>>,
) -> impl IntoView {
    let (tone, glyph, word) = match (user.is_disabled, user.has_password) {
        (true, _) => (Tone::Failed, Glyph::Ban, "Disabled"),
        (false, false) => (Tone::Waiting, Glyph::Clock, "No password"),
        (false, true) => (Tone::Delivered, Glyph::Check, "Active"),
    };
    let says = format!("Edit {}", user.email);
    view! {
        <tr>
            <td class="what">
                <b class="font-semibold">{user.name}</b>
                {is_own.then_some(" (you)")}
                <span class="block type-label text-faint">{user.email}</span>
            </td>
            <td class="where">{user.role.as_str()}</td>
            <td class="state">
                <Pill tone=tone glyph=glyph label=word />
            </td>
            <td class="when text-muted">
                <LastTime at=user.last_sign_in_at now=now />
            </td>
            <td class="actions">
                <div class="flex justify-end">
                    {edit.map(|href| view! { <LinkButton href=href says=says>"Edit"</LinkButton> })}
                </div>
            </td>
        </tr>
    }
    .into_any()
}

#[component]
fn DeleteQuestion(user: User, back: String) -> impl IntoView {
    let delete = form_action::<DeleteUser>();
    let hidden = HiddenFields::default().with("id", user.id.to_string()).with("back", back.clone());
    view! {
        <Confirm
            action=delete
            hidden=hidden
            title=format!("Delete the user {}?", user.email)
            text="All sessions of this user end at once. Their actions stay in the audit log. To block someone for a while, disable the user instead."
            button_text="Delete 1 user"
            close=back
        />
    }
    .into_any()
}
