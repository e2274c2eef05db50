//! A session as the house tells it, record by record: folded again on this side, so that the terminal shows what the page
//! shows. It must not print.

use anyhow::{Context, Result};
use parlor_dialect::Format;
use parlor_found::DETECT_LINES;
use parlor_hub::View;
use parlor_model::line::Line;
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
    /// Records that wait until it is known how they are to be read; `None` once it is.
    waiting: Option<Vec<Record>>,
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
            waiting: Some(Vec::new()),
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
            match &mut self.waiting {
                Some(waiting) if record.seq == waiting.len() as u64 => waiting.push(record),
                None if record.seq == self.view.end() => self.push(record),
                _ => {}
            }
        }
        self.decide();
        Ok(())
    }

    /// Lets go what waits, once it is known how to read it.
    fn decide(&mut self) {
        let Some(waiting) = &self.waiting else { return };
        // A log begins with a word of the house's and says its format, and a subagent's lines come after such a word.
        let of_a_file = waiting.iter().take_while(|record| record.origin == Origin::Agent);
        let is_all = of_a_file.clone().count() == waiting.len();
        let lines = of_a_file.map(|record| Line::new(record.body.clone())).filter(|line| !line.is_blank());
        let lines: Vec<Line> = lines.take(DETECT_LINES).collect();
        let format = Format::detect(&lines);
        if format.is_none() && is_all && lines.len() < DETECT_LINES {
            return;
        }
        self.view = View::new("records".into(), format);
        self.events = self.events.take().map(|_| Pipeline::new(Profile::Events, format));
        for record in self.waiting.take().unwrap_or_default() {
            self.push(record);
        }
    }

    fn push(&mut self, record: Record) {
        if let Some(events) = &mut self.events {
            let told = self.messages.len();
            events.step(&record, &mut self.messages);
            if record.seq < self.first {
                self.messages.truncate(told);
            }
        }
        self.view.push(record);
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
