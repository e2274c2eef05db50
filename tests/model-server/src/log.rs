//! What was asked of the server and how each answer ended, for tests to look at. It must not decide anything.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use tokio::sync::watch;

/// One request to the server.
#[derive(Debug, Clone, Serialize)]
pub struct Request {
    /// The place among all requests, from 0.
    pub number: usize,
    /// `POST`, `GET`, …
    pub method: String,
    /// The path without its query.
    pub path: String,
    /// All headers; the keys of tests are no secrets.
    pub headers: BTreeMap<String, String>,
    /// The body, `null` where there was none or it was no JSON.
    pub body: Value,
    /// The script that was played.
    pub script: Option<String>,
    /// Its step, from 0.
    pub step: usize,
    /// How the answer ended.
    pub outcome: Outcome,
}

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It is still being written, or the server waits for the client to go away.
    Open,
    /// It was written to its end.
    Done,
    /// The client went away before the end.
    Gone,
    /// The script broke it off.
    Cut,
    /// An HTTP error was answered.
    Refused(u16),
}

/// The latest requests of a server.
#[derive(Debug)]
pub(crate) struct Log {
    kept: Mutex<Kept>,
    changed: watch::Sender<usize>,
    condition: Condvar,
}

#[derive(Debug, Default)]
struct Kept {
    requests: VecDeque<Request>,
    count: usize,
}

/// The open place of one request in the log. Dropped before its end, it says that the client went away.
#[derive(Debug)]
pub(crate) struct Ticket {
    log: Arc<Log>,
    number: usize,
    is_ended: bool,
}

/// An agent's request has some hundred kilobytes; a test that makes more of them than this looks at the latest.
const KEPT_REQUESTS: usize = 500;
/// Generous, for machines under load: a wait that is not met is a failure, never a matter of luck.
const DEADLINE: Duration = Duration::from_secs(60);

impl Log {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { kept: Mutex::default(), changed: watch::Sender::new(0), condition: Condvar::new() })
    }

    /// Takes in a request.
    pub(crate) fn open(self: &Arc<Self>, mut request: Request) -> Ticket {
        let number = {
            let mut kept = self.lock();
            request.number = kept.count;
            kept.count += 1;
            if kept.requests.len() == KEPT_REQUESTS {
                kept.requests.pop_front();
            }
            let number = request.number;
            kept.requests.push_back(request);
            number
        };
        self.tell();
        Ticket { log: Arc::clone(self), number, is_ended: false }
    }

    /// The requests so far, at most the latest 500.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.lock().requests.iter().cloned().collect()
    }

    /// Waits until a condition holds; `None` when the deadline has passed.
    pub(crate) async fn wait_until(&self, holds: impl Fn(&[Request]) -> bool) -> Option<Vec<Request>> {
        let mut changed = self.changed.subscribe();
        let wait = async {
            loop {
                let requests = self.requests();
                if holds(&requests) {
                    return requests;
                }
                // The sender lives as long as the log.
                let _ = changed.changed().await;
            }
        };
        tokio::time::timeout(DEADLINE, wait).await.ok()
    }

    /// The same for callers outside an asynchronous runtime.
    pub(crate) fn wait_until_blocking(&self, holds: impl Fn(&[Request]) -> bool) -> Option<Vec<Request>> {
        let (mut kept, timeout) = self
            .condition
            .wait_timeout_while(self.lock(), DEADLINE, |kept| !holds(kept.requests.make_contiguous()))
            .unwrap_or_else(PoisonError::into_inner);
        (!timeout.timed_out()).then(|| kept.requests.make_contiguous().to_vec())
    }

    fn change(&self, number: usize, change: impl FnOnce(&mut Request)) {
        if let Some(request) = self.lock().requests.iter_mut().find(|request| request.number == number) {
            change(request);
        }
        self.tell();
    }

    fn tell(&self) {
        self.changed.send_modify(|changes| *changes += 1);
        self.condition.notify_all();
    }

    /// A test that failed while it held the lock leaves a log that can still be read.
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ticket {
    /// Says which script is played.
    pub(crate) fn play(&self, script: Option<String>, step: usize) {
        self.log.change(self.number, |request| {
            request.script = script;
            request.step = step;
        });
    }

    /// Says how the answer ended.
    pub(crate) fn end(&mut self, outcome: Outcome) {
        self.is_ended = true;
        self.log.change(self.number, |request| request.outcome = outcome);
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.is_ended {
            self.end(Outcome::Gone);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{KEPT_REQUESTS, Log, Outcome, Request};
    use std::collections::BTreeMap;

    fn request() -> Request {
        Request {
            number: 0,
            method: "POST".into(),
            path: "/v1/messages".into(),
            headers: BTreeMap::new(),
            body: serde_json::Value::Null,
            script: None,
            step: 0,
            outcome: Outcome::Open,
        }
    }

    #[test]
    fn a_ticket_that_is_dropped_says_that_the_client_is_gone() {
        let log = Log::new();
        let mut done = log.open(request());
        let gone = log.open(request());
        done.end(Outcome::Done);
        drop(done);
        assert_eq!(
            log.requests().iter().map(|request| request.outcome).collect::<Vec<_>>(),
            [Outcome::Done, Outcome::Open]
        );
        drop(gone);
        assert_eq!(log.requests()[1].outcome, Outcome::Gone);
    }

    #[test]
    fn only_the_latest_requests_are_kept() {
        let log = Log::new();
        for _ in 0..KEPT_REQUESTS + 3 {
            log.open(request()).end(Outcome::Done);
        }
        let requests = log.requests();
        assert_eq!((requests.len(), requests[0].number), (KEPT_REQUESTS, 3));
        assert!(requests.iter().all(|request| request.outcome == Outcome::Done));
    }
}
