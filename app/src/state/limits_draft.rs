//! The limits form, read: as changes of an integration, or as faults beside their fields. Both sides read it alike: the server
//! refuses a form by redirecting to the page with what was typed in its address, and the page finds the faults in it again.

use super::page_url::PageUrl;
use crate::calls::integrations::LimitsForm;
use model::{
    integration::IntegrationChanges,
    patch::Change,
    problem::Faults,
    rate_limit::{RateLimit, RateLimits},
};
use std::str::FromStr;

/// Longer input is no number of ours, and an address has an end.
const LONGEST: usize = 20;

/// One of the form's fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitField {
    Requests,
    PerSeconds,
    MaxConcurrency,
    MaxAttempts,
    TimeoutSeconds,
}

impl LimitField {
    /// In the order they stand in.
    pub const ALL: [Self; 5] =
        [Self::Requests, Self::PerSeconds, Self::MaxConcurrency, Self::MaxAttempts, Self::TimeoutSeconds];

    /// The name it is sent under.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Requests => "limits[requests]",
            Self::PerSeconds => "limits[per_seconds]",
            Self::MaxConcurrency => "limits[max_concurrency]",
            Self::MaxAttempts => "limits[max_attempts]",
            Self::TimeoutSeconds => "limits[timeout_seconds]",
        }
    }

    /// The least and the most it takes.
    pub const fn range(self) -> (i64, i64) {
        match self {
            Self::Requests => (1, 1_000_000),
            Self::PerSeconds => (1, 86_400),
            Self::MaxConcurrency => (1, 10_000),
            Self::MaxAttempts => (1, 100),
            Self::TimeoutSeconds => (1, 3_600),
        }
    }

    /// Where a problem document points for it.
    const fn pointer(self) -> &'static str {
        match self {
            Self::Requests => "/rate_limit/requests",
            Self::PerSeconds => "/rate_limit/per_seconds",
            Self::MaxConcurrency => "/max_concurrency",
            Self::MaxAttempts => "/max_attempts",
            Self::TimeoutSeconds => "/timeout_ms",
        }
    }

    fn read(self, form: &LimitsForm) -> &str {
        match self {
            Self::Requests => &form.requests,
            Self::PerSeconds => &form.per_seconds,
            Self::MaxConcurrency => &form.max_concurrency,
            Self::MaxAttempts => &form.max_attempts,
            Self::TimeoutSeconds => &form.timeout_seconds,
        }
        .trim()
    }
}

/// What the form asks for; an empty field takes its setting away.
///
/// # Errors
/// Every fault, by the field of the API's document it belongs to.
pub fn changes(form: &LimitsForm) -> Result<IntegrationChanges, Faults> {
    let mut faults = Faults::default();
    let requests = number::<i32>(form, LimitField::Requests, &mut faults);
    let per_seconds = number::<i32>(form, LimitField::PerSeconds, &mut faults);
    let max_concurrency = number::<i32>(form, LimitField::MaxConcurrency, &mut faults);
    let max_attempts = number::<i16>(form, LimitField::MaxAttempts, &mut faults);
    let timeout = number::<i32>(form, LimitField::TimeoutSeconds, &mut faults);
    if timeout.is_some_and(|seconds| !(1..=3_600).contains(&seconds)) {
        // The engine would speak of milliseconds.
        faults.add(LimitField::TimeoutSeconds.pointer(), "must be 1 to 3,600");
    }
    let changes = IntegrationChanges {
        rate_limit: requests.map_or(Change::Clear, |requests| {
            Change::Set(RateLimits::One(RateLimit { requests, per_seconds: per_seconds.unwrap_or(1) }))
        }),
        timeout_ms: timeout.map_or(Change::Clear, |seconds| Change::Set(seconds.saturating_mul(1_000))),
        max_concurrency: max_concurrency.map_or(Change::Clear, Change::Set),
        max_attempts: max_attempts.map_or(Change::Clear, Change::Set),
        ..IntegrationChanges::default()
    };
    if let Err(judged) = changes.check() {
        let is_new = |pointer: &str| !faults.0.iter().any(|fault| fault.pointer == pointer);
        let judged: Vec<_> = judged.0.into_iter().filter(|fault| is_new(&fault.pointer)).collect();
        faults.0.extend(judged);
    }
    if faults.0.is_empty() { Ok(changes) } else { Err(faults) }
}

fn number<N: FromStr>(form: &LimitsForm, field: LimitField, faults: &mut Faults) -> Option<N> {
    let text = field.read(form);
    if text.is_empty() {
        return None;
    }
    let number = text.parse().ok();
    if number.is_none() {
        let (least, most) = field.range();
        let (least, most) = (crate::format::count(least), crate::format::count(most));
        faults.add(field.pointer(), format!("must be a whole number, {least} to {most}"));
    }
    number
}

