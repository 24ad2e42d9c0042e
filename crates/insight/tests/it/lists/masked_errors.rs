//! People who see errors masked can search only what they see: a guess at a masked value, whole or in part, finds nothing.

use crate::support::{World, end, given_up, retried};
use insight::store::job_lists;
use model::actor::Scope;
use model::filter::JobFilter;
use model::page::PageRequest;
use model::rules::masking::{FirstSecret, Masking};
use sqlx::PgPool;
use std::time::Duration;

/// The part of a text that is searched.
async fn searched(pool: &PgPool, text: &str, marked: &[String]) -> String {
    let FirstSecret { suspicion, from_first } = FirstSecret::new(marked);
    let query =
        sqlx::query_scalar(r"select case when $1 !~ $2 then $1 else regexp_replace($1, $3, '\1\2') end");
    query.bind(text).bind(suspicion).bind(from_first).fetch_one(pool).await.unwrap()
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn masked_parts_of_a_text_are_not_searched(pool: PgPool) {
    let masking = Masking::new(["e-mail", "customer.größe", "order.*"]);
    let marked = masking.names_in_texts();
    for text in [
        r#"answered 400 Bad Request: {"error":"bad","token":"hunter2"}"#,
        r#"{"password" : "a\"b", "id": 7}"#,
        r#"{"body":"{\"token\":\"abc\",\"n\":1}"}"#,
        r#"{"customer":{"APIKey":"k"},"n":1}"#,
        "a=1&access_token=xyz&b=2",
        "https://x.test/?apiKey=k#top",
        "dbpassword = x",
        "token2=x",
        "DB_PASSWORDS: x, y",
        "card_number=4111",
        "bankAccount: 1",
        "pin: 1234",
        "'secret'\t: 'äöü', ok",
        "Authorization: Bearer abc.def\nHost: x",
        "refused Bearer eyJhbGciOi.J9 for now",
        "basic dXNlcjpwYXNz",
        "Größe: 5, iban: DE89 3704 0044, ok",
        "eMail=ada@x.test",
        "E_MAIL: ada@x.test",
        "no (e-mail='ada@x.test')",
        "order: {\"n\":1}",
        r#"{"GRÖSSE":1,"größe":5}"#,
    ] {
        let shown = masking.text(text).unwrap_or_else(|| panic!("nothing is masked of {text}"));
        let searched = searched(&pool, text, &marked).await;
        assert!(shown.starts_with(&searched), "{searched} of {shown}");
    }
    for text in [
        r#"answered 401 Unauthorized: {"error":"invalid_request","author":"Ada","shipping":5}"#,
        "upstream timed out: try again",
        "the token has expired",
        "unauthorised: no female staff",
        "basic plan and bearer of news",
        "discard=1&keyboard=2",
    ] {
        let searched = searched(&pool, text, &marked).await;
        assert_eq!(searched, text);
    }
    // With so many names every name counts as masked.
    let many: Vec<String> = (0..301).map(|n| format!("name{n}")).collect();
    for (text, expected) in [("a b: c", "a b:"), ("no Bearer eyJhbGciOi.J9", "no Bearer "), ("a b", "a b")] {
        assert_eq!(searched(&pool, text, &many).await, expected);
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_guess_at_a_masked_value_finds_counts_and_lists_nothing(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    world.accept(&[world.spec(lane), world.spec(lane)]).await;
    let leased = world.claim(worker, 2).await;
    world.finish(&[end(&leased[0], given_up()), end(&leased[1], retried(Duration::from_secs(60)))]).await;
    sqlx::raw_sql(
        "update headgate.jobs set error_message = 'bad token: hunter2, email=ada';
         update headgate.dead_letter_jobs set error_message = 'bad token: hunter2, email=ada'",
    )
    .execute(&pool)
    .await
    .unwrap();
    let names = |email: bool| Some(if email { vec!["email".to_owned()] } else { Vec::new() });
    for (error, open, masked) in [
        ("BAD tok", 2, 2),
        ("token:", 2, 2),
        ("hunter2", 2, 0),
        ("n: h", 2, 0),
        ("ada", 2, 0),
        ("wolf", 0, 0),
    ] {
        for (masked_names, n) in [(None, open), (names(false), masked), (names(true), masked)] {
            let filter = JobFilter { error: Some(error.to_owned()), masked_names, ..JobFilter::default() };
            let all = (Scope::AllApps, PageRequest::default());
            let listed = job_lists::list(&pool, all.0, &filter, all.1).await.unwrap().items.len();
            let counted = job_lists::count(&pool, all.0, &filter).await.unwrap().unwrap().all.n;
            let dead =
                insight::store::dead_letters::list(&pool, all.0, &filter, all.1).await.unwrap().items.len();
            assert_eq!((listed, counted, dead), (n, n as i64, n / 2), "{filter:?}");
        }
    }
}
