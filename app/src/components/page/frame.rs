//! The frame of every page: navigation, who is signed in, theme, and the outcome of the last form.

use crate::{
    calls::{
        error::CallError,
        session::{Session, load_session},
        stats::load_nav_counts,
    },
    components::{FlashBar, KeyHelp, Palette, ThemeSwitch},
    format,
    state::{base_path, clock, freeze, live, page_url, revision},
    ui::{Glyph, Icon, Link, Notice, Tone},
};
use leptos::prelude::*;
use leptos_router::components::Outlet;
use model::{rules::permission::Permission, views::overview::NavCounts};

/// The signed-in user, loaded once: pages wait for it together with their own data.
#[derive(Clone, Copy)]
pub struct Reader(Resource<Result<Session, CallError>>);

impl Reader {
    /// The one of the enclosing page.
    pub fn current() -> Self {
        use_context::<Self>().unwrap_or_else(|| Self(Resource::new_blocking(|| (), |()| load_session())))
    }

    /// `None` while it loads.
    pub fn loaded(self) -> Option<Result<Session, CallError>> {
        self.0.get()
    }

    /// Fails without a session, or with a role that opens no console.
    pub async fn get(self) -> Result<Session, CallError> {
        self.0.await
    }
}

#[component]
pub fn Frame() -> impl IntoView {
    let reader = Reader::current();
    provide_context(reader);
    let first = Resource::new_blocking(|| (), |()| load_nav_counts());
    freeze::provide();
    revision::provide();
    let live = live::provide();
    clock::provide();
    view! {
        // `external`, so that the browser moves the focus: the router would only change the address.
        <a class="skip" href="#content" rel="external">
            "Skip to content"
        </a>
        <div class="shell">
            <nav class="side" aria-label="Main">
                <Link href="/" class="brand">
                    <Logo />
                    "Headgate"
                </Link>
                <Suspense fallback=|| ()>
                    {move || Suspend::new(async move {
                        reader.get().await.ok().map(|session| view! { <Palette session=session /> })
                    })}
                </Suspense>
                <Suspense fallback=|| ()>
                    {move || Suspend::new(async move {
                        let first = first.await.unwrap_or_default();
                        let session = reader.get().await.ok();
                        let reads_deployment = session.is_some_and(|s| s.may(Permission::ReadDeployment));
                        let counts = Memo::new(move |_| {
                            live.snapshot().with(|live| live.as_ref().map_or(first, NavCounts::from))
                        });
                        view! { <Navigation counts=counts reads_deployment=reads_deployment /> }
                    })}
                </Suspense>
                <Suspense fallback=|| ()>
                    {move || Suspend::new(async move {
                        reader.get().await.ok().map(|session| view! { <Foot session=session /> })
                    })}
                </Suspense>
            </nav>
            <main class="main" id="content" tabindex="-1">
                <FlashBar />
                <Suspense fallback=|| ()>
                    {move || Suspend::new(async move {
                        reader.get().await.ok().and_then(|session| session.lists_behind).map(|seconds| {
                            let text = format!("Lists are {} behind: so is the replica they are read from.", format::eta(seconds));
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

/// The logo: a gate in a channel.
#[component]
pub fn Logo() -> impl IntoView {
    view! {
        <svg
            width="20"
            height="20"
            viewBox="0 0 24 24"
            fill="none"
            stroke="currentColor"
            stroke-width="2.2"
            stroke-linecap="round"
            aria-hidden="true"
        >
            <path d="M4 3v18M20 3v18M4 7h16M9 7v7M15 7v7M4 18c3-3 5-3 8 0s5 3 8 0" />
        </svg>
    }
    .into_any()
}

#[component]
fn Navigation(
    counts: Memo<NavCounts>,
    /// Pages about the deployment are only for roles that may read it.
    reads_deployment: bool,
) -> impl IntoView {
    let number = move |read: fn(NavCounts) -> i64| Signal::derive(move || read(counts.get()));
    let none = Signal::stored(0);
    view! {
        <ul>
            <Entry href="/" glyph=Glyph::Grid label="Overview" count=none />
        </ul>
        <h2>"Watch"</h2>
        <ul>
            <Entry
                href="/integrations"
                glyph=Glyph::Plug
                label="Integrations"
                count=number(|n| n.integrations)
            />
            {reads_deployment
                .then(|| {
                    view! {
                        <Entry href="/rate-limits" glyph=Glyph::Gauge label="Rate limits" count=none />
                        <Entry href="/workers" glyph=Glyph::Monitor label="Workers" count=number(|n| n.workers) />
                    }
                })}
        </ul>
        <h2>"Work"</h2>
        <ul>
            <Entry href="/jobs" glyph=Glyph::List label="Jobs" count=none />
            <Entry href="/records" glyph=Glyph::Search label="Records" count=none />
            <Entry
                href="/failures"
                glyph=Glyph::Alert
                label="Failures"
                count=number(|n| n.failures)
                is_hot=true
                max_count=model::failure::MAX_COUNTED_GROUPS
            />
            <Entry
                href="/dead-letters"
                glyph=Glyph::Skull
                label="Dead letters"
                count=number(|n| n.dead_letters)
                is_hot=true
            />
            <Entry href="/operations" glyph=Glyph::Switch label="Bulk operations" count=none />
            <Entry href="/resyncs" glyph=Glyph::Sync label="Re-syncs" count=none />
        </ul>
        {reads_deployment
            .then(|| {
                view! {
                    <h2>"Deployment"</h2>
                    <ul>
                        <Entry href="/audit-log" glyph=Glyph::Book label="Audit log" count=none />
                        <Entry href="/settings" glyph=Glyph::Sliders label="Settings" count=none />
                    </ul>
                }
            })}
    }
    .into_any()
}

#[component]
fn Entry(
    href: &'static str,
    glyph: Glyph,
    label: &'static str,
    count: Signal<i64>,
    /// The count should be zero.
    #[prop(optional)]
    is_hot: bool,
    /// From here on the count is shown as `n+`.
    #[prop(default = i64::MAX)]
    max_count: i64,
) -> impl IntoView {
    let url = page_url::current();
    let is_current = Memo::new(move |_| {
        let here = url.with(|url| url.path().to_owned());
        here == href || (href != "/" && here.strip_prefix(href).is_some_and(|rest| rest.starts_with('/')))
    });
    view! {
        <li>
            <Link href=href class="nav" is_current=is_current>
                <Icon glyph=glyph size="w-[15px] h-[15px]" />
                {label}
                {move || {
                    let n = count.get();
                    (n > 0)
                        .then(|| {
                            view! {
                                <span class=if is_hot { "count hot" } else { "count" }>{format::up_to(n, max_count)}</span>
                            }
                        })
                }}
            </Link>
        </li>
    }
    .into_any()
}

#[component]
fn Foot(session: Session) -> impl IntoView {
    let initials: String =
        session.name.chars().filter(|c| c.is_alphanumeric()).take(2).collect::<String>().to_uppercase();
    view! {
        <div class="foot">
            <div class="who flex items-center gap-[9px] min-w-0">
                <span class="avatar" aria-hidden="true">
                    {initials}
                </span>
                <span class="min-w-0">
                    <span class="block truncate" title=session.name.clone()>
                        {session.name.clone()}
                    </span>
                    <span class="block type-caption text-faint">{session.role.as_str()}</span>
                </span>
            </div>
            <div class="flex items-center gap-1">
                <ThemeSwitch />
                <form method="post" action=base_path::current().join("/sign-out")>
                    <button
                        type="submit"
                        class="flex items-center gap-1.5 h-7 px-2 rounded-[7px] type-label font-medium whitespace-nowrap text-muted hover:bg-sunken hover:text-ink"
                    >
                        <Icon glyph=Glyph::SignOut />
                        "Sign out"
                    </button>
                </form>
            </div>
        </div>
    }
    .into_any()
}
