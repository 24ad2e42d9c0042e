//! Forms that create and edit a user.

use crate::{
    calls::settings::{CreateUser, SetPassword, UpdateUser},
    state::{drawn, form_draft::Draft, page_url::PageUrl},
    ui::{
        Button, ButtonKind, CheckField, Dialog, HiddenFields, LinkButton, PostForm, SelectField,
        SelectOption, TextField, form_action,
    },
};
use leptos::prelude::*;
use model::{actor::Role, etag::Revised as _, user::User};

/// Roles of people, with what they may do.
fn roles() -> Vec<SelectOption> {
    vec![
        SelectOption::new(Role::Operator.as_str(), "operator – everything"),
        SelectOption::new(Role::Support.as_str(), "support – reads, requeues, cancels"),
        SelectOption::new(Role::Auditor.as_str(), "auditor – reads everything"),
    ]
}

const PASSWORD_HINT: &str = "8 to 128 characters. Do not send it to the user by e-mail.";

#[component]
pub fn NewUserForm(url: PageUrl, back: String) -> impl IntoView {
    let create = form_action::<CreateUser>();
    let draft = Draft::of(&url);
    let value = |name: &str| draft.value(name).unwrap_or_default();
    let [email_fault, name_fault, password_fault] =
        ["email", "name", "password"].map(|field| draft.fault(field));
    let (email, name) = (value("email"), value("name"));
    let role = draft.value("role").unwrap_or_else(|| Role::Support.as_str().to_owned());
    let hidden = HiddenFields::default().with("back", back.clone());
    view! {
        <Dialog title="Add a user" close=back.clone()>
            <PostForm action=create hidden=hidden class="grid gap-3">
                <TextField
                    name="email"
                    label="E-mail address"
                    kind="email"
                    value=email
                    required=true
                    autofocus=true
                    autocomplete="off"
                    error=email_fault
                />
                <TextField
                    name="name"
                    label="Name"
                    value=name
                    hint="Empty: derived from the address.".to_owned()
                    error=name_fault
                />
                <SelectField name="role" label="Role" value=role options=roles() />
                <TextField
                    name="password"
                    label="Password"
                    kind="password"
                    required=true
                    autocomplete="new-password"
                    hint=PASSWORD_HINT.to_owned()
                    error=password_fault
                />
                <div class="flex flex-wrap justify-end gap-2 mt-1">
                    <LinkButton href=back>"Back"</LinkButton>
                    <Button kind=ButtonKind::Primary>"Add user"</Button>
                </div>
            </PostForm>
        </Dialog>
    }
    .into_any()
}

/// Name and role, another password, and a link to the question before a deletion.
#[component]
pub fn EditUser(user: User, url: PageUrl, back: String, here: PageUrl) -> impl IntoView {
    let update = form_action::<UpdateUser>();
    let set_password = form_action::<SetPassword>();
    let draft = Draft::of(&url);
    let hidden = HiddenFields::default()
        .with("id", user.id.to_string())
        .with("etag", user.etag())
        .with("back", back.clone());
    let password_hidden = hidden.clone();
    let is_disabled = if user.is_disabled { "true" } else { "" };
    let drawn = [("name", user.name.as_str()), ("role", user.role.as_str()), ("is_disabled", is_disabled)];
    let hidden = hidden.with("drawn", drawn::field(&drawn));
    let is_disabled = draft.checked("is_disabled").unwrap_or(user.is_disabled);
    let name = draft.value("name").unwrap_or(user.name);
    let role = draft.value("role").unwrap_or_else(|| user.role.as_str().to_owned());
    let delete = here.with("delete", user.id).to_string();
    let last_operator = draft.fault("role");
    let (name_fault, password_fault) = (draft.fault("name"), draft.fault("password"));
    view! {
        <Dialog title=user.email close=back.clone()>
            <PostForm action=update hidden=hidden class="grid gap-3">
                <TextField name="name" label="Name" value=name required=true error=name_fault />
                <SelectField name="role" label="Role" value=role options=roles() />
                {last_operator.map(|text| view! { <p role="alert" class="type-label text-failed">{text}</p> })}
                <CheckField name="is_disabled" value="true" label="Disabled: cannot sign in" checked=is_disabled />
                <p class="type-label text-faint">"Changing the role or disabling the user ends their sessions."</p>
                <div class="flex flex-wrap justify-end gap-2 mt-1">
                    <LinkButton href=delete kind=ButtonKind::Danger>
                        "Delete"
                    </LinkButton>
                    <LinkButton href=back>"Back"</LinkButton>
                    <Button kind=ButtonKind::Primary>"Save"</Button>
                </div>
            </PostForm>
            <hr class="my-4 border-line" />
            <PostForm action=set_password hidden=password_hidden class="grid gap-3">
                <TextField
                    name="password"
                    label="New password"
                    kind="password"
                    required=true
                    autocomplete="new-password"
                    hint=PASSWORD_HINT.to_owned()
                    error=password_fault
                />
                <div class="flex justify-end">
                    <Button>"Set password"</Button>
                </div>
            </PostForm>
        </Dialog>
    }
    .into_any()
}
