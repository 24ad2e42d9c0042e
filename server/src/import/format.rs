//! The formats, and how a file's name tells them apart.

use clap::ValueEnum;
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// One JSON object a line
    Jsonl,
    /// Comma-separated, the first line names the fields
    Csv,
    /// Stanzas of `Field: value` lines, as in Debian's package index
    Deb822,
}

impl Format {
    /// The format by the file's name, if the name tells.
    pub fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        if name == "packages" || name == "sources" || name == "available" {
            return Some(Self::Deb822);
        }
        match Path::new(&name).extension()?.to_str()? {
            "jsonl" | "ndjson" => Some(Self::Jsonl),
            "csv" => Some(Self::Csv),
            "deb822" | "control" | "sources" => Some(Self::Deb822),
            _ => None,
        }
    }

    pub fn usual_id_field(self) -> &'static str {
        match self {
            Self::Jsonl | Self::Csv => "id",
            Self::Deb822 => "Package",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_tells_the_format() {
        for (name, format) in [
            ("a.jsonl", Some(Format::Jsonl)),
            ("a.NDJSON", Some(Format::Jsonl)),
            ("dir/a.b.csv", Some(Format::Csv)),
            ("/var/lib/apt/lists/Packages", Some(Format::Deb822)),
            ("debian/control", None),
            ("x.control", Some(Format::Deb822)),
            ("a.json", None),
            ("plain", None),
        ] {
            assert_eq!(Format::of(Path::new(name)), format, "{name}");
        }
    }
}
