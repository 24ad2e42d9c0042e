//! Forms that work before the page is hydrated, and without any script.

use crate::{
    calls::error::FormRefused,
    state::{base_path, revision},
};
use leptos::server_fn::{
    Http, ServerFn, client::Client, codec::PostUrl, redirect::call_redirect_hook, request::ClientReq,
};
use leptos::{ev::SubmitEvent, form::FromFormData, html, prelude::*, wasm_bindgen::JsCast, web_sys};
use serde::de::DeserializeOwned;

/// A form that calls a server function: by a plain POST that ends in a redirect, or in place once hydrated.
///
/// Unlike the framework's own it knows the mount prefix, and leaves buttons alone that ask for another method.
#[component]
pub fn PostForm<S, O>(
    /// The server function.
    action: ServerAction<S>,
    /// Looks.
    #[prop(optional)]
    class: &'static str,
    /// For buttons and ticks that stand outside of it.
    #[prop(optional)]
    id: Option<&'static str>,
    /// Fields nobody sees.
    #[prop(optional)]
    hidden: HiddenFields,
    /// To look at the form after hydration.
    #[prop(optional)]
    node_ref: NodeRef<html::Form>,
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
    follow(action);
    let on_submit = move |event: SubmitEvent| {
        if event.default_prevented() || asks_for_get(&event) {
            return;
        }
        // A form the browser cannot read is left to the browser: the server answers it with the same words.
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

/// Whenever it has answered: goes where a refusal is told, and asks again for what the page shows.
pub fn follow<S>(action: ServerAction<S>)
where
    S: ServerFn<Error = FormRefused> + Clone + Send + Sync + 'static,
    S::Output: Send + Sync + 'static,
{
    let (version, revision) = (action.version(), revision::current());
    Effect::new(move |_| {
        if version.get() == 0 {
            return;
        }
        action.value().with_untracked(|answer| match answer {
            Some(Err(FormRefused { page, .. })) if !page.is_empty() => call_redirect_hook(page),
            _ => {}
        });
        revision.next();
    });
}

/// Was the pressed button one with `formmethod="get"`?
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
    /// One field more.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.0.push((name, value.into()));
        self
    }
}
