//! What a record consists of.

use serde_json::{Map, Value};

/// Attributes of a record: a JSON object.
pub type Attributes = Map<String, Value>;
