//! Bulk operations: the list, one of them, its steps. [`super::jobs::bulk`] starts them.

use super::{
    error::{CallError, FormRefused},
    json::Json,
};
use chrono::{DateTime, Utc};
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::views::names::Names;
use model::{
    id::OperationId,
    operation::{Operation, OperationStep},
    page::Page,
};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperationList {
    /// Newest first.
    pub page: Page<Operation>,
    /// Names of the integrations in their filters.
    pub names: Names,
    pub as_of: DateTime<Utc>,
}

/// The page of bulk operations that the query string asks for.
#[server(prefix = "/console", endpoint = "operations", input = GetUrl, output = Json)]
pub async fn list_operations(query: String) -> Result<OperationList, CallError> {
    use crate::{
        server::{actor, context},
        state::url_filters,
    };
    use model::filter::JobFilter;
    use service::permission;
    let scope = actor::allowed::<permission::OpenConsole>()?.scope();
    let page = url_filters::page(&query).map_err(|error| CallError::Invalid(error.to_string()))?;
    let cx = context::current()?;
    let page = insight::store::operations::list(&cx.pool, scope, page).await?;
    let named = page.items.iter().filter_map(|operation| operation.filter.integration_id);
    let names = cx.names(scope, named, &JobFilter::default()).await?;
    Ok(OperationList { page, names, as_of: Utc::now() })
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperationPage {
    pub operation: Operation,
    pub names: Names,
    /// When reading began.
    pub as_of: DateTime<Utc>,
}

#[server(prefix = "/console", endpoint = "operation", input = GetUrl, output = Json)]
pub async fn load_operation(id: OperationId) -> Result<OperationPage, CallError> {
    use crate::server::{actor, context};
    use service::permission;
    let scope = actor::allowed::<permission::OpenConsole>()?.scope();
    let cx = context::current()?;
    let as_of = queue::store::clock::now(&cx.pool).await?;
    let operation = insight::store::operations::get(&cx.delivery.pool, scope, id).await?;
    let counted = operation.breakdown.iter().map(|part| part.integration_id);
    let names = cx.names(scope, counted, &operation.filter).await?;
    Ok(OperationPage { operation, names, as_of })
}

/// Pauses, resumes, aborts or undoes an operation.
#[server(prefix = "/console", endpoint = "steer-operation", output = Json)]
pub async fn steer_operation(id: OperationId, step: OperationStep, back: String) -> Result<(), FormRefused> {
    use crate::{
        components::Flash,
        server::{actor, context, redirect},
    };
    use service::permission;
    redirect::answer(&back, async {
        let actor = actor::allowed::<permission::SteerJobs>()?;
        context::current()?.headgate.steer_operation(&actor, id, step).await?;
        Ok(match step {
            OperationStep::Pause => Flash::OperationPaused,
            OperationStep::Resume => Flash::OperationResumed,
            OperationStep::Abort => Flash::OperationAborted,
            OperationStep::Undo => Flash::OperationUndone,
        }
        .into())
    })
    .await
}
