//! Reads the limits form: as changes of an integration, or as faults of its fields. Both sides use it: the server refuses a form by
//! redirecting to the page with the typed values in the address, and the page finds the faults in them again.

use super::{drawn, page_url::PageUrl};
use crate::{components::Flash, forms::LimitsForm};
use model::integration::{Debounce, Integration};
use model::integration_settings::IntegrationChanges;
use model::patch::Change;
use model::problem::Faults;
use model::rate_limit::{RateLimit, RateLimits};
use std::str::FromStr;

/// Longer input is no valid number, and the length of an address is limited.
const MAX_NUMBER_CHARS: usize = 20;
const MAX_SCHEDULE_CHARS: usize = 300;
/// Names the fields that were emptied, because an address keeps no empty values.
const EMPTIED: &str = "limits[emptied]";
/// Rate limits of one integration.
pub const MAX_LIMITS: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitField {
    /// In this row of the form.
    Requests(usize),
    /// In this row of the form.
    PerSeconds(usize),
    MaxConcurrency,
    MaxAttempts,
    TimeoutSeconds,
    RetrySchedule,
    DebounceSeconds,
    DebounceMaxSeconds,
}

impl LimitField {
    /// In the order of the form.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..MAX_LIMITS).flat_map(|row| [Self::Requests(row), Self::PerSeconds(row)]).chain([
            Self::MaxConcurrency,
            Self::MaxAttempts,
            Self::TimeoutSeconds,
            Self::RetrySchedule,
            Self::DebounceSeconds,
            Self::DebounceMaxSeconds,
        ])
    }

    pub fn name(self) -> &'static str {
        const REQUESTS: [&str; MAX_LIMITS] = [
            "limits[requests][0]",
            "limits[requests][1]",
            "limits[requests][2]",
            "limits[requests][3]",
            "limits[requests][4]",
            "limits[requests][5]",
            "limits[requests][6]",
            "limits[requests][7]",
        ];
        const PER_SECONDS: [&str; MAX_LIMITS] = [
            "limits[per_seconds][0]",
            "limits[per_seconds][1]",
            "limits[per_seconds][2]",
            "limits[per_seconds][3]",
            "limits[per_seconds][4]",
            "limits[per_seconds][5]",
            "limits[per_seconds][6]",
            "limits[per_seconds][7]",
        ];
        match self {
            Self::Requests(row) => REQUESTS.get(row).copied().unwrap_or_default(),
            Self::PerSeconds(row) => PER_SECONDS.get(row).copied().unwrap_or_default(),
            Self::MaxConcurrency => "limits[max_concurrency]",
            Self::MaxAttempts => "limits[max_attempts]",
            Self::TimeoutSeconds => "limits[timeout_seconds]",
            Self::RetrySchedule => "limits[retry_schedule]",
            Self::DebounceSeconds => "limits[debounce_seconds]",
            Self::DebounceMaxSeconds => "limits[debounce_max_seconds]",
        }
    }

    /// The range of a number; none for other fields.
    pub const fn range(self) -> Option<(i64, i64)> {
        Some(match self {
            Self::Requests(_) => (1, 1_000_000),
            Self::PerSeconds(_) => (1, 86_400),
            Self::MaxConcurrency => (1, 10_000),
            Self::MaxAttempts => (1, 100),
            Self::TimeoutSeconds => (1, 3_600),
            Self::DebounceSeconds => (1, 3_600),
            Self::DebounceMaxSeconds => (1, 86_400),
            Self::RetrySchedule => return None,
        })
    }

    /// The JSON pointer of the field in a problem document.
    fn pointer(self) -> String {
        match self {
            Self::Requests(row) => format!("/rate_limit/{row}/requests"),
            Self::PerSeconds(row) => format!("/rate_limit/{row}/per_seconds"),
            Self::MaxConcurrency => "/max_concurrency".to_owned(),
            Self::MaxAttempts => "/max_attempts".to_owned(),
            Self::TimeoutSeconds => "/timeout_ms".to_owned(),
            Self::RetrySchedule => "/retry_schedule".to_owned(),
            Self::DebounceSeconds => "/debounce/seconds".to_owned(),
            Self::DebounceMaxSeconds => "/debounce/max_seconds".to_owned(),
        }
    }

    pub fn read(self, form: &LimitsForm) -> &str {
        match self {
            Self::Requests(row) => form.requests.get(row).map_or("", String::as_str),
            Self::PerSeconds(row) => form.per_seconds.get(row).map_or("", String::as_str),
            Self::MaxConcurrency => &form.max_concurrency,
            Self::MaxAttempts => &form.max_attempts,
            Self::TimeoutSeconds => &form.timeout_seconds,
            Self::RetrySchedule => &form.retry_schedule,
            Self::DebounceSeconds => &form.debounce_seconds,
            Self::DebounceMaxSeconds => &form.debounce_max_seconds,
        }
        .trim()
    }

    fn write(self, form: &mut LimitsForm, value: String) {
        let slot = match self {
            Self::Requests(row) => form.requests.get_mut(row),
            Self::PerSeconds(row) => form.per_seconds.get_mut(row),
            Self::MaxConcurrency => Some(&mut form.max_concurrency),
            Self::MaxAttempts => Some(&mut form.max_attempts),
            Self::TimeoutSeconds => Some(&mut form.timeout_seconds),
            Self::RetrySchedule => Some(&mut form.retry_schedule),
            Self::DebounceSeconds => Some(&mut form.debounce_seconds),
            Self::DebounceMaxSeconds => Some(&mut form.debounce_max_seconds),
        };
        if let Some(slot) = slot {
            *slot = value;
        }
    }

    /// The value saved in an integration.
    fn saved(self, integration: &Integration, limits: &[RateLimit]) -> Option<String> {
        match self {
            Self::Requests(row) => limits.get(row).map(|limit| limit.requests.to_string()),
            Self::PerSeconds(row) => limits.get(row).map(|limit| limit.per_seconds.to_string()),
            Self::MaxConcurrency => Some(integration.max_concurrency.to_string()),
            Self::MaxAttempts => integration.max_attempts.map(|n| n.to_string()),
            // With decimals where needed: 1,500 ms reads `1.5`.
            Self::TimeoutSeconds => integration.timeout_ms.map(|ms| (f64::from(ms) / 1_000.0).to_string()),
            Self::RetrySchedule => integration.retry_schedule.clone(),
            Self::DebounceSeconds => integration.debounce.map(|d| d.seconds.to_string()),
            Self::DebounceMaxSeconds => integration.debounce.map(|d| d.max_seconds.to_string()),
        }
    }
}

