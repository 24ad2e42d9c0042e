//! The lease of this process, as far as the process itself can know.

pub(super) mod validity;
