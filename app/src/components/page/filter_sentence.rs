//! A list's filters as a sentence that can be read aloud; each part is a link that removes it.

use crate::components::JobStateStyle;
use crate::format;
use crate::state::page_url::PageUrl;
use crate::state::url_filters;
use crate::ui::{Glyph, Icon, Link};
use leptos::prelude::*;
use model::filter::Age;
use model::job::JobStatus;
use model::text::{capitalise, shown};
use model::views::names::Names;

/// One condition in words, such as `older than an hour`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    /// The query parameter.
    name: String,
    words: String,
}

/// `Failed jobs for Shop A, older than an hour, whose error contains “timeout”.`; nothing when the list is not filtered.
#[component]
pub fn FilterSentence(
    url: PageUrl,
    /// What is listed, such as `jobs`.
    noun: &'static str,
    /// Names to show instead of ids.
    names: Names,
) -> impl IntoView {
    let mut parts = parts(&url, &names);
    (!parts.is_empty()).then(|| {
        let chip = {
            let url = url.settled();
            move |part: Part| {
                let href = url.clone().without(&part.name).without("cursor").without("ticked").to_string();
                view! {
                    <Link href=href keep_scroll=true class="chip" says=format!("{}, remove", part.words)>
                        {part.words}
                        <Icon glyph=Glyph::Cross size="w-[11px] h-[11px]" />
                    </Link>
                }
            }
        };
        let state = (parts[0].name == "status").then(|| parts.remove(0)).map(&chip);
        let last = parts.len().saturating_sub(1);
        let noun = if state.is_some() { noun.to_owned() } else { capitalise(noun) };
        let is_alone = parts.is_empty();
        let rest = parts
            .into_iter()
            .enumerate()
            .map(|(n, part)| view! { <span class="whitespace-nowrap">{chip(part)} {if n == last { "." } else { "," }}</span> })
            .collect_view();
        view! {
            <p class="sentence" data-filters>
                {state} <span>{noun} {is_alone.then_some(".")}</span> {rest}
            </p>
        }
    })
}

/// The same without links: `Dead letters for Marketplace, whose error contains “503”.`
pub fn sentence(url: &PageUrl, noun: &str, names: &Names) -> String {
    let mut parts = parts(url, names);
    let state = (parts.first().is_some_and(|part| part.name == "status")).then(|| parts.remove(0).words);
    let noun = state.map_or_else(|| capitalise(noun), |state| format!("{state} {noun}"));
    let rest: Vec<String> = parts.into_iter().map(|part| part.words).collect();
    format!("{noun} {}.", rest.join(", ")).replace(" .", ".")
}

/// In the order of a sentence: which, whose, about what, when, how it went.
fn parts(url: &PageUrl, names: &Names) -> Vec<Part> {
    const ORDER: [&str; 23] = [
        "status",
        "app_id",
        "integration_id",
        "job_type",
        "record_type",
        "record_id",
        "q",
        "correlation_id",
        "batch_id",
        "fingerprint",
        "min_age",
        "max_age",
        "created_after",
        "created_before",
        "finished_after",
        "finished_before",
        "attempt",
        "attempt_min",
        "attempt_max",
        "response_status",
        "error",
        "worker_id",
        "payload",
    ];
    let rank = |name: &str| ORDER.iter().position(|own| *own == name).unwrap_or(ORDER.len());
    let mut given = url_filters::active(url);
    given.sort_by_key(|(name, _)| rank(name));
    given
        .into_iter()
        .map(|(name, value)| Part { words: shown(&in_words(&name, &value, names)).into_owned(), name })
        .collect()
}

fn in_words(name: &str, value: &str, names: &Names) -> String {
    let age = || value.parse::<Age>().map_or_else(|_| value.to_owned(), Age::in_words);
    let app = || value.parse().ok().and_then(|id| names.app(id)).unwrap_or("a deleted app");
    let integration = || {
        value
            .parse()
            .ok()
            .and_then(|id| names.of(id))
            .map_or("a deleted integration", |own| own.name.as_str())
    };
    let attempts = |n: &str| if n == "1" { "1 attempt".to_owned() } else { format!("{n} attempts") };
    let at = || format::parse_moment(value).map_or_else(|| value.to_owned(), format::full);
    match name {
        "status" => value
            .parse::<JobStatus>()
            .map_or_else(|_| value.to_owned(), |status| JobStateStyle::of(status).word.to_owned()),
        "app_id" => format!("of {}", app()),
        "integration_id" => format!("for {}", integration()),
        "job_type" => format!("of kind {value}"),
        "record_type" => format!("about a {value}"),
        "record_id" => format!("about record {value}"),
        "q" => format!("with id {value}"),
        "correlation_id" => format!("with correlation id {value}"),
        "batch_id" => format!("of batch {}", short(value)),
        "fingerprint" => format!("with cause {}", short(value)),
        "min_age" => format!("older than {}", age()),
        "max_age" => format!("younger than {}", age()),
        "created_after" => format!("accepted since {}", at()),
        "created_before" => format!("accepted before {}", at()),
        "finished_after" => format!("ended since {}", at()),
        "finished_before" => format!("ended before {}", at()),
        "attempt" => format!("after exactly {}", attempts(value)),
        "attempt_min" => format!("after at least {}", attempts(value)),
        "attempt_max" => format!("after at most {}", attempts(value)),
        "response_status" => format!("last answered {value}"),
        "error" => format!("whose error contains “{value}”"),
        "worker_id" => format!("run by worker {}", short(value)),
        "payload" => in_payload(value.split_once('=').unwrap_or((value, ""))),
        _ => in_payload((name.strip_prefix("payload.").unwrap_or(name), value)),
    }
}

fn in_payload((path, value): (&str, &str)) -> String {
    format!("whose payload has {path} = {value}")
}

/// The end of an id: ids of one day differ there.
fn short(id: &str) -> String {
    let count = id.chars().count();
    if count <= 12 { id.to_owned() } else { id.chars().skip(count - 8).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_cannot_reverse_the_text_of_the_sentence() {
        let url = PageUrl::parse("/jobs?q=%E2%80%AEabc");
        let words: Vec<String> = parts(&url, &Names::default()).into_iter().map(|part| part.words).collect();
        assert_eq!(words, ["with id \\u202eabc"]);
    }

    #[test]
    fn the_parts_are_in_the_order_of_a_sentence() {
        let url = PageUrl::parse(
            "/jobs?error=timeout&min_age=60m&status=failed&payload.order.id=17&attempt_min=2&cursor=c",
        );
        let words: Vec<String> = parts(&url, &Names::default()).into_iter().map(|part| part.words).collect();
        assert_eq!(
            words,
            [
                "Failed",
                "older than an hour",
                "after at least 2 attempts",
                "whose error contains “timeout”",
                "whose payload has order.id = 17"
            ]
        );
    }
}
