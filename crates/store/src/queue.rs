//! A queue from many threads to few, of whom one at a time has the turn. It takes all that waits at once, which is what makes
//! commits grow with the load.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::ticket::Bell;

/// Holds work until somebody is free to do it.
pub(crate) struct Queue<T> {
    state: Mutex<State<T>>,
    filled: Condvar,
    taken: Condvar,
    /// How many bytes may wait.
    limit: usize,
    /// A turn takes no more than this at once, so that the first in a long queue are answered early.
    turn_bytes: usize,
}

/// The right to work, and what there is to do. Nobody else has a turn until it is given back or dropped.
pub(crate) struct Turn<'a, T> {
    queue: &'a Queue<T>,
    /// The work.
    pub(crate) items: Vec<T>,
    /// Who waits for the work listens to it.
    pub(crate) bell: Arc<Bell>,
    is_over: bool,
}

/// Why work was not taken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// This many bytes wait already.
    Full(usize),
    /// Nobody will ever do it.
    Closed,
}

struct State<T> {
    items: Vec<(T, usize)>,
    bell: Arc<Bell>,
    bytes: usize,
    /// True while somebody has the turn.
    busy: bool,
    /// How many wait for work, and how many for room: nobody else has to be woken.
    idle: usize,
    patient: usize,
    closed: bool,
}

impl<T> Queue<T> {
    /// A queue in which work of `limit` bytes may wait, of which a turn takes about `turn_bytes`.
    pub(crate) fn new(limit: usize, turn_bytes: usize) -> Queue<T> {
        let state = State {
            items: Vec::new(),
            bell: Arc::default(),
            bytes: 0,
            busy: false,
            idle: 0,
            patient: 0,
            closed: false,
        };
        let (filled, taken) = (Condvar::new(), Condvar::new());
        Queue { state: Mutex::new(state), filled, taken, limit, turn_bytes }
    }

    /// Adds work, or refuses it when too much waits. One item always fits, however big. It is made with the bell of the turn
    /// that will take it.
    pub(crate) fn push(&self, make: impl FnOnce(&Arc<Bell>) -> T, bytes: usize) -> Result<(), Refused> {
        let state = self.lock();
        if state.bytes > 0 && state.bytes + bytes > self.limit {
            return Err(Refused::Full(state.bytes));
        }
        let item = make(&state.bell);
        self.put(state, item, bytes)
    }

    /// Adds work, and waits for room.
    pub(crate) fn push_patiently(&self, item: T, bytes: usize) -> Result<(), Refused> {
        let mut state = self.lock();
        while state.bytes > 0 && state.bytes + bytes > self.limit && !state.closed {
            state.patient += 1;
            state = self.taken.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.patient -= 1;
        }
        self.put(state, item, bytes)
    }

    /// Gives the last turn back, and waits for the next; `None` once the queue is closed and empty.
    pub(crate) fn take<'a>(&'a self, last: Option<Turn<'a, T>>) -> Option<Turn<'a, T>> {
        self.take_share(last, |waiting| waiting)
    }

