//! A subscription to the rendered entries of a session: what the client has, and what it is told next. It must not know
//! sockets, and it never waits.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};

use parlor_hub::{GLANCE, View};
use parlor_model::Key;

use crate::error::Problem;
use crate::limits;
use crate::painter::{Painter, Piece, minutes};
use crate::room::Room;
use crate::told::{Sent, Standing, Told};
use crate::wire::{Frame, Kind, Tell, Verdict, Why};

/// What a client asks for when it subscribes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) reference: Option<u64>,
    pub(crate) window: Option<usize>,
    pub(crate) epoch: Option<String>,
    pub(crate) after: Option<u64>,
    pub(crate) first: Option<usize>,
    pub(crate) offset_s: i32,
}

/// Which entries a client asks for.
#[derive(Clone, Debug)]
pub(crate) struct WindowAsk {
    pub(crate) reference: Option<u64>,
    pub(crate) place: Place,
    pub(crate) count: usize,
}

/// Where a window lies.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    Before(usize),
    From(usize),
    Around(String),
}

/// So many entries are rendered at once; more are rendered beside the talk.
const AT_ONCE: usize = 4;

/// A client that looks at rendered entries.
pub(crate) struct HtmlSub {
    sub: u64,
    room: Arc<Room>,
    offset_s: i32,
    painter: Arc<Mutex<Painter>>,
    epoch: Key,
    window: usize,
    /// Changes up to here are sent, or in `pending`.
    cursor: u64,
    /// Changes up to here are sent: where the client can resume.
    safe: u64,
    /// The lowest place that was sent.
    lowest: usize,
    /// Places whose new form is still to be sent.
    pending: BTreeSet<usize>,
    /// True while what is pending is history to the client.
    history: bool,
    /// The versions that the client has of the newest entries.
    has: BTreeMap<usize, u64>,
    state: Option<Arc<str>>,
}

impl HtmlSub {
    /// Begins: the verdict, the state, and what the client lacks.
    pub(crate) fn begin(sub: u64, room: Arc<Room>, wanted: &Wanted) -> (HtmlSub, Vec<Frame>) {
        let offset_s = minutes(wanted.offset_s);
        let painter = room.painter(offset_s);
        let window = wanted.window.unwrap_or(limits::USUAL_WINDOW).min(limits::WINDOW);
        let epoch = room.open().view().epoch.clone();
        let mut html = HtmlSub {
            sub,
            room,
            offset_s,
            painter,
            epoch,
            window,
            cursor: 0,
            safe: 0,
            lowest: 0,
            pending: BTreeSet::new(),
            history: true,
            has: BTreeMap::new(),
            state: None,
        };
        let (verdict, why) = html.judge(wanted);
        let frames = match verdict {
            Verdict::Resumed => html.resume(wanted),
            Verdict::Fresh | Verdict::Gap => html.fresh(wanted.reference, verdict, why),
        };
        (html, frames)
    }

    /// Whether the client can go on from what it has.
    fn judge(&mut self, wanted: &Wanted) -> (Verdict, Option<Why>) {
        let (Some(epoch), Some(after)) = (&wanted.epoch, wanted.after) else { return (Verdict::Fresh, None) };
        let view = self.room.open().view();
        self.epoch = view.epoch.clone();
        if epoch == GLANCE {
            return (Verdict::Gap, Some(Why::Whole));
        }
        if view.epoch != *epoch {
            return (Verdict::Gap, Some(self.room.why(epoch)));
        }
        if after > view.version() {
            return (Verdict::Gap, Some(Why::Ahead));
        }
        // Without a word on what it has, a client is taken to have a window.
        self.lowest = wanted.first.unwrap_or_else(|| view.roots().len().saturating_sub(self.window));
        (self.safe, self.cursor) = (after, view.version());
        self.pending = view.changed_since(after, self.lowest).into_iter().collect();
        match self.pending.len() > self.window.max(limits::USUAL_WINDOW) * 2 {
            true => (Verdict::Gap, Some(Why::Behind)),
            false => (Verdict::Resumed, None),
        }
    }

