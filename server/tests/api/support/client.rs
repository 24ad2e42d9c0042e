use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, RequestBuilder};
use serde_json::Value;
use std::time::Duration;

/// Calls the API with a credential and headers of its own.
#[derive(Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    base: String,
    headers: HeaderMap,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Client {
    pub(crate) fn new(base: String) -> Self {
        let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        Self { http, base, headers: HeaderMap::new() }
    }

    pub(crate) fn with_key(self, key: &str) -> Self {
        self.with(AUTHORIZATION.as_str(), &format!("Bearer {key}"))
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        self.headers.insert(name, HeaderValue::from_str(value).unwrap());
        self
    }

    /// `path` is below `/api/v1`.
    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.call(Method::GET, path, None).await
    }

    /// Reads a path until its answer is as wanted.
    pub(crate) async fn until(&self, path: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let wanted = async {
            loop {
                let answer = self.get(path).await.ok(200);
                if is_wanted(&answer) {
                    return answer;
                }
                tokio::task::yield_now().await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(60), wanted).await;
        waited.unwrap_or_else(|_| panic!("{path} was not as wanted in time"))
    }

    /// The items of each page of a list. The path has parameters.
    pub(crate) async fn pages(&self, path: &str) -> Vec<Vec<Value>> {
        let (mut pages, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = self.get(&format!("{path}{cursor}")).await.ok(200);
            pages.push(page["items"].as_array().unwrap().clone());
            let Some(next) = page["next_cursor"].as_str() else { return pages };
            cursor = format!("&cursor={next}");
        }
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.call(Method::POST, path, Some(body)).await
    }

    /// POST without a body.
    pub(crate) async fn act(&self, path: &str) -> Answer {
        self.call(Method::POST, path, None).await
    }

    pub(crate) async fn patch(&self, path: &str, body: Value) -> Answer {
        self.call(Method::PATCH, path, Some(body)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.call(Method::DELETE, path, None).await
    }

    /// POST with any body and content type.
    pub(crate) async fn send(
        &self,
        path: &str,
        content_type: Option<&str>,
        body: impl Into<reqwest::Body>,
    ) -> Answer {
        let mut request = self.request(Method::POST, &format!("/api/v1{path}")).body(body);
        if let Some(content_type) = content_type {
            request = request.header(CONTENT_TYPE, content_type);
        }
        Answer::of(request).await
    }

    /// GET of a page; `path` is below the root.
    pub(crate) async fn open(&self, path: &str) -> Answer {
        Answer::of(self.request(Method::GET, path)).await
    }

    /// POST of a form; `path` is below the root.
    pub(crate) async fn form(&self, path: &str, fields: impl Into<reqwest::Body>) -> Answer {
        let request = self.request(Method::POST, path).body(fields);
        Answer::of(request.header(CONTENT_TYPE, "application/x-www-form-urlencoded")).await
    }

    pub(crate) async fn call(&self, method: Method, path: &str, body: Option<Value>) -> Answer {
        let mut request = self.request(method, &format!("/api/v1{path}"));
        if let Some(body) = body {
            request = request.header(CONTENT_TYPE, "application/json").body(body.to_string());
        }
        Answer::of(request).await
    }

    /// `path` is below the root.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.base)).headers(self.headers.clone())
    }
}

impl Answer {
    pub(crate) async fn of(request: RequestBuilder) -> Self {
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        Self { status, headers, text: response.text().await.unwrap() }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// Checks the status and returns the body.
    #[track_caller]
    pub(crate) fn ok(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        if self.text.is_empty() { Value::Null } else { self.json() }
    }

    /// Checks the problem document and returns it.
    #[track_caller]
    pub(crate) fn problem(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        assert_eq!(self.header("content-type"), "application/problem+json");
        let problem = self.json();
        assert_eq!(problem["status"], status);
        for field in ["type", "title", "detail"] {
            assert!(problem[field].as_str().is_some_and(|text| !text.is_empty()), "{field}: {problem}");
        }
        problem
    }

    /// Checks the status and returns the pointers of the faults.
    #[track_caller]
    pub(crate) fn pointers(&self, status: u16) -> Vec<String> {
        let problem = self.problem(status);
        let errors = problem["errors"].as_array().cloned().unwrap_or_default();
        errors.iter().map(|error| error["pointer"].as_str().unwrap().to_owned()).collect()
    }
}