fn empty() -> LimitsForm {
    let rows = vec![String::new(); MAX_LIMITS];
    LimitsForm { requests: rows.clone(), per_seconds: rows, ..LimitsForm::default() }
}

/// The form with the saved values.
pub fn saved(integration: &Integration) -> LimitsForm {
    let limits = integration.rate_limit.as_ref().map(RateLimits::to_vec).unwrap_or_default();
    let mut form = empty();
    for field in LimitField::all() {
        field.write(&mut form, field.saved(integration, &limits).unwrap_or_default());
    }
    form.drawn = drawn::field(&values(&form));
    form
}

/// The form as it was sent.
pub fn typed(sent: &PageUrl) -> LimitsForm {
    let mut form = empty();
    for field in LimitField::all() {
        field.write(&mut form, sent.get(field.name()).unwrap_or_default().to_owned());
    }
    form.drawn = sent.get("limits[drawn]").unwrap_or_default().to_owned();
    form
}

fn values(form: &LimitsForm) -> Vec<(&'static str, &str)> {
    LimitField::all().map(|field| (field.name(), field.read(form))).collect()
}

/// The changes that the form asks for; an empty field removes its setting.
///
/// # Errors
/// All faults, with the JSON pointers of the API's document.
pub fn changes(form: &LimitsForm) -> Result<IntegrationChanges, Faults> {
    let mut faults = Faults::default();
    let limits: Vec<_> = (0..MAX_LIMITS).filter_map(|row| limit(form, row, &mut faults)).collect();
    let max_concurrency = number::<i32>(form, LimitField::MaxConcurrency, &mut faults);
    let max_attempts = number::<i16>(form, LimitField::MaxAttempts, &mut faults);
    let timeout = number::<f64>(form, LimitField::TimeoutSeconds, &mut faults);
    if timeout.is_some_and(|seconds| !(1.0..=3_600.0).contains(&seconds)) {
        // Checked here, because the engine's fault would give the range in milliseconds.
        faults.add(LimitField::TimeoutSeconds.pointer(), "must be 1 to 3,600");
    }
    let quiet = number::<i32>(form, LimitField::DebounceSeconds, &mut faults);
    let longest = number::<i32>(form, LimitField::DebounceMaxSeconds, &mut faults);
    require_with(form, LimitField::DebounceMaxSeconds, LimitField::DebounceSeconds, &mut faults);
    let debounce = quiet.map(|seconds| Debounce { seconds, max_seconds: longest.unwrap_or(seconds) });
    let schedule = LimitField::RetrySchedule.read(form);
    let changes = IntegrationChanges {
        rate_limit: RateLimits::from_vec(limits).map_or(Change::Clear, Change::Set),
        timeout_ms: timeout.map_or(Change::Clear, |seconds| Change::Set((seconds * 1_000.0).round() as i32)),
        max_concurrency: max_concurrency.map_or(Change::Clear, Change::Set),
        max_attempts: max_attempts.map_or(Change::Clear, Change::Set),
        retry_schedule: if schedule.is_empty() { Change::Clear } else { Change::Set(schedule.to_owned()) },
        debounce: debounce.map_or(Change::Clear, Change::Set),
        ..IntegrationChanges::default()
    };
    if let Err(found) = changes.check() {
        // Limits were checked row by row.
        let is_new = |pointer: &str| {
            !pointer.starts_with("/rate_limit") && !faults.0.iter().any(|fault| fault.pointer == pointer)
        };
        let found: Vec<_> = found.0.into_iter().filter(|fault| is_new(&fault.pointer)).collect();
        faults.0.extend(found);
    }
    if faults.0.is_empty() { Ok(changes) } else { Err(faults) }
}

