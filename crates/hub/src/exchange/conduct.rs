//! One exchange from its first record to its last: carried into the other session, watched there, and ended in both logs. The
//! receiver's log is settled before the sender's, so that an exchange that was cut off is found by the sender's.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parlor_model::Key;
use parlor_model::block::{Block, NoticeKind};
use parlor_model::entry::Entry;
use parlor_model::order::{Order, Ordered};
use parlor_model::record::Origin;
use parlor_model::seen::{Ended, Level, Receipt, Seen};
use parlor_model::tool::{Tool, ToolState};
use tokio::sync::watch;

use super::{BUDGET, Live, Outcome, Progress, TOKENS, ask};
use crate::clock;
use crate::hub::Hub;
use crate::open::Open;
use crate::view::View;

/// How much of a call's input or result the sender's log repeats.
const WORK_BYTES: usize = 4 << 10;

/// How many calls the sender's log repeats.
const WORKS: usize = 200;

/// How much of a reply is passed on.
const REPLY_BYTES: usize = 512 << 10;

/// How long a stop in the other session may take before the exchange is ended without it.
const STOP: Duration = Duration::from_secs(20);

/// What an exchange begins with.
pub(super) struct Begun {
    pub(super) call: Option<Key>,
    pub(super) name: Key,
    pub(super) text: String,
    pub(super) sender: Open,
    pub(super) target: Open,
}

impl Begun {
    /// The entry in the sender's session that shows the exchange.
    pub(super) fn card(&self, live: &Live) -> Key {
        self.call.clone().unwrap_or_else(|| live.id.clone())
    }
}

/// Sees when the sender no longer wants a reply, when time is up, and when the house closes.
pub(super) struct Leaving<'a> {
    hub: &'a Hub,
    live: &'a Live,
    begun: &'a Begun,
    /// The sender's records that were looked at.
    cursor: usize,
    was_busy: bool,
    begin: Instant,
}

/// Where the message stands in the other session.
enum Look {
    Waits,
    /// It no longer waits, and the agent does not have it.
    Gone,
    CannotStart(String),
    Works,
    Over(Outcome),
}

/// The whole of an exchange that begins now.
pub(super) async fn whole(hub: Hub, live: Arc<Live>, begun: Begun) {
    let sent = Seen::Sent {
        exchange: live.id.clone(),
        call: begun.call.clone(),
        name: begun.name.clone(),
        to: live.to.clone(),
        text: begun.text.clone(),
        wait: live.wait,
        depth: live.depth,
    };
    let outcome = match hub.tell(&live.from.session, vec![sent]).await {
        Ok(_) => carry(&hub, &live, &begun).await,
        Err(error) => Some(failed(error.to_string())),
    };
    finish(&hub, &live, &begun, outcome).await;
}

async fn carry(hub: &Hub, live: &Live, begun: &Begun) -> Option<Outcome> {
    let mut leaving = Leaving::new(hub, live, begun);
    if let Err(reason) = ask::allowed(hub, live, begun, &mut leaving).await {
        return (!leaving.closed()).then(|| failed(reason));
    }
    let received = Seen::Received {
        exchange: live.id.clone(),
        prompt: live.id.clone(),
        from: live.from.clone(),
        text: begun.text.clone(),
        depth: live.depth,
    };
    if let Err(error) = hub.tell(&live.to.session, vec![received]).await {
        return Some(failed(error.to_string()));
    }
    live.progress.send_replace(Progress::Carried);
    watch_over(hub, live, begun, leaving).await
}

