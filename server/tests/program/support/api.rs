//! A client of the API: a verb per call.

use reqwest::{Client, Method, Response};
use serde_json::Value;

#[derive(Clone)]
pub(crate) struct Api {
    client: Client,
    base: String,
    key: String,
}

impl Api {
    pub(crate) fn new(url: &str, key: &str) -> Self {
        let client = Client::builder().no_proxy().build().unwrap();
        Self { client, base: format!("{url}/api/v1"), key: key.to_owned() }
    }

    pub(crate) async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> Response {
        let mut request = self.client.request(method, format!("{}{path}", self.base)).bearer_auth(&self.key);
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        request.send().await.unwrap()
    }

    /// The body of a 2xx answer; anything else fails the test.
    pub(crate) async fn get(&self, path: &str) -> Value {
        read(self.send(Method::GET, path, None).await).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Value {
        read(self.send(Method::POST, path, Some(body)).await).await
    }

    /// Creates an app and returns its id.
    pub(crate) async fn app(&self, slug: &str) -> String {
        let app = self.post("/apps", &serde_json::json!({"name": slug, "slug": slug})).await;
        app["id"].as_str().unwrap().to_owned()
    }

    /// Creates a webhook and returns its id.
    pub(crate) async fn webhook(&self, app_id: &str, name: &str, url: &str, more: Value) -> String {
        let mut new = serde_json::json!({
            "app_id": app_id, "name": name, "integration_type": "webhook", "endpoint_url": url,
        });
        for (key, value) in more.as_object().unwrap() {
            new[key] = value.clone();
        }
        self.post("/integrations", &new).await["id"].as_str().unwrap().to_owned()
    }
}

async fn read(response: Response) -> Value {
    let (status, url) = (response.status(), response.url().clone());
    let text = response.text().await.unwrap();
    assert!(status.is_success(), "{url} answered {status}: {text}");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{url}: {error}: {text}"))
}
