//! What a renderer must know besides the entry itself: the session, where entries stand, and what the reader wants.
//! It holds no text and decides no looks.

use std::collections::HashMap;

use parlor_model::Key;
use parlor_model::block::Block;
use parlor_model::entry::Entry;
use parlor_model::session::Session;

/// What the reader wants to see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Seconds to add to UTC for the times that are shown.
    pub offset_s: i32,
    /// Whether thoughts are shown.
    pub thinking: bool,
    /// Whether the contents of files that were only read or searched are shown.
    pub file_contents: bool,
    /// Whether outputs are shown in full where they would be folded: for terminals, which cannot unfold.
    pub unfolded: bool,
    /// How much of anything is shown.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            offset_s: 0,
            thinking: true,
            file_contents: false,
            unfolded: false,
            limits: Limits::default(),
        }
    }
}

/// How much of anything is shown. What is left out leaves a mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of an output, a file or a raw record.
    pub bytes: usize,
    /// Lines of an output, a file or a diff.
    pub lines: usize,
    /// Bytes of a prompt, a reply or a thought.
    pub prose_bytes: usize,
    /// Bytes of one picture in base64.
    pub image_bytes: usize,
    /// Items of a list of files, steps or tasks.
    pub items: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { bytes: 64 << 10, lines: 2_000, prose_bytes: 512 << 10, image_bytes: 2 << 20, items: 500 }
    }
}

impl Limits {
    /// No limits: for a reader who asks for the full text of one entry.
    pub fn none() -> Self {
        let all = usize::MAX;
        Limits { bytes: all, lines: all, prose_bytes: all, image_bytes: all, items: all }
    }
}

/// Everything that rendering an entry depends on.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The session.
    pub session: &'a Session,
    /// Its entries, or a window of them.
    pub entries: &'a [Entry],
    /// Where those entries stand.
    pub outline: &'a Outline,
    /// What the reader wants.
    pub options: &'a Options,
}

impl Context<'_> {
    /// The working directory, for paths that are shown relative to it.
    pub(crate) fn cwd(&self) -> Option<String> {
        self.session.cwd.as_ref().map(|cwd| cwd.as_str().into_owned())
    }
}

/// Where entries stand: which lie under a subagent's call, and which are shown together.
///
/// It grows with the session in constant time an entry, because an entry's place never changes.
#[derive(Clone, Debug, Default)]
pub struct Outline {
    places: Vec<Place>,
    calls: HashMap<Key, usize>,
    leaders: HashMap<Key, usize>,
}

#[derive(Clone, Debug, Default)]
struct Place {
    /// The call this lies under.
    host: Option<usize>,
    /// The first of the run this is shown with; itself for the first.
    leader: Option<usize>,
    children: Vec<usize>,
    members: Vec<usize>,
    depth: u8,
}

/// Subagents of subagents deeper than this are listed beside their parent, so that no input makes rendering recurse
/// without bound.
const DEPTH: u8 = 6;

impl Outline {
    /// The outline of these entries.
    pub fn of(entries: &[Entry]) -> Outline {
        let mut outline = Outline::default();
        outline.grow(entries);
        outline
    }

    /// Takes in the entries that have been added since the last time.
    pub fn grow(&mut self, entries: &[Entry]) {
        for (index, entry) in entries.iter().enumerate().skip(self.places.len()) {
            self.add(index, entry);
        }
    }

