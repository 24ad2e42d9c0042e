//! The sign-in form. It posts to the program's `POST /sign-in`, which answers with a new page and a new session, so no script is
//! needed.

use crate::calls::session::load_session;
use crate::components::{Brand, ThemeSwitch};
use crate::format;
use crate::state::page_url::PageUrl;
use crate::state::{base_path, page_url, sign_in_url};
use crate::ui::{Button, ButtonKind, Glyph, Notice, TextField, Tone};
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::components::Redirect;

/// The address says what went wrong before.
#[component]
pub fn SignInPage() -> impl IntoView {
    let url = page_url::current();
    let next = url.with_untracked(sign_in_url::next).to_string();
    let session = Resource::new_blocking(|| (), |()| load_session());
    let next_path = StoredValue::new(next.clone());
    view! {
        <Title text="Sign in" />
        // Users who already have a session, perhaps from another tab, are redirected.
        <Suspense fallback=|| ()>
            {move || Suspend::new(async move {
                session.await.is_ok().then(|| view! { <Redirect path=next_path.get_value() /> })
            })}
        </Suspense>
        <main class="gateway" id="content">
            <div class="w-full max-w-[360px]">
                <div class="brand justify-center">
                    <Brand />
                </div>
                {move || {
                    refusal(&url.read()).map(|text| view! { <Notice tone=Tone::Failed glyph=Glyph::Alert text=text /> })
                }}
                <section class="card p-5" aria-labelledby="sign-in-title">
                    <h1 id="sign-in-title" class="type-title font-[650] mb-4">
                        "Sign in"
                    </h1>
                    <form method="post" action=base_path::current().join("/sign-in") class="grid gap-3.5">
                        <input type="hidden" name="next" value=next />
                        <TextField name="email" label="E-mail address" kind="email" autocomplete="username" required=true />
                        <TextField
                            name="password"
                            label="Password"
                            kind="password"
                            autocomplete="current-password"
                            required=true
                        />
                        <Button kind=ButtonKind::Primary>"Sign in"</Button>
                    </form>
                </section>
                <div class="flex justify-center mt-3">
                    <ThemeSwitch />
                </div>
            </div>
        </main>
    }
    .into_any()
}

fn refusal(url: &PageUrl) -> Option<String> {
    let wait = url.get("wait").and_then(|n| n.parse::<i64>().ok()).unwrap_or(60);
    Some(match url.get("error")? {
        "credentials" => "Wrong e-mail address or password.".to_owned(),
        "too-many" => format!("Too many attempts. Wait {} and try again.", format::age_seconds(wait)),
        "link" => {
            "This link has expired or was already used. Restart Headgate for a new one, or run: headgate admin create-user"
                .to_owned()
        }
        _ => "That did not work. Try again.".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_of_the_program_has_its_sentence() {
        for (query, part) in [
            ("error=credentials", "Wrong e-mail address"),
            ("error=too-many&wait=90", "Wait 1 m 30 s"),
            ("error=link", "already used"),
            ("error=<script>", "did not work"),
        ] {
            let text = refusal(&PageUrl::parse(&format!("/sign-in?{query}"))).expect("a sentence");
            assert!(text.contains(part), "{text}");
        }
        assert_eq!(refusal(&PageUrl::parse("/sign-in")), None);
    }
}
