//! The address of the sign-in: built where a session is missing, read by the sign-in page to continue from there.

use super::page_url::PageUrl;
use crate::components::Flash;

const PATH: &str = "/sign-in";

/// The sign-in for a page without a session; none on the sign-in itself, whose address would become its own `next`.
pub fn from(here: &PageUrl) -> Option<PageUrl> {
    // The page of a form that was sent without a session says after the sign-in that nothing was done, and has what was typed.
    let is_refused_form = here.get("notice") == Some(Flash::SignedOut.as_str());
    let next = if is_refused_form { here.clone() } else { here.clone().settled() };
    (here.path() != PATH).then(|| PageUrl::parse(PATH).with("next", next))
}

/// The page after the sign-in: a page of the console, and never another sign-in.
pub fn next(url: &PageUrl) -> PageUrl {
    let next = PageUrl::parse_back(url.get("next").unwrap_or("/"));
    if next.path() == PATH { self::next(&next) } else { next }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sign_in_leads_to_the_page_and_never_to_itself() {
        let led = |here: &str| from(&PageUrl::parse(here)).map(|url| url.to_string());
        assert_eq!(led("/jobs?q=sku").as_deref(), Some("/sign-in?next=%2Fjobs%3Fq%3Dsku"));
        assert_eq!(led("/sign-in?next=%2Fjobs"), None);
        for (url, page) in [
            ("/sign-in?next=%2Fjobs%3Fq%3Dsku", "/jobs?q=sku"),
            ("/sign-in?next=%2Fsign-in%3Fnext%3D%252Fintegrations", "/integrations"),
            ("/sign-in?next=%2Fsign-in", "/"),
            ("/sign-in?next=%2F%2Fevil.test", "/"),
            ("/sign-in", "/"),
        ] {
            assert_eq!(next(&PageUrl::parse(url)).to_string(), page, "{url}");
        }
    }

    #[test]
    fn a_dialog_is_not_shown_again_but_the_notice_of_a_lost_form_is() {
        let next_of = |here: &str| next(&from(&PageUrl::parse(here)).expect("a sign-in")).to_string();
        assert_eq!(next_of("/jobs/1?confirm=cancel&notice=cancelled"), "/jobs/1");
        let refused = "/integrations/1?notice=signed-out&limits%5Bmax_attempts%5D=9";
        assert_eq!(next_of(refused), refused);
    }
}
