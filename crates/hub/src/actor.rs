//! One session: everything that happens to it comes in here, one after the other. Append first, then fold, then tell. It
//! must not block on an agent: what is asked of one is carried out elsewhere, and its outcome comes back as an input.

mod turn;
mod upkeep;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use parlor_agent::{AgentError, Kind, Said, Stop};
use parlor_model::Key;
use parlor_model::order::{Order, Ordered};
use parlor_model::record::Record;
use parlor_model::seen::{Force, Seen, TurnEnd};
use parlor_store::{Draft, Safety};
use tokio::sync::{mpsc, oneshot, watch};

use crate::clock;
use crate::error::HubError;
use crate::follow::{Follow, Look};
use crate::hub::{Inner, blocking};
use crate::index;
use crate::log::{self, Ledger};
use crate::open::{Can, Facts, Shared};
use crate::row::{Row, Source};
use crate::running::{Running, Started};
use crate::tail::Tail;
use crate::view::View;

/// How many inputs may wait: an agent that says more waits itself.
pub(crate) const MAIL: usize = 1_024;

/// How many lines are appended at once.
const BATCH: usize = 512;

/// How often an actor looks around by itself: files on network folders tell nobody that they grew.
const TICK: Duration = Duration::from_secs(1);

/// Where the records of a session are.
pub(crate) enum Home {
    /// In the house's own log.
    Log,
    /// In a file of the agent's.
    File(Box<Follow>),
    /// In the archive: nothing is added.
    Archive,
}

/// Everything that can happen to a session.
pub(crate) enum Input {
    /// A person wants something.
    Order(Box<Ordered>, oneshot::Sender<Result<u64, HubError>>),
    /// The run of that number said something.
    Said(u64, Said),
    /// The run of that number could be started, or not.
    Started(u64, Result<Started, AgentError>),
    /// The run of that number could not do what it was asked.
    Refused(u64, AgentError),
    /// The run of that number must be started again to work as it was told.
    Restart(u64),
    /// A stop was carried out.
    Stopped(Key, Stop),
    /// The house saw something of an exchange.
    Told(Vec<Seen>, oneshot::Sender<Result<(), HubError>>),
    /// The file may have changed.
    Changed,
    /// The file of a subagent may have changed, or come.
    SubagentChanged,
    /// The house is being left.
    Leave(oneshot::Sender<()>),
}

/// The state of a session that clients see.
pub(crate) fn shared(id: &str, view: View) -> Arc<Shared> {
    Arc::new(Shared {
        id: id.into(),
        view: RwLock::new(view),
        facts: RwLock::new(Facts::default()),
        bell: watch::Sender::new(0),
    })
}

/// Starts the actor of a session that was loaded. What an earlier life left behind is settled when this returns.
pub(crate) async fn start(
    inner: Arc<Inner>,
    shared: Arc<Shared>,
    home: Home,
    inbox: mpsc::Sender<Input>,
    mail: mpsc::Receiver<Input>,
) {
    let ledger = Ledger::of(read(&shared).records());
    let mut actor = Actor {
        inner,
        shared,
        home,
        tail: None,
        inbox: inbox.downgrade(),
        ledger,
        run: None,
        runs: 0,
        stopping: None,
        restart: false,
        last_use: clock::moment(),
        last_growth: clock::moment(),
        grew: None,
        row_at: None,
        indexed: 0,
        trouble: None,
    };
    let was_lost = actor.ledger.run.is_some();
    actor.settle_lost().await;
    actor.tail = Tail::of(&actor.ledger, &read(&actor.shared));
    if was_lost && let Some(tail) = &mut actor.tail {
        // The log heard that run say what its file has since.
        tail.skip();
        let marker = tail.marker();
        actor.note(vec![marker]).await;
    }
    actor.refresh();
    tokio::spawn(actor.live(mail));
}

