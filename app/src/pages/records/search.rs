//! The search box, and what its text means here.

use crate::state::base_path;
use crate::state::page_url::PageUrl;
use crate::ui::{Button, ButtonKind, EmptyState, Glyph, Segment, Segmented, TextField};
use leptos::prelude::*;
use model::text::shown;
use model::trail::{Trail, TrailReading};

/// A GET form: the search is in the address and needs no script.
#[component]
pub fn SearchBox(url: PageUrl) -> impl IntoView {
    view! {
        <form method="get" action=base_path::current().join("/records") class="filters" role="search" aria-label="Find">
            <TextField
                name="q"
                label="Record, job, correlation or deduplication id, or app name"
                kind="search"
                placeholder="4711, or product 4711, or Acme"
                value=url.get("q").unwrap_or_default().to_owned()
                required=true
                autofocus=url.get("q").is_none()
                grow=true
            />
            <div class="fit">
                <Button kind=ButtonKind::Primary glyph=Glyph::Search>"Find"</Button>
            </div>
        </form>
    }
    .into_any()
}

/// What can be searched for, while nothing was.
#[component]
pub fn NothingAsked() -> impl IntoView {
    view! {
        <EmptyState
            glyph=Glyph::Search
            title="What are you looking for?"
            text="Ids must match exactly; a record's type can come first. For an app's name, its beginning is enough."
        />
    }
}

/// Chooses one reading out of several.
#[component]
pub fn Readings(
    url: PageUrl,
    /// Everything the text can mean.
    readings: Vec<TrailReading>,
) -> impl IntoView {
    let chosen = url.get("as").map(str::to_owned);
    (readings.len() > 1 || chosen.is_some()).then(|| {
        let url = url.settled().without("cursor");
        let all = Segment {
            href: url.clone().without("as").to_string(),
            label: "All".to_owned(),
            count: None,
            is_current: chosen.is_none(),
        };
        let each = readings.into_iter().map(|reading| Segment {
            href: url.clone().with("as", reading.as_str()).to_string(),
            label: noun(reading).to_owned(),
            count: None,
            is_current: chosen.as_deref() == Some(reading.as_str()),
        });
        let segments: Vec<_> = std::iter::once(all).chain(each).collect();
        view! { <div class="flex px-4 pb-3"><Segmented label="Read as" segments=segments /></div> }
    })
}

const fn noun(reading: TrailReading) -> &'static str {
    match reading {
        TrailReading::Record => "Record",
        TrailReading::Job => "Job",
        TrailReading::Correlation => "Correlation id",
        TrailReading::Deduplication => "Deduplication id",
        TrailReading::App => "App",
    }
}

/// `“4711” is **the id of 2 records** and **a correlation id**.`
pub(super) fn meaning(text: &str, trail: &Trail) -> String {
    let words: Vec<_> =
        trail.readings.iter().map(|reading| format!("**{}**", article(*reading, trail))).collect();
    let text = shown(text).replace("**", "* *");
    match words.as_slice() {
        [] => format!("Nothing matches “{text}”."),
        [only] => format!("“{text}” is {only}."),
        [first @ .., last] => format!("“{text}” is {} and {last}.", first.join(", ")),
    }
}

fn article(reading: TrailReading, trail: &Trail) -> String {
    let several = |n: usize, more: bool, one: &str, many: &str| match (n, more) {
        (0 | 1, false) => one.to_owned(),
        (n, false) => many.replace("{n}", &n.to_string()),
        (n, true) => many.replace("{n}", &format!("more than {n}")),
    };
    match reading {
        TrailReading::Record => {
            several(trail.records.len(), trail.more_records, "the id of a record", "the id of {n} records")
        }
        TrailReading::Job => "a job".to_owned(),
        TrailReading::Correlation => "a correlation id".to_owned(),
        TrailReading::Deduplication => "a deduplication id".to_owned(),
        TrailReading::App => several(trail.apps.len(), false, "an app", "the beginning of {n} app names"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_readings_are_in_one_sentence() {
        let trail = |readings: &[TrailReading]| Trail {
            readings: readings.to_vec(),
            records: Vec::new(),
            more_records: false,
            apps: Vec::new(),
            items: Vec::new(),
            next_cursor: None,
        };
        let said = |readings: &[TrailReading]| meaning("4711", &trail(readings));
        assert_eq!(said(&[]), "Nothing matches “4711”.");
        assert_eq!(said(&[TrailReading::Job]), "“4711” is **a job**.");
        assert_eq!(
            said(&[TrailReading::Record, TrailReading::Correlation, TrailReading::App]),
            "“4711” is **the id of a record**, **a correlation id** and **an app**."
        );
    }
}