    fn resume(&mut self, wanted: &Wanted) -> Vec<Frame> {
        let mut frames = vec![self.subscribed(wanted.reference, Verdict::Resumed, None)];
        frames.extend(self.news());
        frames
    }

    /// The newest entries, for a client that has nothing.
    fn fresh(&mut self, reference: Option<u64>, verdict: Verdict, why: Option<Why>) -> Vec<Frame> {
        let total = {
            let view = self.room.open().view();
            self.epoch = view.epoch.clone();
            self.cursor = view.version();
            view.roots().len()
        };
        self.room.note_epoch(&self.epoch);
        self.safe = self.cursor;
        self.pending.clear();
        self.has.clear();
        self.state = None;
        let mut frames = vec![self.subscribed(reference, verdict, why)];
        frames.extend(self.state());
        self.history = false;
        let pieces = self.pieces(total.saturating_sub(self.window), total, total);
        self.lowest = total - pieces.len().min(total);
        frames.push(self.entries(None, Kind::Window, total, &pieces));
        frames
    }

    /// What changed since the last time, up to about a frame of it. More is left when [`HtmlSub::has_more`].
    pub(crate) fn news(&mut self) -> Vec<Frame> {
        match self.look() {
            Some(total) => self.tell(total).0,
            None => self.begin_again(),
        }
    }

    /// The same, if they do not take long to make. What somebody else was told who stood here need not be made at all.
    pub(crate) fn short_news(&mut self) -> Option<Vec<Frame>> {
        if self.history || self.has_more() {
            return (self.look().is_some() && self.pending.len() <= AT_ONCE).then(|| self.news());
        }
        let ring = self.room.ring();
        if let Some(frames) = self.repeated(ring) {
            return Some(frames);
        }
        let from = self.standing(ring);
        let total = self.look().filter(|_| self.pending.len() <= AT_ONCE)?;
        let (frames, sent) = self.tell(total);
        if !self.has_more() {
            let (frames, cursor, state) = (frames.clone(), self.cursor, self.state.clone());
            *self.room.told() = Some(Told { from, sent, frames, cursor, state });
        }
        Some(frames)
    }

    /// What somebody was told who stood here.
    fn repeated(&mut self, ring: u64) -> Option<Vec<Frame>> {
        let told = self.room.told();
        let told = told.as_ref().filter(|told| self.stands(&told.from, ring))?;
        if told.sent.iter().any(|sent| self.has.get(&sent.place).copied() != sent.had) {
            return None;
        }
        for sent in &told.sent {
            if let Some(has) = sent.has {
                remember(&mut self.has, sent.place, has);
            }
        }
        (self.cursor, self.safe) = (told.cursor, told.cursor);
        if self.state != told.state {
            self.state.clone_from(&told.state);
        }
        Some(told.frames.clone())
    }

    fn standing(&self, ring: u64) -> Standing {
        Standing {
            ring,
            sub: self.sub,
            offset_s: self.offset_s,
            epoch: self.epoch.clone(),
            cursor: self.cursor,
            lowest: self.lowest,
            state: self.state.clone(),
        }
    }

    fn stands(&self, there: &Standing, ring: u64) -> bool {
        let Standing { sub, offset_s, epoch, cursor, lowest, state, .. } = there;
        there.ring == ring
            && (*sub, *offset_s, *cursor, *lowest) == (self.sub, self.offset_s, self.cursor, self.lowest)
            && *epoch == self.epoch
            && *state == self.state
    }

    /// Looks what has changed, and how many entries there are. `None` when the session was replaced.
    fn look(&mut self) -> Option<usize> {
        let view = self.room.open().view();
        if view.epoch != self.epoch {
            return None;
        }
        if view.version() > self.cursor {
            self.pending.extend(view.changed_since(self.cursor, self.lowest));
            self.cursor = view.version();
        }
        Some(view.roots().len())
    }

