//! Icons in one style: 24 units, strokes of 2 with round ends, in the colour of the text.

use leptos::{prelude::*, tachys::html::InertElement};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Glyph {
    Alert,
    Ban,
    Book,
    Box,
    Check,
    ChevronLeft,
    ChevronRight,
    Clock,
    Copy,
    Cross,
    Eye,
    Gauge,
    Grid,
    Hand,
    Info,
    List,
    Monitor,
    Moon,
    Pause,
    Play,
    Plug,
    Search,
    SignOut,
    Skull,
    Sliders,
    Sun,
    Switch,
    Sync,
    Trash,
    Undo,
}

impl Glyph {
    const fn path(self) -> &'static str {
        match self {
            Self::Alert => "M12 3 2 20h20zM12 10v4M12 17.5v.01",
            Self::Ban => "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M6 6l12 12",
            Self::Book => "M5 4h12a2 2 0 0 1 2 2v14H7a2 2 0 0 1-2-2zM5 18a2 2 0 0 1 2-2h12M9 8h6",
            Self::Box => "M21 8 12 3 3 8v8l9 5 9-5zM3 8l9 5 9-5M12 13v8",
            Self::Check => "M4 12l5 5L20 6",
            Self::ChevronLeft => "M15 5l-7 7 7 7",
            Self::ChevronRight => "M9 5l7 7-7 7",
            Self::Clock => "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M12 7v5l3 2",
            Self::Copy => "M9 9h11v11H9zM15 9V4H4v11h5",
            Self::Cross => "M6 6l12 12M18 6 6 18",
            Self::Eye => "M2 12s4-6 10-6 10 6 10 6-4 6-10 6-10-6-10-6M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6",
            Self::Gauge => "M4 18a9 9 0 1 1 16 0M12 14l4-5",
            Self::Grid => "M3 3h7v7H3zM14 3h7v7h-7zM3 14h7v7H3zM14 14h7v7h-7z",
            Self::Hand => {
                "M8 11V6a1.5 1.5 0 0 1 3 0v4V4.5a1.5 1.5 0 0 1 3 0V10V6a1.5 1.5 0 0 1 3 0v8a7 7 0 0 1-13 3l-2-4a1.5 1.5 0 0 1 2.5-1.5L8 13z"
            }
            Self::Info => "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M12 11v5M12 8v.01",
            Self::List => "M8 6h13M8 12h13M8 18h13M3 6h.01M3 12h.01M3 18h.01",
            Self::Monitor => "M3 4h18v12H3zM8 20h8M12 16v4",
            Self::Moon => "M20 14A8 8 0 0 1 10 4a8 8 0 1 0 10 10",
            Self::Pause => "M8 5v14M16 5v14",
            Self::Play => "M7 4l13 8-13 8z",
            Self::Plug => "M9 2v6M15 2v6M6 8h12v4a6 6 0 0 1-12 0zM12 18v4",
            Self::Search => "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14M21 21l-5-5",
            Self::SignOut => "M15 4h5v16h-5M3 12h12M11 8l4 4-4 4",
            Self::Skull => "M12 3a8 8 0 0 0-5 14v3h10v-3a8 8 0 0 0-5-14zM9 12h.01M15 12h.01",
            Self::Sliders => "M4 7h9M17 7h3M13 5v4M4 17h3M11 17h9M7 15v4",
            Self::Sun => {
                "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.5 1.5M17.5 17.5 19 19M5 19l1.5-1.5M17.5 6.5 19 5"
            }
            // An open contact.
            Self::Switch => "M2 16h5M17 16h5M7 16l9-9M7 16v.01M17 16v.01",
            Self::Sync => "M4 12a8 8 0 0 1 14-5l2 2M20 4v5h-5M20 12a8 8 0 0 1-14 5l-2-2M4 20v-5h5",
            Self::Trash => "M4 6h16M9 6V3h6v3M6 6l1 15h10l1-15M10 10v7M14 10v7",
            Self::Undo => "M4 9h10a6 6 0 0 1 0 12H8M8 5 4 9l4 4",
        }
    }
}

/// Decoration only: a text next to it has the meaning.
#[component]
pub fn Icon(
    /// A signal, so that a live state changes in place.
    #[prop(into)]
    glyph: Signal<Glyph>,
    /// Size class; 14 px by default.
    #[prop(default = "w-3.5 h-3.5")]
    size: &'static str,
) -> impl IntoView {
    // One inert node: a page has a hundred icons, and hydration would write every SVG attribute again.
    move || InertElement::new(drawing(glyph.get(), size))
}

fn drawing(glyph: Glyph, size: &str) -> String {
    format!(
        "<svg class=\"flex-none {size}\" viewBox=\"0 0 24 24\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"2\" \
         stroke-linecap=\"round\" stroke-linejoin=\"round\" aria-hidden=\"true\"><path d=\"{}\"></path></svg>",
        glyph.path()
    )
}
