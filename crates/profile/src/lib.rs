//! What a kind of client wants: pure, incremental functions over the one pipeline.
//!
//! Every profile sees the same [`Step`]s, live and on replay, and says JSON messages. A profile decides names, grain and
//! what it leaves out; it must not read formats, keep a second transcript, or know how messages travel.

mod bridge;
mod diff;
mod elements;
mod events;
pub mod filter;
mod legion;
mod mask;
mod notice;
mod print;
mod raw;
mod telling;
mod watch;

#[cfg(test)]
mod testing;

use parlor_model::entry::Entry;
use parlor_model::event::{Event, Reading};
use parlor_model::line::Line;
use parlor_model::session::Session;
use serde_json::Value;

use crate::telling::Telling;

pub use mask::Mask;

/// One record on its way through the pipeline, with all that became of it.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// The record's place in the session.
    pub seq: u64,
    /// The record's bytes.
    pub line: &'a Line,
    /// What the dialect made of it.
    pub reading: &'a Reading,
    /// What it said.
    pub events: &'a [Event],
    /// The entries it touched, as they are after the fold.
    pub touched: &'a [&'a Entry],
    /// The session after the fold.
    pub session: &'a Session,
}

/// A kind of client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Profile {
    /// Verbs on text, thinking and tools, deltas included.
    Events,
    /// One element per block.
    Elements,
    /// `stream` messages with the state of the agent, without deltas.
    Bridge,
    /// Messages with metadata, and a map of tool calls.
    Legion,
    /// The record itself, in an envelope.
    Raw,
}

/// Turns steps into the messages of one profile. Fed record by record or all at once, it says the same.
pub trait Projector: Send {
    /// Says what one record means to the client.
    fn step(&mut self, step: &Step<'_>, out: &mut Vec<Value>);

    /// Says what can be said only when nothing more will come. Later steps are not expected.
    fn finish(&mut self, out: &mut Vec<Value>);
}

impl Profile {
    /// All profiles.
    pub const ALL: [Profile; 5] =
        [Profile::Events, Profile::Elements, Profile::Bridge, Profile::Legion, Profile::Raw];

    /// The name by which a client asks for it.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Events => "events",
            Profile::Elements => "elements",
            Profile::Bridge => "bridge",
            Profile::Legion => "legion",
            Profile::Raw => "raw",
        }
    }

    /// The profile of that name.
    pub fn named(name: &str) -> Option<Profile> {
        Profile::ALL.into_iter().find(|profile| profile.name() == name)
    }

    /// A fresh projector.
    pub fn projector(self) -> Box<dyn Projector> {
        match self {
            Profile::Events => Box::new(Telling::<events::Events>::default()),
            Profile::Elements => Box::new(Telling::<elements::Elements>::default()),
            Profile::Bridge => Box::new(Telling::<bridge::Bridge>::default()),
            Profile::Legion => Box::new(Telling::<legion::Legion>::default()),
            Profile::Raw => Box::new(raw::Raw),
        }
    }
}
