//! A conversation as every reader has it: entries, each profile's messages, HTML, Markdown, text and terminal. It goes
//! the one way from raw lines and asserts nothing itself.

use std::collections::BTreeMap;

use parlor_dialect::{Decoder, Format};
use parlor_model::block::Block;
use parlor_model::entry::Entry;
use parlor_model::line::Line;
use parlor_model::session::Session;
use parlor_model::tool::Tool;
use parlor_profile::{Profile, Projector, Step};
use parlor_render::{
    Context, Html, Options, Outline, Paint, entry_html, export_markdown, page, plain, terminal,
};
use serde_json::Value;

use crate::Whole;

/// A conversation on its way through everything.
pub struct Talk {
    /// Its lines and entries.
    pub whole: Whole,
    decoder: Decoder,
    projectors: Vec<(Profile, Box<dyn Projector>)>,
    told: BTreeMap<Profile, Vec<Value>>,
}

impl Talk {
    /// A conversation that has not begun.
    pub fn begin(format: impl Into<Option<Format>>) -> Talk {
        Talk {
            whole: Whole::default(),
            decoder: Decoder::new(format),
            projectors: Profile::ALL.into_iter().map(|profile| (profile, profile.projector())).collect(),
            told: Profile::ALL.into_iter().map(|profile| (profile, Vec::new())).collect(),
        }
    }

    /// A conversation of which all lines are there and nothing more will come.
    pub fn of<T: AsRef<str>>(format: impl Into<Option<Format>>, lines: &[T]) -> Talk {
        let mut talk = Talk::begin(format);
        for line in lines {
            talk.say(line.as_ref());
        }
        talk.finish();
        talk
    }

    /// Reads one more line; gives the entries it touched.
    pub fn say(&mut self, line: &str) -> Vec<usize> {
        let line = Line::new(line.to_owned().into());
        self.whole.step(&mut self.decoder, &line);
        let Some(said) = self.whole.steps.last() else { return Vec::new() };
        let entries = self.whole.transcript.entries();
        let touched: Vec<&Entry> = said.touched.iter().map(|index| &entries[*index]).collect();
        let step = Step {
            seq: self.whole.steps.len() as u64 - 1,
            origin: parlor_model::record::Origin::Agent,
            received: None,
            line: &line,
            reading: &said.reading,
            events: &said.events,
            touched: &touched,
            session: self.whole.transcript.session(),
        };
        for (profile, projector) in &mut self.projectors {
            projector.step(&step, self.told.entry(*profile).or_default());
        }
        said.touched.clone()
    }

    /// Lets every profile say what it can say only at the end.
    pub fn finish(&mut self) {
        for (profile, projector) in &mut self.projectors {
            projector.finish(self.told.entry(*profile).or_default());
        }
    }

    /// What a profile has said so far.
    pub fn told(&self, profile: Profile) -> &[Value] {
        self.told.get(&profile).map_or(&[], Vec::as_slice)
    }

    /// The types of what a profile has said, in order; of a `stream` envelope the type of what it carries.
    pub fn types(&self, profile: Profile) -> Vec<&str> {
        let kind = |message: &'_ Value| message.get("message").and_then(|inner| inner.get("type")).is_some();
        let typed = |message| if kind(message) { &message["message"] } else { message };
        self.told(profile).iter().filter_map(|message| typed(message)["type"].as_str()).collect()
    }

    /// The messages of one type that a profile has said.
    pub fn all(&self, profile: Profile, kind: &str) -> Vec<&Value> {
        self.told(profile).iter().filter(|message| message["type"] == kind).collect()
    }

    /// The entries.
    pub fn entries(&self) -> &[Entry] {
        self.whole.entries()
    }

    /// The session.
    pub fn session(&self) -> &Session {
        self.whole.transcript.session()
    }

    /// The tool call of that id.
    pub fn tool(&self, id: &str) -> &Tool {
        match self.whole.transcript.entry(id).map(|entry| &entry.block) {
            Some(Block::Tool(tool)) => tool,
            other => panic!("{id} is no tool call: {other:?}"),
        }
    }

    /// The conversation as the browser shows it, one piece per entry that stands by itself.
    pub fn pieces(&self) -> Vec<String> {
        let (outline, options) = (Outline::of(self.entries()), Options::default());
        outline.roots().map(|index| self.piece(index, &outline, &options)).collect()
    }

    /// One entry as the browser shows it, with all that is shown within it.
    pub fn piece(&self, index: usize, outline: &Outline, options: &Options) -> String {
        let context = Context { session: self.session(), entries: self.entries(), outline, options };
        let mut html = Html::with_capacity(1 << 10);
        entry_html::entry(&context, index, &mut html);
        html.as_str().to_owned()
    }

    /// The whole conversation in the browser.
    pub fn html(&self) -> String {
        self.pieces().concat()
    }

    /// The whole page, style sheet included.
    pub fn page(&self) -> String {
        page::page(self.session(), self.entries(), &Options::default()).as_str().to_owned()
    }

    /// The export as text.
    pub fn text(&self) -> String {
        plain::transcript(self.session(), self.entries(), &Options::default())
    }

    /// The export as Markdown.
    pub fn markdown(&self) -> String {
        export_markdown::transcript(self.session(), self.entries(), &Options::default())
    }

    /// The terminal's view, without colours.
    pub fn terminal(&self) -> String {
        terminal::transcript(self.session(), self.entries(), &Options::default(), 100, Paint::default())
    }
}