    /// The session was replaced.
    fn begin_again(&mut self) -> Vec<Frame> {
        self.room.note_epoch(&self.epoch);
        self.fresh(None, Verdict::Gap, Some(Why::Replaced))
    }

    /// Tells what is pending, up to about a frame of it.
    fn tell(&mut self, total: usize) -> (Vec<Frame>, Vec<Sent>) {
        let mut frames: Vec<Frame> = self.state().into_iter().collect();
        let (mut pieces, mut sent) = (Vec::new(), Vec::new());
        let mut bytes = 0;
        while bytes < limits::FRAME_BYTES
            && let Some(place) = self.pending.pop_first()
        {
            let had = self.has.get(&place).copied();
            let piece = self.piece(place);
            // Where this client lacks nothing, another one may.
            sent.push(Sent { place, had, has: piece.as_ref().map_or(had, |piece| Some(piece.version)) });
            if let Some(piece) = piece {
                bytes += piece.json.len();
                pieces.push((place, piece.json));
            }
        }
        let kind = if self.history { Kind::Window } else { Kind::Live };
        if self.pending.is_empty() {
            self.safe = self.cursor;
            self.history = false;
        }
        if !pieces.is_empty() {
            frames.push(self.entries(None, kind, total, &pieces));
        }
        (frames, sent)
    }

    /// True when the last news did not fit.
    pub(crate) fn has_more(&self) -> bool {
        !self.pending.is_empty()
    }

    /// The entries of a window.
    pub(crate) fn window(&mut self, ask: &WindowAsk) -> Vec<Frame> {
        let found = {
            let view = self.room.open().view();
            let total = view.roots().len();
            // Where it starts, where it ends, and the entry that matters most.
            match &ask.place {
                Place::Before(end) => Some((end.saturating_sub(ask.count), *end, *end, total)),
                Place::From(start) => Some((*start, start.saturating_add(ask.count), *start, total)),
                Place::Around(id) => view.place_of(id).map(|place| {
                    let start = place.saturating_sub(ask.count / 2);
                    (start, start + ask.count, place, total)
                }),
            }
        };
        let Some((start, end, heart, total)) = found else {
            let problem = Problem::not_found("there is no such entry in this session");
            return vec![Tell::Error { reference: ask.reference, error: problem }.text().into()];
        };
        let end = end.min(total);
        let start = start.min(end);
        // What the client had of these, it may have let go.
        self.has.retain(|place, _| !(start..end).contains(place));
        let pieces = self.pieces(start, end, heart.clamp(start, end));
        self.lowest = pieces.first().map_or(self.lowest, |(place, _)| self.lowest.min(*place));
        vec![self.entries(ask.reference, Kind::Window, total, &pieces)]
    }

    /// The entries from `start` to `end`, as many as fit, outwards from `heart`.
    fn pieces(&mut self, start: usize, end: usize, heart: usize) -> Vec<(usize, Arc<str>)> {
        let (mut after, mut before, mut bytes) = (Vec::new(), Vec::new(), 0);
        let share = if heart == start { limits::WINDOW_BYTES } else { limits::WINDOW_BYTES / 2 };
        for place in heart..end {
            if bytes >= share {
                break;
            }
            let Some(Piece { json, .. }) = self.piece(place) else { break };
            bytes += json.len();
            after.push((place, json));
        }
        for place in (start..heart).rev() {
            if bytes >= limits::WINDOW_BYTES {
                break;
            }
            let Some(Piece { json, .. }) = self.piece(place) else { break };
            bytes += json.len();
            before.push((place, json));
        }
        before.reverse();
        before.append(&mut after);
        before
    }

