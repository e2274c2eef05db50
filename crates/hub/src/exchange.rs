//! Agents that talk to each other: who may call, which exchanges are open, and the limits that keep them from running away.
//! A message is a prompt that waits in the other session, and what becomes of it is written down in both logs. The sender's log
//! decides: an exchange is open while that log has no final receipt. It must not know MCP.

mod ask;
mod conduct;
mod recover;
mod target;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use parlor_agent::Mcp;
use parlor_model::Key;
use parlor_model::action::Action;
use parlor_model::block::Block;
use parlor_model::entry::Entry;
use parlor_model::record::{Origin, Record};
use parlor_model::seen::{Level, Peer, Receipt, Seen};
use tokio::sync::watch;

use crate::clock;
use crate::error::HubError;
use crate::hub::Hub;
use crate::open::Open;
use crate::view::View;

pub(crate) use ask::is_ask;

/// How many exchanges may lead to one another: an agent asks one that asks one …
const DEPTH: u32 = 5;

/// How many exchanges of one session may be open.
const OPEN: usize = 8;

/// How many messages one session may send in a minute.
const A_MINUTE: usize = 20;

/// How long an exchange may take.
const BUDGET: Duration = Duration::from_secs(30 * 60);

/// How many tokens the other agent may use for an exchange.
const TOKENS: u64 = 4_000_000;

/// How long a message may be.
const MESSAGE_BYTES: usize = 1 << 20;

/// How long the line that announces a call may take to arrive after the call itself.
const ANNOUNCED: Duration = Duration::from_secs(5);

/// An agent that calls. It is known by its run's token alone, whatever it says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Its session.
    pub session: Key,
}

/// A message to another agent.
#[derive(Clone, Debug, Default)]
pub struct Message {
    /// A session's id, or an agent's name.
    pub to: String,
    /// What is said.
    pub text: String,
    /// Whether the caller waits for the reply.
    pub wait: bool,
    /// The caller's own name for the tool call, where it says one.
    pub call: Option<String>,
}

/// A message that is on its way, or was answered.
#[derive(Clone, Debug)]
pub struct Reached {
    /// The exchange's id.
    pub exchange: Key,
    /// The other side.
    pub peer: Peer,
    /// How it ended, where the caller waited.
    pub outcome: Option<Outcome>,
}

/// How an exchange ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Answered, failed or withdrawn.
    pub receipt: Receipt,
    /// The reply, or why there is none.
    pub text: String,
}

/// What the house knows of exchanges while it is open.
#[derive(Default)]
pub(crate) struct Exchanges {
    /// Where agents find the house's tools, once it listens.
    url: OnceLock<String>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The session of each run's token.
    tokens: HashMap<String, Key>,
    open: BTreeMap<Key, Arc<Live>>,
    /// When each session sent its last messages.
    sent: HashMap<Key, VecDeque<Instant>>,
    /// Calls that are taken by an exchange, by session and entry.
    claimed: HashSet<(Key, Key)>,
    /// Which session a person has allowed to talk to which.
    allowed: HashSet<(Key, Key)>,
    /// Sessions that an earlier life of the house left at work, until it listens.
    left: Vec<Open>,
}

/// An exchange that is open.
struct Live {
    id: Key,
    from: Peer,
    to: Peer,
    /// True when the call itself waits.
    wait: bool,
    depth: u32,
    progress: watch::Sender<Progress>,
    /// Callers that wait for the outcome now.
    waiters: Mutex<usize>,
    /// Why it is to be taken back.
    leave: watch::Sender<Option<&'static str>>,
}

#[derive(Clone, Debug)]
enum Progress {
    Begun,
    /// The message is in the other session.
    Carried,
    Over(Outcome),
}

/// Someone who waits for an outcome. A call that is dropped takes its message back.
struct Waits(Arc<Live>);

impl Exchanges {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// These sessions may have exchanges that are not over.
    pub(crate) fn leave(&self, sessions: Vec<Open>) {
        self.state().left = sessions;
    }

