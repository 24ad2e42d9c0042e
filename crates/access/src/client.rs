//! Where a sign-in comes from, by which failed ones are counted.

use std::net::IpAddr;
use uuid::Uuid;

/// Where a sign-in comes from.
#[derive(Clone, Copy, Debug)]
pub struct Client {
    /// Network address.
    pub address: IpAddr,
    /// Device, if it has signed in to the account before.
    pub device: Option<Uuid>,
}
