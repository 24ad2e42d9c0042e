//! The sources of settings: flag, then environment, then TOML file, then default. An empty value counts as unset.

use super::error::{ConfigError, Origin};
use super::key::{Key, toml_name};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const PREFIX: &str = "HEADGATE_";

/// All values given, by source.
#[derive(Debug, Default)]
pub struct Sources {
    flags: BTreeMap<&'static str, String>,
    environment: BTreeMap<String, String>,
    file: BTreeMap<String, String>,
    file_path: PathBuf,
    /// Override the defaults of the keys.
    defaults: BTreeMap<&'static str, &'static str>,
}

impl Sources {
    /// Gathers flags, environment variables and the file.
    ///
    /// # Errors
    /// An unknown key, a value that is not UTF-8, a file that cannot be read.
    pub fn gather(
        flags: BTreeMap<&'static str, String>,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
        file: Option<&Path>,
        known: &[&Key],
    ) -> Result<Self, ConfigError> {
        let mut sources = Self { flags, ..Self::default() };
        sources.read_environment(environment, known)?;
        if let Some(path) = file {
            sources.file_path = path.to_path_buf();
            sources.read_file(path, known)?;
        }
        Ok(sources)
    }

    /// Overrides the defaults of some settings.
    #[must_use]
    pub fn with_defaults(mut self, defaults: &[(&'static str, &'static str)]) -> Self {
        self.defaults.extend(defaults.iter().copied());
        self
    }

    /// The first value given, with its origin; `None` when there is not even a default.
    pub fn find(&self, key: &Key) -> Option<(&str, Origin)> {
        let given =
            |text: Option<&String>| text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let from_environment = |name: &'static str| {
            given(self.environment.get(name)).is_some().then_some(Origin::Environment(name))
        };
        let origin = if given(self.flags.get(key.name)).is_some() {
            Origin::Flag
        } else if let Some(origin) =
            from_environment(key.name).or_else(|| key.alias.and_then(from_environment))
        {
            origin
        } else if given(self.file.get(&key.toml_name())).is_some() {
            Origin::File(self.file_path.clone())
        } else {
            Origin::Default
        };
        let text = match &origin {
            Origin::Flag => self.flags.get(key.name)?.as_str(),
            Origin::Environment(name) => self.environment.get(*name)?.as_str(),
            Origin::File(_) => self.file.get(&key.toml_name())?.as_str(),
            Origin::Default => self.defaults.get(key.name).copied().or(key.default)?,
        };
        Some((text.trim(), origin))
    }

    fn read_environment(
        &mut self,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
        known: &[&Key],
    ) -> Result<(), ConfigError> {
        let is_known = |name: &str| known.iter().any(|key| key.name == name || key.alias == Some(name));
        for (name, value) in environment {
            let Some(name) = name.to_str() else { continue };
            if !is_known(name) && !name.starts_with(PREFIX) {
                continue;
            }
            let Some(value) = value.to_str() else {
                return Err(ConfigError::NotText { name: name.to_owned() });
            };
            if !is_known(name) {
                let nearest = nearest(name, known.iter().map(|key| key.name.to_owned()));
                return Err(ConfigError::Unknown {
                    place: name.to_owned(),
                    value: shown_value(value),
                    nearest,
                });
            }
            self.environment.insert(name.to_owned(), value.to_owned());
        }
        Ok(())
    }

    fn read_file(&mut self, path: &Path, known: &[&Key]) -> Result<(), ConfigError> {
        let fault = |reason: String| ConfigError::File { path: path.display().to_string(), reason };
        let text = std::fs::read_to_string(path).map_err(|error| fault(error.to_string()))?;
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let line = error.span().map(|span| text[..span.start.min(text.len())].lines().count().max(1));
            let line = line.map_or_else(String::new, |line| format!("line {line}: "));
            fault(format!("{line}{}", error.message().replace('\n', " ")))
        })?;
        for (name, value) in table {
            let place = || format!("{}: {name}", path.display());
            let wanted = toml_name(&name.to_ascii_uppercase());
            if !known.iter().any(|key| key.toml_name() == wanted) {
                let nearest = nearest(&wanted, known.iter().map(|key| key.toml_name()));
                return Err(ConfigError::Unknown {
                    place: place(),
                    value: shown_value(&value.to_string()),
                    nearest,
                });
            }
            let Some(text) = plain(&value) else {
                let accepted = "a text, a number, true, false, or a list of them".to_owned();
                return Err(ConfigError::Value {
                    place: place(),
                    value: shown_value(&value.to_string()),
                    accepted,
                });
            };
            self.file.insert(wanted, text);
        }
        Ok(())
    }
}

