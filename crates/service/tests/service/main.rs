//! The service floor on a real Postgres, without HTTP.

mod permissions;
