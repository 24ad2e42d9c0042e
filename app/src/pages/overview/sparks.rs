//! The last hour as a line, and the same hour a day before as its ghost: one slot a minute, empty where nothing was recorded.

use chrono::{DateTime, TimeDelta, Utc};
use model::stats::{MinuteTotals, Totals};
use model::views::overview::Past;

const MINUTES: i64 = 60;

/// Both lines, and their text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spark {
    /// The last hour, oldest first.
    pub line: Vec<Option<f64>>,
    /// A day before; empty when nothing was recorded.
    pub ghost: Vec<Option<f64>>,
    /// For screen readers and tooltips.
    pub says: String,
}

/// The lines of one number, the last slot being the present value.
pub fn sparks(
    past: &Past,
    (at, now): (DateTime<Utc>, &Totals),
    read: fn(&Totals) -> Option<i64>,
    say: fn(i64) -> String,
) -> Spark {
    let mut line = slots(&past.hour, at, read);
    line.push(read(now));
    let mut ghost = slots(&past.yesterday, at - TimeDelta::days(1), read);
    ghost.push(past.yesterday.last().and_then(|last| read(&last.totals)));
    let mut says = match spread(&line, say) {
        Some(spread) => format!("Last hour: {spread}"),
        None => "No history yet".to_owned(),
    };
    match spread(&ghost, say) {
        Some(spread) => says.push_str(&format!("; a day before, dashed: {spread}")),
        None => ghost.clear(),
    }
    let drawn = |values: Vec<Option<i64>>| values.into_iter().map(|value| value.map(|n| n as f64)).collect();
    Spark { line: drawn(line), ghost: drawn(ghost), says }
}

/// The hour before a moment, without the current minute.
fn slots(points: &[MinuteTotals], end: DateTime<Utc>, read: fn(&Totals) -> Option<i64>) -> Vec<Option<i64>> {
    let minute = |at: DateTime<Utc>| at.timestamp().div_euclid(60);
    let first = minute(end) - MINUTES;
    let mut slots = vec![None; MINUTES as usize];
    for point in points {
        let slot = usize::try_from(minute(point.at) - first).ok().and_then(|at| slots.get_mut(at));
        if let Some(slot) = slot {
            *slot = read(&point.totals);
        }
    }
    slots
}

fn spread(values: &[Option<i64>], say: fn(i64) -> String) -> Option<String> {
    let known = || values.iter().flatten().copied();
    let (least, most) = (known().min()?, known().max()?);
    Some(if least == most {
        format!("always {}", say(most))
    } else {
        format!("{} to {}", say(least), say(most))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format;

    #[test]
    fn minutes_without_a_record_are_gaps_and_the_ghost_is_described() {
        let now: DateTime<Utc> = "2026-11-20T12:00:30Z".parse().expect("a time");
        let point = |minutes_ago, backlog| MinuteTotals {
            at: now - TimeDelta::minutes(minutes_ago),
            totals: Totals { backlog, ..Totals::default() },
        };
        let past = Past {
            hour: vec![point(61, 99), point(60, 4), point(58, 6), point(0, 77)],
            yesterday: vec![point(24 * 60 + 60, 2), point(24 * 60 + 1, 2)],
            yesterdays_pyramid: None,
        };
        let today = Totals { backlog: 9_007_199_254_740_993, ..Totals::default() };
        let spark = sparks(&past, (now, &today), |t| Some(t.backlog), format::count);
        assert_eq!(spark.line[..4], [Some(4.0), None, Some(6.0), None]);
        assert_eq!(spark.line.len(), 61);
        assert_eq!((spark.ghost[0], spark.ghost[1], spark.ghost.len()), (Some(2.0), None, 61));
        assert_eq!(spark.says, "Last hour: 4 to 9,007,199,254,740,993; a day before, dashed: always 2");
        let nothing = sparks(&Past::default(), (now, &today), |_| None, format::count);
        assert_eq!((nothing.says.as_str(), nothing.ghost.len()), ("No history yet", 0));
    }
}
