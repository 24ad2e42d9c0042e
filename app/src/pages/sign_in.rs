//! The way in: e-mail address and password, or the one-time link printed at the first start.

use crate::{
    calls::session::{SignIn, redeem_link},
    components::{FlashBar, Mark, ThemeSwitch},
    state::page_url,
    ui::{Button, ButtonKind, Glyph, HiddenFields, Notice, PostForm, TextField, Tone},
};
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_params_map;

/// The form; at `/sign-in/link/…` the link is exchanged while the page is rendered, and the browser sent on.
#[component]
pub fn SignInPage() -> impl IntoView {
    let url = page_url::current();
    let token = use_params_map().read_untracked().get("token");
    let redeemed = Resource::new_blocking(
        || (),
        move |()| {
            let token = token.clone();
            async move {
                match token {
                    Some(token) => Some(redeem_link(token).await),
                    None => None,
                }
            }
        },
    );
    let sign_in = ServerAction::<SignIn>::new();
    let next = url.get_untracked().get("next").unwrap_or("/").to_owned();
    view! {
        <Title text="Sign in" />
        <main class="gateway" id="content">
            <div class="w-full max-w-[360px]">
                <div class="brand justify-center">
                    <Mark />
                    "Headgate"
                </div>
                <FlashBar />
                <Suspense fallback=|| ()>
                    {move || Suspend::new(async move {
                        matches!(redeemed.await, Some(Err(_)))
                            .then(|| {
                                view! {
                                    <Notice
                                        tone=Tone::Failed
                                        glyph=Glyph::Alert
                                        text="This sign-in link was used already or has expired. Restart the program for a new one, or make a user with: headgate admin create-user"
                                    />
                                }
                            })
                    })}
                </Suspense>
                <section class="card p-5" aria-labelledby="sign-in-title">
                    <h1 id="sign-in-title" class="type-title font-[650] mb-4">
                        "Sign in"
                    </h1>
                    <PostForm action=sign_in class="grid gap-3.5" hidden=HiddenFields::default().with("next", next)>
                        <TextField name="email" label="E-mail address" kind="email" autocomplete="username" required=true />
                        <TextField
                            name="password"
                            label="Password"
                            kind="password"
                            autocomplete="current-password"
                            required=true
                        />
                        <Button kind=ButtonKind::Primary>"Sign in"</Button>
                    </PostForm>
                </section>
                <div class="flex justify-center mt-3">
                    <ThemeSwitch />
                </div>
            </div>
        </main>
    }
}