/// A value of the file as in the environment, lists separated by commas.
fn plain(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Float(number) => Some(number.to_string()),
        toml::Value::Boolean(truth) => Some(truth.to_string()),
        toml::Value::Array(items) => {
            items.iter().map(plain).collect::<Option<Vec<_>>>().map(|items| items.join(","))
        }
        toml::Value::Datetime(_) | toml::Value::Table(_) => None,
    }
}

/// A misspelt name may have a secret as its value, so only plain short words are shown.
fn shown_value(value: &str) -> String {
    let is_plain =
        value.len() <= 16 && value.chars().all(|c| c.is_ascii_alphanumeric() || ".,:-_/\"".contains(c));
    if is_plain { value.to_owned() } else { format!("({} characters)", value.chars().count()) }
}

/// The most similar known name, if it differs by a few letters only.
fn nearest(name: &str, known: impl Iterator<Item = String>) -> Option<String> {
    let best = known.map(|known| (strsim::damerau_levenshtein(name, &known), known)).min()?;
    (best.0 <= 4 && best.0 * 2 < name.len()).then_some(best.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKERS: Key = Key::with_default("HEADGATE_WORKERS", "100", "", "a number");
    const URL: Key = Key::secret("HEADGATE_DATABASE_URL", "", "a URL").or("DATABASE_URL");

    fn gather(
        flag: Option<&str>,
        environment: &[(&str, &str)],
        file: Option<&str>,
    ) -> Result<Sources, ConfigError> {
        let flags = flag.map(|value| (WORKERS.name, value.to_owned())).into_iter().collect();
        let environment = environment.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        let path = file.map(|text| {
            let path = std::env::temp_dir().join(format!("headgate-{}.toml", uuid::Uuid::now_v7()));
            std::fs::write(&path, text).unwrap();
            path
        });
        let sources = Sources::gather(flags, environment, path.as_deref(), &[&WORKERS, &URL]);
        if let Some(path) = path {
            std::fs::remove_file(path).unwrap();
        }
        sources
    }

    #[test]
    fn flag_precedes_environment_precedes_file_precedes_default() {
        let environment = [("HEADGATE_WORKERS", "2")];
        let file = Some("workers = 3");
        for (flag, environment, file, value) in [
            (Some("1"), &environment[..], file, "1"),
            (None, &environment[..], file, "2"),
            (None, &[][..], file, "3"),
            (None, &[][..], None, "100"),
            (None, &[("HEADGATE_WORKERS", " ")][..], file, "3"),
            (Some(""), &[("HEADGATE_WORKERS", "")][..], Some("workers = \"\""), "100"),
            (None, &[][..], Some("HEADGATE_WORKERS = 4"), "4"),
        ] {
            let sources = gather(flag, environment, file).unwrap();
            assert_eq!(sources.find(&WORKERS).unwrap().0, value, "{flag:?} {environment:?} {file:?}");
        }
    }

    #[test]
    fn the_second_variable_is_read_when_the_first_is_unset() {
        let both = [("DATABASE_URL", "second"), ("HEADGATE_DATABASE_URL", "first")];
        assert_eq!(gather(None, &both, None).unwrap().find(&URL).unwrap().0, "first");
        assert_eq!(gather(None, &both[..1], None).unwrap().find(&URL).unwrap().0, "second");
        let empty = [both[0], ("HEADGATE_DATABASE_URL", "")];
        assert_eq!(gather(None, &empty, None).unwrap().find(&URL).unwrap().0, "second");
        assert!(gather(None, &[], None).unwrap().find(&URL).is_none());
    }

    #[test]
    fn an_unknown_key_is_refused_in_one_line_with_the_nearest_known_name() {
        for (environment, file, line) in [
            (
                &[("HEADGATE_WORKRES", "5")][..],
                None,
                "HEADGATE_WORKRES=5: there is no such setting; did you mean HEADGATE_WORKERS?",
            ),
            (
                &[("HEADGATE_X", "my secret is long and private")][..],
                None,
                "HEADGATE_X=(29 characters): there is no such setting; `headgate serve --help` lists all settings",
            ),
            (&[][..], Some("worker = 5"), "worker=5: there is no such setting; did you mean workers?"),
            (&[][..], Some("[workers]\nn = 1"), "must be a text, a number, true, false, or a list of them"),
            (&[][..], Some("a = 1\nb ="), "line 2: "),
        ] {
            let error = gather(None, environment, file).unwrap_err().to_string();
            assert!(error.contains(line) && !error.contains('\n'), "{error}");
        }
        assert!(gather(None, &[("PATH", "/bin"), ("HEADGATES", "1")], None).is_ok());
    }

    #[test]
    fn lists_in_the_file_become_lists_with_commas() {
        let sources = gather(None, &[], Some("workers = [\"a\", 2, true, 0.5]")).unwrap();
        assert_eq!(sources.find(&WORKERS).unwrap().0, "a,2,true,0.5");
    }
}
