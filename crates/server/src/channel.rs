//! What a profile says about a session, made once for all who listen. It runs the one pipeline over what the session's view
//! has folded, step by step, from the beginning and then on.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use parlor_dialect::{Format, House};
use parlor_hub::{Folded, Nested, Open, Scribe};
use parlor_model::Key;
use parlor_model::entry::Entry;
use parlor_model::event::{Event, Reading};
use parlor_model::line::Line;
use parlor_model::record::{Origin, Record};
use parlor_model::time::Time;
use parlor_profile::{Profile, Projector, Step};
use parlor_transcript::Transcript;
use serde_json::Value;

use crate::limits;
use crate::room::lock;

/// How many steps are taken from the view at a time.
pub(crate) const CHUNK: usize = 512;

/// Runs a session's records, and the lines of its subagents' own files, through the pipeline of one profile.
pub struct Pipeline {
    house: House,
    transcript: Transcript,
    folds: bool,
    projector: Box<dyn Projector>,
    /// For a reader that folds by itself: it is told what a log of the session would have.
    scribe: Option<Scribe>,
    events: Vec<Event>,
}

impl Pipeline {
    /// A pipeline that has read nothing. `format` is that of a file's lines; a log says its own.
    pub fn new(profile: Profile, format: Option<Format>) -> Pipeline {
        Pipeline {
            house: House::new(format),
            transcript: Transcript::default(),
            folds: profile.looks_at_entries(),
            projector: profile.projector(),
            scribe: (profile == Profile::Records).then(Scribe::default),
            events: Vec::new(),
        }
    }

    /// Says what one step means.
    pub(crate) fn take(&mut self, folded: &Folded, out: &mut Vec<Value>) {
        if let Some(scribe) = &mut self.scribe {
            return scribe.write(folded).iter().for_each(|record| self.step(record, out));
        }
        match folded {
            Folded::Record(record) => self.step(record, out),
            Folded::Nested(nested) => self.nested(nested, out),
        }
    }

    /// Says what one record means.
    pub fn step(&mut self, record: &Record, out: &mut Vec<Value>) {
        let mut events = std::mem::take(&mut self.events);
        let (line, reading) = self.house.read(record, &mut events);
        let touched = match self.folds {
            true => self.transcript.fold(record.seq, &line, &reading, events.iter().cloned()),
            false => Vec::new(),
        };
        let Record { seq, at, origin, .. } = *record;
        self.project(seq, (origin, at), (&line, &reading, &events), &touched, out);
        events.clear();
        self.events = events;
    }

    /// Says what a line of a subagent's own file means. It is no record of the session.
    fn nested(&mut self, nested: &Nested, out: &mut Vec<Value>) {
        if self.folds {
            let Nested { seq, line, reading, events, .. } = nested;
            let touched = self.transcript.fold(*seq, line, reading, events.iter().cloned());
            self.project(*seq, (Origin::Agent, None), (line, reading, events), &touched, out);
        }
    }

    fn project(
        &mut self,
        seq: u64,
        (origin, received): (Origin, Option<Time>),
        (line, reading, events): (&Line, &Reading, &[Event]),
        touched: &[usize],
        out: &mut Vec<Value>,
    ) {
        let entries = self.transcript.entries();
        let touched: Vec<&Entry> = touched.iter().map(|index| &entries[*index]).collect();
        let session = self.transcript.session();
        let step = Step { seq, origin, received, line, reading, events, touched: &touched, session };
        self.projector.step(&step, out);
    }

    /// Says what can be said only at the end.
    pub(crate) fn finish(&mut self, out: &mut Vec<Value>) {
        self.projector.finish(out);
    }
}

/// The messages of one profile of one session.
pub(crate) struct Channel {
    profile: Profile,
    said: Mutex<Said>,
}

#[derive(Default)]
struct Said {
    epoch: Option<Key>,
    pipeline: Option<Pipeline>,
    /// The next step.
    next: u64,
    messages: VecDeque<Message>,
    /// How many messages were dropped at the front, and the last step of which one was.
    dropped: usize,
    dropped_seq: Option<u64>,
    bytes: usize,
}