/// Watches a message that is in the other session until there is an outcome. None when the house closes before.
pub(super) async fn watch_over(
    hub: &Hub,
    live: &Live,
    begun: &Begun,
    mut leaving: Leaving<'_>,
) -> Option<Outcome> {
    let (mut there, mut here) = (begun.target.bell(), begun.sender.bell());
    let (mut told, mut works) = (None, Works::default());
    let mut before = spent(&begun.target.view());
    loop {
        there.mark_unchanged();
        here.mark_unchanged();
        if let Some(outcome) = leaving.reason() {
            return match leaving.closed() {
                true => None,
                false => Some(take_back(hub, live, begun, outcome).await),
            };
        }
        let (look, idle, used, mut seen) = {
            let view = begun.target.view();
            let seen = works.news(&view, live);
            (look(&view, live), view.is_idle() && !view.session().held, spent(&view), seen)
        };
        match look {
            Look::Waits => before = used,
            Look::Works if used.saturating_sub(before) > TOKENS => {
                let millions = TOKENS / 1_000_000;
                let text =
                    format!("more than {millions} million tokens were used for it, which is the limit");
                return Some(take_back(hub, live, begun, failed(text)).await);
            }
            Look::Works | Look::Gone | Look::CannotStart(_) | Look::Over(_) => {}
        }
        let receipt = match &look {
            Look::Waits if !idle => Some(Receipt::Queued),
            Look::Works | Look::Over(_) => Some(Receipt::Taken),
            Look::Waits | Look::Gone | Look::CannotStart(_) => None,
        };
        if let Some(receipt) = receipt.filter(|receipt| told != Some(*receipt)) {
            told = Some(receipt);
            let exchange = live.id.clone();
            seen.insert(0, Seen::Receipt { exchange, receipt, text: String::new() });
        }
        if !seen.is_empty() && hub.tell(&live.from.session, seen).await.is_err() {
            return None;
        }
        match look {
            Look::Over(outcome) => return Some(outcome),
            Look::Gone => return Some(failed("a person took it out of the queue".to_owned())),
            Look::CannotStart(error) => {
                let back = Seen::Withdrawn { prompt: live.id.clone() };
                let _ = hub.tell(&live.to.session, vec![back]).await;
                return Some(failed(error));
            }
            Look::Waits | Look::Works => {}
        }
        leaving.wait(&mut [&mut there, &mut here]).await;
    }
}

/// Ends the exchange in the sender's log, and tells whoever waits.
pub(super) async fn finish(hub: &Hub, live: &Live, begun: &Begun, outcome: Option<Outcome>) {
    if let Some(outcome) = outcome {
        let Outcome { receipt, text } = outcome.clone();
        let (exchange, waited) = (live.id.clone(), live.wait || *live.waiters() > 0);
        let mut seen = vec![Seen::Receipt { exchange: exchange.clone(), receipt, text: text.clone() }];
        if !waited && receipt != Receipt::Withdrawn {
            // In one append with the receipt: the reply comes once, whatever happens in between.
            let text = match receipt {
                Receipt::Answered => text,
                _ => format!("There is no answer to your message: {text}"),
            };
            let prompt = format!("{exchange}/reply").into();
            seen.push(Seen::Received { exchange, prompt, from: live.to.clone(), text, depth: live.depth });
        }
        match hub.tell(&live.from.session, seen).await {
            Ok(_) => _ = live.progress.send_replace(Progress::Over(outcome)),
            Err(error) => tracing::warn!("cannot end exchange {}: {error}", live.id),
        }
    }
    if !matches!(*live.progress.borrow(), Progress::Over(_)) {
        // The log has no end yet: the next start decides. Nobody is left waiting.
        live.progress.send_replace(Progress::Over(failed("Parlor is shutting down".to_owned())));
    }
    let mut state = hub.inner.exchanges.state();
    state.open.remove(&live.id);
    if let Some(call) = &begun.call {
        state.claimed.remove(&(live.from.session.clone(), call.clone()));
    }
}

/// Takes the message out of the other session's queue, or stops the turn that works on it. Where it is a limit that ends the
/// exchange, the other log says so too.
async fn take_back(hub: &Hub, live: &Live, begun: &Begun, outcome: Outcome) -> Outcome {
    let target = &live.to.session;
    let mut seen = vec![Seen::Withdrawn { prompt: live.id.clone() }];
    if outcome.receipt == Receipt::Failed {
        let text = format!("The message from {} was given up: {}", live.from.agent, outcome.text);
        seen.push(Seen::Note { level: Level::Warning, text });
    }
    let _ = hub.tell(target, seen).await;
    let (held, start) = {
        let view = begun.target.view();
        if !matches!(look(&view, live), Look::Works) {
            return outcome;
        }
        (view.session().held, view.records().len())
    };
    let order = |order| Ordered {
        id: uuid::Uuid::now_v7().to_string().into(),
        by: Some(format!("the agent {}, which sent the message", live.from.agent)),
        order,
    };
    if let Err(error) = hub.order(target, order(Order::Interrupt)).await {
        tracing::warn!("cannot stop session {target}: {error}");
        return outcome;
    }
    let mut bell = begun.target.bell();
    // The turn may be over before the stop is: only then does the queue wait for a person.
    let stopped = async {
        loop {
            bell.mark_unchanged();
            let told = super::seen_backwards(&begun.target.view().records()[start..])
                .any(|seen| matches!(seen, Seen::Stopped { .. }));
            if told || bell.changed().await.is_err() {
                return;
            }
        }
    };
    let stopped = tokio::time::timeout(STOP, stopped).await.is_ok();
    if stopped && !held && begun.target.view().session().held {
        // What else waits there was not meant.
        let _ = hub.order(target, order(Order::Release)).await;
    }
    outcome
}

