//! Saving, changing, pinning and deleting views. Maximum numbers are checked under one lock, so that two requests at once cannot both be the last.

use super::{count::end_alert, read::get};
use model::filter::JobFilter;
use model::id::{SavedViewId, UserId};
use model::problem::Faults;
use model::saved_view::{MAX_PER_OWNER, MAX_PINNED, MAX_SHARED, NewSavedView, SavedView, SavedViewChanges};
use queue::error::QueueError;
use serde_json::json;
use sqlx::PgConnection;

/// Saves a view. One of an API key has no owner, and is shared.
///
/// # Errors
/// `Invalid`: the name is taken, or the maximum number is reached.
pub async fn insert(
    conn: &mut PgConnection,
    owner: Option<UserId>,
    new: &NewSavedView,
    filter: &JobFilter,
) -> Result<SavedView, QueueError> {
    lock_all(conn).await?;
    let id = SavedViewId::generate();
    sqlx::query!(
        "insert into headgate.saved_views (id, owner_id, name, query, filter, is_shared, alert_at) values ($1, $2, $3, $4, $5, $6, $7)",
        id as SavedViewId,
        owner as Option<UserId>,
        new.name,
        new.query,
        json!(filter),
        new.is_shared,
        new.alert_at,
    )
    .execute(&mut *conn)
    .await
    .map_err(taken)?;
    let made = sqlx::query!(
        r#"
        select count(*) filter (where owner_id is not distinct from $1) as "own!", count(*) filter (where is_shared) as "shared!"
        from headgate.saved_views
        "#,
        owner as Option<UserId>,
    )
    .fetch_one(&mut *conn)
    .await?;
    let mut faults = Faults::default();
    faults.require(made.own <= MAX_PER_OWNER, "", "you have 50 views already: delete one first");
    let is_one_more = new.is_shared && made.shared > MAX_SHARED;
    faults.require(
        !is_one_more,
        "/is_shared",
        "there are 200 shared views already: delete one, or keep this one private",
    );
    faults.into_result()?;
    if let Some(user) = owner.filter(|_| new.is_pinned) {
        pin(conn, user, id, true).await?;
    }
    get(conn, owner, id).await
}