struct Actor {
    inner: Arc<Inner>,
    shared: Arc<Shared>,
    home: Home,
    /// The agent's own file of a session of the log: it grows when the agent works without us.
    tail: Option<Tail>,
    inbox: mpsc::WeakSender<Input>,
    ledger: Ledger,
    run: Option<Running>,
    /// Counts runs, so that what an old one still says is known as such.
    runs: u64,
    /// The order by which a stop is under way, and whether a prompt came after it.
    stopping: Option<(Key, bool)>,
    /// True when the agent is to be ended as soon as it rests.
    restart: bool,
    last_use: Instant,
    last_growth: Instant,
    /// When somebody else's file was last seen to grow.
    grew: Option<Instant>,
    row_at: Option<Instant>,
    /// The version of the view that can be searched.
    indexed: u64,
    /// Why the log cannot be written.
    trouble: Option<String>,
}

impl Actor {
    async fn live(mut self, mut mail: mpsc::Receiver<Input>) {
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let input = tokio::select! {
                input = mail.recv() => input,
                _ = tick.tick() => {
                    if self.tick().await && self.inner.unload(&self.shared) {
                        return;
                    }
                    continue;
                }
            };
            match input {
                None => return,
                Some(Input::Leave(done)) => {
                    self.leave(&mut mail).await;
                    let _ = done.send(());
                    return;
                }
                Some(Input::Said(run, said)) => {
                    let rest = self.said(run, said, &mut mail).await;
                    if let Some(Input::Leave(done)) = rest {
                        self.leave(&mut mail).await;
                        let _ = done.send(());
                        return;
                    }
                    if let Some(input) = rest {
                        self.handle(input).await;
                    }
                }
                Some(input) => self.handle(input).await,
            }
            self.advance().await;
            self.refresh();
        }
    }

    async fn handle(&mut self, input: Input) {
        match input {
            Input::Order(ordered, reply) => {
                let outcome = self.order(*ordered).await;
                let _ = reply.send(outcome);
            }
            Input::Started(run, started) => self.started(run, started).await,
            Input::Refused(run, error) if run == self.runs => {
                self.note(vec![Seen::Failed { text: error.to_string() }]).await;
            }
            Input::Restart(run) if run == self.runs => self.restart = true,
            Input::Stopped(order, stop) => self.stopped(order, stop).await,
            Input::Told(seen, reply) => {
                let outcome = self.told(seen).await;
                let _ = reply.send(outcome);
            }
            Input::Changed => self.look().await,
            Input::SubagentChanged => self.look_at_subagents().await,
            Input::Refused(..) | Input::Restart(_) | Input::Said(..) | Input::Leave(_) => {}
        }
    }

    /// Appends what a run said, as much of it as is there, and gives back the input that is something else.
    async fn said(&mut self, run: u64, said: Said, mail: &mut mpsc::Receiver<Input>) -> Option<Input> {
        let mut drafts = Vec::new();
        let mut ended = self.take_said(run, said, &mut drafts);
        let mut other = None;
        while drafts.len() < BATCH && !ended {
            match mail.try_recv() {
                Ok(Input::Said(run, said)) => ended = self.take_said(run, said, &mut drafts),
                Ok(input) => {
                    other = Some(input);
                    break;
                }
                Err(_) => break,
            }
        }
        if !drafts.is_empty() {
            self.keep(drafts).await;
        }
        if ended {
            self.ended().await;
        }
        other
    }

    /// Makes a record of what a run said. True when it has ended.
    fn take_said(&mut self, run: u64, said: Said, drafts: &mut Vec<Draft>) -> bool {
        use parlor_model::record::Origin;
        let agent = |origin, body| Draft { at: clock::now(), origin, body };
        match said {
            Said::Line(body) => drafts.push(agent(Origin::Agent, body)),
            Said::Stderr(body) => drafts.push(agent(Origin::Stderr, body)),
            Said::Seen(seen) => drafts.push(log::host(&seen)),
            Said::Session(id) => {
                if let Some(running) = &mut self.run {
                    running.own = Some(id);
                }
            }
            Said::Ended => return run == self.runs,
        }
        false
    }

    /// The agent has ended. From here on its file is the place where news come from.
    async fn ended(&mut self) {
        let running = self.run.take();
        self.inner.exchanges.forget(&self.shared.id);
        self.restart = false;
        let own = running.and_then(|running| running.own);
        self.tail = Tail::after_run(&self.inner, &self.ledger, &read(&self.shared), own.as_ref());
        if let Some(tail) = &self.tail {
            let marker = tail.marker();
            self.note(vec![marker]).await;
        }
    }

    async fn order(&mut self, ordered: Ordered) -> Result<u64, HubError> {
        self.last_use = clock::moment();
        if self.ledger.orders.contains(&ordered.id) {
            // It was carried out already: the sender did not hear of it.
            return Ok(read(&self.shared).end());
        }
        self.check(&ordered)?;
        if !matches!(self.home, Home::Log) {
            self.adopt().await?;
        }
        let records = self.append(vec![log::user(&ordered)]).await;
        if let (Err(error), Order::Interrupt) = (&records, &ordered.order) {
            // A stop that cannot be written down is carried out all the same.
            tracing::error!("cannot log a stop: {error}");
            self.interrupt(ordered.id).await;
            return Err(error.clone());
        }
        let records = records?;
        let seq = records.first().map_or(0, |record| record.seq);
        self.fold(records);
        match ordered.order {
            Order::Prompt { .. } => {
                if let Some((_, prompted)) = &mut self.stopping {
                    *prompted = true;
                }
            }
            Order::Interrupt => self.interrupt(ordered.id).await,
            // An exchange sees its answer in the log.
            Order::Answer { ask, .. } if crate::exchange::is_ask(&ask) => {}
            Order::Answer { ask, answer } => self.tell(|running| running.answer(ask, answer)),
            Order::Set { model, mode } => self.tell(|running| running.set(model, mode)),
            Order::Rename { .. }
            | Order::Archive { .. }
            | Order::Edit { .. }
            | Order::Cancel { .. }
            | Order::Move { .. }
            | Order::Permit { .. }
            | Order::Release => {}
        }
        Ok(seq)
    }

    /// Writes down what the house saw of an exchange, unless it is there already or no longer true.
    async fn told(&mut self, mut seen: Vec<Seen>) -> Result<(), HubError> {
        self.last_use = clock::moment();
        if matches!(self.home, Home::File(_)) {
            self.adopt().await?;
        }
        if matches!(self.home, Home::Archive) {
            return Err(HubError::Conflict("this session can only be read".to_owned()));
        }
        seen.retain(|seen| self.ledger.is_news(seen));
        if seen.is_empty() {
            return Ok(());
        }
        let records = self.append(seen.iter().map(log::host).collect()).await?;
        self.fold(records);
        Ok(())
    }

    /// Appends durably. Where that fails on the last step, to the disk, the records are in the log all the same: then they
    /// are taken in, as they would be after a restart.
    async fn append(&mut self, drafts: Vec<Draft>) -> Result<Vec<Record>, HubError> {
        let appended = log::append(&self.inner.store, &self.shared.id, drafts, Safety::Durable).await;
        if appended.is_err() {
            let (store, id, end) =
                (self.inner.store.clone(), self.shared.id.clone(), read(&self.shared).end());
            let kept = blocking(move || store.read(&id, end, BATCH)).await?.unwrap_or_default();
            if !kept.is_empty() {
                self.fold(kept);
            }
        }
        appended
    }

    /// What cannot be done is refused before it is written down.
    fn check(&self, ordered: &Ordered) -> Result<(), HubError> {
        let waits = |prompt: &Key| self.ledger.waiting.contains(prompt);
        match &ordered.order {
            Order::Edit { prompt, .. } if self.ledger.received.contains(prompt) => Err(HubError::Conflict(
                "those are another agent's words: take them out of the queue instead".to_owned(),
            )),
            Order::Edit { prompt, .. } | Order::Cancel { prompt } | Order::Move { prompt, .. }
                if !waits(prompt) =>
            {
                Err(HubError::Conflict("that prompt no longer waits: the agent has it already".to_owned()))
            }
            Order::Answer { ask, .. } => {
                let open = read(&self.shared).asks().iter().any(|(id, _)| id == ask);
                match (open, &self.run) {
                    (true, Some(_)) => Ok(()),
                    _ => Err(HubError::Conflict("nobody waits for that answer any more".to_owned())),
                }
            }
            Order::Permit { .. }
                if read(&self.shared).session().agent.as_deref() != Some(Kind::Builtin.name()) =>
            {
                Err(HubError::BadRequest("this agent keeps its own permits: change them there".to_owned()))
            }
            Order::Prompt { .. } if matches!(self.home, Home::Archive) => Err(HubError::Conflict(
                "the agent's own file of this session is gone, so that it cannot go on; start a new session"
                    .to_owned(),
            )),
            _ => Ok(()),
        }
    }

    /// Makes a found session the house's own: what was said so far becomes the start of its log.
    async fn adopt(&mut self) -> Result<(), HubError> {
        let adopted = match &self.home {
            Home::File(follow) => crate::adopt::adopt(&self.inner, &self.shared, follow).await?,
            Home::Log | Home::Archive => {
                return Err(HubError::Conflict("this session can only be read".to_owned()));
            }
        };
        self.home = Home::Log;
        self.ledger = Ledger::of(adopted.records());
        *write(&self.shared) = adopted;
        self.give_up_turn().await;
        self.tail = Tail::of(&self.ledger, &read(&self.shared));
        self.shared.ring();
        Ok(())
    }

    /// Appends what the house saw.
    async fn note(&mut self, seen: Vec<Seen>) {
        self.keep(seen.iter().map(log::host).collect()).await;
    }

    /// Appends records, however long it takes: nothing that an agent said is given up because a disk is full.
    async fn keep(&mut self, drafts: Vec<Draft>) {
        let mut waits = Duration::from_millis(200);
        loop {
            match log::append(&self.inner.store, &self.shared.id, drafts.clone(), Safety::Soon).await {
                Ok(records) => {
                    self.trouble = None;
                    self.fold(records);
                    return;
                }
                Err(error) => {
                    tracing::error!("cannot write the log, trying again: {error}");
                    self.trouble = Some(error.to_string());
                    self.refresh();
                    if !*self.inner.is_open.borrow() {
                        return;
                    }
                    tokio::time::sleep(waits).await;
                    waits = (waits * 2).min(Duration::from_secs(5));
                }
            }
        }
    }

    fn fold(&mut self, records: Vec<Record>) {
        self.last_growth = clock::moment();
        let rested = {
            let mut view = write(&self.shared);
            let was_idle = view.is_idle();
            let permits = self.ledger.permits.clone();
            for record in records {
                self.ledger.take(&record);
                view.push(record);
            }
            if self.ledger.permits != permits {
                // Before the agent hears of it: what it does next is judged by them.
                let cwd =
                    view.session().cwd.as_ref().map(|cwd| cwd.as_str().into_owned()).unwrap_or_default();
                self.inner.permits.set(&self.shared.id, cwd.into(), self.ledger.permits.clone());
            }
            view.is_idle() && !was_idle
        };
        self.shared.ring();
        if rested {
            // The end of a turn is worth a power cut: an empty append makes all before it durable.
            drop(self.inner.store.append(&self.shared.id, Vec::new(), Safety::Durable));
            self.last_use = clock::moment();
            self.index();
        }
    }
}

/// The view, for reading.
pub(crate) fn read(shared: &Shared) -> std::sync::RwLockReadGuard<'_, View> {
    shared.view.read().unwrap_or_else(PoisonError::into_inner)
}

fn write(shared: &Shared) -> std::sync::RwLockWriteGuard<'_, View> {
    shared.view.write().unwrap_or_else(PoisonError::into_inner)
}
