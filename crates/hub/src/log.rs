//! The house's own log, from the hub's side: records are made, appended and read back, and the rows of the list are
//! restored from it. It must not decide what is appended.

use std::sync::Arc;

use bytes::Bytes;
use parlor_found::READING;
use parlor_model::Key;
use parlor_model::order::{Choice, File, Order, Ordered};
use parlor_model::queue::Queue;
use parlor_model::record::{Origin, Record};
use parlor_model::seen::Seen;
use parlor_store::{Draft, IndexRow, Safety, Store};
use serde::Serialize;
use tokio::sync::oneshot;

use crate::clock;
use crate::error::HubError;
use crate::hub::{Inner, blocking};
use crate::row::{Row, Source};
use crate::view::View;

/// How many records are read at once.
const CHUNK: usize = 4_096;

/// The epoch of every log: its records are never replaced.
const EPOCH: &str = "log";

/// A record of what the house saw.
pub(crate) fn host(seen: &Seen) -> Draft {
    Draft { at: clock::now(), origin: Origin::Host, body: json(seen) }
}

/// A record of an order.
pub(crate) fn user(ordered: &Ordered) -> Draft {
    Draft { at: clock::now(), origin: Origin::User, body: json(ordered) }
}

fn json(value: &impl Serialize) -> Bytes {
    // These types have string keys and no fallible parts: this cannot fail.
    serde_json::to_vec(value).unwrap_or_default().into()
}

/// Appends records; gives them back with their places once they are as safe as asked for.
pub(crate) async fn append(
    store: &Store,
    session: &str,
    drafts: Vec<Draft>,
    safety: Safety,
) -> Result<Vec<Record>, HubError> {
    let (done, told) = oneshot::channel();
    let ticket = store.append(session, drafts.clone(), safety);
    ticket.on_done(Box::new(move |outcome| {
        let _ = done.send(outcome);
    }));
    let first = told.await.map_err(|_| HubError::Unavailable("the log was closed".to_owned()))??;
    let record = |(seq, draft): (u64, Draft)| Record {
        seq,
        at: Some(draft.at),
        origin: draft.origin,
        body: draft.body,
    };
    Ok((first..).zip(drafts).map(record).collect())
}

/// A whole session of the log.
pub(crate) fn read(store: &Store, session: &str) -> Result<View, HubError> {
    let mut view = View::new(EPOCH.into(), None);
    loop {
        let records = store.read(session, view.end(), CHUNK)?;
        if records.is_empty() {
            return Ok(view);
        }
        for record in records {
            view.push(record);
        }
    }
}

/// What a log says besides the conversation.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// The run that was started and has not ended.
    pub(crate) run: Option<Key>,
    /// True when a person put the session away.
    pub(crate) archived: bool,
    /// The model that was asked for last.
    pub(crate) model: Option<String>,
    /// All orders that were given.
    pub(crate) orders: std::collections::HashSet<Key>,
    /// The prompts that wait, in order.
    pub(crate) waiting: Queue<Words>,
    /// The file that the session's earlier part was read from.
    pub(crate) imported: Option<Imported>,
    /// Messages of this session's agent to others that have no outcome.
    pub(crate) exchanges: std::collections::BTreeSet<Key>,
    /// What the asks that are open offer to allow for good.
    offered: std::collections::HashMap<Key, String>,
    /// What was allowed for good and not taken back.
    pub(crate) permits: std::collections::BTreeSet<String>,
    /// The prompts that came from other agents.
    pub(crate) received: std::collections::HashSet<Key>,
    /// How many lines of each subagent's own file the log has.
    pub(crate) nested: std::collections::HashMap<Key, u64>,
    /// Whose lines follow, where they are a subagent's.
    speaker: Option<Key>,
    /// The records of the house's own runs: each from its start until the agent's file took over.
    runs: Vec<std::ops::Range<u64>>,
}

/// What a prompt will hand over.
#[derive(Clone, Debug)]
pub(crate) struct Words {
    pub(crate) text: String,
    pub(crate) files: Vec<File>,
    pub(crate) steer: bool,
}

/// Where the log stands in the agent's own file.
#[derive(Debug)]
pub(crate) struct Imported {
    pub(crate) path: String,
    pub(crate) format: Key,
    pub(crate) from: u64,
}

impl Ledger {
    /// Reads all records.
    pub(crate) fn of(records: &[Record]) -> Ledger {
        let mut ledger = Ledger::default();
        for record in records {
            ledger.take(record);
        }
        ledger
    }

    /// Takes in one more record.
    pub(crate) fn take(&mut self, record: &Record) {
        match record.origin {
            Origin::User => {
                if let Ok(ordered) = serde_json::from_slice::<Ordered>(&record.body) {
                    self.order(ordered);
                }
            }
            Origin::Host => {
                if let Ok(seen) = serde_json::from_slice::<Seen>(&record.body) {
                    self.seen(record.seq, seen);
                }
            }
            Origin::Agent => {
                if let Some(agent) = &self.speaker {
                    *self.nested.entry(agent.clone()).or_default() += 1;
                }
            }
            Origin::Stderr => {}
        }
    }

