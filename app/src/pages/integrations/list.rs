//! Every integration with its gauges, worst first.

use crate::{
    calls::stats::load_gauges,
    components::{GaugeRow, GaugeTable, Health, LiveBadge, Loaded, PageHead},
    format,
    state::{base_path, live, page_url, page_url::PageUrl},
    ui::{
        Button, Card, EmptyState, Glyph, LinkButton, Segment, Segmented, SelectField, SelectOption,
        TextField, Tone,
    },
};
use leptos::prelude::*;
use model::stats::{IntegrationGauge, Snapshot};

/// The table.
#[component]
pub fn IntegrationsPage() -> impl IntoView {
    let first = Resource::new_blocking(|| (), |()| load_gauges());
    view! {
        <Loaded title="Integrations" data=first show=|first, _| view! { <Content first=first /> }.into_any() />
    }
    .into_any()
}

/// What the address narrows to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Wanted {
    text: String,
    app_id: String,
    only: Only,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Only {
    #[default]
    All,
    Attention,
    Working,
    Paused,
}

impl Only {
    const ALL: [Self; 4] = [Self::All, Self::Attention, Self::Working, Self::Paused];

    const fn word(self) -> (&'static str, &'static str) {
        match self {
            Self::All => ("", "All"),
            Self::Attention => ("attention", "Need attention"),
            Self::Working => ("working", "With work"),
            Self::Paused => ("paused", "Paused"),
        }
    }

    fn fits(self, gauge: &IntegrationGauge, health: &Health) -> bool {
        match self {
            Self::All => true,
            Self::Attention => health.needs_attention(),
            Self::Working => gauge.backlog + gauge.processing + gauge.to_be_retried > 0,
            Self::Paused => gauge.state != model::integration::IntegrationState::Active,
        }
    }
}

impl Wanted {
    fn of(url: &PageUrl) -> Self {
        let value = |name: &str| url.get(name).unwrap_or_default().to_owned();
        let only =
            Only::ALL.into_iter().find(|only| url.get("only") == Some(only.word().0)).unwrap_or_default();
        Self { text: value("name").to_lowercase(), app_id: value("app_id"), only }
    }

    fn fits(&self, gauge: &IntegrationGauge) -> bool {
        let names = format!("{} {}", gauge.name, gauge.app_name).to_lowercase();
        (self.app_id.is_empty() || gauge.app_id.to_string() == self.app_id) && names.contains(&self.text)
    }
}

#[component]
fn Content(first: Snapshot) -> impl IntoView {
    let as_of = first.at;
    let apps = app_options(&first);
    let snapshot = live::current().or(first);
    let url = page_url::current();
    let rows = Memo::new(move |_| {
        let wanted = Wanted::of(&url.read());
        snapshot.with(|s| {
            let mut rows: Vec<_> = s
                .integrations
                .iter()
                .filter(|g| wanted.fits(g))
                .map(|g| (Health::of(g, s.at), g.clone()))
                .filter(|(health, g)| wanted.only.fits(g, health))
                .collect();
            rows.sort_by(|a, b| {
                b.0.severity
                    .cmp(&a.0.severity)
                    .then(b.1.backlog.cmp(&a.1.backlog))
                    .then_with(|| a.1.name.cmp(&b.1.name))
            });
            rows
        })
    });
    let most =
        Memo::new(move |_| rows.with(|rows| rows.iter().map(|(_, g)| g.backlog).max().unwrap_or(0)).max(1));
    let segments = Memo::new(move |_| {
        let here = url.get().settled();
        let wanted = Wanted::of(&here);
        snapshot.with(|s| {
            Only::ALL
                .into_iter()
                .map(|only| {
                    let (value, label) = only.word();
                    let count = s
                        .integrations
                        .iter()
                        .filter(|g| wanted.fits(g) && only.fits(g, &Health::of(g, s.at)))
                        .count();
                    Segment {
                        href: here.clone().with("only", value).to_string(),
                        label: label.to_owned(),
                        count: Some(count.to_string()),
                        is_current: only == wanted.only,
                    }
                })
                .collect::<Vec<_>>()
        })
    });
    let lede = Signal::derive(move || {
        snapshot.with(|s| {
            let apps: std::collections::BTreeSet<_> = s.integrations.iter().map(|g| g.app_id).collect();
            format!(
                "**{}** of **{}**",
                format::counted(s.integrations.len() as i64, "integration", "integrations"),
                format::counted(apps.len() as i64, "app", "apps"),
            )
        })
    });
    let here = url.get_untracked();
    let value = move |name: &str| here.get(name).unwrap_or_default().to_owned();
    view! {
        <PageHead title="Integrations" lede=lede>
            <LiveBadge as_of=as_of />
            <Segmented label="Which integrations" segments=segments />
        </PageHead>
        <Card title="All by state" sub="worst first">
            <form method="get" action=base_path::current().join("/integrations") class="filters" role="search" aria-label="Filter">
                <input type="hidden" name="only" value=value("only") />
                <TextField name="name" label="Name" kind="search" placeholder="integration or app" value=value("name") grow=true />
                <SelectField name="app_id" label="App" value=value("app_id") options=apps />
                <div class="fit flex gap-2">
                    <Button glyph=Glyph::Search>"Filter"</Button>
                    <LinkButton href="/integrations">"Clear"</LinkButton>
                </div>
            </form>
            <GaugeTable>
                <For
                    each=move || rows.get()
                    key=|(_, gauge)| gauge.integration_id
                    children=move |(health, gauge)| {
                        let id = gauge.integration_id;
                        let row = Memo::new(move |last: Option<&(Health, IntegrationGauge)>| {
                            rows.with(|rows| rows.iter().find(|(_, g)| g.integration_id == id).cloned())
                                .or_else(|| last.cloned())
                                .unwrap_or_else(|| (health.clone(), gauge.clone()))
                        });
                        view! { <GaugeRow row=row most=most /> }
                    }
                />
            </GaugeTable>
            {move || {
                rows.with(Vec::is_empty)
                    .then(|| {
                        if snapshot.with(|s| s.integrations.is_empty()) {
                            view! {
                                <EmptyState
                                    glyph=Glyph::Plug
                                    title="No integrations yet"
                                    text="Make one with POST /api/v1/integrations: where changes go, how fast, and how they are signed."
                                />
                            }
                                .into_any()
                        } else {
                            view! {
                                <EmptyState
                                    glyph=Glyph::Search
                                    tone=Tone::Waiting
                                    title="None fits these filters"
                                    text="Integrations exist, but not with this name, app and state."
                                >
                                    <LinkButton href="/integrations">"Clear"</LinkButton>
                                </EmptyState>
                            }
                                .into_any()
                        }
                    })
            }}
        </Card>
    }
    .into_any()
}

fn app_options(snapshot: &Snapshot) -> Vec<SelectOption> {
    let apps: std::collections::BTreeSet<_> =
        snapshot.integrations.iter().map(|g| (g.app_name.clone(), g.app_id.to_string())).collect();
    std::iter::once(SelectOption::new("", "All apps"))
        .chain(apps.into_iter().map(|(name, id)| SelectOption::new(id, name)))
        .collect()
}
