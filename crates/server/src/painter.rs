//! Rendered entries, shared by everybody who looks at a session: each is rendered once per change, and told as what
//! changed to those who have the form before. It must not know subscriptions.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use parlor_hub::View;
use parlor_model::Key;
use parlor_render::{Context, Html, Options, entry_html, page};
use serde::Serialize;

use crate::limits;

/// The rendered entries of one session, for one offset of the clock.
pub(crate) struct Painter {
    options: Options,
    epoch: Key,
    painted: BTreeMap<usize, Painted>,
    bytes: usize,
}

/// What a client is sent of one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The version that the client then has.
    pub(crate) version: u64,
    /// An `EntryFrame` as JSON.
    pub(crate) json: Arc<str>,
}

struct Painted {
    version: u64,
    html: String,
    full: Arc<str>,
    /// How much of each form before is still there.
    before: VecDeque<Before>,
    /// The patch that was asked for last: most clients have the same version.
    patch: Option<(u64, Arc<str>)>,
}

struct Before {
    version: u64,
    keep: Keep,
}

/// A common prefix, in bytes and in UTF-16 units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Keep {
    bytes: usize,
    units: usize,
}

impl Painter {
    pub(crate) fn new(offset_s: i32) -> Painter {
        let options = Options { offset_s: minutes(offset_s), ..Options::default() };
        Painter { options, epoch: Key::default(), painted: BTreeMap::new(), bytes: 0 }
    }

    /// The entry at `place` for a client that `has` a version of it. `None` when there is no such place, or when the
    /// client has it already.
    pub(crate) fn piece(&mut self, view: &View, place: usize, has: Option<u64>) -> Option<Piece> {
        if self.epoch != view.epoch {
            self.epoch = view.epoch.clone();
            self.painted.clear();
            self.bytes = 0;
        }
        let index = *view.roots().get(place)?;
        let version = view.changed(place);
        if has == Some(version) {
            return None;
        }
        let known = self.painted.get(&place).is_some_and(|painted| painted.version == version);
        if !known {
            self.paint(view, place, index, version);
        }
        let id = &view.entries()[index].id;
        let piece = self.painted.get_mut(&place).map(|painted| painted.piece(id, place, has));
        self.forget();
        piece
    }

    fn paint(&mut self, view: &View, place: usize, index: usize, version: u64) {
        let html = self.html(view, index);
        let full = self.frame(view, place, index, &html).into();
        let before = match self.painted.remove(&place) {
            Some(old) => {
                self.bytes -= old.bytes();
                old.followed_by(&html)
            }
            None => VecDeque::new(),
        };
        let painted = Painted { version, html, full, before, patch: None };
        self.bytes += painted.bytes();
        self.painted.insert(place, painted);
    }

    fn html(&self, view: &View, index: usize) -> String {
        let context = Context {
            session: view.session(),
            entries: view.entries(),
            outline: view.outline(),
            options: &self.options,
        };
        let mut html = Html::with_capacity(1 << 10);
        entry_html::entry(&context, index, &mut html);
        html.into_string()
    }

    fn frame(&self, view: &View, place: usize, index: usize, html: &str) -> String {
        let day = self.day(view, place, index);
        let (id, v) = (view.entries()[index].id.as_str(), view.changed(place));
        EntryFrame { id, n: place, v, day: day.as_deref(), keep: None, html }.json()
    }

    /// The date above the entry, where it is the first of its day.
    fn day(&self, view: &View, place: usize, index: usize) -> Option<String> {
        let entries = view.entries();
        let before = view.roots()[..place].iter().rev().find_map(|index| entries[*index].at);
        page::new_day(before, entries[index].at, self.options.offset_s)
    }

    /// Old entries are asked for once; those at the end again and again.
    fn forget(&mut self) {
        while self.bytes > limits::PAINTED_BYTES && self.painted.len() > 1 {
            if let Some((_, old)) = self.painted.pop_first() {
                self.bytes -= old.bytes();
            }
        }
    }
}

/// The newest entries of a view that is looked at once, each as JSON: at most `count`, and about `bytes`.
pub(crate) fn newest(view: &View, offset_s: i32, count: usize, bytes: usize) -> VecDeque<String> {
    let painter = Painter::new(offset_s);
    let total = view.roots().len();
    let (mut pieces, mut size) = (VecDeque::new(), 0);
    for place in (total.saturating_sub(count)..total).rev() {
        if size >= bytes {
            break;
        }
        let index = view.roots()[place];
        let json = painter.frame(view, place, index, &painter.html(view, index));
        size += json.len();
        pieces.push_front(json);
    }
    pieces
}

impl Painted {
    fn bytes(&self) -> usize {
        self.html.len() + self.full.len()
    }

