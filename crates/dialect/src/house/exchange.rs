//! The part of a session's log that tells of exchanges between agents: on the sender's side the tool's card with the other's
//! work under it, on the receiver's side a prompt that is no person's. It must not know how messages are carried.

use std::collections::HashMap;

use parlor_model::Key;
use parlor_model::block::{Author, Block, Exchange, Notice, NoticeKind, Prompt, Reply};
use parlor_model::event::{End, Event, Reading};
use parlor_model::json::Json;
use parlor_model::rule::Rule;
use parlor_model::seen::{Ended, Peer, Receipt, Seen};
use parlor_model::text::Text;
use parlor_model::time::Time;
use parlor_model::tool::{Output, Piece, Tool, ToolState};

use super::{House, Waiting};

/// The exchanges that this session's agent began and that are not over.
pub(super) type Exchanges = HashMap<Key, Sent>;

/// A message on its way.
pub(super) struct Sent {
    /// The entry of the tool call.
    card: Key,
    /// True when the log alone has the card: no call of the agent's was seen.
    own: bool,
    pub(super) wait: bool,
    pub(super) to: Peer,
    /// The other's calls that have no result yet, in order.
    open: Vec<Key>,
}

/// Whether these words, told to an agent, are a message from another one.
pub(super) fn is_message(told: &str) -> bool {
    told.starts_with("<teammate-message ")
}

impl House {
    /// Reads what the log says of an exchange.
    pub(super) fn exchange(&mut self, seen: Seen, at: Option<Time>, out: &mut Vec<Event>) -> Reading {
        match seen {
            Seen::Sent { exchange, call, name, to, text, wait, .. } => {
                let own = call.is_none();
                let card = call.unwrap_or_else(|| exchange.clone());
                // A card of the log's own must not make an agent look busy that is at rest.
                let is_over = own && !(self.busy && wait);
                let tool = Tool {
                    name,
                    input: if own { input(&to, &text) } else { Json::default() },
                    state: if is_over { ToolState::Done } else { ToolState::Running },
                    exchange: Some(Box::new(Exchange { id: exchange.clone(), session: to.session.clone() })),
                    ..Tool::default()
                };
                out.push(Event::put(card.clone(), Block::Tool(Box::new(tool))));
                self.ties.with(&to).sent += 1;
                self.exchanges.insert(exchange, Sent { card, own, wait, to, open: Vec::new() });
            }
            Seen::Receipt { exchange, receipt, text } => self.receipt(&exchange, receipt, text, out),
            Seen::Work { .. } => self.work(seen, out),
            Seen::Received { exchange, prompt, from, text, .. } => {
                let told = Some(from.words(&text));
                if prompt == exchange {
                    self.ties.with(&from).received += 1;
                }
                let words = Prompt {
                    text: text.into(),
                    author: Author::Peer { name: from.agent.as_str().into() },
                    exchange: Some(Box::new(Exchange { id: exchange, session: from.session })),
                    ..Prompt::default()
                };
                self.waiting.push(prompt, Waiting { prompt: words, told });
                self.queue(out);
                return Reading::hidden(Rule::Protocol, at);
            }
            Seen::Withdrawn { prompt } => {
                self.waiting.remove(&prompt);
                // Nothing is left that a person could let go.
                self.held &= !self.waiting.is_empty();
                self.queue(out);
                return Reading::hidden(Rule::Protocol, at);
            }
            // The other kinds are read elsewhere.
            _ => return Reading::hidden(Rule::Bookkeeping, at),
        }
        Reading::shown(at)
    }

    /// A receipt stands under the card, always in its newest form.
    fn receipt(&mut self, exchange: &Key, receipt: Receipt, text: String, out: &mut Vec<Event>) {
        let Some(sent) = self.exchanges.get(exchange) else { return };
        let agent = &sent.to.agent;
        let (kind, words) = match receipt {
            Receipt::Queued => (NoticeKind::Info, format!("{agent} is busy: the message waits")),
            Receipt::Taken => (NoticeKind::Info, format!("{agent} has the message")),
            Receipt::Answered => (NoticeKind::Info, format!("{agent} has answered")),
            Receipt::Failed => (NoticeKind::Warning, format!("No answer from {agent}: {text}")),
            Receipt::Withdrawn => (NoticeKind::Warning, format!("The message was taken back: {text}")),
        };
        let notice = Notice { kind, text: words.into() };
        let below = |name: &str, block: Block| Event::Put {
            key: format!("{exchange}/{name}").into(),
            under: Some(sent.card.clone()),
            message: None,
            block,
        };
        out.push(below("receipt", Block::Notice(notice)));
        if !receipt.is_final() {
            return;
        }
        out.extend(sent.open.iter().map(|call| Event::End { key: call.clone(), end: End::Interrupted }));
        if receipt == Receipt::Answered && !sent.wait {
            // The call itself is over: what it brought stands with it all the same.
            let reply = Reply { text: text.as_str().into(), ..Reply::default() };
            out.push(below("answer", Block::Reply(reply)));
        }
        if sent.own {
            let state = match receipt {
                Receipt::Answered => ToolState::Done,
                Receipt::Withdrawn => ToolState::Interrupted,
                Receipt::Queued | Receipt::Taken | Receipt::Failed => ToolState::Failed,
            };
            out.push(result(sent.card.clone(), state, text, false));
        }
        self.exchanges.remove(exchange);
    }

    /// A call of the other's.
    fn work(&mut self, seen: Seen, out: &mut Vec<Event>) {
        let Seen::Work { exchange, call, name, input, state, text, truncated } = seen else { return };
        let Some(sent) = self.exchanges.get_mut(&exchange) else { return };
        let key: Key = format!("{exchange}/{call}").into();
        let tool =
            Tool { name, input: Json::new(input.into()), state: ToolState::Running, ..Tool::default() };
        out.push(Event::Put {
            key: key.clone(),
            under: Some(sent.card.clone()),
            message: None,
            block: Block::Tool(Box::new(tool)),
        });
        sent.open.retain(|open| *open != key);
        let Some(state) = state else {
            sent.open.push(key);
            return;
        };
        let state = match state {
            Ended::Done => ToolState::Done,
            Ended::Failed => ToolState::Failed,
            Ended::Denied => ToolState::Denied,
            Ended::Interrupted => ToolState::Interrupted,
        };
        out.push(result(key, state, text, truncated));
    }
}

fn result(key: Key, state: ToolState, text: String, truncated: bool) -> Event {
    let parts = vec![Piece::Text { text: Text::from(text) }];
    let output = Box::new(Output { parts, truncated, ..Output::default() });
    Event::End { key, end: End::Result { name: None, state, output } }
}

/// The input of a call that was not seen, as it must have been.
fn input(to: &Peer, text: &str) -> Json {
    serde_json::json!({ "to": to.session, "message": text }).into()
}
