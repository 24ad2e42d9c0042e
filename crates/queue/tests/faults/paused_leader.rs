//! The maintenance leader is paused beyond its lease, and continued.

use crate::support::{Children, Database, eventually};
use nix::sys::signal::Signal;

#[tokio::test]
async fn a_leader_paused_beyond_its_lease_writes_nothing_and_steps_down() {
    let database = Database::create().await;
    let mut children = Children::of(&database);
    children.options().workers = 0;
    children.start(2);
    database.until_at_least("select count(*) from chores", 3).await;
    let leader: i32 =
        sqlx::query_scalar("select child from chores limit 1").fetch_one(&database.pool).await.unwrap();
    let paused = children.alive.iter().position(|child| child.number == leader).unwrap();
    children.alive[paused].signal(Signal::SIGSTOP);
    eventually("another one leads", || async {
        database.number("select count(distinct term) from chores").await == 2
    })
    .await;
    children.alive[paused].signal(Signal::SIGCONT);
    eventually("the paused leader has noticed", || async {
        let leads = sqlx::query_scalar("select leads from leads where child = $1 order by at desc limit 1");
        leads.bind(leader).fetch_optional(&database.pool).await.unwrap() == Some(false)
    })
    .await;
    let chores = database.number("select count(*) from chores").await;
    database.until_at_least("select count(*) from chores", chores + 10).await;
    children.stop().await;
    let terms: Vec<(i64, i32)> = sqlx::query_as("select distinct term, child from chores order by term")
        .fetch_all(&database.pool)
        .await
        .unwrap();
    assert_eq!(
        terms.len(),
        2,
        "one leader per term, and the paused one did not lead again meanwhile: {terms:?}"
    );
    assert_ne!(terms[0].1, terms[1].1);
    let late = database
        .number(
            "select count(*) from chores where term = 1 and at > (select min(at) from chores where term = 2)",
        )
        .await;
    assert_eq!(late, 0, "chores done under a term that had ended");
    database.drop().await;
}