    /// The same, but of all the items that wait then it takes only as many as `share` says, and at least one.
    pub(crate) fn take_share<'a>(
        &'a self,
        last: Option<Turn<'a, T>>,
        share: impl FnOnce(usize) -> usize,
    ) -> Option<Turn<'a, T>> {
        let mut state = self.give_back(last);
        while state.items.is_empty() || state.busy {
            if state.items.is_empty() && state.closed {
                return None;
            }
            state.idle += 1;
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
        let most = share(state.items.len()).max(1);
        Some(self.begin(state, most))
    }

    /// All that waits, without waiting: `None` also while there is nothing to do, or somebody else does it.
    pub(crate) fn try_take<'a>(&'a self, last: Option<Turn<'a, T>>) -> Option<Turn<'a, T>> {
        let state = self.give_back(last);
        (!state.items.is_empty() && !state.busy).then(|| self.begin(state, usize::MAX))
    }

    /// Refuses new work; what waits is still done.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.filled.notify_all();
        self.taken.notify_all();
    }

    /// Whoever gives a turn back here looks for the next one himself, so that nobody has to be woken.
    fn give_back(&self, last: Option<Turn<'_, T>>) -> MutexGuard<'_, State<T>> {
        let mut state = self.lock();
        if let Some(mut last) = last {
            state.busy = false;
            last.is_over = true;
        }
        state
    }

    fn begin<'a>(&'a self, mut state: MutexGuard<'a, State<T>>, most: usize) -> Turn<'a, T> {
        let (mut count, mut bytes) = (0, 0);
        for (_, size) in state.items.iter().take(most) {
            count += 1;
            bytes += size;
            if bytes >= self.turn_bytes {
                break;
            }
        }
        let rest = state.items.split_off(count);
        let taken = std::mem::replace(&mut state.items, rest);
        state.bytes -= bytes;
        state.busy = true;
        // Who was added later waits for the same bell: it rings again for what is left.
        let bell = if state.items.is_empty() { std::mem::take(&mut state.bell) } else { state.bell.clone() };
        if state.patient > 0 {
            self.taken.notify_all();
        }
        drop(state);
        Turn { queue: self, items: taken.into_iter().map(|(item, _)| item).collect(), bell, is_over: false }
    }

    fn put(&self, mut state: MutexGuard<'_, State<T>>, item: T, bytes: usize) -> Result<(), Refused> {
        if state.closed {
            return Err(Refused::Closed);
        }
        state.items.push((item, bytes));
        state.bytes += bytes;
        let somebody_is_free = state.idle > 0 && !state.busy;
        drop(state);
        if somebody_is_free {
            self.filled.notify_one();
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Drop for Turn<'_, T> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        if std::thread::panicking() {
            // Nobody waits in vain: what waits is dropped, and new work is refused.
            self.queue.close();
            let dropped = std::mem::take(&mut self.queue.lock().items);
            drop(dropped);
        }
        let mut state = self.queue.lock();
        state.busy = false;
        let somebody_is_needed = state.idle > 0 && !state.items.is_empty();
        drop(state);
        if somebody_is_needed {
            self.queue.filled.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_much_is_refused_but_one_item_always_fits() {
        let queue = Queue::new(10, 100);
        assert_eq!(queue.push(|_| "huge", 1000), Ok(()));
        assert_eq!(queue.push(|_| "small", 1), Err(Refused::Full(1000)));
        assert_eq!(queue.take(None).unwrap().items, ["huge"]);
        assert_eq!(queue.push(|_| "small", 1), Ok(()));
        queue.close();
        assert_eq!(queue.push(|_| "late", 1), Err(Refused::Closed));
        assert_eq!(queue.take(None).unwrap().items, ["small"]);
        assert!(queue.take(None).is_none());
    }

    #[test]
    fn the_patient_wait_for_room() {
        let queue = Arc::new(Queue::new(10, 100));
        queue.push(|_| 1, 10).unwrap();
        let patient = queue.clone();
        let thread = std::thread::spawn(move || patient.push_patiently(2, 10));
        let mut seen = Vec::new();
        while seen.len() < 2 {
            seen.extend(std::mem::take(&mut queue.take(None).unwrap().items));
        }
        assert_eq!(seen, [1, 2]);
        assert_eq!(thread.join().unwrap(), Ok(()));
    }

    #[test]
    fn a_turn_takes_so_much_and_one_has_it_at_a_time() {
        let queue = Queue::new(1000, 10);
        for number in 0..5 {
            queue.push(|_| number, 5).unwrap();
        }
        let first = queue.take(None).unwrap();
        assert_eq!(first.items, [0, 1]);
        assert!(queue.try_take(None).is_none(), "somebody has the turn");
        let second = queue.try_take(Some(first)).unwrap();
        assert_eq!(second.items, [2, 3]);
        drop(second);
        assert_eq!(queue.try_take(None).unwrap().items, [4]);
        assert!(queue.try_take(None).is_none());
    }

    #[test]
    fn a_turn_takes_its_share_and_never_nothing() {
        let queue = Queue::new(1000, 1000);
        for number in 0..5 {
            queue.push(|_| number, 1).unwrap();
        }
        let half = queue.take_share(None, |waiting| waiting / 2).unwrap();
        assert_eq!(half.items, [0, 1]);
        let least = queue.take_share(Some(half), |_| 0).unwrap();
        assert_eq!(least.items, [2]);
        assert_eq!(queue.take(Some(least)).unwrap().items, [3, 4]);
    }

    #[test]
    fn a_turn_that_is_dropped_wakes_who_waits_for_it() {
        let queue = Arc::new(Queue::new(1000, 1000));
        queue.push(|_| 1, 1).unwrap();
        let mine = queue.take(None).unwrap();
        let other = queue.clone();
        let thread =
            std::thread::spawn(move || other.take(None).map(|mut turn| std::mem::take(&mut turn.items)));
        while queue.lock().idle == 0 {
            std::thread::yield_now();
        }
        queue.push(|_| 2, 1).unwrap();
        drop(mine);
        assert_eq!(thread.join().unwrap(), Some(vec![2]));
    }

    #[test]
    fn after_a_panic_nobody_waits_in_vain() {
        let queue = Arc::new(Queue::new(1000, 1000));
        queue.push(|_| Arc::new(()), 1).unwrap();
        let waiting = Arc::new(());
        let (its, left) = (queue.clone(), waiting.clone());
        let panicked = std::thread::spawn(move || {
            let _turn = its.take(None).unwrap();
            its.push(|_| left, 1).unwrap();
            panic!("on purpose");
        });
        assert!(panicked.join().is_err());
        assert_eq!(Arc::strong_count(&waiting), 1, "what waited was dropped");
        assert_eq!(queue.push(|_| waiting, 1), Err(Refused::Closed));
        assert!(queue.take(None).is_none());
    }
}