    /// A token for a run of a session, and where to use it. The session's older tokens are forgotten.
    pub(crate) fn mint(&self, session: &Key) -> Option<Mcp> {
        let url = self.url.get()?.clone();
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).ok()?;
        let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        self.forget(session);
        self.state().tokens.insert(token.clone(), session.clone());
        Some(Mcp { url, token })
    }

    /// The session's run has ended: its token is worth nothing.
    pub(crate) fn forget(&self, session: &Key) {
        self.state().tokens.retain(|_, of| of != session);
    }
}

impl Hub {
    /// Says where agents find the house's tools. What an earlier life left open goes on from here: a reply that comes now may
    /// start an agent, which needs to find them.
    pub fn listen_at(&self, url: String) {
        // A house listens once.
        let _ = self.inner.exchanges.url.set(url);
        let (hub, left) = (self.clone(), std::mem::take(&mut self.inner.exchanges.state().left));
        tokio::spawn(async move {
            for sender in left {
                recover::recover(&hub, sender).await;
            }
        });
    }

    /// Whose token this is.
    pub fn caller(&self, token: &str) -> Option<Caller> {
        let session = self.inner.exchanges.state().tokens.get(token).cloned()?;
        Some(Caller { session })
    }

    /// Carries a message from one agent to another. When the caller waits, this returns with the reply; when this is dropped
    /// before, the message is taken back.
    pub async fn message(&self, caller: &Caller, message: Message) -> Result<Reached, HubError> {
        self.count(caller)?;
        if message.text.trim().is_empty() || message.text.len() > MESSAGE_BYTES {
            return Err(bad("`message` must have between 1 byte and 1 MB; put what is longer into a file"));
        }
        let sender = self.open(&caller.session).await?;
        let call = self.claim(&sender, &message).await;
        let begun = self.begin_exchange(caller, message, call.as_ref(), sender).await;
        if begun.is_err() {
            self.unclaim(&caller.session, call.as_ref());
        }
        let live = begun?;
        let mut progress = live.progress.subscribe();
        let waits = live.wait.then(|| Waits::new(live.clone()));
        let reached = |outcome| Reached { exchange: live.id.clone(), peer: live.to.clone(), outcome };
        let enough = |progress: &Progress| match progress {
            Progress::Begun => false,
            Progress::Carried => !live.wait,
            Progress::Over(_) => true,
        };
        let progress = progress.wait_for(enough).await.map(|progress| progress.clone());
        drop(waits);
        match progress {
            Ok(Progress::Over(outcome)) => Ok(reached(Some(outcome))),
            Ok(_) => Ok(reached(None)),
            Err(_) => Err(closing()),
        }
    }

    /// Waits for the reply to a message of the caller's.
    pub async fn wait_for_reply(&self, caller: &Caller, exchange: &str) -> Result<Outcome, HubError> {
        let live = {
            let state = self.inner.exchanges.state();
            let live = state.open.get(exchange).filter(|live| live.from.session == caller.session).cloned();
            if let Some(live) = &live {
                check_circle(&state, &live.from, &live.to)?;
            }
            live
        };
        let Some(live) = live else {
            let sender = self.open(&caller.session).await?;
            return past(&sender.view(), exchange).ok_or_else(|| {
                HubError::NotFound(format!(
                    "this session has sent no message `{exchange}`; use the id that `agents_message` gave"
                ))
            });
        };
        let mut progress = live.progress.subscribe();
        let _waits = Waits::new(live);
        match progress.wait_for(|progress| matches!(progress, Progress::Over(_))).await.as_deref() {
            Ok(Progress::Over(outcome)) => Ok(outcome.clone()),
            _ => Err(closing()),
        }
    }

