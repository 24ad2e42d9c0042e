//! Engines that run.
