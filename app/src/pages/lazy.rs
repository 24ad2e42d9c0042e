//! Pages that the browser downloads when they are first visited.
//!
//! The build cuts the wasm at the functions that `pages!` makes: code of one page is downloaded with that page, code of several
//! pages once, and the rest is part of the first download.

use crate::state::page_files;
use leptos::{tachys::view::any_view::AnyView, wasm_split::SplitLoaderError};
use leptos_router::{ChooseView, hooks::use_location};
use std::future::{Future, pending};
use std::pin::Pin;

/// A route's view that is downloaded when needed.
#[derive(Clone, Copy)]
pub struct Page {
    name: &'static str,
    download: fn() -> Loading<()>,
    show: fn() -> Loading<AnyView>,
}

type Loading<T> = Pin<Box<dyn Future<Output = Result<T, SplitLoaderError>>>>;

impl Page {
    /// Only for `pages!`, which passes functions that belong together.
    pub(super) const fn new(
        name: &'static str,
        download: fn() -> Loading<()>,
        show: fn() -> Loading<AnyView>,
    ) -> Self {
        Self { name, download, show }
    }
}

impl ChooseView for Page {
    async fn choose(self) -> AnyView {
        page_files::announce(self.name);
        match (self.show)().await {
            Ok(view) => view,
            // Cannot happen: `preload` has downloaded it.
            Err(_) => pending().await,
        }
    }

    /// The router waits for it before it shows or hydrates anything of the page.
    async fn preload(&self) {
        let to = use_location();
        if (self.download)().await.is_err() {
            // The network failed, or the program was upgraded and no longer has these files. The page on screen stays and works
            // without a script; a page that was navigated to is loaded from the server.
            page_files::full_navigation(&to);
            pending::<()>().await;
        }
    }
}

/// Makes a function for each page, to be a route's `view`. Its name is the name of the page's file.
macro_rules! pages {
    ($($name:ident: $view:ident,)*) => {$(
        pub fn $name() -> $crate::pages::lazy::Page {
            #[::leptos::wasm_split::wasm_split(
                $name, wasm_split_path = ::leptos::wasm_split, preload(download), fallible
            )]
            fn show() -> Result<::leptos::prelude::AnyView, ::leptos::wasm_split::SplitLoaderError> {
                Ok(::leptos::prelude::IntoAny::into_any($view()))
            }
            $crate::pages::lazy::Page::new(stringify!($name), || Box::pin(download()), || Box::pin(show()))
        }
    )*};
}
pub(super) use pages;
