//! Secrets in payloads are masked, whichever use case answers them.

use crate::world::{World, may};
use model::deletion::DeleteOptions;
use model::id::OperationId;
use model::operation::{BulkDone, BulkOutcome, BulkStart, BulkSubject};
use model::{
    actor::Role, filter::JobFilter, page::PageRequest, rules::masking::MASK, views::job_page::Secrets,
};
use serde_json::{Value, json};
use sqlx::PgPool;

const PAGE: PageRequest = PageRequest { limit: 50, after: None };

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn support_sees_masks_and_operators_secrets(pool: PgPool) {
    let world = World::new(pool).await;
    let id = world.job(&json!({"password": "hunter2", "city": "Kiel"})).await;
    let headgate = &world.headgate;
    for (role, password) in [(Role::Support, MASK), (Role::Auditor, MASK), (Role::Operator, "hunter2")] {
        let seen = json!({"password": password, "city": "Kiel"});
        let one = headgate.job(&may(role, None), id).await.unwrap().job;
        assert_eq!(one.payload.as_ref(), Some(&seen), "{role}");
        let listed = headgate.jobs(&may(role, None), &JobFilter::default(), PAGE).await.unwrap();
        assert_eq!(listed.items[0].payload.as_ref(), Some(&seen), "{role}");
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_console_masks_until_a_reveal_is_recorded(pool: PgPool) {
    let world = World::new(pool).await;
    let id = world.job(&json!({"password": "hunter2"})).await;
    let headgate = &world.headgate;
    let shown = async |secrets| {
        let page = headgate.job_page(&may(Role::Operator, None), id, secrets).await.unwrap();
        page.detail.job.payload.unwrap()["password"].clone()
    };
    assert_eq!(shown(Secrets::Masked).await, MASK);
    assert_eq!(shown(Secrets::Revealed).await, MASK, "nobody asked for a reveal yet");
    headgate.reveal_job(&may(Role::Operator, None), id).await.unwrap();
    assert_eq!(shown(Secrets::Masked).await, MASK);
    assert_eq!(shown(Secrets::Revealed).await, "hunter2");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn nobody_searches_for_what_they_see_masked(pool: PgPool) {
    let world = World::new(pool).await;
    world.job(&json!({"password": "hunter2"})).await;
    let filter: JobFilter =
        serde_json::from_value(json!({"correlation_id": "c-1", "payload": {"password": "hunter2"}})).unwrap();
    let refused = world.headgate.jobs(&may(Role::Support, None), &filter, PAGE).await.unwrap_err();
    assert!(refused.to_string().contains("payload.password"), "{refused}");
    let found = world.headgate.jobs(&may(Role::Operator, None), &filter, PAGE).await;
    assert!(found.is_ok(), "{found:?}");
}

/// What a role sees of the payload values that an operation was asked for.
async fn asked(world: &World, role: Role, id: OperationId) -> Value {
    let one = world.headgate.operation(&may(role, None), id).await.unwrap();
    let listed = world.headgate.operations(&may(role, None), PAGE).await.unwrap();
    assert_eq!(listed.items[0].filter, one.filter, "{role}");
    json!(one.filter.payload)
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_operation_shows_the_values_of_its_filter_that_payloads_show(pool: PgPool) {
    let world = World::new(pool).await;
    let headgate = &world.headgate;
    let marking = json!({
        "app_id": world.app.id, "name": "CRM", "integration_type": "external", "metadata": {"masked_fields": ["email"]},
    });
    let marking = serde_json::from_value(marking).unwrap();
    headgate.create_integration(&may(Role::Operator, None), &marking).await.unwrap();
    let payload = json!({"password": "hunter2", "email": "ada@x.test", "city": "Kiel"});
    let job = world.job(&payload).await;
    let job = headgate.job(&may(Role::Operator, None), job).await.unwrap().job;
    let filter = json!({"integration_id": job.integration_id, "payload": payload});
    let cancel = serde_json::from_value(json!({"action": "cancel", "filter": filter})).unwrap();
    let started = headgate.bulk(&may(Role::Operator, None), BulkSubject::Jobs, cancel).await.unwrap();
    let BulkStart::Outcome(BulkOutcome::Done(BulkDone { operation_id: Some(id), .. })) = started else {
        panic!("{started:?}")
    };

    let partly = json!({"password": MASK, "email": MASK, "city": "Kiel"});
    for (role, seen) in [(Role::Operator, &payload), (Role::Support, &partly), (Role::Auditor, &partly)] {
        assert_eq!(asked(&world, role, id).await, *seen, "{role}");
    }
    // With the app goes what it masked: an address must not become readable by that.
    let options = DeleteOptions { cancel_jobs: true, ..DeleteOptions::default() };
    headgate.delete_app(&may(Role::Operator, None), world.app.id, &options).await.unwrap();
    let whole = json!({"password": MASK, "email": MASK, "city": MASK});
    let one = headgate.operation(&may(Role::Support, None), id).await.unwrap();
    assert_eq!(json!(one.filter.payload), whole);
}