impl<'a> Leaving<'a> {
    pub(super) fn new(hub: &'a Hub, live: &'a Live, begun: &'a Begun) -> Leaving<'a> {
        let view = begun.sender.view();
        let (cursor, was_busy) = (view.records().len(), !view.is_idle());
        Leaving { hub, live, begun, cursor, was_busy, begin: clock::moment() }
    }

    /// True when the house closes: then nothing is ended, and the next start decides.
    fn closed(&self) -> bool {
        !*self.hub.inner.is_open.borrow()
    }

    /// How the exchange must end before there is a reply.
    pub(super) fn reason(&mut self) -> Option<Outcome> {
        let withdrawn = |text: &str| Some(Outcome { receipt: Receipt::Withdrawn, text: text.to_owned() });
        if self.closed() {
            return withdrawn("Parlor is shutting down");
        }
        if let Some(reason) = *self.live.leave.borrow() {
            return withdrawn(reason);
        }
        if self.begin.elapsed() > BUDGET {
            return Some(failed(format!("there was no reply within {} minutes", BUDGET.as_secs() / 60)));
        }
        let view = self.begun.sender.view();
        let new = &view.records()[self.cursor.min(view.records().len())..];
        let stops = |body: &[u8]| {
            let ordered = serde_json::from_slice::<Ordered>(body);
            matches!(ordered, Ok(Ordered { order: Order::Interrupt, .. }))
        };
        let stopped = new.iter().any(|record| record.origin == Origin::User && stops(&record.body));
        self.cursor = view.records().len();
        if stopped {
            return withdrawn("the sender was stopped");
        }
        if !self.live.wait {
            return None;
        }
        let call = self.begun.call.as_ref().and_then(|call| view.entry(call));
        let given_up = matches!(call, Some(Entry { block: Block::Tool(tool), .. }) if tool.state.is_final());
        let over = view.is_idle() && self.was_busy;
        if given_up || over { withdrawn("the sender no longer waits") } else { None }
    }

    /// Waits until one of the bells rings, or there may be another reason to leave.
    pub(super) async fn wait(&self, bells: &mut [&mut watch::Receiver<u64>]) {
        let mut leave = self.live.leave.subscribe();
        let mut is_open = self.hub.inner.is_open.subscribe();
        let time = tokio::time::sleep(BUDGET.saturating_sub(self.begin.elapsed()));
        let rings = bells.iter_mut().map(|bell| Box::pin(bell.changed()));
        let rung = async {
            let mut rings: Vec<_> = rings.collect();
            std::future::poll_fn(|context| {
                let ready = rings.iter_mut().any(|ring| ring.as_mut().poll(context).is_ready());
                if ready { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
            })
            .await;
        };
        tokio::select! {
            () = rung => {}
            _ = leave.wait_for(Option::is_some) => {}
            _ = is_open.wait_for(|open| !open) => {}
            () = time => {}
        }
    }
}

/// What the sender's log has of the other's calls.
#[derive(Default)]
struct Works {
    /// Whether each call that was told of has ended.
    told: HashMap<Key, bool>,
}

impl Works {
    /// Calls that are new or have ended since.
    fn news(&mut self, view: &View, live: &Live) -> Vec<Seen> {
        let mut news = Vec::new();
        for entry in turn(view, &live.id).into_iter().flatten().filter(|entry| entry.parent.is_none()) {
            let Block::Tool(tool) = &entry.block else { continue };
            let ended = tool.state.is_final();
            let known = self.told.get(&entry.id).copied();
            if known == Some(ended) || (known.is_none() && self.told.len() >= WORKS) {
                continue;
            }
            self.told.insert(entry.id.clone(), ended);
            news.push(work(live, &entry.id, tool));
        }
        news
    }
}

fn work(live: &Live, call: &Key, tool: &Tool) -> Seen {
    let state = match tool.state {
        ToolState::Done => Some(Ended::Done),
        ToolState::Failed => Some(Ended::Failed),
        ToolState::Denied => Some(Ended::Denied),
        ToolState::Interrupted => Some(Ended::Interrupted),
        ToolState::Pending | ToolState::Waiting | ToolState::Running => None,
    };
    let output = tool.output.as_ref().filter(|_| state.is_some());
    let text = output.map(|output| output.joined()).unwrap_or_default();
    let (input, cut_input) = clip(tool.input.lossy().to_string(), WORK_BYTES);
    let (text, cut) = clip(text, WORK_BYTES);
    let truncated = cut_input || cut || output.is_some_and(|output| output.truncated);
    Seen::Work {
        exchange: live.id.clone(),
        call: call.clone(),
        name: tool.name.clone(),
        input,
        state,
        text,
        truncated,
    }
}

/// What a session has used of what is paid for in full: what a cache gives again would make long turns look dear.
fn spent(view: &View) -> u64 {
    let usage = &view.session().usage;
    usage.total().saturating_sub(usage.cache_read)
}

/// Where the message stands.
fn look(view: &View, live: &Live) -> Look {
    let Some(entries) = turn(view, &live.id) else {
        return match view.session().queue.iter().any(|queued| queued.id == live.id) {
            true => cannot_start(view).map_or(Look::Waits, Look::CannotStart),
            false => Look::Gone,
        };
    };
    let ends = entries.len() + view.position_of(&live.id) + 1 < view.entries().len();
    if !ends && !view.is_idle() {
        return Look::Works;
    }
    let (mut reply, mut end) = (None, None);
    for entry in entries.iter().filter(|entry| entry.parent.is_none()) {
        match &entry.block {
            Block::Reply(said) if !said.interrupted => (reply, end) = (Some(said.text.to_string()), None),
            Block::Notice(notice) => match notice.kind {
                NoticeKind::Interrupted => end = Some("it was stopped before it had answered".to_owned()),
                NoticeKind::Error => end = Some(notice.text.to_string()),
                _ => {}
            },
            _ => {}
        }
    }
    Look::Over(match (end, reply) {
        (Some(error), _) => failed(error),
        (None, Some(reply)) => {
            let (mut text, cut) = clip(reply, REPLY_BYTES);
            if cut {
                text.push_str("\n[the rest of the reply is left out; it is in the other session]");
            }
            Outcome { receipt: Receipt::Answered, text }
        }
        (None, None) => failed("its turn ended without a reply".to_owned()),
    })
}

/// Why the agent could not be started: then its queue is held, and the last thing said is an error.
fn cannot_start(view: &View) -> Option<String> {
    let last = view.entries().last().filter(|_| view.session().held && view.is_idle())?;
    match &last.block {
        Block::Notice(notice) if notice.kind == NoticeKind::Error => Some(notice.text.to_string()),
        _ => None,
    }
}

/// The entries after a prompt, up to the next one that begins a turn. None when the agent does not have the prompt.
fn turn<'a>(view: &'a View, prompt: &Key) -> Option<&'a [Entry]> {
    view.entry(prompt)?;
    let rest = &view.entries()[view.position_of(prompt) + 1..];
    let begins = |entry: &Entry| matches!(&entry.block, Block::Prompt(prompt) if entry.parent.is_none() && !prompt.steered);
    let end = rest.iter().position(begins).unwrap_or(rest.len());
    Some(&rest[..end])
}

pub(super) fn failed(text: String) -> Outcome {
    Outcome { receipt: Receipt::Failed, text }
}

/// The beginning of a text, and whether there was more.
fn clip(mut text: String, limit: usize) -> (String, bool) {
    let cut = text.len() > limit;
    if cut {
        text.truncate(text.floor_char_boundary(limit));
    }
    (text, cut)
}
