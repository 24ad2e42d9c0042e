//! The question before something that cannot be undone: it names the count, and asks again when that changed.

use crate::{
    calls::error::FormRefused,
    ui::{Button, ButtonKind, Dialog, HiddenFields, LinkButton, PostForm},
};
use leptos::{
    prelude::*,
    server_fn::{Http, ServerFn, client::Client, codec::PostUrl, request::ClientReq},
    web_sys,
};
use serde::de::DeserializeOwned;

/// A dialog with the answer that destroys and the one that does not.
#[component]
pub fn Confirm<S, O>(
    /// What happens.
    action: ServerAction<S>,
    /// The form's fields.
    hidden: HiddenFields,
    /// The question, with the count.
    #[prop(into)]
    title: String,
    /// What follows.
    #[prop(into)]
    text: String,
    /// The button, its first word the deed: `Purge 1,204 dead letters`.
    #[prop(into)]
    deed: String,
    /// The page without the question.
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
                    <Button kind=ButtonKind::DangerSolid>{deed}</Button>
                </PostForm>
            </div>
        </Dialog>
    }
    .into_any()
}
