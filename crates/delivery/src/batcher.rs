//! Batches concurrent calls: the first runs at once, those that come meanwhile run together in the next round.
//!
//! A statement or a transaction costs its round trips, its start and its wait for the disk once, whether it is about one item or a
//! hundred. No item waits for others to join: it waits only while as many rounds run as may, and not for long.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use queue::mutex::lock;
use tokio::{sync::oneshot, time::timeout};

pub(crate) struct Batcher<I, O> {
    state: Mutex<State<I, O>>,
    limits: Limits,
}

#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// Rounds that run concurrently, unless they are delayed.
    pub(crate) rounds: usize,
    /// Most weight of a round of more than one item.
    pub(crate) weight: usize,
    /// Whether the round after a crowd begins [`LINGER`] later: for callers that call again as soon as they are answered.
    pub(crate) lingers: bool,
}

/// An item that has waited so long starts a further round: the running ones may be waiting for locks.
const EXTRA_ROUND_AFTER: Duration = Duration::from_millis(30);
/// Most rounds, with those further ones.
const MAX_ROUNDS: usize = 8;
/// A round of at least so many items is a crowd.
const MIN_CROWD: usize = 3;
/// How much later the round after a crowd begins. The shortest time Tokio's timer has.
const LINGER: Duration = Duration::from_millis(1);

struct Waiting<I, O> {
    item: I,
    weight: usize,
    answer: oneshot::Sender<O>,
}

struct State<I, O> {
    waiting: Vec<Waiting<I, O>>,
    running: usize,
}