/// A form that was refused: what was typed, and what is wrong with it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LimitsDraft {
    form: LimitsForm,
    faults: Faults,
}

impl LimitsDraft {
    /// The draft an address carries. One that could be saved is none: a link must not fill the form with values of its own choice.
    pub fn of(url: &PageUrl) -> Option<Self> {
        let value = |field: LimitField| url.get(field.name()).unwrap_or_default().to_owned();
        let form = LimitsForm {
            requests: value(LimitField::Requests),
            per_seconds: value(LimitField::PerSeconds),
            max_concurrency: value(LimitField::MaxConcurrency),
            timeout_seconds: value(LimitField::TimeoutSeconds),
            max_attempts: value(LimitField::MaxAttempts),
        };
        let faults = changes(&form).err()?;
        Some(Self { form, faults })
    }

    /// The address that carries a form.
    pub fn on(url: PageUrl, form: &LimitsForm) -> PageUrl {
        LimitField::ALL.into_iter().fold(url, |url, field| {
            url.with(field.name(), field.read(form).chars().take(LONGEST).collect::<String>())
        })
    }

    /// What was typed into a field.
    pub fn typed(&self, field: LimitField) -> String {
        field.read(&self.form).to_owned()
    }

    /// What is wrong with a field.
    pub fn fault(&self, field: LimitField) -> Option<String> {
        let fault = self.faults.0.iter().find(|fault| fault.pointer == field.pointer())?;
        let mut chars = fault.detail.chars();
        let first = chars.next()?;
        Some(first.to_uppercase().chain(chars).chain(['.']).collect())
    }

    /// The first field that is wrong.
    pub fn first_fault(&self) -> Option<LimitField> {
        LimitField::ALL.into_iter().find(|field| self.fault(*field).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(requests: &str, per_seconds: &str, timeout: &str) -> LimitsForm {
        LimitsForm {
            requests: requests.to_owned(),
            per_seconds: per_seconds.to_owned(),
            max_concurrency: "50".to_owned(),
            timeout_seconds: timeout.to_owned(),
            max_attempts: String::new(),
        }
    }

    #[test]
    fn an_empty_field_takes_its_setting_away() {
        let changes = changes(&form("", "1", "")).expect("changes");
        assert_eq!((changes.rate_limit, changes.timeout_ms), (Change::Clear, Change::Clear));
        assert_eq!(changes.max_concurrency, Change::Set(50));
    }

    #[test]
    fn numbers_in_range_are_set() {
        let set = changes(&form("20", " 2 ", "30")).expect("changes");
        assert_eq!(set.rate_limit, Change::Set(RateLimits::One(RateLimit { requests: 20, per_seconds: 2 })));
        assert_eq!(set.timeout_ms, Change::Set(30_000));
    }

    #[test]
    fn each_fault_stands_at_its_field_and_what_was_typed_is_kept() {
        for (requests, per_seconds, timeout, field, says) in [
            ("x", "1", "", LimitField::Requests, "Must be a whole number, 1 to 1,000,000."),
            ("2000000", "1", "", LimitField::Requests, "Must be 1 to 1,000,000."),
            ("1", "99999", "", LimitField::PerSeconds, "Must be 1 to 86,400."),
            ("1", "1", "-3", LimitField::TimeoutSeconds, "Must be 1 to 3,600."),
            ("1", "1", "9999999", LimitField::TimeoutSeconds, "Must be 1 to 3,600."),
        ] {
            let typed = form(requests, per_seconds, timeout);
            let url = LimitsDraft::on(PageUrl::parse("/integrations/1?notice=invalid"), &typed);
            let draft = LimitsDraft::of(&PageUrl::parse(&url.to_string())).expect("a draft");
            assert_eq!(draft.first_fault(), Some(field), "{url}");
            assert_eq!(draft.fault(field).as_deref(), Some(says), "{url}");
            assert_eq!(draft.typed(LimitField::Requests), requests);
            let faults = LimitField::ALL.into_iter().filter(|field| draft.fault(*field).is_some()).count();
            assert_eq!(faults, 1, "{url}");
        }
    }

    #[test]
    fn a_link_cannot_fill_the_form_with_what_could_be_saved() {
        assert_eq!(LimitsDraft::of(&PageUrl::parse("/integrations/1?limits%5Brequests%5D=1")), None);
        assert_eq!(LimitsDraft::of(&PageUrl::parse("/integrations/1")), None);
    }
}