    /// Counts a message against the minute's limit.
    fn count(&self, caller: &Caller) -> Result<(), HubError> {
        let mut state = self.inner.exchanges.state();
        let sent = state.sent.entry(caller.session.clone()).or_default();
        let now = clock::moment();
        while sent.front().is_some_and(|at| now.duration_since(*at) > Duration::from_secs(60)) {
            sent.pop_front();
        }
        if sent.len() >= A_MINUTE {
            return Err(HubError::Conflict(format!(
                "this session has sent {A_MINUTE} messages within a minute, which is the limit; wait a minute, and say more at once"
            )));
        }
        sent.push_back(now);
        Ok(())
    }

    /// The entry of the call that carries a message. The agent's line about it may come a little later than the call.
    async fn claim(&self, sender: &Open, message: &Message) -> Option<Key> {
        let mut bell = sender.bell();
        let found = async {
            loop {
                bell.mark_unchanged();
                let calls = open_calls(&sender.view(), message);
                {
                    let mut state = self.inner.exchanges.state();
                    let free = |call: &Key| state.claimed.insert((sender.id().clone(), call.clone()));
                    if let Some(call) = calls.into_iter().find(free) {
                        return Some(call);
                    }
                }
                // An agent at rest has no call that could be announced.
                if sender.view().is_idle() {
                    return None;
                }
                bell.changed().await.ok()?;
            }
        };
        tokio::time::timeout(ANNOUNCED, found).await.ok().flatten()
    }

    fn unclaim(&self, session: &Key, call: Option<&Key>) {
        if let Some(call) = call {
            self.inner.exchanges.state().claimed.remove(&(session.clone(), call.clone()));
        }
    }

    /// Checks what may be checked before anything is written, and begins.
    async fn begin_exchange(
        &self,
        caller: &Caller,
        message: Message,
        call: Option<&Key>,
        sender: Open,
    ) -> Result<Arc<Live>, HubError> {
        let (led_by, name) = {
            let view = sender.view();
            let named = call.and_then(|call| view.entry(call)).and_then(|entry| match &entry.block {
                Block::Tool(tool) => Some(tool.name.clone()),
                _ => None,
            });
            (led_by(&view), named.unwrap_or(Key::new_static("agents_message")))
        };
        let depth = led_by.as_ref().map_or(1, |(_, depth)| depth + 1);
        if let Some((other, _)) = led_by.filter(|_| depth > DEPTH) {
            // Whoever sent the last message sees in its own log why there will be no more.
            let text = format!(
                "{} was not let send another message: this chain of {DEPTH} messages between agents is at its limit",
                peer(&sender).agent
            );
            let _ = self.tell(&other, vec![Seen::Note { level: Level::Warning, text }]).await;
            return Err(HubError::Conflict(format!(
                "this message is the last of a chain of {DEPTH} messages between agents, which is the limit; answer with what you have"
            )));
        }
        let from = peer(&sender);
        let target = self.target(caller, &message.to, &sender).await?;
        let to = peer(&target);
        let live = Arc::new(Live {
            id: uuid::Uuid::now_v7().to_string().into(),
            from,
            to,
            wait: message.wait,
            depth,
            progress: watch::Sender::new(Progress::Begun),
            waiters: Mutex::new(0),
            leave: watch::Sender::new(None),
        });
        self.register(&live)?;
        let begun = conduct::Begun { call: call.cloned(), name, text: message.text, sender, target };
        tokio::spawn(conduct::whole(self.clone(), live.clone(), begun));
        Ok(live)
    }

    fn register(&self, live: &Arc<Live>) -> Result<(), HubError> {
        let mut state = self.inner.exchanges.state();
        let from = &live.from.session;
        if state.open.values().filter(|one| one.from.session == *from).count() >= OPEN {
            return Err(HubError::Conflict(format!(
                "{OPEN} messages of this session have no reply yet, which is the limit; wait for one with `agents_wait`"
            )));
        }
        if live.wait {
            check_circle(&state, &live.from, &live.to)?;
        }
        state.open.insert(live.id.clone(), live.clone());
        Ok(())
    }
}

