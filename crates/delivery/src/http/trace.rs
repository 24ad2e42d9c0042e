//! `traceparent` (W3C Trace Context, level 1). A job that came with a trace continues it. Any other begins one for each attempt, so that a
//! receiver's spans of two attempts stay apart; the correlation id connects them.

use model::trace::TraceContext;
use rand::Rng;

/// The header of one attempt, with a new parent id. The standard forbids ids of zero.
#[must_use]
pub(crate) fn traceparent(given: Option<TraceContext>) -> String {
    let mut rng = rand::rng();
    let trace_id = given.map_or_else(|| rng.random_range(1..=u128::MAX), |given| given.trace_id);
    let is_sampled = given.is_none_or(|given| given.is_sampled);
    TraceContext { trace_id, parent_id: rng.random_range(1..=u64::MAX), is_sampled }.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_without_a_trace_begin_one_each() {
        let [one, other] = [(); 2].map(|()| traceparent(None).parse::<TraceContext>().unwrap());
        assert_ne!(one.trace_id, other.trace_id);
        assert!(one.is_sampled);
    }

    #[test]
    fn attempts_continue_the_trace_of_their_job() {
        for is_sampled in [true, false] {
            let given = TraceContext { trace_id: 7, parent_id: 8, is_sampled };
            let [one, other] = [(); 2].map(|()| traceparent(Some(given)).parse::<TraceContext>().unwrap());
            assert_eq!((one.trace_id, one.is_sampled), (7, is_sampled));
            assert_ne!(one.parent_id, other.parent_id);
        }
    }
}