/// One message, and the step it came from.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) seq: u64,
    pub(crate) json: Arc<str>,
}

/// Where a listener is.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) epoch: Key,
    /// The next message, counted from the first there ever was.
    pub(crate) next: usize,
    /// How many steps there were when the place was found.
    pub(crate) end: u64,
    /// True when messages before it are no longer kept.
    pub(crate) cut: bool,
}

/// What came next.
pub(crate) enum Next {
    /// Messages, each whole step's together; none when there is nothing new.
    Messages(Vec<Message>),
    /// The session was replaced, or what came next is no longer kept.
    Lost,
}

impl Channel {
    pub(crate) fn new(profile: Profile) -> Channel {
        Channel { profile, said: Mutex::default() }
    }

    /// True when reading what is new will not take long.
    pub(crate) fn is_near(&self, open: &Open) -> bool {
        let said = lock(&self.said);
        let view = open.view();
        said.epoch.as_ref() == Some(&view.epoch) && view.version().saturating_sub(said.next) <= 8
    }

    /// The place after a step, or the beginning. What comes before it is read, which may take long the first time.
    pub(crate) fn place(&self, open: &Open, after: Option<u64>) -> Place {
        loop {
            let mut said = lock(&self.said);
            said.follow(open);
            let known = after.is_none_or(|after| after < said.next);
            if !known && said.read_more(self.profile, open) {
                continue;
            }
            let next = after.map_or(0, |after| said.messages.partition_point(|message| message.seq <= after));
            let cut = said.dropped_seq.is_some_and(|dropped| after.is_none_or(|after| after < dropped));
            let epoch = said.epoch.clone().unwrap_or_default();
            return Place { epoch, next: said.dropped + next, end: open.view().version(), cut };
        }
    }

    /// Up to about `bytes` of messages from a place on, read where they have not been. Those of one step stay together, so
    /// that a client can resume after any answer.
    pub(crate) fn next(&self, open: &Open, epoch: &Key, next: usize, bytes: usize) -> Next {
        loop {
            let mut said = lock(&self.said);
            said.follow(open);
            if said.epoch.as_ref() != Some(epoch) || next < said.dropped {
                return Next::Lost;
            }
            let messages = said.from(next, bytes);
            let size: usize = messages.iter().map(|message| message.json.len()).sum();
            if size >= bytes || !said.read_more(self.profile, open) {
                return Next::Messages(messages);
            }
        }
    }
}

impl Said {
    /// Begins again when the session was replaced.
    fn follow(&mut self, open: &Open) {
        let view = open.view();
        if self.epoch.as_ref() != Some(&view.epoch) {
            *self = Said { epoch: Some(view.epoch.clone()), ..Said::default() };
        }
    }

    /// Reads some of the steps that are new. False when there are none.
    fn read_more(&mut self, profile: Profile, open: &Open) -> bool {
        let (steps, format) = {
            let view = open.view();
            (view.steps(self.next, CHUNK), view.first_format())
        };
        let pipeline = self.pipeline.get_or_insert_with(|| Pipeline::new(profile, format));
        let mut out = Vec::new();
        for (seq, step) in (self.next..).zip(&steps) {
            pipeline.take(step, &mut out);
            for message in out.drain(..) {
                let json: Arc<str> = message.to_string().into();
                self.bytes += json.len();
                self.messages.push_back(Message { seq, json });
            }
        }
        self.next += steps.len() as u64;
        while self.bytes > limits::CHANNEL_BYTES && self.messages.len() > 1 {
            if let Some(message) = self.messages.pop_front() {
                self.bytes -= message.json.len();
                self.dropped += 1;
                self.dropped_seq = Some(message.seq);
            }
        }
        !steps.is_empty()
    }

    fn from(&self, next: usize, bytes: usize) -> Vec<Message> {
        let (mut size, mut last, mut out) = (0, None, Vec::new());
        for message in self.messages.iter().skip(next - self.dropped) {
            if size >= bytes && last != Some(message.seq) {
                break;
            }
            size += message.json.len();
            last = Some(message.seq);
            out.push(message.clone());
        }
        out
    }
}
