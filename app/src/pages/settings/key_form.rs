//! The form that creates a key.

use crate::calls::settings::CreateApiKey;
use crate::state::form_draft::Draft;
use crate::state::page_url::PageUrl;
use crate::ui::{
    Button, ButtonKind, Dialog, HiddenFields, LinkButton, PostForm, SelectField, SelectOption, TextField,
    form_action,
};
use leptos::prelude::*;
use model::{actor::Role, id::AppId};
use std::collections::BTreeMap;

#[component]
pub fn NewKeyForm(
    url: PageUrl,
    back: String,
    /// Apps to choose from.
    apps: BTreeMap<AppId, String>,
    /// There are more apps than these.
    has_more_apps: bool,
) -> impl IntoView {
    let create = form_action::<CreateApiKey>();
    let draft = Draft::of(&url);
    let role = draft.value("role").unwrap_or_else(|| Role::Producer.as_str().to_owned());
    let roles = Role::ALL.iter().map(|&role| SelectOption::new(role.as_str(), says(role))).collect();
    let mut apps: Vec<_> =
        apps.into_iter().map(|(id, name)| SelectOption::new(id.to_string(), name)).collect();
    apps.sort_by(|a, b| a.label.cmp(&b.label));
    apps.insert(0, SelectOption::new("", "all apps"));
    let ends = [("", "never"), ("30", "in 30 days"), ("90", "in 90 days"), ("365", "in a year")]
        .map(|(days, words)| SelectOption::new(days, words))
        .to_vec();
    let app_fault = draft.fault("app_id");
    let hidden = HiddenFields::default().with("back", back.clone());
    view! {
        <Dialog title="Create a key" close=back.clone()>
            <PostForm action=create hidden=hidden class="grid gap-3">
                <TextField
                    name="name"
                    label="Name"
                    value=draft.value("name").unwrap_or_default()
                    placeholder="what uses it, such as shop-importer"
                    required=true
                    autofocus=true
                    error=draft.fault("name")
                />
                <SelectField name="role" label="Role" value=role options=roles />
                <SelectField name="app_id" label="App" value=draft.value("app_id").unwrap_or_default() options=apps />
                {app_fault.map(|text| view! { <p role="alert" class="type-label text-failed">{text}</p> })}
                {has_more_apps
                    .then(|| {
                        view! {
                            <p class="type-label text-faint">
                                "Only the newest 500 apps are listed. For others, use POST /api/v1/api-keys."
                            </p>
                        }
                    })}
                <SelectField name="expires_in_days" label="Expires" value=String::new() options=ends />
                <div class="flex flex-wrap justify-end gap-2 mt-1">
                    <LinkButton href=back>"Back"</LinkButton>
                    <Button kind=ButtonKind::Primary>"Create key"</Button>
                </div>
            </PostForm>
        </Dialog>
    }
    .into_any()
}

const fn says(role: Role) -> &'static str {
    match role {
        Role::Operator => "operator – everything",
        Role::Support => "support – reads, requeues, cancels",
        Role::Auditor => "auditor – reads everything",
        Role::Producer => "producer – sends events and jobs of one app",
        Role::Worker => "worker – reserved, no permissions yet",
        Role::Portal => "portal – one app: reads and re-syncs",
    }
}