    /// The entries of the conversation itself: neither a subagent's nor shown within another.
    pub fn roots(&self) -> impl Iterator<Item = usize> + '_ {
        self.places
            .iter()
            .enumerate()
            .filter(|(index, place)| place.host.is_none() && leads(place, *index))
            .map(first)
    }

    /// The entry of the conversation itself in which this one is shown: what must be rendered again when it changes.
    pub fn root_of(&self, index: usize) -> usize {
        let mut at = index;
        // A host and a leader come before what they show, so that this ends.
        while let Some(up) =
            self.places.get(at).and_then(|place| place.host.or(place.leader)).filter(|up| *up < at)
        {
            at = up;
        }
        at
    }

    /// The entries under a call, in order, each run of reads and searches by its first.
    pub(crate) fn children(&self, index: usize) -> &[usize] {
        self.places.get(index).map_or(&[], |place| &place.children)
    }

    /// The entries that are shown as one with this first one, itself included; empty when there is no such run.
    pub(crate) fn members(&self, index: usize) -> &[usize] {
        self.places.get(index).map_or(&[], |place| &place.members)
    }

    fn add(&mut self, index: usize, entry: &Entry) {
        let mut place = Place::default();
        // A call that comes later cannot host: so there are no circles.
        if let Some(&host) = entry.parent.as_ref().and_then(|parent| self.calls.get(parent)) {
            let above = &self.places[host];
            (place.host, place.depth) = match above.depth < DEPTH {
                true => (Some(host), above.depth + 1),
                false => (above.host, above.depth),
            };
        }
        if let Some(group) = &entry.group {
            let leader = *self.leaders.entry(group.clone()).or_insert(index);
            let together = leader == index || self.places[leader].host == place.host;
            place.leader = together.then_some(leader);
        }
        if matches!(entry.block, Block::Tool(_)) {
            self.calls.insert(entry.id.clone(), index);
        }
        if let Some(host) = place.host.filter(|_| leads(&place, index)) {
            self.places[host].children.push(index);
        }
        let leader = place.leader;
        self.places.push(place);
        if let Some(leader) = leader {
            self.places[leader].members.push(index);
        }
    }
}

fn leads(place: &Place, index: usize) -> bool {
    place.leader.is_none_or(|leader| leader == index)
}

fn first((index, _): (usize, &Place)) -> usize {
    index
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{reply, tool};
    use serde_json::json;

    #[test]
    fn runs_and_subagents_are_shown_within_their_first_and_their_call() {
        let mut entries =
            vec![tool("a", "Read", json!({})), tool("b", "Grep", json!({})), tool("t", "Task", json!({}))];
        entries.extend([tool("c", "Read", json!({})), reply("d", "x"), tool("e", "Read", json!({}))]);
        for (index, group) in [(0, "a"), (1, "a"), (3, "c"), (5, "c")] {
            entries[index].group = Some(group.into());
        }
        for index in [3, 4, 5] {
            entries[index].parent = Some("t".into());
        }
        let outline = Outline::of(&entries);
        assert_eq!(outline.roots().collect::<Vec<_>>(), [0, 2]);
        assert_eq!(outline.members(0), [0, 1]);
        assert_eq!(outline.children(2), [3, 4]);
        assert_eq!(outline.members(3), [3, 5]);
        assert_eq!([0, 1, 3, 4, 5].map(|index| outline.root_of(index)), [0, 0, 2, 2, 2]);

        let mut grown = Outline::default();
        (0..=entries.len()).for_each(|end| grown.grow(&entries[..end]));
        assert_eq!(grown.roots().collect::<Vec<_>>(), [0, 2]);
        assert_eq!(grown.members(3), [3, 5]);
    }

    #[test]
    fn circles_lost_parents_and_depth_hide_nothing() {
        let mut entries: Vec<Entry> = (0..50).map(|n| tool(&format!("t{n}"), "Task", json!({}))).collect();
        entries[0].parent = Some("t0".into());
        entries[1].parent = Some("gone".into());
        entries[2].parent = Some("t3".into());
        for (index, entry) in entries.iter_mut().enumerate().skip(3) {
            entry.parent = Some(format!("t{}", index - 1).into());
        }
        let outline = Outline::of(&entries);
        let mut seen = Vec::new();
        let mut todo: Vec<(usize, u8)> = outline.roots().map(|index| (index, 0)).collect();
        while let Some((index, depth)) = todo.pop() {
            assert!(depth <= DEPTH);
            seen.push(index);
            todo.extend(outline.children(index).iter().map(|child| (*child, depth + 1)));
        }
        seen.sort_unstable();
        assert_eq!(seen, (0..50).collect::<Vec<_>>());
    }
}
