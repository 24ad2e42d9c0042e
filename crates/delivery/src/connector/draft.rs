//! A request before it is signed: method, address and body, without the headers that say who sends it.

use reqwest::Method;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Draft {
    pub(crate) method: Method,
    pub(crate) url: String,
    pub(crate) content_type: Option<&'static str>,
    pub(crate) body: Vec<u8>,
}

impl Draft {
    /// A JSON body. Everything sent is made of strings, numbers and maps with string keys, which serde_json never refuses.
    pub(crate) fn json(method: Method, url: String, body: &impl Serialize) -> Self {
        let body = serde_json::to_vec(body).expect("maps have string keys");
        Self { method, url, content_type: Some("application/json"), body }
    }
}
