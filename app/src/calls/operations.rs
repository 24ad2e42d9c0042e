//! Bulk operations: the list, one of them, its steps. [`super::bulk::bulk`] starts them.

use super::error::{CallError, FormRefused};
use super::json::Json;
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::id::OperationId;
use model::operation::OperationStep;
use model::views::operations::{OperationList, OperationPage};

/// The page of bulk operations that the query string asks for.
#[server(prefix = "/console", endpoint = "operations", input = GetUrl, output = Json)]
pub async fn list_operations(query: String) -> Result<OperationList, CallError> {
    use crate::server::{actor, context};
    use crate::state::url_filters;
    use service::permission;
    let actor = actor::allowed::<permission::OpenConsole>()?;
    let page = url_filters::page(&query).map_err(|error| CallError::Invalid(error.to_string()))?;
    Ok(context::current()?.headgate.operation_list(&actor, page).await?)
}

#[server(prefix = "/console", endpoint = "operation", input = GetUrl, output = Json)]
pub async fn load_operation(id: OperationId) -> Result<OperationPage, CallError> {
    use crate::server::{actor, context};
    use service::permission;
    let actor = actor::allowed::<permission::OpenConsole>()?;
    Ok(context::current()?.headgate.operation_page(&actor, id).await?)
}

/// Pauses, resumes, aborts or undoes an operation.
#[server(prefix = "/console", endpoint = "steer-operation", output = Json)]
pub async fn steer_operation(id: OperationId, step: OperationStep, back: String) -> Result<(), FormRefused> {
    use crate::server::{actor, context, redirect, steps};
    use service::permission;
    redirect::answer(&back, async {
        let actor = actor::allowed::<permission::SteerJobs>()?;
        context::current()?.headgate.steer_operation(&actor, id, step).await?;
        Ok(steps::operation_notice(step).into())
    })
    .await
}