/// The limit of a row; none without requests.
fn limit(form: &LimitsForm, row: usize, faults: &mut Faults) -> Option<RateLimit> {
    let requests = number::<i32>(form, LimitField::Requests(row), faults);
    let per_seconds = number::<i32>(form, LimitField::PerSeconds(row), faults);
    require_with(form, LimitField::PerSeconds(row), LimitField::Requests(row), faults);
    let limit = RateLimit { requests: requests?, per_seconds: per_seconds.unwrap_or(1) };
    if let Err(found) = limit.check() {
        faults.nest(&format!("/rate_limit/{row}"), found);
    }
    Some(limit)
}

/// `field` means nothing without `needed`. Emptying `needed` removes the setting, which is allowed; but where it was empty already, what
/// was typed into `field` would be lost, so that is a fault.
fn require_with(form: &LimitsForm, field: LimitField, needed: LimitField, faults: &mut Faults) {
    let was_empty = drawn::value(&form.drawn, needed.name()).is_none();
    if was_empty && needed.read(form).is_empty() && !field.read(form).is_empty() {
        let what = if needed == LimitField::DebounceSeconds {
            "the debounce seconds"
        } else {
            "the number of requests"
        };
        faults.add(field.pointer(), format!("needs {what} too"));
    }
}

fn number<N: FromStr>(form: &LimitsForm, field: LimitField, faults: &mut Faults) -> Option<N> {
    let text = field.read(form);
    if text.is_empty() {
        return None;
    }
    let number = text.parse().ok();
    if let (None, Some((min, max))) = (&number, field.range()) {
        let (min, max) = (crate::format::count(min), crate::format::count(max));
        faults.add(field.pointer(), format!("must be a whole number, {min} to {max}"));
    }
    number
}

/// A refused form: what was typed, and what is wrong with it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LimitsDraft {
    form: LimitsForm,
    faults: Faults,
}

impl LimitsDraft {
    /// The draft in an address: typed values, and saved ones in the fields that were not changed. None when the draft could be saved, so that
    /// a link cannot fill the form with values of its own choice; except when the form was refused for another reason, which the notice
    /// names.
    pub fn of(url: &PageUrl, saved: &LimitsForm) -> Option<Self> {
        let emptied: Vec<_> = url.get(EMPTIED).unwrap_or_default().split(',').collect();
        let typed = |field: LimitField| {
            url.get(field.name()).or_else(|| emptied.contains(&field.name()).then_some(""))
        };
        let mut form = saved.clone();
        for field in LimitField::all() {
            if let Some(typed) = typed(field) {
                field.write(&mut form, typed.to_owned());
            }
        }
        let was_refused = [Flash::OthersChanged, Flash::SignedOut]
            .map(Flash::as_str)
            .map(Some)
            .contains(&url.get("notice"));
        match changes(&form) {
            _ if form == *saved => None,
            Err(faults) => Some(Self { form, faults }),
            Ok(_) => was_refused.then(|| Self { form, faults: Faults::default() }),
        }
    }

