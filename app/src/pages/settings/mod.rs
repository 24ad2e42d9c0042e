//! Settings: users, API keys, and retention.

mod api_keys;
mod key_form;
mod retention;
mod user_forms;
mod users;

use self::{api_keys::ApiKeys, retention::RetentionView, users::Users};
use crate::{
    calls::settings::{Settings, load_settings},
    components::{Loaded, PageHead, page_table::ConsolePage},
    state::{page_url, page_url::PageUrl, revision},
    ui::{Segment, Segmented},
};
use leptos::prelude::*;
use model::rules::permission::Permission;

/// The parts of the page: value of `?show=`, and label.
const PARTS: [(&str, &str); 3] = [("users", "Users"), ("api-keys", "API keys"), ("retention", "Retention")];

#[component]
pub fn SettingsPage() -> impl IntoView {
    let url = page_url::current();
    let settings = revision::page_data(move || url.get().query(), load_settings);
    // The key is returned once, and the list may be loaded again while it is shown.
    let kept_key = RwSignal::new(None::<String>);
    view! {
        <Loaded
            title=ConsolePage::Settings.title()
            data=settings
            show=move |mut settings, reader| {
                if let Settings::ApiKeys(_, new_key) = &mut settings {
                    let is_shown = url.get_untracked().get("notice") == Some("key-made");
                    *new_key = new_key.take().or(kept_key.get_untracked()).filter(|_| is_shown);
                    kept_key.set(new_key.clone());
                }
                let may_change = reader.is_some_and(|r| r.may(Permission::ManageAccess));
                view! { <Content settings=settings url=url.get_untracked() may_change=may_change /> }.into_any()
            }
        />
    }
    .into_any()
}

#[component]
fn Content(settings: Settings, url: PageUrl, may_change: bool) -> impl IntoView {
    let shown = match &settings {
        Settings::Users(_) => "users",
        Settings::ApiKeys(..) => "api-keys",
        Settings::Retention(..) => "retention",
    };
    let segments: Vec<_> = PARTS
        .into_iter()
        .map(|(part, label)| Segment {
            href: format!("/settings?show={part}"),
            label: label.to_owned(),
            count: None,
            is_current: part == shown,
        })
        .collect();
    view! {
        <PageHead title=ConsolePage::Settings.title()>
            ""
        </PageHead>
        <div class="mb-3 flex">
            <Segmented label="Settings" segments=segments />
        </div>
        {match settings {
            Settings::Users(list) => view! { <Users list=list url=url may_change=may_change /> }.into_any(),
            Settings::ApiKeys(list, new_key) => {
                view! { <ApiKeys list=list new_key=new_key url=url may_change=may_change /> }.into_any()
            }
            Settings::Retention(retention, as_of) => {
                view! { <RetentionView retention=retention as_of=as_of /> }.into_any()
            }
        }}
    }
    .into_any()
}

/// The part's own address, without question, form or notice.
fn part(name: &str, url: &PageUrl) -> PageUrl {
    let part = PageUrl::parse("/settings").with("show", name);
    match url.get("cursor") {
        Some(cursor) => part.with("cursor", cursor),
        None => part,
    }
}