/// Changes a view, and returns it as it was and as it is. A new query comes with its `filter`.
///
/// # Errors
/// `NotFound`; `Invalid`: the name is taken, the maximum number of shared views is reached, or nobody would see the view.
pub async fn change(
    conn: &mut PgConnection,
    viewer: Option<UserId>,
    id: SavedViewId,
    changes: &SavedViewChanges,
    filter: Option<&JobFilter>,
) -> Result<(SavedView, SavedView), QueueError> {
    lock_all(conn).await?;
    lock_view(conn, id).await?;
    let before = get(conn, viewer, id).await?;
    changes.if_match.check(before.updated_at)?;
    let alert_at = changes.alert_at.clone().apply(before.alert_at);
    let changed = sqlx::query!(
        r#"
        update headgate.saved_views
        set name = coalesce($2, name), query = coalesce($3, query), filter = coalesce($4, filter), is_shared = coalesce($5, is_shared),
            alert_at = $6, updated_at = clock_timestamp()
        where id = $1
        returning owner_id as "owner_id: UserId", is_shared
        "#,
        id as SavedViewId,
        changes.name,
        changes.query,
        filter.map(|filter| json!(filter)),
        changes.is_shared,
        alert_at,
    )
    .fetch_one(&mut *conn)
    .await
    .map_err(taken)?;
    let shared = sqlx::query_scalar!(r#"select count(*) as "n!" from headgate.saved_views where is_shared"#)
        .fetch_one(&mut *conn)
        .await?;
    let mut faults = Faults::default();
    let is_one_more = changed.is_shared && !before.is_shared && shared > MAX_SHARED;
    faults.require(!is_one_more, "/is_shared", "there are 200 shared views already: delete one first");
    let is_seen = changed.is_shared || changed.owner_id.is_some();
    faults.require(is_seen, "/is_shared", "must stay true: nobody owns this view, so nobody would see it");
    faults.into_result()?;
    if before.alerting_since.is_some() && alert_at.is_none() {
        end_alert(conn, &before, "its threshold was removed").await?;
    }
    if filter.is_some() {
        // The counts are those of the old filter.
        sqlx::query!(
            r#"
            update headgate.saved_view_counts
            set n = null, is_more = false, counted_at = null, tried_at = to_timestamp(0), is_too_wide = false
            where view_id = $1
            "#,
            id as SavedViewId
        )
        .execute(&mut *conn)
        .await?;
    }
    delete_unused_count(conn, id).await?;
    // An operator who makes somebody else's view private no longer sees it.
    let after = get(conn, viewer, id).await.or_else(|error| match error {
        QueueError::NotFound => Ok(SavedView { is_shared: false, ..before.clone() }),
        error => Err(error),
    })?;
    Ok((before, after))
}

/// Pins or unpins a view for a user.
///
/// # Errors
/// `NotFound`; `Invalid`: the maximum number of views is pinned.
pub async fn pin(
    conn: &mut PgConnection,
    user: UserId,
    id: SavedViewId,
    is_pinned: bool,
) -> Result<(), QueueError> {
    lock_all(conn).await?;
    get(conn, Some(user), id).await?;
    if !is_pinned {
        sqlx::query!(
            "delete from headgate.saved_view_pins where user_id = $1 and view_id = $2",
            user as UserId,
            id as SavedViewId
        )
        .execute(&mut *conn)
        .await?;
        return delete_unused_count(conn, id).await;
    }
    sqlx::query!(
        "insert into headgate.saved_view_pins (user_id, view_id) values ($1, $2) on conflict do nothing",
        user as UserId,
        id as SavedViewId
    )
    .execute(&mut *conn)
    .await?;
    let pinned = sqlx::query_scalar!(
        r#"select count(*) as "n!" from headgate.saved_view_pins where user_id = $1"#,
        user as UserId
    )
    .fetch_one(conn)
    .await?;
    let mut faults = Faults::default();
    faults.require(pinned <= MAX_PINNED, "/is_pinned", "12 views are pinned already: unpin one first");
    Ok(faults.into_result()?)
}

/// Locks a view against other changes, if it exists.
pub async fn lock_view(conn: &mut PgConnection, id: SavedViewId) -> Result<(), QueueError> {
    sqlx::query!("select from headgate.saved_views where id = $1 for update", id as SavedViewId)
        .fetch_optional(conn)
        .await?;
    Ok(())
}

/// Deletes a view for everybody.
pub async fn delete(conn: &mut PgConnection, view: &SavedView) -> Result<(), QueueError> {
    if view.alerting_since.is_some() {
        end_alert(conn, view, "the view was deleted").await?;
    }
    sqlx::query!("delete from headgate.saved_views where id = $1", view.id as SavedViewId)
        .execute(conn)
        .await?;
    Ok(())
}

/// Deletes the count of a view that is no longer counted, because it has neither a threshold nor pins.
async fn delete_unused_count(conn: &mut PgConnection, id: SavedViewId) -> Result<(), QueueError> {
    sqlx::query!(
        r#"
        delete from headgate.saved_view_counts c
        using headgate.saved_views v
        where c.view_id = $1 and v.id = $1 and v.alert_at is null
            and not exists (select from headgate.saved_view_pins p where p.view_id = $1)
        "#,
        id as SavedViewId
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Until the end of the transaction nobody else adds a view or a pin.
async fn lock_all(conn: &mut PgConnection) -> Result<(), QueueError> {
    sqlx::query!("select pg_advisory_xact_lock(hashtext('headgate.saved_views'))").execute(conn).await?;
    Ok(())
}

fn taken(error: sqlx::Error) -> QueueError {
    let is_name =
        error.as_database_error().is_some_and(|error| error.constraint() == Some("saved_views_name_key"));
    if !is_name {
        return error.into();
    }
    let mut faults = Faults::default();
    faults.add("/name", "is the name of another view of its owner: choose another one");
    faults.into()
}
