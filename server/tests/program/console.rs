//! Access to the console, and what browsers get.

use crate::support::{Database, Program};
use reqwest::{Client, StatusCode, redirect::Policy};

fn browser() -> Client {
    Client::builder().no_proxy().redirect(Policy::none()).build().unwrap()
}

#[tokio::test]
async fn the_printed_link_signs_in_once_and_pages_need_a_session() {
    let database = Database::create().await;
    let program = Program::serve(&database, &[]).await;
    let browser = browser();
    let page = browser.get(&program.url).header("accept", "text/html").send().await.unwrap();
    assert_eq!(
        (page.status(), page.headers()["location"].to_str().unwrap()),
        (StatusCode::SEE_OTHER, "/sign-in")
    );

    let link = program.sign_in.clone().unwrap();
    let signed_in = browser.get(&link).send().await.unwrap();
    assert_eq!(signed_in.status(), StatusCode::SEE_OTHER);
    let cookie = signed_in.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    assert!(signed_in.headers()["set-cookie"].to_str().unwrap().contains("HttpOnly"));
    let overview = browser
        .get(&program.url)
        .header("accept", "text/html")
        .header("cookie", &cookie)
        .send()
        .await
        .unwrap();
    assert_eq!(overview.status(), StatusCode::OK);
    let policy = overview.headers()["content-security-policy"].to_str().unwrap().to_owned();
    assert!(policy.contains("script-src 'nonce-") && policy.contains("frame-ancestors 'none'"), "{policy}");
    let nonce = policy.split("'nonce-").nth(1).unwrap().split('\'').next().unwrap().to_owned();
    let html = overview.text().await.unwrap();
    assert!(html.contains(&format!("nonce=\"{nonce}\"")), "scripts have the nonce");
    assert!(html.contains("<title>Overview"), "{}", &html[..html.len().min(800)]);

    let again = browser.get(&link).send().await.unwrap();
    assert!(again.headers().get("set-cookie").is_none(), "a link works once");
    assert_eq!(program.stop().await, Some(0));
    database.drop().await;
}

#[tokio::test]
async fn unknown_paths_are_a_page_for_people_and_a_problem_for_programs() {
    let database = Database::create().await;
    let program = Program::serve(&database, &[]).await;
    let browser = browser();
    let missing = format!("{}/no/such/page", program.url);
    let open = async |cookie: &str| {
        let request = browser.get(&missing).header("accept", "text/html").header("cookie", cookie);
        request.send().await.unwrap()
    };
    let anonymous = open("").await;
    assert_eq!(anonymous.status(), StatusCode::SEE_OTHER, "anonymous clients do not learn which paths exist");
    assert_eq!(anonymous.headers()["location"], "/sign-in?next=%2Fno%2Fsuch%2Fpage");
    let signed_in = browser.get(program.sign_in.clone().unwrap()).send().await.unwrap();
    let page = open(signed_in.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap()).await;
    assert_eq!(page.status(), StatusCode::NOT_FOUND);
    assert!(page.headers()["content-type"].to_str().unwrap().starts_with("text/html"));
    let problem = browser.get(&missing).send().await.unwrap();
    assert_eq!(problem.status(), StatusCode::NOT_FOUND);
    assert_eq!(problem.headers()["content-type"], "application/problem+json");
    assert_eq!(program.stop().await, Some(0));
    database.drop().await;
}
