//! Every page of the console, on one screen.

use crate::{
    components::Frame,
    pages::{
        DeadLettersPage, IntegrationDetailPage, IntegrationsPage, JobDetailPage, JobsPage, NotFoundPage,
        OverviewPage, ResyncsPage, SignInPage,
    },
    state::base_path,
};
use leptos::prelude::*;
use leptos_meta::{Title, provide_meta_context};
use leptos_router::{
    SsrMode,
    components::{ParentRoute, Route, Router, Routes},
    path,
};

/// The root. Pages are rendered whole on the server (`Async`): status, title and every row stand in the document, and
/// none of it needs a script.
#[component]
pub fn App() -> impl IntoView {
    provide_meta_context();
    let base = base_path::current();
    view! {
        <Title formatter=|text: String| if text.is_empty() { "Headgate".to_owned() } else { format!("{text} · Headgate") } />
        <Router base=base.as_str().to_owned()>
            <Routes fallback=NotFoundPage>
                <Route path=path!("/sign-in") view=SignInPage ssr=SsrMode::Async />
                <ParentRoute path=path!("") view=Frame ssr=SsrMode::Async>
                    <Route path=path!("/") view=OverviewPage ssr=SsrMode::Async />
                    <Route path=path!("/integrations") view=IntegrationsPage ssr=SsrMode::Async />
                    <Route path=path!("/integrations/:id") view=IntegrationDetailPage ssr=SsrMode::Async />
                    <Route path=path!("/jobs") view=JobsPage ssr=SsrMode::Async />
                    <Route path=path!("/jobs/:id") view=JobDetailPage ssr=SsrMode::Async />
                    <Route path=path!("/dead-letters") view=DeadLettersPage ssr=SsrMode::Async />
                    <Route path=path!("/resyncs") view=ResyncsPage ssr=SsrMode::Async />
                </ParentRoute>
            </Routes>
        </Router>
    }
}
