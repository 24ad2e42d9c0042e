//! The forms of saved views; faults are shown at their fields.

use super::{actor, context, forms, forms::Refusal};
use crate::calls::error::FormRefused;
use crate::components::{Flash, Outcome};
use crate::forms::ViewForm;
use crate::state::drawn;
use crate::state::form_draft::{Draft, DraftFault};
use model::etag::IfMatch;
use model::id::SavedViewId;
use model::patch::Change;
use model::problem::{Faults, FieldError};
use model::saved_view::{NewSavedView, SavedViewChanges};
use service::permission;

pub async fn save(form: ViewForm, query: &str, back: &str) -> Result<(), FormRefused> {
    let made = async {
        let actor = actor::allowed::<permission::SaveViews>()?;
        let new = NewSavedView {
            name: form.name.trim().to_owned(),
            query: query.to_owned(),
            is_shared: is_checked(&form.shared),
            is_pinned: is_checked(&form.pinned),
            alert_at: number(&form.alert_at)?,
        };
        context::current()?.headgate.save_view(&actor, new).await?;
        Ok(Flash::ViewSaved.into())
    }
    .await;
    answer(back, made, &typed(&form)).await
}

/// The view as its form showed it.
#[derive(Clone, Copy)]
pub struct Shown<'a> {
    pub etag: &'a str,
    /// The values its fields were rendered with.
    pub drawn: &'a str,
}

/// Changes everything but the filters.
pub async fn change(
    id: SavedViewId,
    form: ViewForm,
    shown: Shown<'_>,
    back: &str,
) -> Result<(), FormRefused> {
    let made = async {
        let actor = actor::allowed::<permission::SaveViews>()?;
        let changes = SavedViewChanges {
            name: Some(form.name.trim().to_owned()),
            query: None,
            is_shared: Some(is_checked(&form.shared)),
            is_pinned: Some(is_checked(&form.pinned)),
            alert_at: number(&form.alert_at)?.map_or(Change::Clear, Change::Set),
            if_match: IfMatch::from_form(shown.etag),
        };
        context::current()?.headgate.change_view(&actor, id, changes).await?;
        Ok(Flash::ViewChanged.into())
    }
    .await;
    answer(back, made, &drawn::changed(shown.drawn, &typed(&form))).await
}

/// Pins or unpins it for the reader.
pub async fn pin(id: SavedViewId, is_pinned: bool, back: &str) -> Result<(), FormRefused> {
    let made = async {
        let actor = actor::allowed::<permission::SaveViews>()?;
        let changes = SavedViewChanges { is_pinned: Some(is_pinned), ..SavedViewChanges::default() };
        context::current()?.headgate.change_view(&actor, id, changes).await?;
        Ok(if is_pinned { Flash::ViewPinned } else { Flash::ViewUnpinned }.into())
    }
    .await;
    answer(back, made, &[]).await
}

async fn answer(
    back: &str,
    made: Result<Outcome, Refusal>,
    typed: &[(&str, &str)],
) -> Result<(), FormRefused> {
    let draft = |url, faults: &[DraftFault]| Draft::on(url, typed, faults);
    forms::answer_with(back, made, |fault| Some(view_fault(fault)), draft).await
}

fn typed(form: &ViewForm) -> [(&'static str, &str); 4] {
    [("name", &form.name), ("shared", &form.shared), ("pinned", &form.pinned), ("alert_at", &form.alert_at)]
}

fn is_checked(field: &str) -> bool {
    field == "true"
}

fn number(typed: &str) -> Result<Option<i32>, Faults> {
    let typed = typed.trim().replace(',', "");
    if typed.is_empty() {
        return Ok(None);
    }
    typed.parse().map(Some).map_err(|_| {
        let mut faults = Faults::default();
        faults.add("/alert_at", "must be a number");
        faults
    })
}

/// An address carries faults as words of a fixed list.
fn view_fault(fault: &FieldError) -> DraftFault {
    let detail = &fault.detail;
    match fault.pointer.as_str() {
        "/name" if detail.starts_with("is the name") => DraftFault::ViewTaken,
        "/name" => DraftFault::ViewName,
        "/alert_at" => DraftFault::ViewAlert,
        "/query" if detail.contains("is masked") => DraftFault::ViewMasked,
        "/query" => DraftFault::ViewQuery,
        "/is_pinned" => DraftFault::ViewPins,
        "/is_shared" if detail.starts_with("must stay") => DraftFault::ViewOfNobody,
        "/is_shared" => DraftFault::ViewShared,
        _ => DraftFault::ViewMany,
    }
}
