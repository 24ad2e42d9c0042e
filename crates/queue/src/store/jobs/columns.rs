//! Statements that write many rows take them column by column.

/// One column of rows.
pub(super) fn column<'a, R, T>(rows: &'a [R], take: impl Fn(&'a R) -> T) -> Vec<T> {
    rows.iter().map(take).collect()
}