    /// The address that carries the changed fields of an integration's form.
    pub fn on(url: PageUrl, id: impl ToString, form: &LimitsForm) -> PageUrl {
        let changed = drawn::changed(&form.drawn, &values(form));
        // On the page of rate limits the integration's form opens again.
        let url =
            if url.path() == "/rate-limits" && !changed.is_empty() { url.with("edit", id) } else { url };
        let emptied: Vec<_> =
            changed.iter().filter(|(_, typed)| typed.is_empty()).map(|(name, _)| *name).collect();
        let url = changed.iter().fold(url, |url, (name, typed)| {
            let max =
                if *name == LimitField::RetrySchedule.name() { MAX_SCHEDULE_CHARS } else { MAX_NUMBER_CHARS };
            url.with(name, typed.chars().take(max).collect::<String>())
        });
        if emptied.is_empty() { url } else { url.with(EMPTIED, emptied.join(",")) }
    }

    /// How many rows of limits are used, up to the last one with a value.
    pub fn rows(&self) -> usize {
        (0..MAX_LIMITS)
            .rev()
            .find(|row| {
                [LimitField::Requests(*row), LimitField::PerSeconds(*row)]
                    .into_iter()
                    .any(|field| !field.read(&self.form).is_empty())
            })
            .map_or(0, |row| row + 1)
    }

    pub fn typed(&self, field: LimitField) -> String {
        field.read(&self.form).to_owned()
    }

    pub fn fault(&self, field: LimitField) -> Option<String> {
        let fault = self.faults.0.iter().find(|fault| fault.pointer == field.pointer())?;
        let mut chars = fault.detail.chars();
        let first = chars.next()?;
        Some(first.to_uppercase().chain(chars).chain(['.']).collect())
    }

