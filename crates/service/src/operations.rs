//! Operations, which bulk actions and deletions start: what they do, and their control.

use crate::{Allowed, Headgate, ServiceError, permission};
use access::audit::Entry;
use chrono::Utc;
use insight::store::operations;
use model::filter::JobFilter;
use model::id::OperationId;
use model::operation::{Operation, OperationStep};
use model::page::{Page, PageRequest};
use model::views::operations::{OperationList, OperationPage};
use serde_json::json;

impl Headgate {
    /// Operations, newest first.
    pub async fn operations(
        &self,
        actor: &Allowed<permission::Read>,
        page: PageRequest,
    ) -> Result<Page<Operation>, ServiceError> {
        let Page { items, next_cursor } = operations::list(&self.lists, actor.scope(), page).await?;
        let mut shown = Vec::with_capacity(items.len());
        for operation in items {
            shown.push(self.shown_operation(actor, operation).await?);
        }
        Ok(Page { items: shown, next_cursor })
    }

    /// The console's page of operations.
    pub async fn operation_list(
        &self,
        actor: &Allowed<permission::OpenConsole>,
        page: PageRequest,
    ) -> Result<OperationList, ServiceError> {
        let page = self.operations(&actor.also()?, page).await?;
        let named = page.items.iter().filter_map(|operation| operation.filter.integration_id);
        let names = self.names(actor.scope(), named, &JobFilter::default()).await?;
        Ok(OperationList { page, names, as_of: Utc::now() })
    }

    /// An operation and its progress.
    ///
    /// # Errors
    /// No such operation.
    pub async fn operation(
        &self,
        actor: &Allowed<permission::Read>,
        id: OperationId,
    ) -> Result<Operation, ServiceError> {
        self.shown_operation(actor, operations::get(self.pool(), actor.scope(), id).await?).await
    }

    /// The console's page of an operation.
    ///
    /// # Errors
    /// No such operation.
    pub async fn operation_page(
        &self,
        actor: &Allowed<permission::OpenConsole>,
        id: OperationId,
    ) -> Result<OperationPage, ServiceError> {
        let as_of = queue::store::clock::now(&self.lists).await?;
        let operation = self.operation(&actor.also()?, id).await?;
        let counted = operation.breakdown.iter().map(|part| part.integration_id);
        let names = self.names(actor.scope(), counted, &operation.filter).await?;
        Ok(OperationPage { operation, names, as_of })
    }

    /// Pauses, resumes, aborts or undoes an operation.
    ///
    /// # Errors
    /// No such operation; its state does not allow it.
    pub async fn steer_operation(
        &self,
        actor: &Allowed<permission::SteerJobs>,
        id: OperationId,
        step: OperationStep,
    ) -> Result<Operation, ServiceError> {
        let scope = actor.scope();
        let operation = self
            .change(actor, async |mut tx| {
                let (action, operation) = match step {
                    OperationStep::Pause => ("operation.pause", operations::pause(&mut tx, scope, id).await?),
                    OperationStep::Resume => {
                        ("operation.resume", operations::resume(&mut tx, scope, id).await?)
                    }
                    OperationStep::Abort => ("operation.abort", operations::abort(&mut tx, scope, id).await?),
                    OperationStep::Undo => ("operation.undo", operations::undo(&mut tx, actor, id).await?),
                };
                let entry = Entry::new(action).about(id).of_app(actor.app_id);
                let entry = match operation.undone_by {
                    Some(by) => entry.with(&json!({"undone_by": by, "changed": operation.changed})),
                    None => entry,
                };
                Ok((tx, operation, entry))
            })
            .await?;
        self.delivery.wake();
        self.shown_operation(actor, operation).await
    }
}
