//! What is asked at once is done together: the first at once, what comes meanwhile with the next.
//!
//! A statement or a transaction costs its round trips, its start and its wait for the disk once, whether it is about one thing or a
//! hundred. Nobody waits for company: only while as much is under way as may be does anything wait at all, and not for long.

use std::{
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::oneshot, time::timeout};

/// Things that are done together, each with an answer of its own.
pub(crate) struct Together<I, O> {
    line: Mutex<Line<I, O>>,
    limits: Limits,
}

/// How much is done at once.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// Rounds under way, as long as they come along.
    pub(crate) rounds: usize,
    /// Weight of one round, as far as it has more than one thing.
    pub(crate) weight: usize,
    /// Whether a round behind a crowd waits a moment: where those who are answered come again at once.
    pub(crate) gathers: bool,
}

/// Who waited so long for the rounds under way, which others' locks may hold up, begins one beside them ...
const PATIENCE: Duration = Duration::from_millis(30);
/// ... unless there are so many.
const MAX_ROUNDS: usize = 8;
/// After a round of so many ...
const CROWD: usize = 3;
/// ... the next one begins this much later. Tokio's timer knows no less.
const GATHER: Duration = Duration::from_millis(1);

struct Waiting<I, O> {
    item: I,
    weight: usize,
    answer: oneshot::Sender<O>,
}

struct Line<I, O> {
    waiting: Vec<Waiting<I, O>>,
    under_way: usize,
}

impl<I: Send + 'static, O: Send + 'static> Together<I, O> {
    pub(crate) fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self { line: Mutex::new(Line { waiting: Vec::new(), under_way: 0 }), limits })
    }

    /// Done with whatever is done together with it, by tasks of their own: who stops waiting stops nobody else. None: `work` panicked.
    pub(crate) async fn ask<F, Fut>(self: &Arc<Self>, item: I, weight: usize, work: F) -> Option<O>
    where
        F: Fn(Vec<I>) -> Fut + Send + 'static,
        Fut: Future<Output = Vec<O>> + Send + 'static,
    {
        let (answer, mut answered) = oneshot::channel();
        let is_first = {
            let mut line = self.lock();
            line.waiting.push(Waiting { item, weight, answer });
            let is_first = line.under_way < self.limits.rounds;
            line.under_way += usize::from(is_first);
            is_first
        };
        if is_first {
            tokio::spawn(Arc::clone(self).go_on(work));
            return answered.await.ok();
        }
        if let Ok(answer) = timeout(PATIENCE, &mut answered).await {
            return answer.ok();
        }
        let is_one_more = {
            let mut line = self.lock();
            let is_one_more = !line.waiting.is_empty() && line.under_way < MAX_ROUNDS;
            line.under_way += usize::from(is_one_more);
            is_one_more
        };
        if is_one_more {
            tokio::spawn(Arc::clone(self).go_on(work));
        }
        answered.await.ok()
    }

    fn lock(&self) -> MutexGuard<'_, Line<I, O>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn go_on<F, Fut>(self: Arc<Self>, work: F)
    where
        F: Fn(Vec<I>) -> Fut + Send + 'static,
        Fut: Future<Output = Vec<O>> + Send + 'static,
    {
        let mut together = 0;
        loop {
            // Who was woken together asks together.
            tokio::task::yield_now().await;
            if self.limits.gathers && together >= CROWD {
                // Those just answered come again with their next: half of them would always miss the round of the others.
                tokio::time::sleep(GATHER).await;
            }
            let Some(round) = self.next() else { return };
            together = round.len();
            let (items, answers): (Vec<I>, Vec<_>) =
                round.into_iter().map(|waiting| (waiting.item, waiting.answer)).unzip();
            // A task of its own: a panic is the answer to these alone, and the line goes on.
            let done = tokio::spawn(work(items)).await.unwrap_or_default();
            for (answer, one) in answers.into_iter().zip(done) {
                // Nobody may be waiting any more.
                let _ = answer.send(one);
            }
        }
    }

    /// The next round; none: nothing waits.
    fn next(&self) -> Option<Vec<Waiting<I, O>>> {
        let mut line = self.lock();
        line.waiting.retain(|waiting| !waiting.answer.is_closed());
        if line.waiting.is_empty() {
            line.under_way -= 1;
            return None;
        }
        let mut weight = 0;
        let mut fits = |waiting: &Waiting<I, O>| {
            weight += waiting.weight;
            weight <= self.limits.weight
        };
        let count = line.waiting.iter().take_while(|waiting| fits(waiting)).count().max(1);
        Some(line.waiting.drain(..count).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::Semaphore;

    /// Doubles each number, one round a permit, and tells how many it was given.
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
    async fn what_comes_while_a_round_is_under_way_goes_with_the_next() {
        let line = Together::new(Limits { rounds: 1, weight: 3, gathers: false });
        let (gate, rounds) = (Arc::new(Semaphore::new(0)), Arc::default());
        let work = doubling(&gate, &rounds);
        let ask = |n| {
            let (line, work) = (Arc::clone(&line), work.clone());
            tokio::spawn(async move { line.ask(n, 1, work).await })
        };
        let first = ask(1);
        while rounds.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        let others: Vec<_> = (2..=5).map(ask).collect();
        tokio::task::yield_now().await;
        gate.add_permits(3);
        assert_eq!(first.await.unwrap(), Some(2));
        for (n, other) in (2..=5).zip(others) {
            assert_eq!(other.await.unwrap(), Some(n * 2));
        }
        assert_eq!(*rounds.lock().unwrap(), [1, 3, 1]);
    }

    #[tokio::test]
    async fn who_waits_for_a_round_that_is_held_up_goes_past_it() {
        let line = Together::new(Limits { rounds: 1, weight: 3, gathers: false });
        let (gate, rounds) = (Arc::new(Semaphore::new(0)), Arc::default());
        let held_up = tokio::spawn({
            let (line, work) = (Arc::clone(&line), doubling(&gate, &rounds));
            async move { line.ask(1, 1, work).await }
        });
        while rounds.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        let open = Arc::new(Semaphore::new(9));
        assert_eq!(line.ask(2, 1, doubling(&open, &rounds)).await, Some(4));
        assert!(!held_up.is_finished());
        gate.add_permits(1);
        assert_eq!(held_up.await.unwrap(), Some(2));
        // Both rounds end.
        while line.lock().under_way > 0 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_panic_is_the_answer_to_its_own_round_alone() {
        let line = Together::new(Limits { rounds: 1, weight: 3, gathers: false });
        let (gate, rounds) = (Arc::new(Semaphore::new(9)), Arc::default());
        let work = doubling(&gate, &rounds);
        assert_eq!(line.ask(13, 1, work.clone()).await, None);
        assert_eq!(line.ask(4, 1, work).await, Some(8));
    }
}
