//! Rows of `audit_log`: inserted and read, never changed.

use model::{
    audit::{AuditEntry, AuditFilter},
    id::{AppId, AuditEntryId},
    page::PageRequest,
};
use sqlx::{PgConnection, PgPool};

pub(crate) async fn insert(conn: &mut PgConnection, entry: &AuditEntry) -> Result<(), sqlx::Error> {
    sqlx::query!(
        r#"
        insert into headgate.audit_log (id, actor_kind, actor_id, actor_name, role, app_id, action,
                                        object_kind, object_id, before, after, address, request_id)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
        "#,
        entry.id as AuditEntryId,
        entry.actor_kind,
        entry.actor_id,
        entry.actor_name,
        entry.role,
        entry.app_id as Option<AppId>,
        entry.action,
        entry.object_kind,
        entry.object_id,
        entry.before,
        entry.after,
        entry.address,
        entry.request_id,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(crate) async fn list(
    pool: &PgPool,
    filter: &AuditFilter,
    page: PageRequest,
) -> Result<Vec<AuditEntry>, sqlx::Error> {
    sqlx::query_as!(
        AuditEntry,
        r#"
        select id as "id: AuditEntryId", at, actor_kind, actor_id, actor_name, role, app_id as "app_id: AppId",
               action, object_kind, object_id, before, after, address, request_id
        from headgate.audit_log
        where ($1::uuid is null or id < $1)
          and ($3::text is null or action = $3)
          and ($4::text is null or actor_id = $4)
          and ($5::uuid is null or app_id = $5)
          and ($6::text is null or object_kind = $6)
          and ($7::text is null or object_id = $7)
        order by id desc
        limit $2
        "#,
        page.after,
        page.limit + 1,
        filter.action,
        filter.actor_id,
        filter.app_id as Option<AppId>,
        filter.object_kind,
        filter.object_id,
    )
    .fetch_all(pool)
    .await
}
