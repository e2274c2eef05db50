//! Codex's formats against recordings of the real CLI and session files found in the wild, where they are there.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use parlor_dialect::{Decoder, Format, Splitter};
use parlor_model::Key;
use parlor_model::block::{Block, NoticeKind};
use parlor_model::event::{End, Event, Fate, Part, Turn};
use parlor_model::line::Line;
use parlor_model::tool::{Output, ToolState};

/// Record kinds in the found files that are truly nobody's: made up by the tests of other programs.
const UNKNOWN: [&str; 2] = ["item.completed/future_item", "turn.rate_limited"];

fn shared() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let found = path.is_dir();
    if !found {
        println!("skipped: no recordings beside the workspace");
    }
    found.then_some(path)
}

/// All files under `folder` whose path passes `wanted`, in order.
fn files(folder: &Path, wanted: impl Fn(&str) -> bool + Copy) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path, wanted));
        } else if wanted(&path.to_string_lossy()) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn lines(path: &Path) -> Vec<Line> {
    let bytes = Bytes::from(std::fs::read(path).unwrap());
    Splitter::split(&bytes).filter(|line| !line.is_blank()).collect()
}

/// Reads all files, checks what is damaged against a strict parser, and gives how often each fate came.
fn check(paths: &[PathBuf], format: Format) -> BTreeMap<String, u32> {
    let mut fates: BTreeMap<String, u32> = BTreeMap::new();
    for path in paths {
        let lines = lines(path);
        if lines.is_empty() {
            continue;
        }
        assert_eq!(Format::detect(lines.iter().take(20)), Some(format), "{}", path.display());
        let mut decoder = Decoder::new(format);
        for line in &lines {
            let mut events = Vec::new();
            let reading = decoder.read(line, &mut events);
            let sound = serde_json::from_slice::<serde_json::Value>(line.bytes()).is_ok();
            let damaged = matches!(reading.fate, Fate::Damaged(_));
            assert!(!damaged || !sound, "{}: {line:?}", path.display());
            if let Fate::Unknown(kind) = &reading.fate {
                let known = UNKNOWN.contains(&kind.as_str()) || !sound;
                assert!(known, "{}: {kind} {}", path.display(), String::from_utf8_lossy(line.bytes()));
            }
            *fates.entry(format!("{:?}", reading.fate)).or_default() += 1;
        }
    }
    println!("{}: {} files {fates:#?}", format.name(), paths.len());
    assert!(!paths.is_empty());
    fates
}

#[test]
fn every_recorded_and_found_exec_stream_is_understood() {
    let Some(shared) = shared() else { return };
    let mut paths = files(&shared.join("recordings/codex"), |path| {
        path.ends_with(".jsonl")
            && !path.contains(".session")
            && !path.contains(".stdin")
            && !path.contains("appserver")
    });
    paths.extend(files(&shared.join("corpus/codex_exec"), |path| path.ends_with(".jsonl")));
    assert!(check(&paths, Format::CodexExec)["Shown"] > 200);
}

#[test]
fn every_recorded_and_found_rollout_is_understood() {
    let Some(shared) = shared() else { return };
    let mut paths = files(&shared.join("recordings/codex"), |path| path.contains(".session"));
    paths.extend(files(&shared.join("corpus/codex_rollout"), |path| path.ends_with(".jsonl")));
    assert!(check(&paths, Format::CodexRollout)["Shown"] > 3000);
}

#[test]
fn every_recorded_app_server_is_understood_in_both_directions() {
    let Some(shared) = shared() else { return };
    let paths = files(&shared.join("recordings/codex"), |path| {
        path.contains("appserver") && path.ends_with(".jsonl") && !path.contains(".session")
    });
    assert!(check(&paths, Format::CodexApp)["Shown"] > 500);
}

/// What a reader sees of a file, one line a block.
#[derive(Default)]
struct Page {
    blocks: Vec<(Key, Option<Key>, Block)>,
    index: HashMap<Key, usize>,
}

