//! Dead letters as a grid: one row an integration, one column a cause.

use crate::{failure::CauseId, id::IntegrationId};
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// Where a list goes on that is ordered by numbers: after the one that has so many. Of those that have as many, the id decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rank<T> {
    /// How many it has.
    pub count: i64,
    /// Which.
    pub id: T,
}

impl<T: fmt::Display> fmt::Display for Rank<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.count, self.id)
    }
}

/// Not what [`Rank`] writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is none that a grid answered: start again without it")]
pub struct NoRank;

impl<T: FromStr> FromStr for Rank<T> {
    type Err = NoRank;
    fn from_str(text: &str) -> Result<Self, NoRank> {
        let (count, id) = text.split_once('.').ok_or(NoRank)?;
        Ok(Self { count: count.parse().map_err(|_| NoRank)?, id: id.parse().map_err(|_| NoRank)? })
    }
}

/// Which part of a grid is asked for; nothing: where the most are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GridPlace {
    /// Integrations after this one.
    pub integrations_after: Option<Rank<IntegrationId>>,
    /// Causes after this one.
    pub causes_after: Option<Rank<CauseId>>,
}

/// How many dead letters of each integration have each cause.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeadLetterGrid {
    /// The columns, the most frequent first.
    pub causes: Vec<GridCause>,
    /// The rows, the worst first.
    pub rows: Vec<GridRow>,
    /// Dead letters in all, those of other integrations and causes included.
    pub total: i64,
    /// Integrations that have any.
    pub integrations_total: i64,
    /// Causes there are.
    pub causes_total: i64,
    /// Where the next rows are.
    pub next_integrations: Option<Rank<IntegrationId>>,
    /// Where the next columns are.
    pub next_causes: Option<Rank<CauseId>>,
    /// Only the newest were counted: every number is the least there can be.
    pub is_least: bool,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GridCause {
    /// What the fingerprints of its dead letters begin with.
    pub cause: CauseId,
    /// The newest error.
    pub error: String,
    /// Dead letters of it, whichever integration's.
    pub total: i64,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GridRow {
    /// Whose.
    pub integration_id: IntegrationId,
    /// Dead letters of it, whatever their cause.
    pub total: i64,
    /// Of each column's cause.
    pub counts: Vec<i64>,
}

impl GridRow {
    /// Of causes that have no column here.
    #[must_use]
    pub fn others(&self) -> i64 {
        self.total - self.counts.iter().sum::<i64>()
    }
}

impl DeadLetterGrid {
    /// What integrations without a row here have: of each column's cause, then of causes without a column.
    #[must_use]
    pub fn other_integrations(&self) -> Vec<i64> {
        let shown = |at: usize| self.rows.iter().filter_map(|row| row.counts.get(at)).sum::<i64>();
        let mut rest: Vec<i64> =
            self.causes.iter().enumerate().map(|(at, cause)| cause.total - shown(at)).collect();
        rest.push(self.other_causes() - self.rows.iter().map(GridRow::others).sum::<i64>());
        rest
    }

    /// Dead letters of causes that have no column here.
    #[must_use]
    pub fn other_causes(&self) -> i64 {
        self.total - self.causes.iter().map(|cause| cause.total).sum::<i64>()
    }

    /// Those that have a row here.
    pub fn integrations(&self) -> impl Iterator<Item = IntegrationId> {
        self.rows.iter().map(|row| row.integration_id)
    }

    /// More than one number.
    #[must_use]
    pub fn is_worth_showing(&self) -> bool {
        self.integrations_total > 1 || self.causes_total > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_reads_back_and_nothing_else_is_one() {
        let rank = Rank { count: 9_007_199_254_740_993, id: CauseId(255) };
        assert_eq!(rank.to_string().parse(), Ok(rank));
        for text in ["", "1", "1.", ".00000000000000ff", "x.00000000000000ff", "1.ff"] {
            assert_eq!(text.parse::<Rank<CauseId>>(), Err(NoRank), "{text}");
        }
    }

    #[test]
    fn what_has_no_row_or_column_is_what_the_totals_leave() {
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
