//! The demo.

pub mod behaviour;
pub mod catalog;
pub mod external_systems;
pub mod tenants;
