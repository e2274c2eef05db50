//! Where entries stand: under which call, and with which others they are shown. It holds no text and decides no looks.

use std::collections::HashMap;

use crate::Key;
use crate::block::Block;
use crate::entry::Entry;

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

    /// How many entries it knows.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// True when it knows none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
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
    pub fn children(&self, index: usize) -> &[usize] {
        self.places.get(index).map_or(&[], |place| &place.children)
    }

    /// The entries that are shown as one with this first one, itself included; empty when there is no such run.
    pub fn members(&self, index: usize) -> &[usize] {
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
    use crate::block::Reply;
    use crate::tool::Tool;

    fn entry(id: &str, block: Block) -> Entry {
        Entry {
            id: id.into(),
            parent: None,
            message: None,
            seq: 0,
            at: None,
            ended: None,
            rev: 1,
            group: None,
            opens: false,
            overtaken: false,
            block,
        }
    }

    fn tool(id: &str, name: &str) -> Entry {
        entry(id, Block::Tool(Box::new(Tool { name: name.into(), ..Tool::default() })))
    }

    fn reply(id: &str) -> Entry {
        entry(id, Block::Reply(Reply::default()))
    }

    #[test]
    fn runs_and_subagents_are_shown_within_their_first_and_their_call() {
        let mut entries = vec![tool("a", "Read"), tool("b", "Grep"), tool("t", "Task")];
        entries.extend([tool("c", "Read"), reply("d"), tool("e", "Read")]);
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
        let mut entries: Vec<Entry> = (0..50).map(|n| tool(&format!("t{n}"), "Task")).collect();
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
