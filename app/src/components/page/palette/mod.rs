//! Jumps to any id, page or action: ⌘K or Ctrl+K, a few letters, Enter.

mod items;
mod steered;

use self::items::{Command, Item, pages, search, things};
use self::steered::Steered;
use crate::calls::find::find;
use crate::calls::integrations::{PauseIntegration, ResumeIntegration};
use crate::calls::session::Session;
use crate::state::{base_path, keys, page_url};
use crate::ui::{Glyph, Icon, form_action};
use chrono::Utc;
use leptos::{ev, html, prelude::*, task::spawn_local};
use leptos_router::hooks::use_navigate;
use model::id::IntegrationId;
use model::integration::IntegrationState;
use model::views::find::SearchResults;

/// The button in the navigation and its dialog. Without a script the button is a link to the search for records.
#[component]
pub fn Palette(
    /// Decides which pages and actions are offered.
    session: Session,
) -> impl IntoView {
    let session = StoredValue::new(session);
    let dialog = NodeRef::<html::Dialog>::new();
    let input = NodeRef::<html::Input>::new();
    let query = RwSignal::new(String::new());
    let chosen = RwSignal::new(0usize);
    // While the dialog is closed its items are not in the page.
    let is_open = RwSignal::new(false);
    let found = RwSignal::new((String::new(), SearchResults::default()));
    let pause = form_action::<PauseIntegration>();
    let resume = form_action::<ResumeIntegration>();
    let (is_pausing, is_resuming) = (pause.pending(), resume.pending());
    let asked = StoredValue::new(None::<(IntegrationId, IntegrationState)>);
    let steered = StoredValue::new(None::<Steered>);
    for answer in [pause.value(), resume.value()] {
        Effect::new(move |_| {
            let is_done = answer.with(|answer| matches!(answer, Some(Ok(()))));
            if let Some((id, state)) = asked.get_value().filter(|_| is_done) {
                let done = Steered { id, state, at: Utc::now() };
                steered.set_value(Some(done));
                found.update(|(_, finds)| done.correct(finds, done.at));
            }
        });
    }
    let url = page_url::current();
    let base = StoredValue::new(base_path::current());
    let navigate = StoredValue::new(use_navigate());

    let items = Memo::new(move |_| {
        if !is_open.get() {
            return Vec::new();
        }
        let text = query.get();
        let mut items = session.with_value(|session| pages(session, &text));
        found.with(|(of, finds)| {
            // An answer to what was typed before says nothing about what is typed now.
            if *of == text.trim() {
                let mut things = session.with_value(|session| things(session, finds));
                // Until the answer is there, neither the same is asked again nor its opposite.
                if is_pausing.get() || is_resuming.get() {
                    things.retain(|item| matches!(item.command, Command::Go(_)));
                }
                items.splice(0..0, things);
            }
        });
        items.extend(search(&text));
        items
    });
    let open = move || {
        query.set(String::new());
        // What was found before says how things were then.
        found.set(Default::default());
        chosen.set(0);
        if let Some(dialog) = dialog.get_untracked().filter(|dialog| !dialog.open()) {
            let _ = dialog.show_modal();
            is_open.set(true);
        }
        if let Some(input) = input.get_untracked() {
            input.set_value("");
            let _ = input.focus();
        }
    };
    let close = move || {
        if let Some(dialog) = dialog.get_untracked() {
            dialog.close();
        }
    };
    let act = move |item: Item| {
        close();
        let back = url.get_untracked().settled().to_string();
        match item.command {
            Command::Go(path) => {
                let to = base.with_value(|base| base.join(&path));
                navigate.with_value(|navigate| navigate(&to, Default::default()));
            }
            Command::Pause(id) => {
                asked.set_value(Some((id, IntegrationState::Paused)));
                pause.dispatch(PauseIntegration { id, back });
            }
            Command::Resume(id) => {
                asked.set_value(Some((id, IntegrationState::Active)));
                resume.dispatch(ResumeIntegration { id, back });
            }
        }
    };
    keys::on_palette(open);
    let on_input = move |event: ev::Event| {
        let text = event_target_value(&event);
        query.set(text.clone());
        chosen.set(0);
        let text = text.trim().to_owned();
        if text.is_empty() {
            return;
        }
        spawn_local(async move {
            let answer = find(text.clone()).await;
            // Answers may overtake each other.
            let is_current = query.try_get_untracked().is_some_and(|query| query.trim() == text);
            if let (Ok(mut finds), true) = (answer, is_current) {
                if let Some(steered) = steered.try_get_value().flatten() {
                    steered.correct(&mut finds, Utc::now());
                }
                found.try_set((text, finds));
            }
        });
    };
    let on_key = move |event: ev::KeyboardEvent| {
        let count = items.with_untracked(Vec::len);
        match event.key().as_str() {
            "ArrowDown" if count > 0 => chosen.update(|at| *at = (*at + 1) % count),
            "ArrowUp" if count > 0 => chosen.update(|at| *at = (*at + count - 1) % count),
            "Enter" => {
                let item = items.with_untracked(|items| items.get(chosen.get_untracked()).cloned());
                if let Some(item) = item {
                    act(item);
                }
            }
            _ => return,
        }
        event.prevent_default();
    };
    let on_open = move |event: ev::MouseEvent| {
        if !(event.ctrl_key() || event.meta_key() || event.shift_key()) {
            event.prevent_default();
            open();
        }
    };
    view! {
        // `external`, so that the router leaves it alone: without a script it leads to the search, with one it opens the dialog.
        <a class="jump" href=move || base.with_value(|base| base.join("/records")) rel="external" on:click=on_open aria-keyshortcuts="Control+K Meta+K">
            <Icon glyph=Glyph::Search />
            <span>"Jump to…"</span>
            <kbd aria-hidden="true">"Ctrl K"</kbd>
        </a>
        <dialog class="palette" node_ref=dialog aria-label="Jump to anything" on:close=move |_| is_open.set(false)>
            <input
                class="input"
                node_ref=input
                type="text"
                role="combobox"
                aria-label="Jump to"
                aria-expanded="true"
                aria-controls="palette-items"
                aria-activedescendant=move || format!("palette-{}", chosen.get())
                placeholder="An id, a name, a page or an action"
                autocomplete="off"
                spellcheck="false"
                on:input=on_input
                on:keydown=on_key
            />
            <ul id="palette-items" role="listbox" aria-label="Results">
                {move || {
                    items
                        .get()
                        .into_iter()
                        .enumerate()
                        .map(|(at, item)| {
                            let (glyph, title, hint) = (item.glyph, item.title.clone(), item.hint.clone());
                            view! {
                                <li
                                    id=format!("palette-{at}")
                                    role="option"
                                    aria-selected=move || (chosen.get() == at).to_string()
                                    on:pointermove=move |_| if chosen.get_untracked() != at { chosen.set(at) }
                                    on:click=move |_| act(item.clone())
                                >
                                    <Icon glyph=glyph />
                                    <span class="truncate">{title}</span>
                                    <small>{hint}</small>
                                </li>
                            }
                        })
                        .collect_view()
                }}
            </ul>
            <p class="type-caption text-faint px-3 py-2" role="status">
                {move || match items.with(Vec::len) {
                    0 => "No match. Ids must be complete.".to_owned(),
                    _ => "↑ ↓ to select, Enter to open, Escape to close".to_owned(),
                }}
            </p>
        </dialog>
    }
    .into_any()
}
