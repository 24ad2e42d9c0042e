//! Dead letters as a grid: a row per integration, a column per cause.

use crate::{failure::CauseId, id::IntegrationId};
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// Cursor of a list that is ordered by a count, and by id among equal counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rank<T> {
    /// Count of the last item.
    pub count: i64,
    /// Id of the last item.
    pub id: T,
}

impl<T: fmt::Display> fmt::Display for Rank<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.count, self.id)
    }
}

/// Not a [`Rank`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not a cursor of this grid: start again without it")]
pub struct BadRank;

impl<T: FromStr> FromStr for Rank<T> {
    type Err = BadRank;
    fn from_str(text: &str) -> Result<Self, BadRank> {
        let (count, id) = text.split_once('.').ok_or(BadRank)?;
        Ok(Self { count: count.parse().map_err(|_| BadRank)?, id: id.parse().map_err(|_| BadRank)? })
    }
}

/// Request for a part of a grid. Without cursors: the part with the most dead letters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GridPageRequest {
    /// Integrations after this one.
    pub integrations_after: Option<Rank<IntegrationId>>,
    /// Causes after this one.
    pub causes_after: Option<Rank<CauseId>>,
}

/// Numbers of dead letters by integration and cause.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeadLetterGrid {
    /// The columns, the most frequent first.
    pub causes: Vec<GridCause>,
    /// The rows, the worst first.
    pub rows: Vec<GridRow>,
    /// All dead letters, including those of other integrations and causes.
    pub total: i64,
    /// Integrations that have dead letters.
    pub integrations_total: i64,
    /// Number of causes.
    pub causes_total: i64,
    /// Cursor of the next rows.
    pub next_integrations: Option<Rank<IntegrationId>>,
    /// Cursor of the next columns.
    pub next_causes: Option<Rank<CauseId>>,
    /// Only the newest were counted: every number is a lower bound.
    pub is_least: bool,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GridCause {
    /// The prefix of its dead letters' fingerprints.
    pub cause: CauseId,
    /// The newest error.
    pub error: String,
    /// Its dead letters, of all integrations.
    pub total: i64,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GridRow {
    /// The integration.
    pub integration_id: IntegrationId,
    /// Its dead letters, of all causes.
    pub total: i64,
    /// Its dead letters by column.
    pub counts: Vec<i64>,
}

impl GridRow {
    /// Dead letters of causes without a column.
    #[must_use]
    pub fn others(&self) -> i64 {
        self.total - self.counts.iter().sum::<i64>()
    }
}

impl DeadLetterGrid {
    /// Dead letters of integrations without a row: by column, then of causes without a column.
    #[must_use]
    pub fn other_integrations(&self) -> Vec<i64> {
        let shown = |at: usize| self.rows.iter().filter_map(|row| row.counts.get(at)).sum::<i64>();
        let mut rest: Vec<i64> =
            self.causes.iter().enumerate().map(|(at, cause)| cause.total - shown(at)).collect();
        rest.push(self.other_causes() - self.rows.iter().map(GridRow::others).sum::<i64>());
        rest
    }

    /// Dead letters of causes without a column.
    #[must_use]
    pub fn other_causes(&self) -> i64 {
        self.total - self.causes.iter().map(|cause| cause.total).sum::<i64>()
    }

    /// Integrations of the rows.
    pub fn integrations(&self) -> impl Iterator<Item = IntegrationId> {
        self.rows.iter().map(|row| row.integration_id)
    }

    /// Whether there is more than one number.
    #[must_use]
    pub fn is_worth_showing(&self) -> bool {
        self.integrations_total > 1 || self.causes_total > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_reads_back_and_anything_else_is_refused() {
        let rank = Rank { count: 9_007_199_254_740_993, id: CauseId(255) };
        assert_eq!(rank.to_string().parse(), Ok(rank));
        for text in ["", "1", "1.", ".00000000000000ff", "x.00000000000000ff", "1.ff"] {
            assert_eq!(text.parse::<Rank<CauseId>>(), Err(BadRank), "{text}");
        }
    }

    #[test]
    fn the_rest_without_row_or_column_follows_from_the_totals() {
        let row = |total, counts: &[i64]| GridRow {
            integration_id: IntegrationId::generate(),
            total,
            counts: counts.to_vec(),
        };
        let cause = |id, total| GridCause { cause: CauseId(id), error: String::new(), total };
        let grid = DeadLetterGrid {
            causes: vec![cause(1, 10), cause(2, 6)],
            rows: vec![row(9, &[5, 3]), row(6, &[4, 2])],
            total: 20,
            integrations_total: 4,
            causes_total: 3,
            ..DeadLetterGrid::default()
        };
        assert_eq!(grid.rows.iter().map(GridRow::others).collect::<Vec<_>>(), [1, 0]);
        assert_eq!((grid.other_causes(), grid.other_integrations()), (4, vec![1, 1, 3]));
        assert!(grid.is_worth_showing());
    }
}
