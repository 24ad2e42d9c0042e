//! Items of a bundle, and how they are split into requests. Pure.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use model::id::{IntegrationId, JobId};
use model::trace::TraceContext;
use queue::worker::SendPermit;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::{database_time::DatabaseTime, store::integrations::SealedSecrets};

/// Many servers accept no more than 1 MiB unless configured otherwise. A larger item is sent alone.
const MAX_BODY_BYTES: usize = 1_000_000;
/// Namespace of the ids made here (RFC 9562, appendix B.2): drawn once, never changed.
const NAMESPACE: Uuid = Uuid::from_u128(0x8f1d_5ae4_6c0b_4d0e_9a57_2f6e_3bb1_c94d);

pub(in crate::connector) struct Item {
    pub(in crate::connector) job_id: JobId,
    pub(in crate::connector) correlation_id: String,
    pub(in crate::connector) trace: Option<TraceContext>,
    pub(in crate::connector) timeout: Duration,
    /// JSON: the body a webhook would have.
    pub(in crate::connector) body: Vec<u8>,
    /// The attributes it sends; none: all of them, or a deletion.
    pub(in crate::connector) attributes: Option<Vec<String>>,
    pub(in crate::connector) address: Arc<Address>,
    pub(in crate::connector) right: SendPermit,
}

/// Where a bundle goes and what signs it, as one of its jobs read it.
pub(in crate::connector) struct Address {
    pub(in crate::connector) integration_id: IntegrationId,
    pub(in crate::connector) time: DatabaseTime,
    pub(in crate::connector) url: String,
    pub(in crate::connector) headers: BTreeMap<String, String>,
    pub(in crate::connector) secrets: SealedSecrets,
}

pub(in crate::connector) fn body<'a>(items: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut body = br#"{"items":["#.to_vec();
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            body.push(b',');
        }
        body.extend_from_slice(item);
    }
    body.extend_from_slice(b"]}");
    body
}

/// Splits items, in their order, where a request would become too large.
pub(super) fn split<T>(items: Vec<T>, bytes: impl Fn(&T) -> usize) -> Vec<Vec<T>> {
    let mut parts: Vec<Vec<T>> = Vec::new();
    let mut used = 0;
    for item in items {
        let more = bytes(&item) + 1;
        match parts.last_mut() {
            Some(part) if used + more <= MAX_BODY_BYTES => {
                used += more;
                part.push(item);
            }
            _ => {
                used = more;
                parts.push(vec![item]);
            }
        }
    }
    parts
}

/// The `webhook-id` of a request with the items of these jobs. For several jobs it is a UUIDv8 of the SHA-256 over their sorted ids.
/// (Version 5 does the same with SHA-1, which nothing else here needs.)
pub(super) fn webhook_id(jobs: &[JobId]) -> String {
    if let [alone] = jobs {
        return alone.to_string();
    }
    let mut jobs = jobs.to_vec();
    jobs.sort_unstable();
    let mut hash = Sha256::new_with_prefix(NAMESPACE);
    for job in jobs {
        hash.update(job.0);
    }
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.finalize()[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid().to_string()
}

/// Whether an answer may be about one of several items. Those about the address or the credentials (401, 403, 404, 405, a redirect) are
/// about all of them.
pub(super) fn may_be_about_one_item(status: u16) -> bool {
    matches!(status, 400 | 409 | 413 | 422)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn the_same_set_has_the_same_webhook_id_and_another_set_another() {
        let [a, b, c] = [JobId::generate(), JobId::generate(), JobId::generate()];
        assert_eq!(webhook_id(&[a]), a.to_string());
        let both = webhook_id(&[a, b]);
        assert_eq!(both, webhook_id(&[b, a]));
        let others = [vec![a, c], vec![b, c], vec![a, b, c], vec![a], vec![b]];
        for other in others {
            assert_ne!(both, webhook_id(&other));
        }
        // Must never change: a receiver may keep it across an update of Headgate.
        let known = [1, 2].map(|n| JobId(Uuid::from_u128(n)));
        assert_eq!(webhook_id(&known), "4f70ab5f-d6f7-8f7d-aa99-104764fdc6eb");
    }

    #[test]
    fn a_body_is_a_list_of_items() {
        let is = |items: &[&str]| {
            serde_json::from_slice::<Value>(&body(items.iter().map(|item| item.as_bytes()))).unwrap()
        };
        assert_eq!(is(&[r#"{"a":1}"#]), json!({"items": [{"a": 1}]}));
        assert_eq!(is(&["1", "2", "3"]), json!({"items": [1, 2, 3]}));
    }

    #[test]
    fn large_items_are_spread_over_requests_in_order() {
        let parts = |sizes: &[usize]| split(sizes.to_vec(), |size| *size);
        assert_eq!(parts(&[10, 20, 30]), [[10, 20, 30]]);
        assert_eq!(parts(&[600_000, 600_000, 300_000]), [vec![600_000], vec![600_000, 300_000]]);
        assert_eq!(parts(&[1, 2_000_000, 1]), [vec![1], vec![2_000_000], vec![1]]);
        assert!(parts(&[]).is_empty());
    }
}
