//! A subscription to the rendered entries of a session: what the client has, and what it is told next. It must not know
//! sockets, and it never waits.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use parlor_hub::{GLANCE, View};

use crate::error::Problem;
use crate::limits;
use crate::painter::{Painter, minutes, newest};
use crate::room::Room;
use crate::told::{Standing, Told};
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
    room: Arc<Room>,
    painter: Arc<Mutex<Painter>>,
    window: usize,
    /// Where it stands: shared with all who stand there as well.
    at: Arc<Standing>,
    /// Changes up to here are sent: where the client can resume.
    safe: u64,
    /// Places whose new form is still to be sent.
    pending: BTreeSet<usize>,
    /// True while what is pending is history to the client.
    history: bool,
}

impl HtmlSub {
    /// Begins: the verdict, the state, and what the client lacks.
    pub(crate) fn begin(sub: u64, room: Arc<Room>, wanted: &Wanted) -> (HtmlSub, Vec<Frame>) {
        let offset_s = minutes(wanted.offset_s);
        let painter = room.painter(offset_s);
        let window = wanted.window.unwrap_or(limits::USUAL_WINDOW).min(limits::WINDOW);
        let at = Arc::new(Standing::new(sub, offset_s, room.open().view().epoch.clone()));
        let (pending, history) = (BTreeSet::new(), true);
        let mut html = HtmlSub { room, painter, window, at, safe: 0, pending, history };
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
        let at = Arc::make_mut(&mut self.at);
        at.epoch = view.epoch.clone();
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
        at.lowest = wanted.first.unwrap_or_else(|| view.roots().len().saturating_sub(self.window));
        (self.safe, at.cursor) = (after, view.version());
        self.pending = view.changed_since(after, at.lowest).into_iter().collect();
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
            let mut at = Standing::new(self.at.sub, self.at.offset_s, view.epoch.clone());
            at.cursor = view.version();
            self.at = at.into();
            view.roots().len()
        };
        self.room.note_epoch(&self.at.epoch);
        self.safe = self.at.cursor;
        self.pending.clear();
        let mut frames = vec![self.subscribed(reference, verdict, why)];
        frames.extend(self.state());
        self.history = false;
        let pieces = self.pieces(total.saturating_sub(self.window), total, total);
        Arc::make_mut(&mut self.at).lowest = total - pieces.len().min(total);
        frames.push(self.entries(None, Kind::Window, total, &pieces));
        frames
    }

    /// What changed since the last time, up to about a frame of it. More is left when [`HtmlSub::has_more`].
    pub(crate) fn news(&mut self) -> Vec<Frame> {
        match self.look() {
            Some(total) => self.tell(total),
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
        let from = self.at.clone();
        let total = self.look().filter(|_| self.pending.len() <= AT_ONCE)?;
        let frames = self.tell(total);
        // Whoever is alone keeps its standing to itself.
        if !self.has_more() && Arc::strong_count(&self.painter) > 1 {
            *self.room.told() = Some(Told { ring, from, to: self.at.clone(), frames: frames.clone() });
        }
        Some(frames)
    }

    /// What somebody was told who stood here.
    fn repeated(&mut self, ring: u64) -> Option<Vec<Frame>> {
        let told = self.room.told();
        let told = told.as_ref().filter(|told| told.ring == ring && told.from == self.at)?;
        (self.safe, self.at) = (told.to.cursor, told.to.clone());
        Some(told.frames.clone())
    }

    /// Looks what has changed, and how many entries there are. `None` when the session was replaced.
    fn look(&mut self) -> Option<usize> {
        let view = self.room.open().view();
        if view.epoch != self.at.epoch {
            return None;
        }
        if view.version() > self.at.cursor {
            self.pending.extend(view.changed_since(self.at.cursor, self.at.lowest));
            Arc::make_mut(&mut self.at).cursor = view.version();
        }
        Some(view.roots().len())
    }

    /// The session was replaced.
    fn begin_again(&mut self) -> Vec<Frame> {
        self.room.note_epoch(&self.at.epoch);
        self.fresh(None, Verdict::Gap, Some(Why::Replaced))
    }

    /// Tells what is pending, up to about a frame of it.
    fn tell(&mut self, total: usize) -> Vec<Frame> {
        let mut frames: Vec<Frame> = self.state().into_iter().collect();
        let (mut pieces, mut bytes) = (Vec::new(), 0);
        while bytes < limits::FRAME_BYTES
            && let Some(place) = self.pending.pop_first()
        {
            if let Some(piece) = self.piece(place) {
                bytes += piece.len();
                pieces.push((place, piece));
            }
        }
        let kind = if self.history { Kind::Window } else { Kind::Live };
        if self.pending.is_empty() {
            self.safe = self.at.cursor;
            self.history = false;
        }
        if !pieces.is_empty() {
            frames.push(self.entries(None, kind, total, &pieces));
        }
        frames
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
        Arc::make_mut(&mut self.at).forget(|place| (start..end).contains(&place));
        let pieces = self.pieces(start, end, heart.clamp(start, end));
        if let Some((first, _)) = pieces.first().filter(|(first, _)| *first < self.at.lowest) {
            Arc::make_mut(&mut self.at).lowest = *first;
        }
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
            let Some(piece) = self.piece(place) else { break };
            bytes += piece.len();
            after.push((place, piece));
        }
        for place in (start..heart).rev() {
            if bytes >= limits::WINDOW_BYTES {
                break;
            }
            let Some(piece) = self.piece(place) else { break };
            bytes += piece.len();
            before.push((place, piece));
        }
        before.reverse();
        before.append(&mut after);
        before
    }

    /// What the client lacks of one entry, and remembers that it has it then.
    fn piece(&mut self, place: usize) -> Option<Arc<str>> {
        let piece = self.room.piece(&self.painter, &self.at.epoch, place, self.at.has(place))?;
        Arc::make_mut(&mut self.at).remember(place, piece.version);
        Some(piece.json)
    }

    fn state(&mut self) -> Option<Frame> {
        let state = self.room.state();
        if self.at.state.as_ref() == Some(&state) {
            return None;
        }
        let frame = format!("{{\"type\":\"state\",\"sub\":{},\"session\":{state}}}", self.at.sub);
        Arc::make_mut(&mut self.at).state = Some(state);
        Some(frame.into())
    }

    fn subscribed(&self, reference: Option<u64>, verdict: Verdict, why: Option<Why>) -> Frame {
        let (session, epoch) = (self.room.open().id().to_string(), self.at.epoch.to_string());
        let seq = Some(self.safe).filter(|_| verdict == Verdict::Resumed);
        Tell::Subscribed { reference, session, sub: self.at.sub, epoch, verdict, why, seq }.text().into()
    }

    fn entries(
        &self,
        reference: Option<u64>,
        kind: Kind,
        total: usize,
        pieces: &[(usize, Arc<str>)],
    ) -> Frame {
        let reference = reference.map(|reference| format!("\"ref\":{reference},")).unwrap_or_default();
        let (sub, seq, kind, first) = (self.at.sub, self.safe, kind.name(), self.at.lowest);
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
    let window = wanted.window.unwrap_or(limits::USUAL_WINDOW).min(limits::WINDOW);
    let pieces = newest(view, wanted.offset_s, window, limits::WINDOW_BYTES);
    let total = view.roots().len();
    let (seq, first) = (view.version(), total - pieces.len());
    let head = format!("\"sub\":{sub},\"seq\":{seq},\"kind\":\"window\",\"total\":{total},\"first\":{first}");
    vec![
        subscribed.text().into(),
        format!("{{\"type\":\"state\",\"sub\":{sub},\"session\":{state}}}").into(),
        entries(&head, pieces.iter().map(String::as_str)),
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

#[cfg(test)]
mod tests;
