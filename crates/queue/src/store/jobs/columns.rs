//! Statements that write many rows take them column by column.

/// One column of rows.
pub(super) fn column<'a, R, T>(rows: &'a [R], take: impl Fn(&'a R) -> T) -> Vec<T> {
    rows.iter().map(take).collect()
}

/// A column that may be null. All null is none at all: an empty array, which unnesting fills up with nulls; nothing is sent or parsed.
pub(super) fn sparse<'a, R, T>(rows: &'a [R], take: impl Fn(&'a R) -> Option<T>) -> Vec<Option<T>> {
    let values: Vec<Option<T>> = rows.iter().map(take).collect();
    if values.iter().all(Option::is_none) { Vec::new() } else { values }
}
