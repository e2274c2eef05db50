//! A queue from many threads to one. It takes all that waits at once, which is what makes commits grow with the load.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::ticket::Bell;

/// Holds work until its one consumer is free.
pub(crate) struct Queue<T> {
    state: Mutex<State<T>>,
    filled: Condvar,
    taken: Condvar,
    /// How many bytes may wait.
    limit: usize,
}

/// Why work was not taken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// This many bytes wait already.
    Full(usize),
    /// Nobody will ever do it.
    Closed,
}

/// Should a consumer ever panic, nobody waits for it in vain: what waits is dropped, and new work is refused.
pub(crate) struct CloseAtEnd<'a, T>(pub(crate) &'a Queue<T>);

struct State<T> {
    items: Vec<T>,
    bell: Arc<Bell>,
    bytes: usize,
    closed: bool,
}

impl<T> Queue<T> {
    /// A queue in which work of `limit` bytes may wait.
    pub(crate) fn new(limit: usize) -> Queue<T> {
        let state = State { items: Vec::new(), bell: Arc::default(), bytes: 0, closed: false };
        Queue { state: Mutex::new(state), filled: Condvar::new(), taken: Condvar::new(), limit }
    }

    /// Adds work, or refuses it when too much waits. One item always fits, however big. All work that is taken together
    /// is made with the same bell.
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
            state = self.taken.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        self.put(state, item, bytes)
    }

    /// Waits for work and takes all of it, with its bell; `None` once the queue is closed and empty.
    pub(crate) fn take(&self) -> Option<(Vec<T>, Arc<Bell>)> {
        let mut state = self.lock();
        while state.items.is_empty() {
            if state.closed {
                return None;
            }
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.bytes = 0;
        self.taken.notify_all();
        Some((std::mem::take(&mut state.items), std::mem::take(&mut state.bell)))
    }

    /// Refuses new work; what waits is still done.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.filled.notify_all();
        self.taken.notify_all();
    }

    fn put(&self, mut state: MutexGuard<'_, State<T>>, item: T, bytes: usize) -> Result<(), Refused> {
        if state.closed {
            return Err(Refused::Closed);
        }
        state.items.push(item);
        state.bytes += bytes;
        drop(state);
        self.filled.notify_one();
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Drop for CloseAtEnd<'_, T> {
    fn drop(&mut self) {
        self.0.close();
        while self.0.take().is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_much_is_refused_but_one_item_always_fits() {
        let queue = Queue::new(10);
        assert_eq!(queue.push(|_| "huge", 1000), Ok(()));
        assert_eq!(queue.push(|_| "small", 1), Err(Refused::Full(1000)));
        assert_eq!(queue.take().unwrap().0, ["huge"]);
        assert_eq!(queue.push(|_| "small", 1), Ok(()));
        queue.close();
        assert_eq!(queue.push(|_| "late", 1), Err(Refused::Closed));
        assert_eq!(queue.take().unwrap().0, ["small"]);
        assert!(queue.take().is_none());
    }

    #[test]
    fn the_patient_wait_for_room() {
        let queue = std::sync::Arc::new(Queue::new(10));
        queue.push(|_| 1, 10).unwrap();
        let patient = queue.clone();
        let thread = std::thread::spawn(move || patient.push_patiently(2, 10));
        let mut seen = Vec::new();
        while seen.len() < 2 {
            seen.extend(queue.take().unwrap().0);
        }
        assert_eq!(seen, [1, 2]);
        assert_eq!(thread.join().unwrap(), Ok(()));
    }
}