impl<I: Send + 'static, O: Send + 'static> Batcher<I, O> {
    pub(crate) fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(State { waiting: Vec::new(), running: 0 }), limits })
    }

    /// Runs `work` on this item and on those that wait with it, in a task of its own: a caller that goes away stops no other. None: `work`
    /// panicked.
    pub(crate) async fn submit<F, Fut>(self: &Arc<Self>, item: I, weight: usize, work: F) -> Option<O>
    where
        F: Fn(Vec<I>) -> Fut + Send + 'static,
        Fut: Future<Output = Vec<O>> + Send + 'static,
    {
        let (answer, mut answered) = oneshot::channel();
        let is_first = {
            let mut state = self.lock();
            state.waiting.push(Waiting { item, weight, answer });
            let is_first = state.running < self.limits.rounds;
            state.running += usize::from(is_first);
            is_first
        };
        if is_first {
            tokio::spawn(Arc::clone(self).run_rounds(work));
            return answered.await.ok();
        }
        if let Ok(answer) = timeout(EXTRA_ROUND_AFTER, &mut answered).await {
            return answer.ok();
        }
        let is_extra = {
            let mut state = self.lock();
            let is_extra = !state.waiting.is_empty() && state.running < MAX_ROUNDS;
            state.running += usize::from(is_extra);
            is_extra
        };
        if is_extra {
            tokio::spawn(Arc::clone(self).run_rounds(work));
        }
        answered.await.ok()
    }

    fn lock(&self) -> MutexGuard<'_, State<I, O>> {
        lock(&self.state)
    }

    async fn run_rounds<F, Fut>(self: Arc<Self>, work: F)
    where
        F: Fn(Vec<I>) -> Fut + Send + 'static,
        Fut: Future<Output = Vec<O>> + Send + 'static,
    {
        let mut last_size = 0;
        loop {
            // Callers woken at the same time submit at the same time.
            tokio::task::yield_now().await;
            if self.limits.lingers && last_size >= MIN_CROWD {
                // The callers just answered call again: without the wait half of them would always miss the round of the others.
                tokio::time::sleep(LINGER).await;
            }
            let Some(round) = self.next() else { return };
            last_size = round.len();
            let (items, answers): (Vec<I>, Vec<_>) =
                round.into_iter().map(|waiting| (waiting.item, waiting.answer)).unzip();
            // In a task of its own, so that a panic fails these items alone.
            let done = tokio::spawn(work(items)).await.unwrap_or_default();
            for (answer, one) in answers.into_iter().zip(done) {
                // The caller may be gone.
                let _ = answer.send(one);
            }
        }
    }

    /// The items of the next round; none: nothing waits.
    fn next(&self) -> Option<Vec<Waiting<I, O>>> {
        let mut state = self.lock();
        state.waiting.retain(|waiting| !waiting.answer.is_closed());
        if state.waiting.is_empty() {
            state.running -= 1;
            return None;
        }
        let mut weight = 0;
        let mut fits = |waiting: &Waiting<I, O>| {
            weight += waiting.weight;
            weight <= self.limits.weight
        };
        let count = state.waiting.iter().take_while(|waiting| fits(waiting)).count().max(1);
        Some(state.waiting.drain(..count).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::Semaphore;

    /// Doubles each number, one round a permit, and records the size of each round.
    fn doubling(
        gate: &Arc<Semaphore>,
        rounds: &Arc<Mutex<Vec<usize>>>,
    ) -> impl Fn(Vec<u32>) -> std::pin::Pin<Box<dyn Future<Output = Vec<u32>> + Send>> + Send + Clone + 'static
    {
        let (gate, rounds) = (Arc::clone(gate), Arc::clone(rounds));
        move |items| {
            let (gate, rounds) = (Arc::clone(&gate), Arc::clone(&rounds));
            Box::pin(async move {
                rounds.lock().unwrap().push(items.len());
                gate.acquire().await.unwrap().forget();
                assert!(!items.contains(&13), "unlucky");
                items.into_iter().map(|n| n * 2).collect()
            })
        }
    }

    #[tokio::test]
    async fn items_that_come_while_a_round_runs_are_in_the_next() {
        let batcher = Batcher::new(Limits { rounds: 1, weight: 3, lingers: false });
        let (gate, rounds) = (Arc::new(Semaphore::new(0)), Arc::default());
        let work = doubling(&gate, &rounds);
        let submit = |n| {
            let (batcher, work) = (Arc::clone(&batcher), work.clone());
            tokio::spawn(async move { batcher.submit(n, 1, work).await })
        };
        let first = submit(1);
        while rounds.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        let others: Vec<_> = (2..=5).map(submit).collect();
        tokio::task::yield_now().await;
        gate.add_permits(3);
        assert_eq!(first.await.unwrap(), Some(2));
        for (n, other) in (2..=5).zip(others) {
            assert_eq!(other.await.unwrap(), Some(n * 2));
        }
        assert_eq!(*rounds.lock().unwrap(), [1, 3, 1]);
    }

    #[tokio::test]
    async fn an_item_does_not_wait_for_a_delayed_round() {
        let batcher = Batcher::new(Limits { rounds: 1, weight: 3, lingers: false });
        let (gate, rounds) = (Arc::new(Semaphore::new(0)), Arc::default());
        let delayed = tokio::spawn({
            let (batcher, work) = (Arc::clone(&batcher), doubling(&gate, &rounds));
            async move { batcher.submit(1, 1, work).await }
        });
        while rounds.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        let open = Arc::new(Semaphore::new(9));
        assert_eq!(batcher.submit(2, 1, doubling(&open, &rounds)).await, Some(4));
        assert!(!delayed.is_finished());
        gate.add_permits(1);
        assert_eq!(delayed.await.unwrap(), Some(2));
        // Both rounds end.
        while batcher.lock().running > 0 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_panic_fails_its_own_round_alone() {
        let batcher = Batcher::new(Limits { rounds: 1, weight: 3, lingers: false });
        let (gate, rounds) = (Arc::new(Semaphore::new(9)), Arc::default());
        let work = doubling(&gate, &rounds);
        assert_eq!(batcher.submit(13, 1, work.clone()).await, None);
        assert_eq!(batcher.submit(4, 1, work).await, Some(8));
    }
}
