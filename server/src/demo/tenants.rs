//! The sample apps and their integrations, as a table.

use super::behaviour::System;
use super::catalog::{BOOKS, LIGHTING, OUTDOOR, Range};
use model::id::AppId;
use model::integration::IntegrationType;
use model::integration_settings::NewIntegration;
use model::rate_limit::{RateLimit, RateLimits};
use std::collections::BTreeMap;

/// A sample app.
#[derive(Debug)]
pub(super) struct Tenant {
    pub(super) name: &'static str,
    /// A restart finds the app by it.
    pub(super) slug: &'static str,
    pub(super) range: Range,
    pub(super) integrations: &'static [Connection],
}

/// A sample integration.
#[derive(Debug)]
pub(super) struct Connection {
    /// A restart finds the integration by it.
    pub(super) name: &'static str,
    pub(super) kind: IntegrationType,
    pub(super) system: System,
    /// Requests and seconds.
    pub(super) rate_limit: Option<(i32, i32)>,
    pub(super) max_concurrency: i32,
    pub(super) timeout_ms: i32,
    /// `None`: the deployment's default.
    pub(super) max_attempts: Option<i16>,
}

const PLAIN: Connection = Connection {
    name: "",
    kind: IntegrationType::Webhook,
    system: System::Fast,
    rate_limit: None,
    max_concurrency: 10,
    timeout_ms: 5_000,
    max_attempts: None,
};

/// Three apps, eight integrations.
pub(super) const TENANTS: [Tenant; 3] = [
    Tenant {
        name: "Nordwind Outdoor",
        slug: "nordwind",
        range: OUTDOOR,
        integrations: &[
            Connection { name: "Web shop", rate_limit: Some((20, 1)), ..PLAIN },
            Connection { name: "ERP", system: System::Slow, max_concurrency: 6, ..PLAIN },
            // The limit is higher than the system's quota, so it answers 429 now and then.
            Connection { name: "Marketplace", system: System::Limited, rate_limit: Some((5, 1)), ..PLAIN },
        ],
    },
    Tenant {
        name: "Lumen Lighting",
        slug: "lumen",
        range: LIGHTING,
        integrations: &[
            Connection { name: "Price comparison", system: System::Flaky, max_attempts: Some(4), ..PLAIN },
            Connection {
                name: "Search index",
                system: System::Rejecting,
                rate_limit: Some((10, 1)),
                ..PLAIN
            },
            Connection {
                name: "Legacy PIM",
                system: System::Hanging,
                timeout_ms: 2_000,
                max_concurrency: 5,
                max_attempts: Some(3),
                ..PLAIN
            },
        ],
    },
    Tenant {
        name: "Baltic Books",
        slug: "baltic-books",
        range: BOOKS,
        integrations: &[
            // What changes within five seconds is sent in one request.
            Connection { name: "Partner feed", kind: IntegrationType::Bundle, system: System::Down, ..PLAIN },
            Connection { name: "Old reseller", system: System::Gone, rate_limit: Some((4, 1)), ..PLAIN },
        ],
    },
];

impl Connection {
    /// As `POST /integrations` takes it.
    pub(super) fn to_new(&self, app_id: AppId, endpoint_url: String) -> NewIntegration {
        let limit = |(requests, per_seconds)| RateLimits::One(RateLimit { requests, per_seconds });
        NewIntegration {
            app_id,
            name: self.name.to_owned(),
            integration_type: self.kind,
            endpoint_url: Some(endpoint_url),
            rate_limit: self.rate_limit.map(limit),
            rate_limit_key: None,
            max_concurrency: Some(self.max_concurrency),
            timeout_ms: Some(self.timeout_ms),
            max_attempts: self.max_attempts,
            retry_schedule: None,
            record_types: None,
            headers: Some(BTreeMap::from([("x-demo-system".to_owned(), self.system.path().to_owned())])),
            bundle_window_seconds: None,
            debounce: None,
            credentials: None,
            metadata: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_system_has_one_valid_integration() {
        let mut systems = HashSet::new();
        for connection in TENANTS.iter().flat_map(|tenant| tenant.integrations) {
            assert!(systems.insert(connection.system), "{:?}", connection.system);
            connection.to_new(AppId::generate(), "http://127.0.0.1:1/x".into()).check().unwrap();
        }
        assert_eq!(systems.len(), System::ALL.len());
    }
}
