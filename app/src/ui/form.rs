//! Forms that work before the page is hydrated, and without any script.

use crate::calls::error::FormRefused;
use crate::state::{base_path, revision};
use leptos::server_fn::{
    Http, ServerFn, client::Client, codec::PostUrl, redirect::call_redirect_hook, request::ClientReq,
};
use leptos::{ev::SubmitEvent, form::FromFormData, html, prelude::*, wasm_bindgen::JsCast, web_sys};
use serde::de::DeserializeOwned;

/// The call of a form's server function.
pub type FormAction<S> = Action<S, Result<<S as ServerFn>::Output, FormRefused>>;

/// Calls the server function of a form, goes to the page that shows a refusal unless its reader has gone elsewhere, and makes the page load its
/// data again.
///
/// Also when the form is gone before the answer is there, for example because the page loaded new data meanwhile.
pub fn form_action<S>() -> FormAction<S>
where
    S: ServerFn<Error = FormRefused> + Clone + Send + Sync + 'static,
    S::Output: Send + Sync + 'static,
{
    let revision = revision::current();
    Action::new(move |input: &S| {
        let call = input.clone().run_on_client();
        let sent_from = shown_path();
        async move {
            let answer = call.await;
            match &answer {
                // The form says why, and would be drawn anew without it.
                Err(FormRefused { page, .. }) if page.is_empty() => return answer,
                Err(FormRefused { page, .. }) if shown_path() == sent_from => call_redirect_hook(page),
                _ => {}
            }
            revision.next();
            answer
        }
    })
}

fn shown_path() -> Option<String> {
    location().pathname().ok()
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
