//! The encoding of answers: JSON, read as text.
//!
//! Leptos' JSON encoding reads bytes, while data serialised into the page is read as text. These are two serde readers,
//! so the deserialiser of every type would be in the browser's bundle twice.

use leptos::server_fn::{Bytes, ContentType, Decodes, Encodes, Format, FormatType, codec::Post};
use serde::{Serialize, de::DeserializeOwned};

/// The output of every server function.
pub type Json = Post<JsonText>;

pub struct JsonText;

#[derive(Debug, thiserror::Error)]
pub enum JsonError {
    #[error("not UTF-8")]
    NoText(#[from] std::str::Utf8Error),
    #[error(transparent)]
    Other(#[from] serde_json::Error),
}

impl ContentType for JsonText {
    const CONTENT_TYPE: &'static str = "application/json";
}

impl FormatType for JsonText {
    const FORMAT_TYPE: Format = Format::Text;
}

impl<T: Serialize> Encodes<T> for JsonText {
    type Error = JsonError;

    fn encode(output: &T) -> Result<Bytes, JsonError> {
        Ok(serde_json::to_string(output)?.into())
    }
}

impl<T: DeserializeOwned> Decodes<T> for JsonText {
    type Error = JsonError;

    fn decode(bytes: Bytes) -> Result<T, JsonError> {
        Ok(serde_json::from_str(std::str::from_utf8(&bytes)?)?)
    }
}