    fn order(&mut self, ordered: Ordered) {
        let Ordered { id, order, .. } = ordered;
        self.orders.insert(id.clone());
        match order {
            Order::Prompt { text, files, steer } => self.waiting.push(id, Words { text, files, steer }),
            Order::Edit { prompt, text } => {
                if let Some(waiting) = self.waiting.get_mut(&prompt) {
                    waiting.text = text;
                }
            }
            Order::Cancel { prompt } => _ = self.waiting.remove(&prompt),
            Order::Move { prompt, before } => self.waiting.shift(&prompt, before.as_deref()),
            Order::Set { model, .. } => {
                if model.is_some() {
                    self.model = model;
                }
            }
            Order::Archive { archived } => self.archived = archived,
            Order::Answer { ask, answer } => {
                let offered = self.offered.remove(&ask);
                self.permits.extend(offered.filter(|_| answer.choice == Choice::AllowAlways));
            }
            Order::Permit { permit, allowed: true } => _ = self.permits.insert(permit),
            Order::Permit { permit, allowed: false } => _ = self.permits.remove(&permit),
            Order::Interrupt | Order::Rename { .. } | Order::Release => {}
        }
    }

    fn seen(&mut self, seq: u64, seen: Seen) {
        match seen {
            Seen::Created { model, .. } => self.model = model,
            Seen::Imported { path, format, from, .. } => {
                self.imported = Some(Imported { path, format, from });
                self.speaker = None;
                if let Some(run) = self.runs.last_mut() {
                    run.end = run.end.min(seq);
                }
            }
            Seen::Nested { agent, .. } => self.speaker = Some(agent),
            Seen::Main => self.speaker = None,
            Seen::Started { run, .. } => {
                (self.run, self.speaker) = (Some(run), None);
                self.runs.push(seq..u64::MAX);
            }
            Seen::Exited { .. } | Seen::Lost { .. } => self.run = None,
            Seen::Delivered { prompt, .. } | Seen::Withdrawn { prompt } => {
                _ = self.waiting.remove(&prompt);
            }
            Seen::Asked { ask, permit: Some(permit), .. } => _ = self.offered.insert(ask, permit),
            Seen::Settled { ask } => _ = self.offered.remove(&ask),
            Seen::Sent { exchange, .. } => _ = self.exchanges.insert(exchange),
            Seen::Receipt { exchange, receipt, .. } if receipt.is_final() => {
                self.exchanges.remove(&exchange);
            }
            Seen::Received { prompt, from, text, .. } => {
                self.orders.insert(prompt.clone());
                self.received.insert(prompt.clone());
                self.waiting.push(prompt, Words { text: from.words(&text), files: Vec::new(), steer: false });
            }
            _ => {}
        }
    }

    /// True when a record came from the agent's own file, and not from a run of the house's.
    pub(crate) fn is_imported(&self, seq: u64) -> bool {
        let next = self.runs.partition_point(|run| run.start <= seq);
        !next.checked_sub(1).is_some_and(|run| self.runs[run].contains(&seq))
    }

    /// Whether a record of an exchange says something that the log does not say yet.
    pub(crate) fn is_news(&self, seen: &Seen) -> bool {
        match seen {
            Seen::Sent { exchange, .. } => !self.exchanges.contains(exchange),
            Seen::Receipt { exchange, .. } | Seen::Work { exchange, .. } => self.exchanges.contains(exchange),
            Seen::Received { prompt, .. } => !self.orders.contains(prompt),
            Seen::Withdrawn { prompt } => self.waiting.contains(prompt),
            _ => true,
        }
    }
}

/// The row of a session of the log.
pub(crate) fn row(id: &str, view: &View, ledger: &Ledger) -> Row {
    Row {
        source: Source::Live,
        archived: ledger.archived,
        run: ledger.run.as_ref().map(ToString::to_string),
        exchanges: ledger.exchanges.len(),
        permits: ledger.permits.iter().cloned().collect(),
        size: view.bytes(),
        ..Row::of(id, view.session())
    }
}

/// How the keys of the rows of the log's sessions begin.
const LIVE: &str = "live/";

/// The key of a session's row in the index.
pub(crate) fn row_key(id: &str) -> String {
    format!("{LIVE}{id}")
}

/// Tells whether a session of the log has grown since, or is read differently.
pub(crate) fn stamp(end: u64) -> String {
    format!("{READING} {end}")
}

/// Puts the house's own sessions into the list. Those whose row is old are read again. Gives those whose agent was at work
/// when the house was left without a word.
pub(crate) async fn restore_rows(inner: &Arc<Inner>, rows: Vec<IndexRow>) -> Result<Vec<String>, HubError> {
    let inner = inner.clone();
    blocking(move || {
        let known: std::collections::HashMap<&str, &IndexRow> =
            rows.iter().filter(|row| row.key.starts_with(LIVE)).map(|row| (row.key.as_str(), row)).collect();
        let (mut unfinished, mut fresh) = (Vec::new(), Vec::new());
        for created in inner.store.sessions()? {
            let id = created.id.as_str();
            let end = inner.store.end(id)?;
            if end == 0 {
                // It was being made when the house was left: nothing was said in it.
                continue;
            }
            let stamp = stamp(end);
            let kept = known.get(row_key(id).as_str()).filter(|row| row.stamp == stamp);
            let row = match kept.and_then(|row| serde_json::from_str::<Row>(&row.body).ok()) {
                Some(row) => row,
                None => {
                    let view = read(&inner.store, id)?;
                    let row = row(id, &view, &Ledger::of(view.records()));
                    let body = serde_json::to_string(&row).unwrap_or_default();
                    fresh.push(IndexRow { key: row_key(id), stamp, body });
                    row
                }
            };
            if row.run.is_some() || row.exchanges > 0 {
                unfinished.push(row.id.clone());
            }
            let folder = row.cwd.clone().unwrap_or_default();
            inner.permits.set(&row.id.as_str().into(), folder.into(), row.permits.iter().cloned().collect());
            inner.list.put([row]);
        }
        if !fresh.is_empty() {
            inner.store.put_rows(fresh);
        }
        Ok(unfinished)
    })
    .await?
}
