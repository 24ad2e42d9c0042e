use super::*;

fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds)
}

const RULE: Rule = Rule { failures: 20, max_concurrency: 50, random: 0.0 };

/// `x` is a failure, `.` a success, all started and ended in the same second.
fn see(circuit: &mut Circuit, rule: Rule, second: i64, attempts: &str) -> Vec<String> {
    let outcomes: Vec<Outcome> = attempts
        .chars()
        .map(|result| Outcome { started_at: at(second), is_failure: result == 'x', count: 1 })
        .collect();
    let seen =
        Seen { outcomes: &outcomes, last_error: Some(r#"answered 502 Bad Gateway: {"error":"no route"}"#) };
    let flips = circuit.observe(&seen, &rule, at(second));
    flips.into_iter().map(|flip| format!("{} -> {}", flip.from.as_str(), flip.to.as_str())).collect()
}

fn opened() -> Circuit {
    let mut circuit = Circuit::default();
    see(&mut circuit, RULE, 0, &"x".repeat(20));
    assert_eq!(circuit.breaker.state, BreakerState::Open);
    circuit
}

fn half_open() -> Circuit {
    let mut circuit = opened();
    circuit.tick(50, at(30)).unwrap();
    circuit
}

#[test]
fn it_opens_on_consecutive_failures_or_when_half_of_many_attempts_fail() {
    let halves = "x.".repeat(49);
    let thirds = "xx.....".repeat(100);
    for (attempts, opens) in [
        ("x".repeat(19), false),
        ("x".repeat(20), true),
        (format!("{}.{}", "x".repeat(19), "x".repeat(19)), false),
        (format!("{}.{}", "x".repeat(19), "x".repeat(20)), true),
        (halves.clone(), false),
        (format!("{halves}.x"), true),
        (thirds, false),
        (".".repeat(1_000), false),
    ] {
        let mut circuit = Circuit::default();
        let flips = see(&mut circuit, RULE, 0, &attempts);
        assert_eq!(!flips.is_empty(), opens, "{attempts}");
        assert_eq!(circuit.breaker.state == BreakerState::Open, opens, "{attempts}");
        assert_eq!(circuit.breaker.at_once, opens.then_some(0), "{attempts}");
    }
    let breaker = opened().breaker;
    assert_eq!(
        breaker.reason.as_deref(),
        Some("20 attempts in a row failed; the last: 502 Bad Gateway: no route")
    );
    assert_eq!((breaker.since, breaker.probe_at, breaker.failures_in_a_row), (Some(at(0)), Some(at(30)), 20));
}

#[test]
fn the_rate_is_that_of_a_minute() {
    let mut circuit = Circuit::default();
    for second in 0..49 {
        assert!(see(&mut circuit, RULE, second * 4, "x.").is_empty(), "{second}: too few in any minute");
    }
    // With two attempts a second, a hundred of them are within 30 to 60 seconds.
    let mut circuit = Circuit::default();
    let opened_at = (0..60).find(|second| !see(&mut circuit, RULE, *second, ".x").is_empty());
    assert_eq!(opened_at, Some(49));
}

#[test]
fn it_never_opens_by_itself_with_zero_failures() {
    let mut circuit = Circuit::default();
    let never = Rule { failures: 0, ..RULE };
    assert!(see(&mut circuit, never, 0, &"x".repeat(500)).is_empty());
    assert!(!circuit.is_watched(at(0)) && circuit == Circuit::default());
}

#[test]
fn the_wait_doubles_up_to_a_quarter_of_an_hour() {
    for (times, random, seconds) in [
        (1, 0.0, 30),
        (1, 1.0, 24),
        (2, 0.0, 60),
        (2, 1.0, 48),
        (5, 0.0, 480),
        (6, 0.0, 900),
        (i32::MAX, 0.0, 900),
    ] {
        assert_eq!(wait(times, random), TimeDelta::seconds(seconds), "{times} {random}");
    }
    let mut circuit = half_open();
    assert_eq!(see(&mut circuit, RULE, 31, "x"), ["half_open -> open"]);
    let breaker = &circuit.breaker;
    assert_eq!((breaker.probe_at, breaker.at_once), (Some(at(31 + 60)), Some(0)));
    assert_eq!(breaker.reason.as_deref(), Some("a probe failed: 502 Bad Gateway: no route"));
}

#[test]
fn there_are_never_more_probes_than_missing_successes() {
    let mut circuit = opened();
    assert_eq!(circuit.tick(50, at(29)), None);
    let flip = circuit.tick(50, at(30)).unwrap();
    assert_eq!((flip.to, circuit.breaker.at_once), (BreakerState::HalfOpen, Some(3)));
    for (left, flips) in [(2, vec![]), (1, vec![]), (6, vec!["half_open -> ramping"])] {
        assert_eq!(see(&mut circuit, RULE, 31, "."), flips);
        assert_eq!(circuit.breaker.at_once, Some(left));
    }
}

#[test]
fn attempts_that_began_before_a_change_of_state_are_ignored() {
    let mut circuit = half_open();
    let old = Outcome { started_at: at(29), is_failure: true, count: 7 };
    for is_failure in [true, false] {
        let seen = Seen { outcomes: &[Outcome { is_failure, ..old }], last_error: None };
        assert!(circuit.observe(&seen, &RULE, at(31)).is_empty());
    }
    assert_eq!((circuit.breaker.at_once, circuit.successes), (Some(3), 0));
    // The second of two failing probes does not open it again.
    assert_eq!(see(&mut circuit, RULE, 31, "xx"), ["half_open -> open"]);
    assert_eq!(circuit.times_opened, 2);
}

#[test]
fn the_ramp_doubles_with_successes_and_ends_at_the_maximum() {
    let mut circuit = half_open();
    see(&mut circuit, RULE, 31, "...");
    let mut widths = vec![circuit.breaker.at_once];
    for _ in 0..3 {
        let all = ".".repeat(circuit.breaker.at_once.unwrap() as usize);
        assert!(see(&mut circuit, RULE, 32, &all).is_empty());
        widths.push(circuit.breaker.at_once);
    }
    assert_eq!(widths, [Some(6), Some(12), Some(24), Some(48)]);
    assert_eq!(see(&mut circuit, RULE, 33, &".".repeat(48)), ["ramping -> closed"]);
    assert_eq!((circuit.breaker.at_once, circuit.times_opened), (None, 0));
    // No ramp where no more jobs may run anyway.
    let mut narrow = half_open();
    let rule = Rule { max_concurrency: 5, ..RULE };
    assert_eq!(see(&mut narrow, rule, 31, "..."), ["half_open -> closed"]);
}

#[test]
fn an_idle_ramp_steps_up_by_itself_and_a_disturbed_one_does_not() {
    let mut circuit = half_open();
    see(&mut circuit, RULE, 31, "...");
    assert_eq!((circuit.tick(50, at(40)), circuit.breaker.at_once), (None, Some(6)));
    assert_eq!((circuit.tick(50, at(41)), circuit.breaker.at_once), (None, Some(12)));
    see(&mut circuit, RULE, 42, "x");
    assert_eq!((circuit.tick(50, at(51)), circuit.breaker.at_once), (None, Some(12)));
    assert_eq!(circuit.tick(50, at(61)), None);
    assert_eq!(circuit.tick(50, at(71)), None);
    assert_eq!(circuit.tick(50, at(81)).map(|flip| flip.to), Some(BreakerState::Closed));
}

#[test]
fn the_ramp_tolerates_a_few_failures_and_ends_when_more_fail_than_succeed() {
    for (attempts, opens) in
        [(".x.x.x", false), ("xx", false), ("xx.x", true), ("xxx", true), ("...xxx", false)]
    {
        let mut circuit = half_open();
        see(&mut circuit, RULE, 31, "...");
        circuit.breaker.at_once = Some(40);
        assert_eq!(!see(&mut circuit, RULE, 32, attempts).is_empty(), opens, "{attempts}");
        let open = (BreakerState::Open, 2);
        assert_eq!((circuit.breaker.state, circuit.times_opened) == open, opens, "{attempts}");
    }
}

#[test]
fn an_operator_probes_closes_and_holds() {
    use BreakerAction::{Close, Hold, Probe};
    use BreakerState::{Closed, HalfOpen, Open};
    let until = Some(at(500));
    for (before, action, after) in [
        (Circuit::default(), Probe, None),
        (Circuit::default(), Close, None),
        (Circuit::default(), Hold, Some(Open)),
        (opened(), Probe, Some(HalfOpen)),
        (opened(), Close, Some(Closed)),
        (opened(), Hold, Some(Open)),
        (half_open(), Probe, None),
        (half_open(), Close, Some(Closed)),
        (half_open(), Hold, Some(Open)),
    ] {
        let mut circuit = before.clone();
        let until = until.filter(|_| action == Hold);
        let flip = circuit.steer(action, until, at(31));
        assert_eq!(flip.map(|flip| flip.to), after, "{before:?} {action:?}");
        let state = after.unwrap_or(before.breaker.state);
        assert_eq!((circuit.breaker.state, circuit.breaker.held_until), (state, until), "{action:?}");
    }
    let mut held = Circuit::default();
    held.steer(Hold, until, at(0));
    assert_eq!((held.tick(50, at(499)), held.breaker.at_once), (None, Some(0)));
    let flip = held.tick(50, at(500)).unwrap();
    assert_eq!((flip.to, flip.reason.as_str()), (HalfOpen, "the hold is over: 3 probes decide"));
    // After a hold, a failed probe is followed by the first wait.
    assert_eq!(see(&mut held, RULE, 501, "x"), ["half_open -> open"]);
    assert_eq!(held.breaker.probe_at, Some(at(531)));
}

#[test]
fn a_changed_endpoint_is_probed_at_once_unless_it_is_held_open() {
    let mut circuit = opened();
    circuit.times_opened = 4;
    assert_eq!(
        circuit.restart("its address was changed", at(5)).map(|flip| flip.to),
        Some(BreakerState::HalfOpen)
    );
    assert_eq!(circuit.times_opened, 0);
    let mut held = opened();
    held.steer(BreakerAction::Hold, Some(at(500)), at(1));
    assert_eq!(held.restart("its address was changed", at(5)), None);
    let mut failing = Circuit::default();
    see(&mut failing, RULE, 0, "xxx");
    assert_eq!(failing.restart("its address was changed", at(5)), None);
    assert_eq!(failing.breaker.failures_in_a_row, 0);
}

#[test]
fn failures_are_forgotten_after_an_hour_and_a_circuit_without_is_not_watched() {
    let mut circuit = Circuit::default();
    see(&mut circuit, RULE, 0, "xxx");
    assert!(circuit.is_watched(at(3_599)));
    circuit.tick(50, at(3_599));
    assert_eq!(circuit.breaker.failures_in_a_row, 3);
    circuit.tick(50, at(3_600));
    assert_eq!((circuit.breaker.failures_in_a_row, circuit.is_watched(at(3_600))), (0, false));
    // A success resets the count of failures in a row; the failure still counts for the rate of its minute.
    let mut circuit = Circuit::default();
    see(&mut circuit, RULE, 0, "x.");
    assert!(circuit.is_watched(at(59)) && !circuit.is_watched(at(60)));
}
