//! What the palette offers: pages and actions for a role, and search results.

use crate::{calls::session::Session, components::page_table::ConsolePage, ui::Glyph};
use model::found::{Found, FoundKind};
use model::id::IntegrationId;
use model::integration::IntegrationState;
use model::rules::permission::Permission;
use model::views::find::SearchResults;

/// What choosing an item does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Opens a page.
    Go(String),
    Pause(IntegrationId),
    Resume(IntegrationId),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub title: String,
    /// What kind of thing it is.
    pub hint: String,
    pub glyph: Glyph,
    pub command: Command,
}

impl Item {
    fn go(glyph: Glyph, title: impl Into<String>, hint: impl Into<String>, path: impl Into<String>) -> Self {
        Self { title: title.into(), hint: hint.into(), glyph, command: Command::Go(path.into()) }
    }
}

/// Where the palette leads without a search.
#[derive(Clone, Copy)]
struct Place {
    permission: Permission,
    glyph: Glyph,
    title: &'static str,
    /// It is found by this word as well.
    hint: &'static str,
    path: &'static str,
}

impl Place {
    const fn page(page: ConsolePage) -> Self {
        Self::on(page, page.title(), "page", page.path())
    }

    /// A part of a page, or its list with a filter.
    const fn on(page: ConsolePage, title: &'static str, hint: &'static str, path: &'static str) -> Self {
        Self { permission: page.permission(), glyph: page.glyph(), title, hint, path }
    }

    const fn action(permission: Permission, glyph: Glyph, title: &'static str, path: &'static str) -> Self {
        Self { permission, glyph, title, hint: "action", path }
    }
}

const PLACES: &[Place] = &[
    Place::page(ConsolePage::Overview),
    Place::page(ConsolePage::Wall),
    Place::page(ConsolePage::Integrations),
    Place::page(ConsolePage::RateLimits),
    Place::page(ConsolePage::Workers),
    Place::page(ConsolePage::Jobs),
    Place::on(ConsolePage::Jobs, "Jobs to be retried", "jobs", "/jobs?status=to_be_retried"),
    Place::on(ConsolePage::Jobs, "Jobs being processed", "jobs", "/jobs?status=processing"),
    Place::page(ConsolePage::Records),
    Place::page(ConsolePage::Failures),
    Place::page(ConsolePage::DeadLetters),
    Place::page(ConsolePage::Resyncs),
    Place::page(ConsolePage::Operations),
    Place::page(ConsolePage::AuditLog),
    Place::on(ConsolePage::Settings, "Settings: users", "page", "/settings?show=users"),
    Place::on(ConsolePage::Settings, "Settings: API keys", "page", "/settings?show=api-keys"),
    Place::on(ConsolePage::Settings, "Settings: retention", "page", "/settings?show=retention"),
    Place::action(Permission::ManageAccess, Glyph::Sliders, "Add a user", "/settings?show=users&new=user"),
    Place::action(
        Permission::ManageAccess,
        Glyph::Sliders,
        "Create an API key",
        "/settings?show=api-keys&new=key",
    ),
    Place::action(
        Permission::SteerJobs,
        Glyph::Undo,
        "Requeue all dead letters",
        "/dead-letters?confirm=requeue",
    ),
];

/// Those the role may open and all words of the text match.
pub fn pages(session: &Session, text: &str) -> Vec<Item> {
    let words = text.to_lowercase();
    PLACES
        .iter()
        .filter(|place| session.may(place.permission))
        .filter(|place| {
            let own = format!("{} {}", place.title, place.hint).to_lowercase();
            words.split_whitespace().all(|word| own.contains(word))
        })
        .map(|place| Item::go(place.glyph, place.title, place.hint, place.path))
        .collect()
}

/// What was found, and what can be done with it.
pub fn things(session: &Session, finds: &SearchResults) -> Vec<Item> {
    let mut items: Vec<_> = finds.things.iter().map(thing).collect();
    for found in &finds.integrations {
        let name = format!("{} · {}", found.name, found.app_name);
        let path = format!("/integrations/{}", found.id);
        items.push(Item::go(Glyph::Plug, name.clone(), "integration", path));
    }
    for (name, query) in &finds.views {
        items.push(Item::go(Glyph::List, name.clone(), "saved view", format!("/jobs?{query}")));
    }
    // A single integration was meant, so its frequent actions follow.
    if let [found] = finds.integrations.as_slice() {
        let jobs = format!("/jobs?integration_id={}", found.id);
        items.push(Item::go(Glyph::List, format!("Jobs of {}", found.name), "jobs", jobs));
        let dead = format!("/dead-letters?integration_id={}", found.id);
        items.push(Item::go(Glyph::Skull, format!("Dead letters of {}", found.name), "dead letters", dead));
        let step = match found.state {
            IntegrationState::Active => Some(("Pause", Glyph::Pause, Command::Pause(found.id))),
            IntegrationState::Paused => Some(("Resume", Glyph::Play, Command::Resume(found.id))),
            IntegrationState::Disabled => None,
        };
        if let Some((title, glyph, command)) = step.filter(|_| session.may(Permission::Configure)) {
            items.push(Item {
                title: format!("{title} {}", found.name),
                hint: "action".to_owned(),
                glyph,
                command,
            });
        }
    }
    items
}

