//! Query strings. Unknown parameters are refused: a filter with a spelling mistake must not answer with everything.

use super::json::in_words;
use crate::api::problem::Problem;
use axum::{extract::FromRequestParts, http::request::Parts};
use model::filter::gather;
use model::page::{PageError, PageRequest};
use model::problem::Faults;
use model::text::sanitise;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use service::Pages;
use url::form_urlencoded;
use utoipa::IntoParams;

pub const MAX_VALUE_CHARS: usize = 1_000;

/// Parameters of a call that is not a list.
#[derive(Debug)]
pub struct Query<T>(pub T);

/// Parameters of a list: a filter and a page. Lists of records, the bin and groups have cursors of their own kind.
#[derive(Debug)]
pub struct ListQuery<T, P = PageRequest> {
    pub filter: T,
    pub page: P,
}

/// The filter of a list that has none.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoFilter {}

/// The page parameters, for the OpenAPI document.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "read by utoipa alone; ListQuery does the work")]
pub struct PageParams {
    /// Items of the page, 1 to 500.
    #[param(minimum = 1, maximum = 500, default = 50)]
    limit: Option<i64>,
    /// `next_cursor` of the previous page.
    cursor: Option<String>,
}

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Ok(Self(read(&pairs(parts)?)?))
    }
}

impl<S: Sync, T: DeserializeOwned, P: Pages> FromRequestParts<S> for ListQuery<T, P> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let mut pairs = pairs(parts)?;
        let mut limit = None;
        let mut cursor = None;
        let mut faults = Faults::default();
        pairs.retain(|(name, value)| {
            let slot = match name.as_str() {
                "limit" => &mut limit,
                "cursor" => &mut cursor,
                _ => return true,
            };
            if slot.replace(value.clone()).is_some() {
                faults.add(name.clone(), "was given twice");
            }
            false
        });
        let limit = limit.map(|limit| limit.parse::<i64>()).transpose().unwrap_or_else(|_| {
            faults.add("limit", PageError::Limit.to_string());
            None
        });
        faults.into_result()?;
        let page = P::parse(limit, cursor.as_deref()).map_err(|error| {
            let name = match error {
                PageError::Limit => "limit",
                PageError::Cursor => "cursor",
            };
            Problem::fault(name, error.to_string())
        })?;
        Ok(Self { filter: read(&pairs)?, page })
    }
}

fn pairs(parts: &Parts) -> Result<Vec<(String, String)>, Problem> {
    let query = parts.uri.query().unwrap_or_default();
    let pairs: Vec<(String, String)> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    for (name, value) in &pairs {
        if name.contains('\0') || value.contains('\0') {
            return Err(Problem::fault(sanitise(name, 100), "contains a NUL character"));
        }
        if value.chars().count() > MAX_VALUE_CHARS {
            return Err(Problem::fault(sanitise(name, 100), "must be at most 1,000 characters"));
        }
    }
    Ok(pairs)
}

fn read<T: DeserializeOwned>(pairs: &[(String, String)]) -> Result<T, Problem> {
    let pairs = gather(pairs.to_vec());
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    let reader = serde_html_form::Deserializer::new(form_urlencoded::parse(query.as_bytes()));
    serde_path_to_error::deserialize(reader).map_err(|error| {
        let message = error.inner().to_string();
        let named = ["unknown field `", "missing field `", "duplicate field `"]
            .into_iter()
            .find_map(|start| message.strip_prefix(start)?.split('`').next().map(str::to_owned));
        let name = named.unwrap_or_else(|| error.path().to_string());
        Problem::fault(sanitise(&name, 100), in_words(&message))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::Request;
    use model::{filter::JobFilter, job::JobStatus};

    async fn list(query: &str) -> Result<ListQuery<JobFilter>, Problem> {
        let (mut parts, ()) = Request::get(format!("/jobs?{query}")).body(()).unwrap().into_parts();
        ListQuery::from_request_parts(&mut parts, &()).await
    }

    #[tokio::test]
    async fn filters_and_pages_are_read_together() {
        let query =
            list("status=retrying&limit=7&record_id=a%20b&created_after=2026-01-01T00:00:00Z").await.unwrap();
        assert_eq!(query.page.limit, 7);
        assert_eq!(query.filter.status, Some(JobStatus::Retrying));
        assert_eq!(query.filter.record_id.as_deref(), Some("a b"));
        assert!(query.filter.created_after.is_some());
    }

    #[tokio::test]
    async fn every_fault_names_its_parameter() {
        for (query, name) in [
            ("statuz=pending", "statuz"),
            ("status=pendin", "status"),
            ("status=pending&status=failed", "status"),
            ("app_id=x", "app_id"),
            ("created_after=yesterday", "created_after"),
            ("limit=0", "limit"),
            ("limit=501", "limit"),
            ("limit=ten", "limit"),
            ("limit=1&limit=2", "limit"),
            ("cursor=zzz", "cursor"),
            ("cursor=", "cursor"),
            ("q=%00", "q"),
        ] {
            let problem = list(query).await.unwrap_err();
            assert_eq!(problem.status(), 422);
            assert!(problem.detail().contains(&format!("at {name}.")), "{query}: {}", problem.detail());
        }
    }
}
