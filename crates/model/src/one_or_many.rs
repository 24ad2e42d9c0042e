//! What an endpoint accepts one by one or as an array.

/// One item, or an array of 1 to 1,000.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", serde(untagged))]
pub enum OneOrMany<T> {
    /// One item.
    One(T),
    /// 1 to 1,000.
    Many(Vec<T>),
}

impl<T> OneOrMany<T> {
    /// The items in their order.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        match self {
            Self::One(item) => std::slice::from_mut(item),
            Self::Many(items) => items,
        }
    }
}
