//! The question before something that cannot be undone. It names the count, and is asked again when the count changed.

use crate::calls::error::FormRefused;
use crate::ui::{Button, ButtonKind, Dialog, FormAction, HiddenFields, LinkButton, PostForm};
use leptos::{
    prelude::*,
    server_fn::{Http, ServerFn, client::Client, codec::PostUrl, request::ClientReq},
    web_sys,
};
use serde::de::DeserializeOwned;

/// A dialog with two answers: the destructive one, and back.
#[component]
pub fn Confirm<S, O>(
    action: FormAction<S>,
    hidden: HiddenFields,
    /// The question, with the count.
    #[prop(into)]
    title: String,
    /// What follows from it.
    #[prop(into)]
    text: String,
    /// The button's text, a verb first: `Purge 1,204 dead letters`.
    #[prop(into)]
    button_text: String,
    /// The page without the dialog.
    #[prop(into)]
    close: String,
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
    O: 'static,
{
    view! {
        <Dialog title=title close=close.clone()>
            <p class="text-muted">{text}</p>
            <div class="flex flex-wrap justify-end gap-2 mt-4">
                <LinkButton href=close>"Back"</LinkButton>
                <PostForm action=action hidden=hidden>
                    <Button kind=ButtonKind::DangerSolid>{button_text}</Button>
                </PostForm>
            </div>
        </Dialog>
    }
    .into_any()
}
