//! How the demo's external systems behave, as pure functions that can be tested without waiting.

use std::time::Duration;

/// Eight kinds of systems a platform meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum System {
    /// Answers at once.
    Fast,
    Slow,
    /// Sometimes answers 503.
    Flaky,
    /// Answers 429 with `Retry-After` beyond its quota.
    Limited,
    /// Regularly down for a minute.
    Down,
    /// Answers 400 for certain records.
    Rejecting,
    /// Answers 410 after a while, until it is reopened.
    Gone,
    /// Sometimes never answers.
    Hanging,
}

impl System {
    pub(super) const ALL: [Self; 8] = [
        Self::Fast,
        Self::Slow,
        Self::Flaky,
        Self::Limited,
        Self::Down,
        Self::Rejecting,
        Self::Gone,
        Self::Hanging,
    ];

    /// Its path below the demo's own listener.
    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Slow => "slow",
            Self::Flaky => "flaky",
            Self::Limited => "limited",
            Self::Down => "down",
            Self::Rejecting => "rejecting",
            Self::Gone => "gone",
            Self::Hanging => "hanging",
        }
    }

    pub(super) fn of_path(path: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|system| system.path() == path)
    }
}

/// What a system answers, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) after: Duration,
    /// Seconds.
    pub(super) retry_after: Option<u64>,
    pub(super) body: String,
}

/// What a system remembers between requests.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SystemState {
    /// Requests since it was last reopened.
    requests: u32,
    /// Requests of the current quota window.
    in_window: u32,
    /// When that window began, from the start of the demo.
    window_began: Duration,
}

/// The limited system's quota: requests per window.
const QUOTA: u32 = 40;
const QUOTA_WINDOW: Duration = Duration::from_secs(10);
/// The down system is down for the last of every five minutes.
const DOWN_EVERY: u64 = 300;
const DOWN_FOR: u64 = 60;
/// Requests after which the gone system answers 410.
const GONE_AFTER: u32 = 150;

impl SystemState {
    pub(super) fn reopen(&mut self) {
        self.requests = 0;
    }

    pub(super) fn is_gone(&self) -> bool {
        self.requests > GONE_AFTER
    }
}

/// Decides one answer. `since_start` is the demo's clock, `dice` a random number in [0, 1), `record_id` the record of the request.
pub(super) fn decide(
    system: System,
    state: &mut SystemState,
    since_start: Duration,
    dice: f64,
    record_id: &str,
) -> Answer {
    state.requests = state.requests.saturating_add(1);
    match system {
        System::Fast => answer(200, ms(5, 20, dice), r#"{"ok":true}"#),
        System::Slow => answer(200, ms(700, 2_200, dice), r#"{"ok":true,"queued":true}"#),
        System::Flaky if dice < 0.3 => {
            answer(503, ms(50, 400, dice), "upstream connect error or disconnect/reset before headers")
        }
        System::Flaky => answer(200, ms(20, 120, dice), r#"{"ok":true}"#),
        System::Limited => limited(state, since_start, dice),
        System::Down if since_start.as_secs() % DOWN_EVERY >= DOWN_EVERY - DOWN_FOR => {
            answer(502, ms(5, 30, dice), "<html><h1>502 Bad Gateway</h1>maintenance window</html>")
        }
        System::Down => answer(200, ms(20, 80, dice), r#"{"ok":true}"#),
        System::Rejecting if rejects(record_id) => answer(
            400,
            ms(10, 40, dice),
            &format!(
                r#"{{"error":"validation_failed","field":"attributes.ean","detail":"EAN-13 check digit of {record_id} is wrong"}}"#
            ),
        ),
        System::Rejecting => answer(200, ms(10, 60, dice), r#"{"ok":true}"#),
        System::Gone if state.is_gone() => answer(410, ms(5, 20, dice), r#"{"error":"subscription ended"}"#),
        System::Gone => answer(200, ms(10, 60, dice), r#"{"ok":true}"#),
        // Longer than the timeout of any integration of the demo.
        System::Hanging if dice < 0.2 => answer(200, Duration::from_secs(30), "too late"),
        System::Hanging => answer(200, ms(50, 300, dice), r#"{"ok":true}"#),
    }
}

fn limited(state: &mut SystemState, since_start: Duration, dice: f64) -> Answer {
    if since_start.saturating_sub(state.window_began) >= QUOTA_WINDOW {
        state.window_began = since_start;
        state.in_window = 0;
    }
    state.in_window += 1;
    if state.in_window <= QUOTA {
        return answer(200, ms(10, 40, dice), r#"{"ok":true}"#);
    }
    let left = QUOTA_WINDOW.saturating_sub(since_start.saturating_sub(state.window_began));
    Answer {
        retry_after: Some(left.as_secs() + 1),
        ..answer(429, ms(2, 10, dice), r#"{"error":"quota of 40 requests per 10 s is used up"}"#)
    }
}

/// About one record in 25, and always the same ones.
fn rejects(record_id: &str) -> bool {
    record_id.bytes().fold(7u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte))) % 25 == 0
}

fn answer(status: u16, after: Duration, body: &str) -> Answer {
    Answer { status, after, retry_after: None, body: body.to_owned() }
}

fn ms(min: u64, max: u64, dice: f64) -> Duration {
    Duration::from_millis(min) + Duration::from_millis(max - min).mul_f64(dice)
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: fn(u64) -> Duration = Duration::from_secs;

    fn status(system: System, at: u64, dice: f64, record_id: &str) -> u16 {
        decide(system, &mut SystemState::default(), T(at), dice, record_id).status
    }

    #[test]
    fn each_system_behaves_as_described() {
        for (system, at, dice, expected) in [
            (System::Fast, 0, 0.0, 200),
            (System::Slow, 0, 0.9, 200),
            (System::Flaky, 0, 0.29, 503),
            (System::Flaky, 0, 0.3, 200),
            (System::Down, 239, 0.5, 200),
            (System::Down, 240, 0.5, 502),
            (System::Down, 300, 0.5, 200),
            (System::Gone, 0, 0.5, 200),
            (System::Hanging, 0, 0.5, 200),
        ] {
            assert_eq!(status(system, at, dice, "p-1"), expected, "{system:?} at {at}");
        }
        assert!(decide(System::Hanging, &mut SystemState::default(), T(0), 0.1, "").after >= T(30));
    }

    #[test]
    fn the_quota_is_refilled_with_each_window() {
        let mut state = SystemState::default();
        let mut ask = |at| decide(System::Limited, &mut state, T(at), 0.5, "p");
        assert!((0..QUOTA).all(|_| ask(1).status == 200));
        let refused = ask(4);
        assert_eq!((refused.status, refused.retry_after), (429, Some(7)));
        assert_eq!(ask(10).status, 200);
    }

    #[test]
    fn the_gone_system_can_be_reopened() {
        let mut state = SystemState::default();
        let answers: Vec<u16> =
            (0..=GONE_AFTER).map(|_| decide(System::Gone, &mut state, T(0), 0.5, "p").status).collect();
        assert_eq!((answers[0], answers.last().copied()), (200, Some(410)));
        assert!(state.is_gone());
        state.reopen();
        assert_eq!(decide(System::Gone, &mut state, T(0), 0.5, "p").status, 200);
    }

    #[test]
    fn some_records_are_always_rejected() {
        let rejected =
            (0..500).filter(|n| status(System::Rejecting, 0, 0.5, &format!("lamp-{n:04}")) == 400).count();
        assert!((5..50).contains(&rejected), "{rejected}");
    }
}
