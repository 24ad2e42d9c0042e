//! The forms of saved views; faults are shown at their fields.

use super::{actor, context, redirect};
use crate::{
    calls::error::{CallError, FormRefused},
    components::{Flash, Outcome},
    forms::ViewForm,
    state::{
        drawn,
        form_draft::{Draft, DraftFault},
    },
};
use model::{
    etag::IfMatch,
    id::SavedViewId,
    patch::Change,
    problem::Faults,
    saved_view::{NewSavedView, SavedViewChanges},
};
use service::{ServiceError, permission};

type FormResult = Result<Outcome, Refused>;

enum Refused {
    Call(CallError),
    Faults(Faults),
}

impl From<CallError> for Refused {
    fn from(error: CallError) -> Self {
        Self::Call(error)
    }
}

impl From<Faults> for Refused {
    fn from(faults: Faults) -> Self {
        Self::Faults(faults)
    }
}

impl From<ServiceError> for Refused {
    fn from(error: ServiceError) -> Self {
        match error.into_faults() {
            Ok(faults) => Self::Faults(faults),
            Err(error) => Self::Call(error.into()),
        }
    }
}

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

async fn answer(back: &str, made: FormResult, typed: &[(&str, &str)]) -> Result<(), FormRefused> {
    let (faults, made) = match made {
        Ok(outcome) => (Vec::new(), Ok(outcome)),
        Err(Refused::Call(error)) => (Vec::new(), Err(error)),
        Err(Refused::Faults(faults)) => (view_faults(&faults), Err(CallError::Invalid(faults.to_string()))),
    };
    redirect::answer_with(back, |url| Draft::on(url, typed, &faults), async { made }).await
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
fn view_faults(faults: &Faults) -> Vec<DraftFault> {
    let of = |pointer: &str, detail: &str| match pointer {
        "/name" if detail.starts_with("is the name") => DraftFault::ViewTaken,
        "/name" => DraftFault::ViewName,
        "/alert_at" => DraftFault::ViewAlert,
        "/query" if detail.contains("is masked") => DraftFault::ViewMasked,
        "/query" => DraftFault::ViewQuery,
        "/is_pinned" => DraftFault::ViewPins,
        "/is_shared" if detail.starts_with("must stay") => DraftFault::ViewOfNobody,
        "/is_shared" => DraftFault::ViewShared,
        _ => DraftFault::ViewMany,
    };
    faults.0.iter().map(|fault| of(&fault.pointer, &fault.detail)).collect()
}