impl Page {
    fn read(paths: &[PathBuf], format: Format) -> Page {
        let mut decoder = Decoder::new(format);
        let mut page = Page::default();
        for path in paths {
            for line in lines(path) {
                let mut events = Vec::new();
                decoder.read(&line, &mut events);
                events.into_iter().for_each(|event| page.apply(event));
            }
        }
        page
    }

    fn at(&mut self, key: &Key, open: impl FnOnce() -> Block) -> &mut Block {
        let index = *self.index.entry(key.clone()).or_insert(self.blocks.len());
        if index == self.blocks.len() {
            self.blocks.push((key.clone(), None, open()));
        }
        &mut self.blocks[index].2
    }

    fn apply(&mut self, event: Event) {
        match event {
            Event::Put { key, under, block, .. } => {
                *self.at(&key, || block.clone()) = block.clone();
                let index = self.index[&key];
                self.blocks[index].1 = under;
            }
            Event::Grow { key, part, text } => {
                let block = self.at(&key, || match part {
                    Part::Reply => Block::Reply(Default::default()),
                    Part::Thought => Block::Thought(Default::default()),
                    Part::Input | Part::Output => Block::Tool(Default::default()),
                });
                match block {
                    Block::Reply(reply) => reply.text.push(&text.as_str()),
                    Block::Thought(thought) => thought.text.push(&text.as_str()),
                    Block::Tool(tool) => {
                        tool.state = ToolState::Running;
                        tool.output.get_or_insert_with(|| Box::new(Output::default())).push(&text.as_str());
                    }
                    other => panic!("{other:?} cannot grow"),
                }
            }
            Event::End { key, end: End::Result { state, output, .. } } => {
                if let Block::Tool(tool) = self.at(&key, || Block::Tool(Default::default())) {
                    tool.state = state;
                    tool.output = Some(output);
                }
            }
            Event::Turn { turn: Turn::Interrupted { .. } } => {
                for (_, _, block) in &mut self.blocks {
                    match block {
                        Block::Tool(tool) if !tool.state.is_final() => tool.state = ToolState::Interrupted,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }

    fn rows(&self) -> Vec<String> {
        self.blocks
            .iter()
            .filter_map(|(_, under, block)| {
                Some(format!("{}{}", if under.is_some() { "  " } else { "" }, row(block)?))
            })
            .collect()
    }
}

fn row(block: &Block) -> Option<String> {
    Some(match block {
        Block::Prompt(prompt) => {
            format!("prompt {}{}", if prompt.steered { "steered " } else { "" }, prompt.text)
        }
        Block::Reply(reply) => format!("reply {}", reply.text),
        Block::Thought(thought) => format!("thought {}", thought.text),
        Block::Tool(tool) => {
            let output = tool.output.as_deref().cloned().unwrap_or_default();
            let mut action = format!("{:?}", tool.action());
            if action.starts_with("Patch") {
                action = format!(
                    "Patch {:?}",
                    output.patches.iter().map(|patch| (&patch.path, patch.change)).collect::<Vec<_>>()
                );
            }
            // A stream that ends too early leaves a call open; the file has what the dying process still wrote.
            if !tool.state.is_final() || tool.state == ToolState::Interrupted {
                return Some(format!("{action} cut"));
            }
            // Files do not keep long outputs whole.
            let text: String = output.joined().chars().take(30_000).collect();
            format!("{action} {:?} {:?} {text:?}", tool.state, output.exit_code)
        }
        Block::Notice(notice) => match notice.kind {
            NoticeKind::Warning | NoticeKind::Retry | NoticeKind::Error => return None,
            _ => format!("notice {:?} {}", notice.kind, notice.text),
        },
        Block::Unknown(unknown) => format!("unknown {}", unknown.kind),
    })
}

/// How a stream and its session file differ where the records themselves do.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Relation {
    Same,
    /// The stream shows parallel calls as they start, the file as they were made.
    Reordered,
    /// The file has earlier turns, or calls that failed before they ran, of which the stream says nothing.
    FileHasMore,
    /// The stream has text that was never completed, or another thread of the same server.
    StreamHasMore,
}

const RELATIONS: [(&str, Relation); 16] = [
    ("multi-tool", Relation::Reordered),
    ("appserver-multi-tool", Relation::Reordered),
    ("nounified-multi-tool", Relation::Reordered),
    ("appserver-approval-decline", Relation::FileHasMore),
    ("appserver-resume-2", Relation::FileHasMore),
    ("bad-args", Relation::FileHasMore),
    ("resume-2-resume", Relation::FileHasMore),
    ("resume-3-last", Relation::FileHasMore),
    ("resume-4-unknown", Relation::FileHasMore),
    ("resume-cwd-2", Relation::FileHasMore),
    ("sandbox-read-only", Relation::FileHasMore),
    ("appserver-close-midtext", Relation::StreamHasMore),
    ("appserver-interrupt-text", Relation::StreamHasMore),
    ("appserver-stream-error", Relation::StreamHasMore),
    ("appserver-two-threads", Relation::StreamHasMore),
    ("resume-5-fork", Relation::Same),
];

impl Relation {
    fn holds(self, mut live: Vec<String>, mut found: Vec<String>) -> bool {
        let within = |few: &[String], many: &[String]| {
            let mut rest = many.iter();
            few.iter().all(|row| rest.any(|other| other == row))
        };
        match self {
            Relation::Same => live == found,
            Relation::Reordered => {
                live.sort();
                found.sort();
                live == found
            }
            Relation::FileHasMore => live != found && within(&live, &found),
            Relation::StreamHasMore => live != found && within(&found, &live),
        }
    }
}

#[test]
fn a_stream_and_its_session_file_show_the_same_conversation() {
    let Some(shared) = shared() else { return };
    let folder = shared.join("recordings/codex");
    let sessions = files(&folder, |path| path.ends_with(".session.jsonl"));
    let mut different = Vec::new();
    for session in &sessions {
        let name = session.file_name().unwrap().to_string_lossy().replace(".session.jsonl", "");
        let app = name.starts_with("appserver");
        let format = if app { Format::CodexApp } else { Format::CodexExec };
        let mut live = Page::read(&[folder.join(format!("{name}.jsonl"))], format).rows();
        // The session file of a fork is the second one that this run left behind.
        let forked = folder.join(format!("{name}.session1.jsonl"));
        let session = if name == "resume-5-fork" { &forked } else { session };
        let mut found = Page::read(std::slice::from_ref(session), Format::CodexRollout).rows();
        // `codex exec` does not print the prompt; a subagent's work is in a file of its own.
        found.retain(|row| app || !row.starts_with("prompt "));
        live.retain(|row| !row.starts_with("  "));
        let relation = RELATIONS
            .iter()
            .find(|(other, _)| *other == name)
            .map_or(Relation::Same, |(_, relation)| *relation);
        if !relation.holds(live.clone(), found.clone()) {
            println!("== {name}\n-- live\n{}\n-- found\n{}", live.join("\n"), found.join("\n"));
            different.push(name);
        }
    }
    println!("{} pairs, {} not as expected", sessions.len(), different.len());
    assert!(different.is_empty(), "{different:?}");
}

#[test]
fn a_prompt_that_client_and_server_both_tell_is_shown_once() {
    let Some(shared) = shared() else { return };
    let folder = shared.join("recordings/codex");
    for name in ["appserver-multiturn", "appserver-steer", "appserver-hello"] {
        let [server, client] = ["jsonl", "stdin.jsonl"].map(|end| folder.join(format!("{name}.{end}")));
        let prompts = |paths: &[PathBuf]| {
            let mut rows = Page::read(paths, Format::CodexApp).rows();
            rows.retain(|row| row.starts_with("prompt "));
            rows
        };
        let alone = prompts(std::slice::from_ref(&server));
        assert!(!alone.is_empty());
        assert_eq!(prompts(&[server.clone(), client.clone()]), alone, "{name}");
        assert_eq!(prompts(&[client, server]).len(), alone.len(), "{name}");
    }
}
