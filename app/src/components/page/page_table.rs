//! The pages of the console, each once: the navigation, the palette and the check of access read this table.

use crate::ui::Glyph;
use model::rules::permission::Permission;

/// A part of the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    Top,
    Watch,
    Work,
    Deployment,
    /// Not in the navigation.
    Elsewhere,
}

/// Makes the enum and what it knows from one row for each page.
macro_rules! pages {
    ($($name:ident $path:literal $title:literal $glyph:ident $permission:ident $group:ident;)*) => {
        /// A page that the navigation, the palette or another page links to.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ConsolePage {
            $($name,)*
        }

        impl ConsolePage {
            /// In the order of the navigation.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            pub const fn path(self) -> &'static str {
                match self {
                    $(Self::$name => $path,)*
                }
            }

            pub const fn title(self) -> &'static str {
                match self {
                    $(Self::$name => $title,)*
                }
            }

            pub const fn glyph(self) -> Glyph {
                match self {
                    $(Self::$name => Glyph::$glyph,)*
                }
            }

            /// What its reader needs.
            pub const fn permission(self) -> Permission {
                match self {
                    $(Self::$name => Permission::$permission,)*
                }
            }

            pub const fn group(self) -> Group {
                match self {
                    $(Self::$name => Group::$group,)*
                }
            }
        }
    };
}

pages! {
    Overview     "/"             "Overview"        Grid     OpenConsole     Top;
    Wall         "/wall"         "Wallboard"       Monitor  OpenConsole     Elsewhere;
    Integrations "/integrations" "Integrations"    Plug     OpenConsole     Watch;
    RateLimits   "/rate-limits"  "Rate limits"     Gauge    ReadDeployment  Watch;
    Workers      "/workers"      "Workers"         Monitor  ReadDeployment  Watch;
    Jobs         "/jobs"         "Jobs"            List     OpenConsole     Work;
    Records      "/records"      "Records"         Search   OpenConsole     Work;
    Failures     "/failures"     "Failures"        Alert    OpenConsole     Work;
    DeadLetters  "/dead-letters" "Dead letters"    Skull    OpenConsole     Work;
    Operations   "/operations"   "Bulk operations" Switch   OpenConsole     Work;
    Resyncs      "/resyncs"      "Re-syncs"        Sync     OpenConsole     Work;
    AuditLog     "/audit-log"    "Audit log"       Book     ReadDeployment  Deployment;
    Settings     "/settings"     "Settings"        Sliders  ReadDeployment  Deployment;
}

impl ConsolePage {
    /// The page of a path, or the one it is below: `/jobs/018f` belongs to `/jobs`.
    pub fn at(path: &str) -> Option<Self> {
        let first = |path: &str| path.trim_start_matches('/').split('/').next().map(str::to_owned);
        Self::ALL.iter().copied().find(|page| first(page.path()) == first(path))
    }
}

impl Group {
    /// Those of the navigation, in its order.
    pub const ALL: [Self; 4] = [Self::Top, Self::Watch, Self::Work, Self::Deployment];

    pub const fn heading(self) -> Option<&'static str> {
        match self {
            Self::Watch => Some("Watch"),
            Self::Work => Some("Work"),
            Self::Deployment => Some("Deployment"),
            Self::Top | Self::Elsewhere => None,
        }
    }

    pub fn pages(self) -> impl Iterator<Item = ConsolePage> {
        ConsolePage::ALL.iter().copied().filter(move |page| page.group() == self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_belongs_to_the_page_it_is_below() {
        for (path, page) in [
            ("", Some(ConsolePage::Overview)),
            ("/", Some(ConsolePage::Overview)),
            ("/jobs/018f", Some(ConsolePage::Jobs)),
            ("/settings/users", Some(ConsolePage::Settings)),
            ("/sign-in", None),
            ("/jobs-of-yesterday", None),
        ] {
            assert_eq!(ConsolePage::at(path), page, "{path}");
        }
    }

    #[test]
    fn the_navigation_shows_every_page_but_the_wallboard() {
        let shown: Vec<_> = Group::ALL.into_iter().flat_map(Group::pages).collect();
        let hidden: Vec<_> = ConsolePage::ALL.iter().filter(|page| !shown.contains(page)).collect();
        assert_eq!(hidden, [&ConsolePage::Wall]);
    }
}
