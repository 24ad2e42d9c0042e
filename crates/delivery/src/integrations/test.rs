//! `POST /integrations/{id}/test`: sends one signed sample.

use std::time::Duration;

use model::actor::Scope;
use model::duration;
use model::id::{IntegrationId, JobId};
use model::integration::IntegrationType;
use model::integration_control::TestAnswer;
use reqwest::Method;
use serde_json::json;
use uuid::Uuid;

use super::{open_credentials, open_signing_secrets};
use crate::connector::{Draft, RequestSigner};
use crate::{Delivery, DeliveryError, store};

impl Delivery {
    /// Sends `{"type": "headgate.test", …}`, signed as every request is, with the integration's headers and credentials. It makes no job, takes
    /// no slot of a limit, and records nothing. A `rest` integration gets it as a POST to its address, and may well answer 404 or 405: then it
    /// was reached.
    ///
    /// # Errors
    /// `NotFound`; `external` when there is no address to send to.
    pub async fn test_integration(
        &self,
        scope: Scope,
        id: IntegrationId,
    ) -> Result<TestAnswer, DeliveryError> {
        let integration = store::integrations::get(&self.pool, scope, id).await?;
        let Some(url) = integration.endpoint_url.clone() else {
            return Err(DeliveryError::Conflict {
                code: "external",
                detail: "nothing is sent to an external integration: its workers fetch their jobs".to_owned(),
            });
        };
        let current = store::material::read_current(&self.pool, id).await?;
        let (now, sealed) = current
            .map(|current| (current.time.now(), current.secrets))
            .ok_or_else(|| DeliveryError::not_found("integration"))?;
        let credentials = open_credentials(&self.key, id, &sealed)?;
        let webhook_id = JobId::generate().to_string();
        let sample = json!({
            "id": webhook_id,
            "type": "headgate.test",
            "timestamp": now,
            "app_id": integration.app_id,
            "integration_id": id,
            "payload": {"message": "This is a test. It carries no data and asks for nothing but a 2xx answer."},
        });
        let body = if integration.integration_type == IntegrationType::Bundle {
            json!({"items": [sample]})
        } else {
            sample
        };
        let draft = Draft::json(Method::POST, url, &body);
        let correlation_id = Uuid::now_v7().to_string();
        let signer = RequestSigner {
            webhook_id: &webhook_id,
            correlation_id: &correlation_id,
            trace: None,
            headers: &integration.headers,
            credentials: &credentials,
            secrets: &open_signing_secrets(&self.key, id, &sealed, now)?,
            timestamp: now.timestamp(),
        };
        let request = signer.sign(draft);
        let header = |name: &str| {
            request.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
        };
        let within =
            integration.timeout_ms.map_or(self.config.timeout, |ms| duration::from_millis(ms.into()));
        let mut tested = TestAnswer {
            integration,
            is_success: false,
            response_status: None,
            response_excerpt: None,
            error_message: None,
            duration_ms: 0,
            webhook_id: header("webhook-id"),
            webhook_timestamp: header("webhook-timestamp"),
            webhook_signature: header("webhook-signature"),
            body: String::from_utf8_lossy(&request.body).into_owned(),
        };
        let begun = tokio::time::Instant::now();
        match self.client.send(request, within.min(Duration::from_secs(30))).await {
            Ok(answer) => {
                tested.is_success = (200..300).contains(&answer.status);
                tested.response_status = Some(answer.status);
                tested.response_excerpt = Some(answer.excerpt);
                tested.error_message = (!tested.is_success).then(|| format!("answered {}", answer.status));
            }
            Err(failure) => tested.error_message = Some(failure.to_string()),
        }
        tested.duration_ms = duration::millis(begun.elapsed());
        Ok(tested)
    }
}