/// Searches records and jobs for the text; `None` when it is empty.
pub fn search(text: &str) -> Option<Item> {
    let q = text.trim();
    let query = serde_html_form::to_string([("q", q)]).unwrap_or_default();
    let title = format!("Everything about “{q}”");
    (!q.is_empty()).then(|| Item::go(Glyph::Search, title, "records and jobs", format!("/records?{query}")))
}

fn thing(found: &Found) -> Item {
    let Found { kind, id, label } = found;
    let (glyph, what, path) = match kind {
        FoundKind::Job => (Glyph::List, "job", format!("/jobs/{id}")),
        FoundKind::DeadLetter => (Glyph::Skull, "dead letter", format!("/jobs/{id}")),
        FoundKind::Integration => (Glyph::Plug, "integration", format!("/integrations/{id}")),
        FoundKind::App => (Glyph::Box, "app", format!("/jobs?app_id={id}")),
        FoundKind::Resync => (Glyph::Sync, "re-sync", "/resyncs".to_owned()),
        FoundKind::Operation => (Glyph::Sync, "bulk operation", format!("/operations/{id}")),
        FoundKind::Worker => (Glyph::Monitor, "worker", "/workers".to_owned()),
    };
    Item::go(glyph, label.clone(), what, path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{actor::Role, views::find::FoundIntegration};

    fn reader(role: Role) -> Session {
        Session { name: "ada@example.test".to_owned(), role, lists_behind: None }
    }

    #[test]
    fn a_role_is_offered_its_own_pages_and_actions() {
        let titles = |role| pages(&reader(role), "").into_iter().map(|item| item.title).collect::<Vec<_>>();
        assert!(titles(Role::Operator).contains(&"Add a user".to_owned()));
        assert!(titles(Role::Auditor).contains(&"Audit log".to_owned()));
        assert!(!titles(Role::Auditor).contains(&"Add a user".to_owned()));
        assert!(!titles(Role::Support).contains(&"Audit log".to_owned()));
    }

    #[test]
    fn every_word_has_to_match_in_any_order() {
        let found = pages(&reader(Role::Operator), "retried JOBS");
        assert_eq!(found.iter().map(|item| item.title.as_str()).collect::<Vec<_>>(), ["Jobs to be retried"]);
    }

    #[test]
    fn any_text_can_be_searched_for() {
        assert_eq!(search(" a b ").map(|item| item.command), Some(Command::Go("/records?q=a+b".to_owned())));
        assert_eq!(search(" "), None);
    }

    #[test]
    fn a_single_integration_is_offered_with_its_actions_and_many_without() {
        let one = FoundIntegration {
            id: IntegrationId::generate(),
            name: "Shop".to_owned(),
            app_name: "Acme".to_owned(),
            state: IntegrationState::Active,
        };
        let finds =
            |n| SearchResults { things: Vec::new(), integrations: vec![one.clone(); n], views: Vec::new() };
        let commands = |role, n| {
            things(&reader(role), &finds(n)).into_iter().map(|item| item.command).collect::<Vec<_>>()
        };
        assert!(commands(Role::Operator, 1).contains(&Command::Pause(one.id)));
        assert!(!commands(Role::Support, 1).contains(&Command::Pause(one.id)));
        assert!(!commands(Role::Operator, 2).contains(&Command::Pause(one.id)));
        assert!(commands(Role::Operator, 0).is_empty());
        let disabled = SearchResults {
            integrations: vec![FoundIntegration { state: IntegrationState::Disabled, ..one.clone() }],
            ..SearchResults::default()
        };
        let steps = things(&reader(Role::Operator), &disabled);
        assert!(steps.iter().all(|item| matches!(item.command, Command::Go(_))), "it can be neither");
    }
}
