//! The frame of every page: navigation, who is signed in, theme, and the outcome of the last form.

mod foot;
mod menu;
mod navigation;

use self::{
    foot::Foot,
    menu::{MENU, MenuButton},
    navigation::Navigation,
};
use crate::calls::stats::load_nav_counts;
use crate::components::{Brand, FlashBar, KeyHelp, Palette, Reader};
use crate::format;
use crate::state::{clock, freeze, live, revision, unsent};
use crate::ui::{Glyph, Link, Notice, Tone};
use leptos::prelude::*;
use leptos_router::components::Outlet;
use model::views::overview::NavCounts;

#[component]
pub fn Frame() -> impl IntoView {
    let reader = Reader::current();
    provide_context(reader);
    let first = Resource::new_blocking(|| (), |()| load_nav_counts());
    freeze::provide();
    revision::provide();
    let unsent = unsent::provide();
    let live = live::provide();
    clock::provide();
    view! {
        // `external`, so that the browser moves the focus: the router would only change the address.
        <a class="skip" href="#content" rel="external">
            "Skip to content"
        </a>
        <div class="shell" on:input=move |event| unsent.note(&event)>
            <nav class="side" aria-label="Main">
                <Link href="/" class="brand">
                    <Brand />
                </Link>
                <Suspense fallback=|| ()>
                    {move || Suspend::new(async move {
                        reader.get().await.ok().map(|session| view! { <Palette session=session /> })
                    })}
                </Suspense>
                <MenuButton />
                <div id=MENU class="menu" popover="auto">
                    <Suspense fallback=|| ()>
                        {move || Suspend::new(async move {
                            let first = first.await.unwrap_or_default();
                            let session = reader.get().await.ok();
                            let counts = Memo::new(move |_| {
                                live.snapshot().with(|live| live.as_ref().map_or(first, NavCounts::from))
                            });
                            view! { <Navigation counts=counts session=session /> }
                        })}
                    </Suspense>
                    <Suspense fallback=|| ()>
                        {move || Suspend::new(async move {
                            reader.get().await.ok().map(|session| view! { <Foot session=session /> })
                        })}
                    </Suspense>
                </div>
            </nav>
            <main class="main" id="content" tabindex="-1">
                <FlashBar />
                <Suspense fallback=|| ()>
                    {move || Suspend::new(async move {
                        reader.get().await.ok().and_then(|session| session.lists_behind).map(|seconds| {
                            let text = format!("Lists are {} behind: they are read from a lagging replica.", format::eta(seconds));
                            view! { <Notice tone=Tone::Retrying glyph=Glyph::Clock text=text /> }
                        })
                    })}
                </Suspense>
                <Outlet />
            </main>
            <KeyHelp />
        </div>
    }
    .into_any()
}
