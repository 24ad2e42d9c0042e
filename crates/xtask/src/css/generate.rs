//! Calls encre-css.

use super::Source;
use crate::workspace;
use anyhow::{Context, Result};
use encre_css::{Config, Preflight};

/// The tokens of `style/tailwind.toml`.
pub(super) fn config() -> Result<Config> {
    Config::from_file(workspace::root().join("style/tailwind.toml")).context("style/tailwind.toml")
}

/// Reset, then `base.css`, then utilities: the order of Tailwind's own layers, so that a utility wins over a part.
pub(super) fn style_sheet(sources: &[Source], base: &str, config: &Config) -> String {
    let mut bare = config.clone();
    bare.safelist = Default::default();
    let reset = encre_css::generate([], &bare);
    let utilities =
        encre_css::generate(sources.iter().map(|source| source.text.as_str()), &without_reset(config));
    format!("{reset}\n{base}\n{utilities}\n")
}

/// The same tokens without the reset sheet, so that only what the sources use is generated.
pub(super) fn without_reset(config: &Config) -> Config {
    let mut config = config.clone();
    config.preflight = Preflight::new_none();
    config
}