    fn piece(&mut self, id: &str, place: usize, has: Option<u64>) -> Piece {
        let from = has.and_then(|has| self.before.iter().find(|before| before.version == has));
        let json = match from {
            Some(Before { version, keep }) if keep.bytes > 0 => match &self.patch {
                Some((known, json)) if known == version => json.clone(),
                _ => {
                    let tail = &self.html[keep.bytes..];
                    let (v, keep) = (self.version, Some(keep.units));
                    let json: Arc<str> =
                        EntryFrame { id, n: place, v, day: None, keep, html: tail }.json().into();
                    self.patch = Some((*version, json.clone()));
                    json
                }
            },
            _ => self.full.clone(),
        };
        Piece { version: self.version, json }
    }

    /// What is known of the forms before, once `html` has replaced this one. What two changes in a row both kept, they
    /// kept together.
    fn followed_by(mut self, html: &str) -> VecDeque<Before> {
        let keep = common(&self.html, html);
        for before in &mut self.before {
            before.keep =
                Keep { bytes: before.keep.bytes.min(keep.bytes), units: before.keep.units.min(keep.units) };
        }
        self.before.push_back(Before { version: self.version, keep });
        if self.before.len() > limits::PATCHES {
            self.before.pop_front();
        }
        self.before
    }
}

/// An offset of a clock, in whole minutes and no larger than any clock on this planet has.
pub(crate) fn minutes(offset_s: i32) -> i32 {
    const LARGEST_S: i32 = 14 * 3_600;
    offset_s.clamp(-LARGEST_S, LARGEST_S) / 60 * 60
}

/// A `wire::EntryFrame` of borrowed parts.
#[derive(Serialize)]
struct EntryFrame<'a> {
    id: &'a str,
    n: usize,
    v: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    day: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    keep: Option<usize>,
    html: &'a str,
}

impl EntryFrame<'_> {
    fn json(&self) -> String {
        let mut json = Vec::with_capacity(self.html.len() + self.html.len() / 8 + 128);
        // Strings and numbers into memory: this cannot fail.
        let _ = serde_json::to_writer(&mut json, self);
        String::from_utf8(json).unwrap_or_default()
    }
}

/// The longest common beginning that ends between characters.
fn common(one: &str, other: &str) -> Keep {
    let shorter = one.len().min(other.len());
    let (a, b) = (&one.as_bytes()[..shorter], &other.as_bytes()[..shorter]);
    const STEP: usize = 64;
    let mut bytes = 0;
    while bytes + STEP <= shorter && a[bytes..bytes + STEP] == b[bytes..bytes + STEP] {
        bytes += STEP;
    }
    bytes += a[bytes..].iter().zip(&b[bytes..]).take_while(|(a, b)| a == b).count();
    while !one.is_char_boundary(bytes) || !other.is_char_boundary(bytes) {
        bytes -= 1;
    }
    Keep { bytes, units: units(&one[..bytes]) }
}

/// The length in UTF-16 units, in which scripts count.
pub(crate) fn units(text: &str) -> usize {
    // Every character begins with a byte that continues none; those of four bytes take two units.
    text.bytes().map(|byte| usize::from(byte & 0xc0 != 0x80) + usize::from(byte >= 0xf0)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_ends_between_characters_and_is_counted_as_scripts_count() {
        for (one, other, bytes, kept) in [
            ("", "", 0, 0),
            ("abc", "abd", 2, 2),
            ("aé", "aè", 1, 1),
            ("a😀b", "a😀c", 5, 3),
            ("a😀", "a😁", 1, 1),
            ("abc", "abcdef", 3, 3),
        ] {
            assert_eq!(common(one, other), Keep { bytes, units: kept }, "{one} {other}");
            assert_eq!(units(&one[..bytes]), one[..bytes].encode_utf16().count());
        }
        let long = "x".repeat(1_000);
        let (one, other) = (format!("{long}é"), format!("{long}è"));
        assert_eq!(common(&one, &other).bytes, 1_000);
    }

    #[test]
    fn a_patch_over_several_changes_keeps_what_all_of_them_kept() {
        let first = Painted {
            version: 1,
            html: "abcdef".into(),
            full: "".into(),
            before: VecDeque::new(),
            patch: None,
        };
        let before = first.followed_by("abcdXf");
        let second = Painted { version: 2, html: "abcdXf".into(), full: "".into(), before, patch: None };
        let before = second.followed_by("abY");
        let mut third = Painted { version: 3, html: "abY".into(), full: "full".into(), before, patch: None };
        for has in [1, 2] {
            let piece = third.piece("i", 0, Some(has));
            assert_eq!(&*piece.json, r#"{"id":"i","n":0,"v":3,"keep":2,"html":"Y"}"#);
        }
        assert_eq!(&*third.piece("i", 0, Some(9)).json, "full");
        assert_eq!(&*third.piece("i", 0, None).json, "full");
    }
}