    /// What the client lacks of one entry, and remembers that it has it then.
    fn piece(&mut self, place: usize) -> Option<Piece> {
        let has = self.has.get(&place).copied();
        let piece = self.room.piece(&self.painter, &self.epoch, place, has)?;
        remember(&mut self.has, place, piece.version);
        Some(piece)
    }

    fn state(&mut self) -> Option<Frame> {
        let state = self.room.state();
        if self.state.as_ref().is_some_and(|known| Arc::ptr_eq(known, &state) || *known == state) {
            return None;
        }
        let frame = format!("{{\"type\":\"state\",\"sub\":{},\"session\":{state}}}", self.sub);
        self.state = Some(state);
        Some(frame.into())
    }

    fn subscribed(&self, reference: Option<u64>, verdict: Verdict, why: Option<Why>) -> Frame {
        let (session, epoch) = (self.room.open().id().to_string(), self.epoch.to_string());
        let seq = Some(self.safe).filter(|_| verdict == Verdict::Resumed);
        Tell::Subscribed { reference, session, sub: self.sub, epoch, verdict, why, seq }.text().into()
    }

    fn entries(
        &self,
        reference: Option<u64>,
        kind: Kind,
        total: usize,
        pieces: &[(usize, Arc<str>)],
    ) -> Frame {
        let reference = reference.map(|reference| format!("\"ref\":{reference},")).unwrap_or_default();
        let (sub, seq, kind, first) = (self.sub, self.safe, kind.name(), self.lowest);
        let head = format!(
            "{reference}\"sub\":{sub},\"seq\":{seq},\"kind\":\"{kind}\",\"total\":{total},\"first\":{first}"
        );
        entries(&head, pieces.iter().map(|(_, piece)| &**piece))
    }
}

/// What is shown of a session until all of it is read: the newest entries of a view of its end.
pub(crate) fn glance(sub: u64, session: &str, state: &str, view: &View, wanted: &Wanted) -> Vec<Frame> {
    let subscribed = Tell::Subscribed {
        reference: wanted.reference,
        session: session.to_owned(),
        sub,
        epoch: view.epoch.to_string(),
        verdict: Verdict::Fresh,
        why: None,
        seq: None,
    };
    let mut painter = Painter::new(wanted.offset_s);
    let (total, mut bytes, mut pieces) = (view.roots().len(), 0, VecDeque::new());
    let window = wanted.window.unwrap_or(limits::USUAL_WINDOW).min(limits::WINDOW);
    for place in (total.saturating_sub(window)..total).rev() {
        let Some(piece) = painter.piece(view, place, None).filter(|_| bytes < limits::WINDOW_BYTES) else {
            break;
        };
        bytes += piece.json.len();
        pieces.push_front(piece.json);
    }
    let (seq, first) = (view.version(), total - pieces.len());
    let head = format!("\"sub\":{sub},\"seq\":{seq},\"kind\":\"window\",\"total\":{total},\"first\":{first}");
    vec![
        subscribed.text().into(),
        format!("{{\"type\":\"state\",\"sub\":{sub},\"session\":{state}}}").into(),
        entries(&head, pieces.iter().map(|piece| &**piece)),
    ]
}

fn entries<'a>(head: &str, pieces: impl Iterator<Item = &'a str> + Clone) -> Frame {
    let size: usize = pieces.clone().map(|piece| piece.len() + 1).sum();
    let mut frame = String::with_capacity(size + head.len() + 64);
    frame.push_str("{\"type\":\"entries\",");
    frame.push_str(head);
    frame.push_str(",\"entries\":[");
    for (index, piece) in pieces.enumerate() {
        if index > 0 {
            frame.push(',');
        }
        frame.push_str(piece);
    }
    frame.push_str("]}");
    frame.into()
}

/// Notes which version of an entry the client has; of old entries it need not be known.
fn remember(has: &mut BTreeMap<usize, u64>, place: usize, version: u64) {
    has.insert(place, version);
    if has.len() > limits::REMEMBERED {
        has.pop_first();
    }
}

#[cfg(test)]
mod tests;
