//! Rows as columns: statements that write many rows take one array for each column.

pub(crate) fn column<'a, R, T>(rows: &'a [R], take: impl Fn(&'a R) -> T) -> Vec<T> {
    rows.iter().map(take).collect()
}

/// A nullable column. If all values are null it is an empty array, which `unnest` fills up with nulls: nothing is sent or parsed.
pub(crate) fn sparse<'a, R, T>(rows: &'a [R], take: impl Fn(&'a R) -> Option<T>) -> Vec<Option<T>> {
    let values: Vec<Option<T>> = rows.iter().map(take).collect();
    if values.iter().all(Option::is_none) { Vec::new() } else { values }
}
