//! The promise that an append will be answered. Knows nothing of what is written.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::error::StoreError;

/// What an append ends in: the position of the first record, or why there is none.
type Outcome = Result<u64, StoreError>;
type Callback = Box<dyn FnOnce(Outcome) + Send>;

/// A pending append. Dropping it is fine: the append happens all the same.
#[must_use = "without the ticket nobody learns whether the append failed"]
pub struct Ticket {
    slot: Arc<Slot>,
    bell: Arc<Bell>,
}

/// The writer's end of a ticket. Dropped unanswered, it answers that the store was closed.
pub(crate) struct Answer {
    slot: Option<Arc<Slot>>,
    bell: Arc<Bell>,
}

/// Wakes all who wait for the same commit at once, which costs one system call where a bell each would cost many.
#[derive(Default)]
pub(crate) struct Bell {
    rung: Condvar,
    /// How many wait.
    waiting: Mutex<usize>,
}

struct Slot {
    state: Mutex<State>,
}

enum State {
    Waiting,
    Calling(Callback),
    Done(Outcome),
    Taken,
}

impl Ticket {
    /// Blocks until the append is as safe as was asked for. Not to be called inside [`Ticket::on_done`].
    pub fn wait(self) -> Result<u64, StoreError> {
        let mut guard = self.bell.lock();
        loop {
            if let Some(outcome) = self.slot.take() {
                return outcome;
            }
            *guard += 1;
            guard = self.bell.rung.wait(guard).unwrap_or_else(PoisonError::into_inner);
            *guard -= 1;
        }
    }

    /// Calls `callback` once, on a thread of the store, or at once if the append is done already. Callbacks of appends that
    /// are to be equally safe come in their order. Others wait for it, so it should only pass the news on.
    pub fn on_done(self, callback: Callback) {
        let mut state = self.slot.lock();
        match std::mem::replace(&mut *state, State::Taken) {
            State::Done(outcome) => {
                drop(state);
                callback(outcome);
            }
            _ => *state = State::Calling(callback),
        }
    }
}

impl std::fmt::Debug for Ticket {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Ticket")
    }
}

impl Answer {
    /// A ticket and the means to answer it, for one of those who listen to `bell`.
    pub(crate) fn new(bell: &Arc<Bell>) -> (Answer, Ticket) {
        let slot = Arc::new(Slot { state: Mutex::new(State::Waiting) });
        let ticket = Ticket { slot: slot.clone(), bell: bell.clone() };
        (Answer { slot: Some(slot), bell: bell.clone() }, ticket)
    }

    /// A ticket that is answered already.
    pub(crate) fn known(outcome: Outcome) -> Ticket {
        let (answer, ticket) = Answer::new(&Arc::default());
        answer.give(outcome);
        ticket
    }

    /// Answers. Who waits hears of it when the bell is rung; a callback that panics harms nobody but itself.
    pub(crate) fn give(mut self, outcome: Outcome) {
        self.deliver(outcome);
    }

    /// Answers and rings.
    pub(crate) fn settle(mut self, outcome: Outcome) {
        self.deliver(outcome);
        self.bell.ring();
    }

    fn deliver(&mut self, outcome: Outcome) {
        let Some(slot) = self.slot.take() else { return };
        let mut state = slot.lock();
        match std::mem::replace(&mut *state, State::Taken) {
            State::Calling(callback) => {
                drop(state);
                if catch_unwind(AssertUnwindSafe(|| callback(outcome))).is_err() {
                    tracing::error!("a callback that was told about an append panicked");
                }
            }
            _ => *state = State::Done(outcome),
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if self.slot.is_some() {
            self.deliver(Err(StoreError::Closed));
            self.bell.ring();
        }
    }
}

impl Bell {
    /// Wakes all who wait; those who are not answered yet go on waiting.
    pub(crate) fn ring(&self) {
        // Who looked before the answer was there is asleep once the lock can be had, so that nobody misses the bell.
        if *self.lock() > 0 {
            self.rung.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Option<Outcome> {
        let mut state = self.lock();
        match std::mem::replace(&mut *state, State::Taken) {
            State::Done(outcome) => Some(outcome),
            other => {
                *state = other;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn an_answer_reaches_who_waits_before_and_after() {
        let bell = Arc::default();
        let (answer, ticket) = Answer::new(&bell);
        answer.give(Ok(7));
        assert_eq!(ticket.wait().unwrap(), 7);

        let (answer, ticket) = Answer::new(&bell);
        let waiting = std::thread::spawn(move || ticket.wait());
        answer.give(Ok(8));
        bell.ring();
        assert_eq!(waiting.join().unwrap().unwrap(), 8);
    }

    #[test]
    fn a_callback_is_told_once_whether_it_came_early_or_late() {
        let bell = Arc::default();
        let (sender, receiver) = mpsc::channel();
        for early in [true, false] {
            let (answer, ticket) = Answer::new(&bell);
            let sender = sender.clone();
            let callback = Box::new(move |outcome: Outcome| sender.send(outcome.unwrap()).unwrap());
            if early {
                ticket.on_done(callback);
                answer.give(Ok(1));
            } else {
                answer.give(Ok(2));
                ticket.on_done(callback);
            }
        }
        drop(sender);
        assert_eq!(receiver.iter().collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn one_bell_wakes_all_who_are_answered() {
        let bell: Arc<Bell> = Arc::default();
        let (answers, threads): (Vec<_>, Vec<_>) = (0..8)
            .map(|_| {
                let (answer, ticket) = Answer::new(&bell);
                (answer, std::thread::spawn(move || ticket.wait()))
            })
            .unzip();
        let mut rest = Vec::new();
        for (index, answer) in answers.into_iter().enumerate() {
            if index < 4 {
                answer.give(Ok(index as u64));
            } else {
                rest.push(answer);
            }
        }
        bell.ring();
        drop(rest);
        let outcomes: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap().ok()).collect();
        assert_eq!(outcomes, [Some(0), Some(1), Some(2), Some(3), None, None, None, None]);
    }

    #[test]
    fn an_answer_that_is_lost_says_so_and_a_panic_stays_inside() {
        let bell = Arc::default();
        let (answer, ticket) = Answer::new(&bell);
        drop(answer);
        assert!(matches!(ticket.wait(), Err(StoreError::Closed)));

        let (answer, ticket) = Answer::new(&bell);
        ticket.on_done(Box::new(|_| panic!("on purpose")));
        answer.give(Ok(0));
    }
}
