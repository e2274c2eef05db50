//! What the profiles that tell news have in common: a watch that finds it and a voice that words it. It must not know
//! any profile.

use parlor_model::event::Fate;
use parlor_model::session::Session;
use parlor_model::time::Time;
use serde_json::Value;

use crate::watch::{News, Watch};
use crate::{Projector, Step};

/// How a profile words the news. The [`Watch`] sees to it that each is told once.
pub(crate) trait Voice: Default + Send {
    /// Words one piece of news.
    fn tell(&mut self, news: News<'_>, now: &Now<'_>, out: &mut Vec<Value>);

    /// Words what holds after the whole step.
    fn settle(&mut self, _now: &Now<'_>, _out: &mut Vec<Value>) {}

    /// Words what holds when nothing more will come.
    fn finish(&mut self, _now: &Now<'_>, _out: &mut Vec<Value>) {}
}

/// The moment at which news is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now<'a> {
    /// The record.
    pub(crate) seq: u64,
    /// Its time, or its predecessor's where it has none.
    pub(crate) at: Option<Time>,
    /// The session after the record.
    pub(crate) session: &'a Session,
}

/// A projector made of a watch and a voice.
#[derive(Debug, Default)]
pub(crate) struct Telling<V> {
    watch: Watch,
    voice: V,
    seq: u64,
    at: Option<Time>,
    session: Session,
}

impl<V: Voice> Projector for Telling<V> {
    fn step(&mut self, step: &Step<'_>, out: &mut Vec<Value>) {
        let at = step.reading.at.or(self.at);
        // What comes without a time does not inherit that of a subagent's line.
        if step.reading.fate != Fate::Nested {
            (self.seq, self.at) = (step.seq, at);
        }
        let now = Now { seq: step.seq, at, session: step.session };
        let voice = &mut self.voice;
        self.watch.read(step, &mut |news| voice.tell(news, &now, out));
        voice.settle(&now, out);
        if self.session.id != step.session.id {
            self.session.id = step.session.id.clone();
        }
    }

    fn finish(&mut self, out: &mut Vec<Value>) {
        let now = Now { seq: self.seq, at: self.at, session: &self.session };
        let voice = &mut self.voice;
        self.watch.finish(&mut |news| voice.tell(news, &now, out));
        voice.finish(&now, out);
    }
}
