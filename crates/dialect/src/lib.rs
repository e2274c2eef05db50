//! Raw lines become events: one file per format, pure and total.
//!
//! A dialect never fails: every line has a [`Fate`](parlor_model::event::Fate), and what cannot be understood is
//! unknown, kept and counted. It knows nothing of entries, files or clocks.

use parlor_model::Key;
use parlor_model::event::{Event, Reading};
use parlor_model::line::Line;

mod acp;
mod blocks;
mod bridge;
mod calls;
mod cdev;
mod claude;
mod codex;
mod codex_app;
mod codex_exec;
mod codex_rollout;
mod decoder;
mod format;
mod house;
mod legion;
mod openai_chat;
mod openai_responses;
mod pi;
mod pi_events;
mod pi_session;
mod splitter;
mod sse;
mod subagent;
#[cfg(test)]
mod telling;
#[cfg(test)]
mod told;

pub use decoder::Decoder;
pub use format::{Agent, Format};
pub use house::House;
pub use splitter::Splitter;
pub use subagent::Subagent;

/// Reads one format.
pub trait Dialect: Send + Sync {
    /// Reads a line that is not blank, pushing what it says. The state kept between lines is only what is needed to
    /// name blocks: reading the same lines again gives the same events.
    fn read(&mut self, line: &Line, out: &mut Vec<Event>) -> Reading;

    /// Reads only what a list of sessions needs: facts, usage and prompts. It may leave a line as soon as it is clear
    /// that it says none of them.
    fn skim(&mut self, line: &Line, out: &mut Vec<Event>) -> Reading {
        self.read(line, out)
    }

    /// Gives up what is being said, because its stream was cut: what comes next is something new. Says which block of
    /// it was the first.
    fn give_up(&mut self) -> Option<Key> {
        None
    }
}

/// How sure a dialect is that a line is its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Claim {
    /// It is not.
    No,
    /// It may be: other formats write such lines too.
    Maybe,
    /// It is: nobody else writes such lines.
    Yes,
}
