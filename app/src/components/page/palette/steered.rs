//! What the palette has paused or resumed: the search answers with states as they were last sampled.

use chrono::{DateTime, TimeDelta, Utc};
use model::id::IntegrationId;
use model::integration::IntegrationState;
use model::views::find::SearchResults;

/// Within this time a sample shows what was changed. One is due every second.
const SAMPLED_WITHIN: TimeDelta = TimeDelta::seconds(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steered {
    pub id: IntegrationId,
    /// The state it was given.
    pub state: IntegrationState,
    /// When that was done, by the clock of the browser.
    pub at: DateTime<Utc>,
}

impl Steered {
    /// Corrects results whose sample may be older than the change.
    pub fn correct(self, finds: &mut SearchResults, now: DateTime<Utc>) {
        if now - self.at > SAMPLED_WITHIN {
            return;
        }
        for found in finds.integrations.iter_mut().filter(|found| found.id == self.id) {
            found.state = self.state;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::views::find::FoundIntegration;

    #[test]
    fn a_sample_from_before_the_change_is_corrected_and_a_later_one_is_not() {
        let (id, at) = (IntegrationId::generate(), DateTime::UNIX_EPOCH);
        let found = |id| FoundIntegration {
            id,
            name: "Shop".to_owned(),
            app_name: "Acme".to_owned(),
            state: IntegrationState::Active,
        };
        let states_after = |seconds| {
            let mut finds = SearchResults {
                integrations: vec![found(id), found(IntegrationId::generate())],
                ..SearchResults::default()
            };
            let steered = Steered { id, state: IntegrationState::Paused, at };
            steered.correct(&mut finds, at + TimeDelta::seconds(seconds));
            finds.integrations.iter().map(|found| found.state).collect::<Vec<_>>()
        };
        assert_eq!(states_after(1), [IntegrationState::Paused, IntegrationState::Active]);
        assert_eq!(states_after(6), [IntegrationState::Active, IntegrationState::Active]);
    }
}
