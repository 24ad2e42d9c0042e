//! The routes of the console.

use crate::components::{Frame, InstanceBand};
use crate::pages::{self, NotFoundPage};
use crate::state::{base_path, instance};
use leptos::prelude::*;
use leptos_meta::{Title, provide_meta_context};
use leptos_router::components::{ParentRoute, Route, Router, Routes};
use leptos_router::{SsrMode, path};

/// The root component. Pages are rendered completely on the server (`Async`): the document has status, title and every row
/// without a script.
#[component]
pub fn App() -> impl IntoView {
    provide_meta_context();
    let (base, title) = (base_path::current(), instance::title());
    view! {
        // With a text of its own: without one, the browser's tab has no title until a page is hydrated.
        <Title text="" formatter=move |text: String| if text.is_empty() { title.clone() } else { format!("{text} · {title}") } />
        <InstanceBand />
        <Router base=base.as_str().to_owned()>
            <Routes fallback=NotFoundPage>
                <Route path=path!("/sign-in") view=pages::sign_in() ssr=SsrMode::Async />
                <Route path=path!("/wall") view=pages::wall() ssr=SsrMode::Async />
                <ParentRoute path=path!("") view=Frame ssr=SsrMode::Async>
                    <Route path=path!("/") view=pages::overview() ssr=SsrMode::Async />
                    <Route path=path!("/integrations") view=pages::integrations() ssr=SsrMode::Async />
                    <Route path=path!("/integrations/:id") view=pages::integration() ssr=SsrMode::Async />
                    <Route path=path!("/rate-limits") view=pages::rate_limits() ssr=SsrMode::Async />
                    <Route path=path!("/workers") view=pages::workers() ssr=SsrMode::Async />
                    <Route path=path!("/jobs") view=pages::jobs() ssr=SsrMode::Async />
                    <Route path=path!("/jobs/:id") view=pages::job() ssr=SsrMode::Async />
                    <Route path=path!("/records") view=pages::records() ssr=SsrMode::Async />
                    <Route path=path!("/failures") view=pages::failures() ssr=SsrMode::Async />
                    <Route path=path!("/dead-letters") view=pages::dead_letters() ssr=SsrMode::Async />
                    <Route path=path!("/operations") view=pages::operations() ssr=SsrMode::Async />
                    <Route path=path!("/operations/:id") view=pages::operation() ssr=SsrMode::Async />
                    <Route path=path!("/resyncs") view=pages::resyncs() ssr=SsrMode::Async />
                    <Route path=path!("/audit-log") view=pages::audit_log() ssr=SsrMode::Async />
                    <Route path=path!("/settings") view=pages::settings() ssr=SsrMode::Async />
                </ParentRoute>
            </Routes>
        </Router>
    }
}
