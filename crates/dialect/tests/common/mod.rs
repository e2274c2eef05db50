//! What the tests against real files share: finding the files, reading them, and a fold that is just enough to compare
//! what a reader would see.
#![allow(dead_code, clippy::unwrap_used, clippy::print_stdout)]

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use parlor_dialect::{Decoder, Format, Splitter};
use parlor_model::block::Block;
use parlor_model::event::{End, Event, Fate, Part};
use parlor_model::line::Line;
use parlor_model::tool::Output;

/// The files under `folder` of the shared material, in order; none when it is not there.
pub(crate) fn files(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(folder);
    if !root.exists() {
        println!("skipped: no {folder} beside the workspace");
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut folders = vec![root];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

/// The lines of a file.
pub(crate) fn lines(path: &Path) -> Vec<Line> {
    let bytes = Bytes::from(std::fs::read(path).unwrap());
    Splitter::split(&bytes).collect()
}

/// The format by the first lines that are not blank.
pub(crate) fn detect(lines: &[Line]) -> Option<Format> {
    Format::detect(lines.iter().filter(|line| !line.is_blank()).take(20))
}

/// How many lines had which fate.
pub(crate) type Fates = BTreeMap<String, usize>;

/// Reads all lines as `format`, counts their fates and folds their events.
pub(crate) fn read(format: Format, lines: &[Line], fates: &mut Fates) -> Seen {
    let mut decoder = Decoder::new(format);
    let mut seen = Seen::default();
    let mut events = Vec::new();
    for line in lines {
        events.clear();
        let reading = decoder.read(line, &mut events);
        *fates.entry(name(&reading.fate)).or_default() += 1;
        if let Fate::Damaged(_) = reading.fate {
            let strict = serde_json::from_slice::<serde_json::Value>(line.bytes());
            assert!(strict.is_err(), "sound JSON called damaged: {:?}", line.bytes());
            assert!(events.is_empty(), "a damaged line says nothing");
        }
        for event in &events {
            seen.fold(event);
        }
    }
    seen
}

fn name(fate: &Fate) -> String {
    match fate {
        Fate::Shown => "shown".into(),
        Fate::Nested => "nested".into(),
        Fate::Hidden(rule) => format!("hidden {}", rule.name()),
        Fate::Unknown(kind) => format!("unknown {kind}"),
        Fate::Damaged(why) => format!("damaged: {why}"),
        Fate::Blank => "blank".into(),
    }
}

/// Blocks in their places.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) blocks: Vec<(String, Block)>,
    index: HashMap<String, usize>,
    /// Text that grew under each key and part.
    pub(crate) grown: BTreeMap<(String, &'static str), String>,
    pub(crate) overtaken: Vec<bool>,
    pub(crate) usage: HashMap<String, u64>,
}

impl Seen {
    fn at(&mut self, key: &str, open: impl FnOnce() -> Block) -> &mut Block {
        let index = *self.index.entry(key.to_owned()).or_insert_with(|| {
            self.blocks.push((key.to_owned(), open()));
            self.overtaken.push(false);
            self.blocks.len() - 1
        });
        &mut self.blocks[index].1
    }

    pub(crate) fn fold(&mut self, event: &Event) {
        match event {
            Event::Put { key, block, .. } => *self.at(key, || block.clone()) = block.clone(),
            Event::Grow { key, part, text } => {
                let part_name = match part {
                    Part::Reply => "reply",
                    Part::Thought => "thought",
                    Part::Input => "input",
                    Part::Output => "output",
                };
                self.grown.entry((key.to_string(), part_name)).or_default().push_str(&text.as_str());
                match self.at(key, || Block::Tool(Box::default())) {
                    Block::Reply(reply) => reply.text.push(&text.as_str()),
                    Block::Thought(thought) => thought.text.push(&text.as_str()),
                    Block::Tool(tool) if *part == Part::Output => {
                        tool.output.get_or_insert_with(|| Box::new(Output::default())).push(&text.as_str());
                    }
                    _ => {}
                }
            }
            Event::End { key, end } => {
                let block = self.at(key, || Block::Tool(Box::default()));
                match (block, end) {
                    (Block::Tool(tool), End::Result { state, output, .. }) => {
                        tool.state = *state;
                        tool.output = Some(output.clone());
                    }
                    (Block::Tool(tool), End::Interrupted) => {
                        tool.state = parlor_model::tool::ToolState::Interrupted
                    }
                    _ => {}
                }
            }
            Event::Overtake { from } => {
                let first = self.index[from.as_str()];
                self.overtaken[first..].fill(true);
            }
            Event::Usage { message, usage } => {
                self.usage.insert(message.to_string(), usage.total());
            }
            _ => {}
        }
    }

    /// Each block as its key and what it says, streaming marks left out.
    pub(crate) fn view(&self) -> Vec<String> {
        self.blocks
            .iter()
            .map(|(key, block)| format!("{key}: {}", serde_json::to_string(block).unwrap()))
            .collect()
    }
}
