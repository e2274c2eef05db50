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
mod records;
mod telling;
mod watch;

#[cfg(test)]
mod testing;

use parlor_model::entry::Entry;
use parlor_model::event::{Event, Reading};
use parlor_model::line::Line;
use parlor_model::record::Origin;
use parlor_model::session::Session;
use parlor_model::time::Time;
use serde_json::Value;

use crate::telling::Telling;

pub use mask::Mask;

/// One record, or one line of a subagent's own file, on its way through the pipeline, with all that became of it.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// The record's place in the session.
    pub seq: u64,
    /// Who wrote the record.
    pub origin: Origin,
    /// When it arrived, where somebody saw it arrive.
    pub received: Option<Time>,
    /// The record's bytes.
    pub line: &'a Line,
    /// What the dialect made of it.
    pub reading: &'a Reading,
    /// What it said.
    pub events: &'a [Event],
    /// The entries it touched, as they are after the fold; none for a profile that does not look at entries.
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
    /// The agent's own record, in an envelope.
    Raw,
    /// Every record of the log: what another reader needs to fold the session by itself.
    Records,
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
    pub const ALL: [Profile; 6] = [
        Profile::Events,
        Profile::Elements,
        Profile::Bridge,
        Profile::Legion,
        Profile::Raw,
        Profile::Records,
    ];

    /// The name by which a client asks for it.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Events => "events",
            Profile::Elements => "elements",
            Profile::Bridge => "bridge",
            Profile::Legion => "legion",
            Profile::Raw => "raw",
            Profile::Records => "records",
        }
    }

    /// The profile of that name.
    pub fn named(name: &str) -> Option<Profile> {
        Profile::ALL.into_iter().find(|profile| profile.name() == name)
    }

    /// False when it passes records on and looks at no entry: they need not be folded for it.
    pub fn looks_at_entries(self) -> bool {
        match self {
            Profile::Events | Profile::Elements | Profile::Bridge | Profile::Legion => true,
            Profile::Raw | Profile::Records => false,
        }
    }

    /// A fresh projector.
    pub fn projector(self) -> Box<dyn Projector> {
        match self {
            Profile::Events => Box::new(Telling::<events::Events>::default()),
            Profile::Elements => Box::new(Telling::<elements::Elements>::default()),
            Profile::Bridge => Box::new(Telling::<bridge::Bridge>::default()),
            Profile::Legion => Box::new(Telling::<legion::Legion>::default()),
            Profile::Raw => Box::new(raw::Raw),
            Profile::Records => Box::new(records::Records),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;
    use parlor_model::block::NoticeKind;
    use parlor_model::event::{End, Part, Turn};
    use parlor_model::tool::ToolState;
    use serde_json::json;
    use std::collections::BTreeMap;

    #[test]
    fn a_profile_is_found_by_its_name() {
        for profile in Profile::ALL {
            assert_eq!(Profile::named(profile.name()), Some(profile));
        }
        assert_eq!(Profile::named("html"), None);
    }

    /// Some event about one of a few keys, so that forms, ends and kinds get mixed up.
    fn some_event(random: &mut u64) -> Event {
        let mut pick = |count: u64| {
            *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (*random >> 33) % count
        };
        let key = format!("k{}", pick(6));
        let text = ["", " ", "a", "é\n", "\u{1F600} b"][pick(5) as usize];
        match pick(16) {
            0 => prompt(&key, text),
            1 => reply(&key, text),
            2 => thought(&key, text),
            3 => call(&key, "Edit", json!({"file_path": text, "old_string": text, "new_string": "x"})),
            4 => call(&key, "Bash", json!({"command": text})),
            5 => under("k0", call(&key, "Read", json!(text))),
            6 => grow(&key, Part::Reply, text),
            7 => grow(&key, Part::Thought, text),
            8 => grow(&key, Part::Input, text),
            9 => grow(&key, Part::Output, text),
            10 => {
                result(&key, [ToolState::Done, ToolState::Failed, ToolState::Denied][pick(3) as usize], text)
            }
            11 => ask(&key, text),
            12 => notice(
                &key,
                [NoticeKind::Result, NoticeKind::Interrupted, NoticeKind::Diff][pick(3) as usize].clone(),
                text,
            ),
            13 => turn([Turn::Start, Turn::Done, Turn::Failed { error: None }][pick(3) as usize].clone()),
            14 => interrupt("user_cancel"),
            _ => Event::End { key: key.into(), end: End::Complete },
        }
    }

    #[test]
    fn no_order_of_events_breaks_a_profile_or_the_bytes_of_a_text() {
        for seed in 0..80 {
            for profile in Profile::ALL {
                let (mut random, mut bench, mut all) = (seed, Bench::new(profile), Vec::new());
                for _ in 0..60 {
                    let events: Vec<Event> = (0..1 + seed % 3).map(|_| some_event(&mut random)).collect();
                    all.extend(bench.say(&events));
                }
                all.extend(bench.finish());
                let mut texts: BTreeMap<String, String> = BTreeMap::new();
                for event in &all {
                    let id = event["responseId"].as_str().unwrap_or_default().to_owned();
                    match event["type"].as_str() {
                        Some("text_delta") => {
                            texts.entry(id).or_default().push_str(event["delta"].as_str().unwrap())
                        }
                        Some("text_done") if event.get("replaced").is_none() => {
                            assert_eq!(event["text"], texts.remove(&id).unwrap_or_default(), "seed {seed}");
                        }
                        _ => {}
                    }
                }
            }
        }
    }
}
