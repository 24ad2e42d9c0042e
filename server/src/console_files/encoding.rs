//! The compressed forms that a client accepts (RFC 9110, section 12.5.3).

use axum::http::{HeaderMap, header};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Encoding {
    Brotli,
    Gzip,
    Identity,
}

impl Encoding {
    /// What `Accept-Encoding` allows, best first by the client's weight, then by size. Identity is always the last resort.
    pub(super) fn accepted(headers: &HeaderMap) -> Vec<Self> {
        let named: Vec<(String, f32)> = headers
            .get_all(header::ACCEPT_ENCODING)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .filter_map(coding)
            .collect();
        let weight = |name: &str| {
            let of =
                |wanted: &str| named.iter().find(|(named, _)| named == wanted).map(|(_, weight)| *weight);
            of(name).or_else(|| of("*")).unwrap_or(0.0)
        };
        let mut offered = [(Self::Brotli, weight("br")), (Self::Gzip, weight("gzip"))];
        // A stable sort: at equal weights brotli, which is smaller, stays first.
        offered.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        offered
            .into_iter()
            .filter(|(_, weight)| *weight > 0.0)
            .map(|(encoding, _)| encoding)
            .chain([Self::Identity])
            .collect()
    }

    /// The extension of files in this encoding.
    pub(super) fn suffix(self) -> &'static str {
        match self {
            Self::Brotli => ".br",
            Self::Gzip => ".gz",
            Self::Identity => "",
        }
    }

    /// The value of `Content-Encoding`.
    pub(super) fn name(self) -> Option<&'static str> {
        match self {
            Self::Brotli => Some("br"),
            Self::Gzip => Some("gzip"),
            Self::Identity => None,
        }
    }

    pub(super) fn is_suffix_of(path: &str) -> bool {
        [Self::Brotli, Self::Gzip].into_iter().any(|encoding| path.ends_with(encoding.suffix()))
    }
}

/// `gzip;q=0.5` → (`gzip`, 0.5). A weight that cannot be read refuses the coding.
fn coding(text: &str) -> Option<(String, f32)> {
    let mut parts = text.split(';').map(str::trim);
    let name = parts.next().filter(|name| !name.is_empty())?.to_ascii_lowercase();
    let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
    Some((name, weight.map_or(1.0, |weight| weight.trim().parse().unwrap_or(0.0))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Encoding::{Brotli, Gzip, Identity};

    #[test]
    fn the_client_chooses_the_encoding() {
        for (header, expected) in [
            (None, vec![Identity]),
            (Some(""), vec![Identity]),
            (Some("gzip, deflate, br, zstd"), vec![Brotli, Gzip, Identity]),
            (Some("GZIP"), vec![Gzip, Identity]),
            (Some("br;q=0.5, gzip;q=0.8"), vec![Gzip, Brotli, Identity]),
            (Some("br;q=0, *"), vec![Gzip, Identity]),
            (Some("*;q=0"), vec![Identity]),
            (Some("gzip;q=much"), vec![Identity]),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(header) = header {
                headers.insert(header::ACCEPT_ENCODING, header.parse().unwrap());
            }
            assert_eq!(Encoding::accepted(&headers), expected, "{header:?}");
        }
    }
}