impl Live {
    fn waiters(&self) -> MutexGuard<'_, usize> {
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waits {
    fn new(live: Arc<Live>) -> Waits {
        *live.waiters() += 1;
        Waits(live)
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        *self.0.waiters() -= 1;
        if self.0.wait && !matches!(*self.0.progress.borrow(), Progress::Over(_)) {
            self.0.leave.send_replace(Some("the sender no longer waits"));
        }
    }
}

/// Refuses a wait that would never end, because the other waits for this one.
fn check_circle(state: &State, from: &Peer, to: &Peer) -> Result<(), HubError> {
    let mut reached = BTreeSet::from([to.session.clone()]);
    let mut paths = VecDeque::from([vec![to.clone()]]);
    while let Some(path) = paths.pop_front() {
        let last = path.last().unwrap_or(to).session.clone();
        for live in state.open.values() {
            let waits = live.wait || *live.waiters() > 0;
            if !waits || live.from.session != last {
                continue;
            }
            if live.to.session == from.session {
                let names: Vec<&str> = path.iter().map(|peer| peer.agent.as_str()).collect();
                return Err(HubError::Conflict(format!(
                    "waiting would never end: {} already waits for you (a circle); answer it with your reply, or send the message with `wait` false",
                    names.join(", which waits for ")
                )));
            }
            if reached.insert(live.to.session.clone()) {
                let mut longer = path.clone();
                longer.push(live.to.clone());
                paths.push_back(longer);
            }
        }
    }
    Ok(())
}

/// Calls of the sender's that may carry this message, oldest first.
fn open_calls(view: &View, message: &Message) -> Vec<Key> {
    let carries = |entry: &&Entry| {
        let Block::Tool(tool) = &entry.block else { return false };
        if tool.state.is_final() || tool.exchange.is_some() || !tool.agent_callback {
            return false;
        }
        if let Some(call) = &message.call {
            // A second reader of the log puts its number before the agent's own name.
            let own = entry.id.split_once(':').map_or(entry.id.as_str(), |(_, own)| own);
            return entry.id == call.as_str() || own == call;
        }
        match tool.action() {
            Action::Message { to, content, .. } => {
                to.as_str() == message.to && content.as_str() == message.text
            }
            _ => false,
        }
    };
    view.entries()
        .iter()
        .rev()
        .take(64)
        .filter(carries)
        .map(|entry| entry.id.clone())
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
        .collect()
}

/// Who a session is to others.
fn peer(open: &Open) -> Peer {
    let agent = open.view().session().agent.clone();
    Peer { session: open.id().clone(), agent: agent.unwrap_or_default() }
}

/// Whose message led to the turn that a session is in, and how many exchanges led to it.
fn led_by(view: &View) -> Option<(Key, u32)> {
    let (entry, exchange) = view.entries().iter().rev().find_map(|entry| match &entry.block {
        Block::Prompt(prompt) if entry.parent.is_none() && !prompt.steered => Some((entry, &prompt.exchange)),
        _ => None,
    })?;
    let other = exchange.as_ref()?.session.clone();
    let depth = seen_backwards(view.records()).find_map(|seen| match seen {
        Seen::Received { prompt, depth, .. } if prompt == entry.id => Some(depth),
        _ => None,
    });
    Some((other, depth.unwrap_or(DEPTH)))
}

/// How an exchange that is over ended.
fn past(view: &View, exchange: &str) -> Option<Outcome> {
    seen_backwards(view.records()).find_map(|seen| match seen {
        Seen::Receipt { exchange: id, receipt, text } if id == exchange && receipt.is_final() => {
            Some(Outcome { receipt, text })
        }
        _ => None,
    })
}

/// What the house saw, newest first.
fn seen_backwards(records: &[Record]) -> impl Iterator<Item = Seen> {
    let host = records.iter().rev().filter(|record| record.origin == Origin::Host);
    host.filter_map(|record| serde_json::from_slice(&record.body).ok())
}

fn bad(message: &str) -> HubError {
    HubError::BadRequest(message.to_owned())
}

fn closing() -> HubError {
    HubError::Unavailable("Parlor is shutting down".to_owned())
}
