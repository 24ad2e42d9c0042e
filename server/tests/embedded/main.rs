//! The embedded database with real clusters: started, killed, replaced, refused.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod faults;
mod life;
mod support;
mod survival;
