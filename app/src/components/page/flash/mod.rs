//! The outcome of a form, carried by the address it redirects to: a word and numbers, never free text, so that no crafted link
//! can put words into our mouth.

mod table;

pub use table::Flash;

use crate::format::{self, count};
use crate::state::page_url::{self, PageUrl};
use crate::ui::{Glyph, Notice, Tone};
use leptos::prelude::*;
use model::{id::OperationId, job::JobStatus};

/// A number in words.
type InWords = fn(i64) -> String;

/// How a number is written where a sentence has its name in braces.
const NUMBERS: [(&str, InWords); 5] = [
    ("{jobs}", |n| format::counted(n, "job", "jobs")),
    ("{integrations}", |n| format::counted(n, "integration", "integrations")),
    ("{dead letters}", |n| format::counted(n, "dead letter", "dead letters")),
    ("{are}", |n| if n == 1 { "1 is".to_owned() } else { format!("{} are", count(n)) }),
    ("{age}", format::age_seconds),
];

impl Flash {
    /// The outcome of cancelling a job, by the state it has then.
    pub const fn of_cancel(status: JobStatus) -> Self {
        match status {
            JobStatus::Processing => Self::CancelRequested,
            JobStatus::Completed => Self::DoneBefore,
            _ => Self::Cancelled,
        }
    }

    fn find(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|flash| flash.as_str() == word)
    }

    fn sentence(self, n: i64) -> String {
        NUMBERS
            .iter()
            .filter(|(name, _)| self.template().contains(name))
            .fold(self.template().to_owned(), |sentence, (name, write)| sentence.replace(name, &write(n)))
    }

    /// The page the form came from, settled, with the outcome in its address.
    pub fn on(self, back: PageUrl, n: i64, skipped: i64) -> PageUrl {
        let url = back.settled().without("ids[]").with("notice", self.as_str());
        let url = if n == 1 { url } else { url.with("count", n) };
        if skipped > 0 { url.with("skipped", skipped) } else { url }
    }
}

/// An outcome with its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub flash: Flash,
    /// A count, or seconds.
    pub n: i64,
    /// How many were skipped.
    pub skipped: i64,
    /// The bulk operation that does it or did it.
    pub operation: Option<OperationId>,
}

impl From<Flash> for Outcome {
    fn from(flash: Flash) -> Self {
        Self { flash, n: 1, skipped: 0, operation: None }
    }
}

/// The line above a page's content when its address carries an outcome.
#[component]
pub fn FlashBar() -> impl IntoView {
    let url = page_url::current();
    move || {
        let url = url.get();
        let flash = url.get("notice").and_then(Flash::find)?;
        let number = |name| url.get(name).and_then(|n| n.parse::<i64>().ok());
        let mut text = flash.sentence(number("count").unwrap_or(1).max(0));
        if let Some(skipped) = number("skipped").filter(|n| *n > 0) {
            text.push_str(&format!(" {} skipped: no longer in a state that allows it.", count(skipped)));
        }
        let tone = flash.tone();
        let glyph = if tone == Tone::Failed { Glyph::Alert } else { Glyph::Check };
        let operation = url
            .get("operation")
            .and_then(|id| id.parse::<OperationId>().ok())
            .map(|id| (format!("/operations/{id}"), "Follow progress"));
        Some(
            view! { <Notice tone=tone glyph=glyph text=text dismiss=url.settled().to_string() more=operation /> },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_is_found_by_its_word_and_has_a_sentence() {
        for flash in Flash::ALL.iter().copied() {
            assert_eq!(Flash::find(flash.as_str()), Some(flash));
            let sentence = flash.sentence(2);
            assert!(sentence.ends_with('.') && !sentence.contains(['{', '}']), "{flash:?}: {sentence}");
        }
        assert_eq!(Flash::find("<script>"), None);
    }

    #[test]
    fn the_address_keeps_its_filters_and_loses_question_and_selection() {
        let back = PageUrl::parse("/dead-letters?error=503&confirm=purge&ids%5B%5D=1&ids%5B%5D=2");
        assert_eq!(
            Flash::Purged.on(back, 2, 1).to_string(),
            "/dead-letters?error=503&notice=purged&count=2&skipped=1"
        );
        assert_eq!(Flash::Requeued.sentence(1), "1 job requeued. Attempts start over.");
    }
}