    pub fn first_fault(&self) -> Option<LimitField> {
        LimitField::all().find(|field| self.fault(*field).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(requests: &str, per_seconds: &str, timeout: &str) -> LimitsForm {
        LimitsForm {
            requests: vec![requests.to_owned()],
            per_seconds: vec![per_seconds.to_owned()],
            max_concurrency: "50".to_owned(),
            timeout_seconds: timeout.to_owned(),
            ..LimitsForm::default()
        }
    }

    fn draft_of(url: &PageUrl) -> Option<LimitsDraft> {
        LimitsDraft::of(url, &empty())
    }

    #[test]
    fn an_empty_field_removes_its_setting() {
        let drawn = drawn::field(&[("limits[requests][0]", "20"), ("limits[per_seconds][0]", "1")]);
        let changes = changes(&LimitsForm { drawn, ..form("", "1", "") }).expect("changes");
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
    fn each_fault_is_shown_at_its_field_and_typed_values_are_kept() {
        for (requests, per_seconds, timeout, field, says) in [
            ("x", "1", "", LimitField::Requests(0), "Must be a whole number, 1 to 1,000,000."),
            ("2000000", "1", "", LimitField::Requests(0), "Must be 1 to 1,000,000."),
            ("1", "99999", "", LimitField::PerSeconds(0), "Must be 1 to 86,400."),
            ("1", "1", "-3", LimitField::TimeoutSeconds, "Must be 1 to 3,600."),
            ("1", "1", "9999999", LimitField::TimeoutSeconds, "Must be 1 to 3,600."),
            ("", "60", "", LimitField::PerSeconds(0), "Needs the number of requests too."),
        ] {
            let typed = form(requests, per_seconds, timeout);
            let url = LimitsDraft::on(PageUrl::parse("/integrations/1?notice=invalid"), 1, &typed);
            let draft = draft_of(&PageUrl::parse(&url.to_string())).expect("a draft");
            assert_eq!(draft.first_fault(), Some(field), "{url}");
            assert_eq!(draft.fault(field).as_deref(), Some(says), "{url}");
            assert_eq!(draft.typed(LimitField::Requests(0)), requests);
            let faults = LimitField::all().filter(|field| draft.fault(*field).is_some()).count();
            assert_eq!(faults, 1, "{url}");
        }
    }

    #[test]
    fn several_limits_are_read_and_rows_between_may_be_empty() {
        let several = LimitsForm {
            requests: vec!["10".to_owned(), String::new(), "100".to_owned()],
            per_seconds: vec!["1".to_owned(), String::new(), "60".to_owned()],
            ..form("", "", "1.5")
        };
        let set = changes(&several).expect("changes");
        let limit = |requests, per_seconds| RateLimit { requests, per_seconds };
        assert_eq!(set.rate_limit, Change::Set(RateLimits::Several(vec![limit(10, 1), limit(100, 60)])));
        assert_eq!(set.timeout_ms, Change::Set(1_500), "finer than a second");

        let third = LimitsForm { requests: vec!["10".to_owned(), String::new(), "0".to_owned()], ..several };
        let url = LimitsDraft::on(PageUrl::parse("/rate-limits?edit=1"), 1, &third);
        let draft = draft_of(&url).expect("a draft");
        assert_eq!((draft.first_fault(), draft.rows()), (Some(LimitField::Requests(2)), 3));
    }

    #[test]
    fn a_retry_schedule_is_set_removed_and_refused() {
        let with = |schedule: &str| LimitsForm { retry_schedule: schedule.to_owned(), ..form("", "", "") };
        let set = |schedule| changes(&with(schedule)).map(|changes| changes.retry_schedule);
        assert_eq!(set(" 0s,10s,1m "), Ok(Change::Set("0s,10s,1m".to_owned())));
        assert_eq!(set(""), Ok(Change::Clear));
        let draft = draft_of(&LimitsDraft::on(PageUrl::parse("/"), 1, &with("soon"))).expect("a draft");
        assert_eq!(draft.first_fault(), Some(LimitField::RetrySchedule));
        assert_eq!(draft.typed(LimitField::RetrySchedule), "soon");
    }

    #[test]
    fn a_debounce_is_set_removed_and_refused_at_its_fields() {
        let with = |quiet: &str, longest: &str| LimitsForm {
            debounce_seconds: quiet.to_owned(),
            debounce_max_seconds: longest.to_owned(),
            ..form("", "", "")
        };
        let set = |quiet, longest| changes(&with(quiet, longest)).map(|changes| changes.debounce);
        let debounce = |seconds, max_seconds| Ok(Change::Set(Debounce { seconds, max_seconds }));
        assert_eq!(set("5", "60"), debounce(5, 60));
        assert_eq!(set("5", ""), debounce(5, 5));
        let emptied =
            LimitsForm { drawn: drawn::field(&[("limits[debounce_seconds]", "5")]), ..with("", "60") };
        assert_eq!(changes(&emptied).map(|changes| changes.debounce), Ok(Change::Clear));
        for (quiet, longest, field) in [
            ("0", "60", LimitField::DebounceSeconds),
            ("soon", "60", LimitField::DebounceSeconds),
            ("60", "5", LimitField::DebounceMaxSeconds),
            ("", "60", LimitField::DebounceMaxSeconds),
        ] {
            let url = LimitsDraft::on(PageUrl::parse("/"), 1, &with(quiet, longest));
            assert_eq!(
                draft_of(&url).and_then(|draft| draft.first_fault()),
                Some(field),
                "{quiet} {longest}"
            );
        }
    }

    #[test]
    fn a_link_cannot_fill_the_form_with_values_that_could_be_saved() {
        let link = "/integrations/1?limits%5Brequests%5D%5B0%5D=1&limits%5Bmax_concurrency%5D=2";
        for url in [link, &format!("{link}&notice=limits-saved"), "/integrations/1?notice=others-changed"] {
            assert_eq!(draft_of(&PageUrl::parse(url)), None, "{url}");
        }
    }

    #[test]
    fn unchanged_fields_show_what_others_saved_meanwhile() {
        let shown = |concurrency: &str, schedule: &str| {
            let mut form = LimitsForm {
                max_concurrency: concurrency.to_owned(),
                retry_schedule: schedule.to_owned(),
                ..empty()
            };
            form.drawn = drawn::field(&values(&form));
            form
        };
        let typed = LimitsForm {
            max_attempts: "9".to_owned(),
            retry_schedule: String::new(),
            ..shown("50", "10s,1m")
        };
        let url = LimitsDraft::on(PageUrl::parse("/integrations/1?notice=others-changed"), 1, &typed);
        let draft =
            LimitsDraft::of(&PageUrl::parse(&url.to_string()), &shown("7", "10s,1m")).expect("a draft");
        assert_eq!(draft.typed(LimitField::MaxAttempts), "9");
        assert_eq!(draft.typed(LimitField::RetrySchedule), "", "emptied");
        assert_eq!(draft.typed(LimitField::MaxConcurrency), "7");
        assert_eq!(draft.first_fault(), None);
    }
}
