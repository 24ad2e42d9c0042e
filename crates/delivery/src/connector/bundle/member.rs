//! A job in its group, which starts the task that sends for the group.

use std::sync::Arc;

use queue::worker::LeasedJob;
use tokio::sync::oneshot;

use super::Item;
use super::group::{Group, ItemResult, Position};
use super::send::send_submitted;
use crate::{Delivery, connector::stop::Stop};

/// A job as a member of its group. Once it is dropped, the group neither waits for the job nor sends its item, unless that is on its way.
pub(in crate::connector) struct Member {
    group: Arc<Group>,
    position: Position,
    has_decided: bool,
}

impl Member {
    pub(in crate::connector) fn join(job: &LeasedJob) -> Self {
        // Alone where another handler runs the others.
        let group = job.share_with_peers(Group::of).unwrap_or_else(|| Arc::new(Group::of(1)));
        Self { group, position: (job.created_at, job.id), has_decided: false }
    }

    /// Submits an item and waits for the result of its request.
    pub(in crate::connector) async fn submit(mut self, delivery: &Delivery, item: Item) -> ItemResult {
        let (answered, has_sender) = self.put(item);
        if !has_sender {
            tokio::spawn(send_submitted(delivery.clone(), Arc::clone(&self.group)));
        }
        // The sender panicked. What it had sent by then stays uncertain.
        answered.await.unwrap_or_else(|_| {
            Err(Stop::Retry("the bundle's request was aborted: its task panicked".to_owned()))
        })
    }

    fn put(&mut self, item: Item) -> (oneshot::Receiver<ItemResult>, bool) {
        self.has_decided = true;
        self.group.submit(self.position, item)
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.group.leave(&self.position, self.has_decided);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connector::bundle::Address;
    use crate::connector::bundle::group::SubmittedItem;
    use crate::database_time::DatabaseTime;
    use crate::store::integrations::SealedSecrets;
    use chrono::Utc;
    use model::id::{AppId, AssignmentId, ClaimBatchId, IntegrationId, JobId};
    use queue::{store::jobs::ClaimedJob, testing::leased_job};
    use std::collections::BTreeMap;

    fn leased() -> LeasedJob {
        let now = Utc::now();
        let job = ClaimedJob {
            claim_batch_id: ClaimBatchId::generate(),
            id: JobId::generate(),
            app_id: AppId::generate(),
            integration_id: IntegrationId::generate(),
            batch_id: None,
            assignment_id: AssignmentId::generate(),
            created_at: now,
            rank: 0,
            run_at: now,
            is_expired: false,
            is_limited: false,
            is_probe: false,
            started_at: now,
            timeout_ms: None,
            attempt: 1,
            max_attempts: 10,
            may_have_arrived: false,
            is_full: false,
            job_type: "record.updated".into(),
            record_type: Some("product".into()),
            record_id: Some("1".into()),
            deduplication_id: None,
            serialize_key: None,
            correlation_id: "c".into(),
            trace: None,
            payload: None,
        };
        leased_job(job, None)
    }

    fn member(group: &Arc<Group>, job: &LeasedJob) -> Member {
        Member { group: Arc::clone(group), position: (job.created_at, job.id), has_decided: false }
    }

    fn item(job: &LeasedJob) -> Item {
        let secrets = SealedSecrets {
            signing_secret: vec![],
            previous_secrets: vec![],
            previous_until: vec![],
            credentials: None,
        };
        let address = Address {
            integration_id: job.integration_id,
            time: DatabaseTime::read_now(job.created_at),
            url: String::new(),
            headers: BTreeMap::new(),
            secrets,
        };
        Item {
            job_id: job.id,
            correlation_id: job.correlation_id.clone(),
            trace: job.trace,
            timeout: job.timeout,
            body: b"{}".to_vec(),
            attributes: None,
            address: Arc::new(address),
            right: job.send_permit(),
        }
    }

    fn ids(items: &[SubmittedItem]) -> Vec<JobId> {
        items.iter().map(|one| one.item.job_id).collect()
    }

    #[tokio::test]
    async fn items_are_sent_in_order_once_all_jobs_have_decided() {
        let jobs = [leased(), leased(), leased(), leased()];
        let group = Arc::new(Group::of(jobs.len()));
        let [mut first, mut second, third, mut fourth] = jobs.each_ref().map(|job| member(&group, job));
        let (_answered, has_sender) = second.put(item(&jobs[1]));
        assert!(!has_sender, "the first to submit starts a sender");
        assert!(first.put(item(&jobs[0])).1, "and no other");
        drop(third);
        let gathering = tokio::spawn({
            let group = Arc::clone(&group);
            async move { group.next_items().await.map(|items| ids(&items)) }
        });
        let (given_up, _) = fourth.put(item(&jobs[3]));
        drop((given_up, fourth));
        // The fourth was stopped after all: its item is not sent, unless it is on its way already.
        let went = gathering.await.unwrap().unwrap();
        assert_eq!(went[..2], [jobs[0].id, jobs[1].id]);
        assert!(group.next_items().await.is_none());
    }

    #[tokio::test]
    async fn a_job_that_does_not_decide_delays_no_other_and_is_sent_by_itself() {
        let jobs = [leased(), leased()];
        let group = Arc::new(Group::of(2));
        let [mut early, mut late] = jobs.each_ref().map(|job| member(&group, job));
        let (_answered, _) = early.put(item(&jobs[0]));
        assert_eq!(ids(&group.next_items().await.unwrap()), [jobs[0].id]);
        let (_answered, has_sender) = late.put(item(&jobs[1]));
        assert!(has_sender, "by the same sender, after the others: never two requests at once");
        assert_eq!(ids(&group.next_items().await.unwrap()), [jobs[1].id]);
        assert!(group.next_items().await.is_none());
        let again = leased();
        assert!(!member(&group, &again).put(item(&again)).1, "there is no sender any more");
    }

    #[tokio::test]
    async fn a_sender_that_panics_leaves_no_job_waiting() {
        let job = leased();
        let group = Arc::new(Group::of(1));
        let mut waiting = member(&group, &job);
        let (answered, _) = waiting.put(item(&job));
        group.abort();
        assert!(answered.await.is_err());
        let next = leased();
        assert!(!member(&group, &next).put(item(&next)).1, "the next starts a new sender");
    }
}
