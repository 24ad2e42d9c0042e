//! By what a call that is repeated with an idempotency key is recognised.

/// A call with an idempotency key.
#[derive(Clone, Debug)]
pub struct KeyedCall {
    /// [`model::actor::Actor::owner`]: keys of different credentials do not collide.
    pub owner: String,
    /// In upper case.
    pub method: String,
    /// With query string.
    pub path: String,
    /// 1 to 255 visible characters.
    pub key: String,
}
