//! What the handle and the worker share: prompts, steering words, open asks, settings, and the bell that stops a turn. It
//! decides nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use parlor_model::Key;
use parlor_model::order::{Answer, Mode};
use parlor_model::seen::Force;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use super::message::Message;
use crate::Stop;

/// The number that rings for every turn there will ever be.
pub(crate) const ALL_TURNS: u64 = u64::MAX;

/// The handle's side. When it is dropped, the worker sees its bell gone and ends.
#[derive(Debug)]
pub(crate) struct Handle {
    desk: Arc<Desk>,
    prompts: mpsc::UnboundedSender<(u64, Message)>,
    bell: watch::Sender<u64>,
    finished: watch::Receiver<Finished>,
}

/// The worker's side.
pub(crate) struct Work {
    pub(crate) desk: Arc<Desk>,
    /// Prompts with the numbers of their turns, from 1.
    pub(crate) prompts: mpsc::UnboundedReceiver<(u64, Message)>,
    /// Turns up to this number are to stop.
    pub(crate) bell: watch::Receiver<u64>,
    /// The last turn that is over.
    pub(crate) finished: watch::Sender<Finished>,
}

/// A turn that is over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finished {
    /// Its number.
    pub(crate) number: u64,
    /// What it took to stop it.
    pub(crate) needed: Force,
    /// Processes that could not be ended.
    pub(crate) left: u32,
}

/// What both sides change.
#[derive(Debug, Default)]
pub(crate) struct Desk(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// How many turns were begun or wait.
    issued: u64,
    /// True from the first request of a turn until nothing can be put into it any more.
    open: bool,
    steers: Vec<Message>,
    asks: HashMap<Key, oneshot::Sender<Answer>>,
    model: String,
    mode: Mode,
}

/// Makes both sides.
pub(crate) fn desk(model: String, mode: Mode) -> (Handle, Work) {
    let desk = Arc::new(Desk(Mutex::new(State { model, mode, ..State::default() })));
    let (prompts, inbox) = mpsc::unbounded_channel();
    let (bell, rung) = watch::channel(0);
    let (done, finished) = watch::channel(Finished { number: 0, needed: Force::Nothing, left: 0 });
    let handle = Handle { desk: desk.clone(), prompts, bell, finished };
    (handle, Work { desk, prompts: inbox, bell: rung, finished: done })
}

impl Handle {
    pub(crate) fn prompt(&self, message: Message) {
        let mut state = self.desk.state();
        state.issued += 1;
        // A worker that has ended takes no prompts: its channel has said so.
        let _ = self.prompts.send((state.issued, message));
    }

    pub(crate) fn steer(&self, message: Message) {
        let mut state = self.desk.state();
        if state.open {
            state.steers.push(message);
        } else {
            drop(state);
            self.prompt(message);
        }
    }

    pub(crate) fn answer(&self, ask: &str, answer: &Answer) -> bool {
        let waiting = self.desk.state().asks.remove(ask);
        waiting.is_some_and(|waiting| waiting.send(answer.clone()).is_ok())
    }

    pub(crate) fn set(&self, model: Option<&str>, mode: Option<Mode>) {
        let mut state = self.desk.state();
        if let Some(model) = model {
            state.model = model.to_owned();
        }
        state.mode = mode.unwrap_or(state.mode);
    }

    pub(crate) async fn interrupt(&self) -> Stop {
        let number = self.desk.state().issued;
        if self.finished.borrow().number >= number {
            return Stop { needed: Force::Nothing, left: 0, duration_ms: 0, ended: false };
        }
        self.stop(number).await
    }

    pub(crate) async fn end(&self) -> Stop {
        Stop { ended: true, ..self.stop(ALL_TURNS).await }
    }

    /// Rings and waits until everything up to that turn is over.
    async fn stop(&self, number: u64) -> Stop {
        let start = Instant::now();
        self.bell.send_if_modified(|rung| {
            let later = number > *rung;
            *rung = number.max(*rung);
            later
        });
        let mut finished = self.finished.clone();
        let stop = |needed, left, ended| {
            let duration_ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
            Stop { needed, left, duration_ms, ended }
        };
        match finished.wait_for(|finished| finished.number >= number).await {
            Ok(finished) => stop(finished.needed, finished.left, finished.number == ALL_TURNS),
            Err(_) => stop(Force::Nothing, 0, true),
        }
    }
}

impl Desk {
    /// A turn begins: from now on words can be put into it.
    pub(crate) fn open_turn(&self) {
        self.state().open = true;
    }

    /// The words that came since the last request.
    pub(crate) fn take_steers(&self) -> Vec<Message> {
        std::mem::take(&mut self.state().steers)
    }

    /// Closes the turn, unless there are words that the model has not got yet.
    pub(crate) fn close_turn(&self) -> bool {
        let mut state = self.state();
        state.open = !state.steers.is_empty();
        !state.open
    }

    /// Closes the turn whatever there is, and gives the words that were left.
    pub(crate) fn abandon_turn(&self) -> Vec<Message> {
        let mut state = self.state();
        state.open = false;
        state.asks.clear();
        std::mem::take(&mut state.steers)
    }

    /// Waits for an answer from now on.
    pub(crate) fn ask(&self, ask: Key) -> oneshot::Receiver<Answer> {
        let (waiting, answer) = oneshot::channel();
        self.state().asks.insert(ask, waiting);
        answer
    }

    pub(crate) fn model(&self) -> String {
        self.state().model.clone()
    }

    pub(crate) fn mode(&self) -> Mode {
        self.state().mode
    }

    /// Nothing that is done under the lock can panic half way.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
