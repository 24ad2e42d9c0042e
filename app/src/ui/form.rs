//! Forms that work before the page is hydrated, and without any script.

use crate::calls::error::FormRefused;
use crate::state::{base_path, revision, unsent};
use leptos::server_fn::{
    Http, ServerFn, client::Client, codec::PostUrl, redirect::set_redirect_hook, request::ClientReq,
};
use leptos::{ev::SubmitEvent, form::FromFormData, html, prelude::*, wasm_bindgen::JsCast, web_sys};
use leptos_router::{NavigateOptions, hooks::use_navigate};
use serde::de::DeserializeOwned;
use std::cell::Cell;

/// The call of a form's server function.
pub type FormAction<S> = Action<S, Result<<S as ServerFn>::Output, FormRefused>>;

thread_local! {
    /// Where the last answer leads to.
    static REDIRECT: Cell<Option<String>> = const { Cell::new(None) };
}

/// Leaves redirects to the forms, which know whether their page is still shown. Called before there is a router, which would follow every one.
pub fn hold_redirects() {
    let _ = set_redirect_hook(|page| REDIRECT.set(Some(page.to_owned())));
}

/// Calls the server function of a form, goes to the page that says how it ended unless its reader has gone elsewhere, and makes the page load its
/// data again.
///
/// Also when the form is gone before the answer is there, for example because the page loaded new data meanwhile.
pub fn form_action<S>() -> FormAction<S>
where
    S: ServerFn<Error = FormRefused> + Clone + Send + Sync + 'static,
    S::Output: Send + Sync + 'static,
{
    let (revision, unsent, navigate) = (revision::current(), unsent::current(), use_navigate());
    Action::new(move |input: &S| {
        let call = input.clone().run_on_client();
        let (sent_from, sent) = (shown_path(), unsent.take_submitted());
        let navigate = navigate.clone();
        async move {
            let answer = call.await;
            let page = match &answer {
                // The form says why, and would be drawn anew without it.
                Err(FormRefused { page, .. }) if page.is_empty() => return answer,
                Err(FormRefused { page, .. }) => Some(page.clone()),
                Ok(_) => {
                    unsent.forget(&sent);
                    REDIRECT.take()
                }
            };
            if let Some(page) = page.filter(|_| shown_path() == sent_from) {
                // In the next frame, when the action has its value.
                request_animation_frame(move || navigate(&absolute(&page), NavigateOptions::default()));
            }
            revision.next();
            answer
        }
    })
}

/// As [`form_action`], for what no page loads, such as the theme: with a script the page stays as it is.
pub fn quiet_action<S>() -> FormAction<S>
where
    S: ServerFn<Error = FormRefused> + Clone + Send + Sync + 'static,
    S::Output: Send + Sync + 'static,
{
    Action::new(|input: &S| {
        let call = input.clone().run_on_client();
        async move {
            let answer = call.await;
            REDIRECT.set(None);
            answer
        }
    })
}

fn shown_path() -> Option<String> {
    location().pathname().ok()
}

/// An address that the router takes as it is: others it puts below the mount prefix.
fn absolute(page: &str) -> String {
    format!("{}{page}", location().origin().unwrap_or_default())
}

/// A form that calls a server function: by a plain POST that ends in a redirect, or by a request of the script once hydrated.
///
/// Unlike Leptos' `ActionForm` it knows the mount prefix, and ignores buttons with a method of their own.
#[component]
pub fn PostForm<S, O>(
    action: FormAction<S>,
    #[prop(optional)] class: &'static str,
    /// For buttons and checkboxes outside of it.
    #[prop(optional)]
    id: Option<&'static str>,
    #[prop(optional)] hidden: HiddenFields,
    #[prop(optional)] node_ref: NodeRef<html::Form>,
    children: Children,
) -> impl IntoView
where
    S: DeserializeOwned
        + ServerFn<Protocol = Http<PostUrl, O>, Error = FormRefused>
        + Clone
        + Send
        + Sync
        + 'static,
    <<S::Client as Client<FormRefused>>::Request as ClientReq<FormRefused>>::FormData:
        From<web_sys::FormData>,
    S::Output: Send + Sync + 'static,
    S::Client: Client<FormRefused>,
{
    let unsent = unsent::current();
    let on_submit = move |event: SubmitEvent| {
        if event.default_prevented() || asks_for_get(&event) {
            return;
        }
        // A double click is one press.
        if action.pending().get_untracked() {
            event.prevent_default();
            return;
        }
        // Input that cannot be deserialised here is left to the browser: the server answers it with the same fault.
        if let Ok(input) = S::from_event(&event) {
            event.prevent_default();
            unsent.submit(&event);
            action.dispatch(input);
        }
    };
    view! {
        <form
            action=base_path::current().join(S::url())
            method="post"
            class=class
            id=id
            node_ref=node_ref
            on:submit=on_submit
        >
            {hidden
                .0
                .into_iter()
                .map(|(name, value)| view! { <input type="hidden" name=name value=value /> })
                .collect_view()}
            {children()}
            {move || {
                action
                    .value()
                    .with(|answer| match answer {
                        Some(Err(FormRefused { because, page })) if page.is_empty() => {
                            let text = format!("Not done: {because}.");
                            Some(view! { <p role="alert" class="type-label text-failed">{text}</p> })
                        }
                        _ => None,
                    })
            }}
        </form>
    }
    .into_any()
}

/// Whether the pressed button has `formmethod="get"`.
fn asks_for_get(event: &SubmitEvent) -> bool {
    event
        .submitter()
        .and_then(|button| button.dyn_into::<web_sys::HtmlButtonElement>().ok())
        .is_some_and(|button| button.get_attribute("formmethod").is_some_and(|method| method == "get"))
}

/// Names and values sent along with a form.
#[derive(Clone, Debug, Default)]
pub struct HiddenFields(Vec<(&'static str, String)>);

impl HiddenFields {
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.0.push((name, value.into()));
        self
    }
}
