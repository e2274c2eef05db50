//! A session as the house tells it, record by record: folded again on this side, so that the terminal shows what the page
//! shows. It must not print.

use anyhow::{Context, Result};
use parlor_hub::View;
use parlor_model::record::{Origin, Record};
use parlor_model::time::Time;
use parlor_profile::Profile;
use parlor_server::Pipeline;
use serde_json::{Value, json};

use crate::client::Socket;

/// What was heard of a session so far.
pub(crate) struct Listener {
    /// The conversation.
    pub(crate) view: View,
    /// What it means to scripts, where they listen.
    events: Option<Pipeline>,
    /// Messages for scripts from the record `first` on, until someone takes them.
    pub(crate) messages: Vec<Value>,
    /// The record from which on it is told to scripts.
    pub(crate) first: u64,
}

impl Listener {
    /// Nothing was heard yet.
    pub(crate) fn new(for_scripts: bool) -> Listener {
        Listener {
            view: View::new("records".into(), None),
            events: for_scripts.then(|| Pipeline::new(Profile::Events, None)),
            messages: Vec::new(),
            first: 0,
        }
    }

    /// Asks the house to tell a session from its beginning. Frames that come meanwhile are given back.
    pub(crate) async fn subscribe(socket: &mut Socket, session: &str) -> Result<Vec<Value>> {
        let mut early = Vec::new();
        let subscribe = json!({"type": "subscribe", "session": session, "profile": "records"});
        socket.ask(subscribe, |frame| early.push(frame)).await?;
        Ok(early)
    }

    /// Takes in the records of a frame of messages.
    pub(crate) fn take(&mut self, frame: &Value) -> Result<()> {
        for message in frame["messages"].as_array().into_iter().flatten() {
            let record = record(message).context("the house sent a record that cannot be read")?;
            if record.seq != self.view.end() {
                continue;
            }
            if let Some(events) = &mut self.events {
                let told = self.messages.len();
                events.step(&record, &mut self.messages);
                if record.seq < self.first {
                    self.messages.truncate(told);
                }
            }
            self.view.push(record);
        }
        Ok(())
    }
}

/// A record as the house sends it.
fn record(message: &Value) -> Option<Record> {
    let origin = match message["origin"].as_str()? {
        "agent" => Origin::Agent,
        "stderr" => Origin::Stderr,
        "user" => Origin::User,
        "host" => Origin::Host,
        _ => return None,
    };
    let body = match message["body"].as_str() {
        Some(text) => text.to_owned().into_bytes(),
        None => message["latin1"].as_str()?.chars().map(|c| c as u32 as u8).collect(),
    };
    let at = message["at_us"].as_i64().map(Time);
    Some(Record { seq: message["seq"].as_u64()?, at, origin, body: body.into() })
}
