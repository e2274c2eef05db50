//! Codex writes the same message several times: as a model item, as an event, as a turn item, as a client's request.
//! This tells the second writing from a second message. It keeps no text, and only as much as mirrors lie apart.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use parlor_model::Key;

/// Mirrors are next to each other but for a few records; resumed and forked files copy them in the same order.
const KEPT: usize = 64;

/// What a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Voice {
    Prompt,
    Reply,
    Thought,
    Search,
}

/// Who wrote it: one source never repeats itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Response = 1,
    Event = 2,
    Item = 4,
    Client = 8,
}

/// The messages seen lately, and by whom each was written.
#[derive(Debug, Default)]
pub(crate) struct Mirror(VecDeque<Seen>);

#[derive(Debug)]
struct Seen {
    voice: Voice,
    hash: u64,
    sources: u8,
    key: Key,
}

impl Mirror {
    /// The key of the message this text repeats, or `None` after noting that it is new under `key`.
    pub(crate) fn repeats(&mut self, voice: Voice, source: Source, text: &str, key: &Key) -> Option<Key> {
        // The hasher starts from fixed keys: the same lines give the same events.
        let mut hasher = DefaultHasher::new();
        text.trim().hash(&mut hasher);
        let hash = hasher.finish();
        let source = source as u8;
        let mut seen = self.0.iter_mut();
        let first = seen.find(|seen| seen.voice == voice && seen.hash == hash && seen.sources & source == 0);
        if let Some(seen) = first {
            seen.sources |= source;
            return Some(seen.key.clone());
        }
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(Seen { voice, hash, sources: source, key: key.clone() });
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_source_repeats_and_the_same_source_does_not() {
        let mut mirror = Mirror::default();
        let mut say =
            |source, text: &str, key: &str| mirror.repeats(Voice::Reply, source, text, &Key::from(key));
        assert_eq!(say(Source::Event, "ok", "a"), None);
        assert_eq!(say(Source::Event, "ok", "b"), None, "said twice is two messages");
        assert_eq!(say(Source::Response, " ok\n", "c").as_deref(), Some("a"));
        assert_eq!(say(Source::Response, "ok", "d").as_deref(), Some("b"));
        assert_eq!(say(Source::Response, "ok", "e"), None);
        assert_eq!(say(Source::Item, "other", "f"), None);
    }
}
