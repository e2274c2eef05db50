//! Messages become events, and the little that must be remembered between lines to name their blocks.

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use parlor_model::Key;
use parlor_model::block::{Author, Block, Notice, NoticeKind, Prompt};
use parlor_model::event::{Event, Fate, Meta, Turn};
use parlor_model::json::Span;
use parlor_model::line::Line;
use parlor_model::rule::Rule;
use parlor_model::text::Text;

use super::content::{self, BlockKind};
use super::record::{Content, Raw, RawBlock};
use super::words::{self, Words};

/// So many messages may be written at once: the main conversation's and its subagents'.
const OPEN_MESSAGES: usize = 64;

/// What is remembered between lines.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    /// How many blocks of the last messages have come in complete form, newest last. A message is written as a line
    /// per block, with other lines in between.
    parts: VecDeque<(Key, u64)>,
    id: Option<Key>,
    model: Option<Key>,
    cwd: Option<Text>,
    branch: Option<Text>,
    version: Option<Key>,
    /// The command whose output comes in a record of its own.
    command: Option<(Key, Text)>,
    /// The compaction whose summary comes in a record of its own.
    compaction: Option<(Key, NoticeKind)>,
    /// What the main conversation replied, to compare with final results: they may come late, several at once.
    /// Only a stream has such results.
    replies: Option<HashSet<u64>>,
    counter: u64,
    /// True while reading a subagent's own file: its prompt is its caller's.
    pub(super) is_agent_file: bool,
}

impl Conversation {
    /// A conversation whose results are told apart from its replies.
    pub(super) fn streamed() -> Self {
        Conversation { replies: Some(HashSet::new()), ..Conversation::default() }
    }

    /// Says what a record tells about the session, when it is news.
    pub(super) fn meta(&mut self, line: &Line, raw: &Raw, out: &mut Vec<Event>) {
        let mut say = |meta| out.push(Event::Meta { meta });
        if news_key(&mut self.id, line, raw.session_id) {
            say(Meta::Id { id: self.id.clone().unwrap_or_default() });
        }
        if news_key(&mut self.version, line, raw.version) {
            say(Meta::Version { version: self.version.clone().unwrap_or_default() });
        }
        if news_text(&mut self.cwd, line, raw.cwd) {
            say(Meta::Cwd { path: self.cwd.clone().unwrap_or_default() });
        }
        if news_text(&mut self.branch, line, raw.branch) {
            say(Meta::Branch { name: self.branch.clone().unwrap_or_default() });
        }
    }

    /// Says which model answers, when it is another one.
    pub(super) fn model(&mut self, line: &Line, model: Option<Span>, out: &mut Vec<Event>) {
        let model = model.filter(|span| line.word(*span) != b"<synthetic>");
        if news_key(&mut self.model, line, model) {
            out.push(Event::Meta { meta: Meta::Model { name: self.model.clone().unwrap_or_default() } });
        }
    }

    /// A name that no other record has: its uuid, or a number.
    pub(super) fn name(&mut self, line: &Line, uuid: Option<Span>) -> Key {
        self.counter += 1;
        uuid.filter(|span| span.end > span.start)
            .map_or_else(|| format!("line/{}", self.counter).into(), |span| line.key(span))
    }

    /// An assistant's message: all of it, or the part of it that this line holds.
    pub(super) fn assistant(
        &mut self,
        line: &Line,
        raw: &Raw,
        under: Option<&Key>,
        out: &mut Vec<Event>,
    ) -> Fate {
        let message = &raw.message;
        if message.model.is_some_and(|span| line.word(span) == b"<synthetic>")
            && !raw.api_error
            && is_filler(line, raw)
        {
            return Fate::Hidden(Rule::Injected);
        }
        if raw.api_error && under.is_none() {
            let error = first_text(line, &message.content);
            out.push(Event::Turn { turn: Turn::Failed { error } });
            return Fate::Shown;
        }
        self.model(line, message.model.filter(|_| under.is_none()), out);
        let name = match message.id.filter(|span| span.end > span.start) {
            Some(span) => line.key(span),
            None => self.name(line, raw.uuid),
        };
        let one;
        let blocks: &[RawBlock] = match &message.content {
            Content::Blocks(blocks) => blocks,
            Content::Text(text) => {
                one = [RawBlock { text: Some(*text), ..RawBlock::default() }];
                &one
            }
            Content::Other(whole) => {
                one = [RawBlock { whole: *whole, ..RawBlock::default() }];
                &one
            }
            Content::None => &[],
        };
        let mut ends_turn = false;
        for block in blocks {
            ends_turn |= block.kind(line) == BlockKind::Text;
            self.assistant_block(line, raw, &name, under, block, out);
        }
        let stop = message.stop_reason.map(|span| line.word(span));
        // Newer versions write the same reason on every part of a message; its text comes last.
        if ends_turn && under.is_none() && matches!(stop, Some(b"end_turn" | b"stop_sequence" | b"refusal")) {
            out.push(Event::Turn { turn: Turn::Done });
        }
        if blocks.is_empty() { Fate::Hidden(Rule::Step) } else { Fate::Shown }
    }

    fn assistant_block(
        &mut self,
        line: &Line,
        raw: &Raw,
        name: &Key,
        under: Option<&Key>,
        block: &RawBlock,
        out: &mut Vec<Event>,
    ) {
        let kind = block.kind(line);
        if kind == BlockKind::Result {
            // Server tools answer inside the assistant's own message.
            out.push(content::tool_result(line, block, raw));
            return;
        }
        let index = self.next_part(name, raw.block_index);
        let key = Key::from(format!("{name}/{index}"));
        let (key, block) = content::assistant_block(line, block, key, raw.aborted);
        if let (Block::Reply(reply), None, Some(replies)) = (&block, under, &mut self.replies) {
            replies.insert(hash(reply.text.as_str().as_bytes()));
        }
        out.push(Event::Put { key, under: under.cloned(), message: Some(name.clone()), block });
    }

    /// The index of the next block of a message: as the record says, or by counting.
    fn next_part(&mut self, name: &Key, told: Option<u64>) -> u64 {
        let known = self.parts.iter_mut().rev().find(|(known, _)| known == name);
        let index = told.unwrap_or(known.as_ref().map_or(0, |(_, count)| *count));
        match known {
            Some((_, count)) => *count = index.saturating_add(1),
            None => {
                self.parts.push_back((name.clone(), index.saturating_add(1)));
                if self.parts.len() > OPEN_MESSAGES {
                    self.parts.pop_front();
                }
            }
        }
        index
    }

    /// A user record: results, a prompt, or one of the many things that are written as if the user had said them.
    pub(super) fn user(&mut self, line: &Line, raw: &Raw, under: Option<&Key>, out: &mut Vec<Event>) -> Fate {
        let one;
        let blocks: &[RawBlock] = match &raw.message.content {
            Content::Text(text) => {
                let words = line.text(*text);
                return self.words(line, raw, under, &words, &[], out);
            }
            Content::Blocks(blocks) => blocks,
            Content::Other(whole) => {
                one = [RawBlock { whole: *whole, ..RawBlock::default() }];
                &one
            }
            Content::None => &[],
        };
        let mut fate = None;
        for block in blocks.iter().filter(|block| block.kind(line) == BlockKind::Result) {
            out.push(content::tool_result(line, block, raw));
            fate = Some(Fate::Shown);
        }
        let has_results = fate.is_some();
        let pictures: Vec<&RawBlock> =
            blocks.iter().filter(|block| block.kind(line) == BlockKind::Picture).collect();
        let texts: Vec<Text> = blocks
            .iter()
            .filter(|block| block.kind(line) == BlockKind::Text)
            .filter_map(|block| Some(line.text(block.text?)))
            .collect();
        if has_results && (raw.meta || raw.synthetic) {
            return Fate::Shown;
        }
        if texts.len() > 1 && pictures.is_empty() && !has_results {
            let joined: Vec<_> = texts.iter().map(|text| text.as_str()).collect();
            return self.words(line, raw, under, &joined.join("\n").into(), &[], out);
        }
        for text in &texts {
            let told = self.words(line, raw, under, text, &pictures, out);
            fate = if has_results { fate } else { Some(told) };
        }
        if texts.is_empty() && !pictures.is_empty() {
            fate = Some(self.words(line, raw, under, &Text::default(), &pictures, out));
        }
        if self.strays(line, raw, under, blocks, out) {
            fate = Some(Fate::Shown);
        }
        fate.unwrap_or(Fate::Hidden(Rule::Step))
    }

    /// Blocks that no user writes, such as a call: they are shown as what they are. Tells whether there were any.
    fn strays(
        &mut self,
        line: &Line,
        raw: &Raw,
        under: Option<&Key>,
        blocks: &[RawBlock],
        out: &mut Vec<Event>,
    ) -> bool {
        let expected = |kind| matches!(kind, BlockKind::Text | BlockKind::Result | BlockKind::Picture);
        let strays: Vec<&RawBlock> = blocks.iter().filter(|block| !expected(block.kind(line))).collect();
        if strays.is_empty() {
            return false;
        }
        let name = self.name(line, raw.uuid);
        for (index, block) in strays.into_iter().enumerate() {
            let (key, block) =
                content::assistant_block(line, block, format!("{name}/{index}").into(), raw.aborted);
            out.push(Event::Put { key, under: under.cloned(), message: None, block });
        }
        true
    }

    /// Text in a user record.
    pub(super) fn words(
        &mut self,
        line: &Line,
        raw: &Raw,
        under: Option<&Key>,
        text: &Text,
        pictures: &[&RawBlock],
        out: &mut Vec<Event>,
    ) -> Fate {
        let decoded = text.as_str();
        if raw.compact_summary {
            self.summary(line, raw, text, out);
            return Fate::Shown;
        }
        let words = words::sort(&decoded);
        if raw.meta || raw.synthetic {
            return match words {
                Words::Caveat => Fate::Hidden(Rule::Caveat),
                _ => Fate::Hidden(Rule::Injected),
            };
        }
        let key = self.name(line, raw.uuid);
        match words {
            Words::Interrupt if under.is_none() => {
                out.push(Event::Turn { turn: Turn::Interrupted { reason: Key::new_static("user_cancel") } });
                Fate::Shown
            }
            Words::Interrupt => Fate::Hidden(Rule::Step),
            Words::Caveat => Fate::Hidden(Rule::Caveat),
            Words::Injected if pictures.is_empty() => Fate::Hidden(Rule::Injected),
            Words::Command(command) => {
                let command: Text = command.into();
                self.command = Some((key.clone(), command.clone()));
                out.push(Event::notice(
                    key,
                    Notice { kind: NoticeKind::Command { command }, text: Text::default() },
                ));
                Fate::Shown
            }
            Words::CommandOutput(output) => {
                let (key, command) = self.command.take().unwrap_or((key, Text::default()));
                let notice = Notice { kind: NoticeKind::Command { command }, text: output.trim().into() };
                out.push(Event::notice(key, notice));
                Fate::Shown
            }
            Words::Task(summary) => {
                out.push(Event::notice(key, Notice { kind: NoticeKind::Task, text: summary.into() }));
                Fate::Shown
            }
            Words::Peer { name, text } => {
                let author = Author::Peer { name: name.into() };
                let prompt = Prompt { text: text.into(), author, ..Prompt::default() };
                out.push(Event::Put {
                    key,
                    under: under.cloned(),
                    message: None,
                    block: Block::Prompt(prompt),
                });
                Fate::Shown
            }
            Words::Prompt(_) | Words::Injected => {
                let text = match words {
                    Words::Prompt(kept) if kept.len() != decoded.len() => kept.into(),
                    _ => text.clone(),
                };
                let attachments = pictures.iter().map(|block| content::picture(line, block)).collect();
                let prompt =
                    Prompt { text, author: self.author(line, raw, under), attachments, ..Prompt::default() };
                out.push(Event::Put {
                    key,
                    under: under.cloned(),
                    message: None,
                    block: Block::Prompt(prompt),
                });
                Fate::Shown
            }
        }
    }

    fn author(&self, line: &Line, raw: &Raw, under: Option<&Key>) -> Author {
        if under.is_some() || self.is_agent_file {
            return Author::Caller;
        }
        match raw.origin.map(|span| line.word(span)) {
            None | Some(b"human") => Author::Person,
            Some(_) => Author::Machine,
        }
    }

    /// True when the main conversation has said just this.
    pub(super) fn has_replied(&self, text: &Text) -> bool {
        self.replies.as_ref().is_some_and(|replies| replies.contains(&hash(text.as_str().as_bytes())))
    }

    /// The context is compacted from here; its summary may follow in another record.
    pub(super) fn boundary(
        &mut self,
        key: Key,
        before: Option<u64>,
        after: Option<u64>,
        out: &mut Vec<Event>,
    ) {
        let kind = NoticeKind::Compaction { before, after };
        self.compaction = Some((key.clone(), kind.clone()));
        out.push(Event::notice(key, Notice { kind, text: Text::default() }));
    }

    fn summary(&mut self, line: &Line, raw: &Raw, text: &Text, out: &mut Vec<Event>) {
        let fresh = NoticeKind::Compaction { before: None, after: None };
        let (key, kind) = self.compaction.take().unwrap_or_else(|| (self.name(line, raw.uuid), fresh));
        out.push(Event::notice(key, Notice { kind, text: text.clone() }));
    }
}

/// Names a record or a text in little space. Two of one session do not collide in practice: 64 bits.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// The CLI's own filler between turns, which no model said.
fn is_filler(line: &Line, raw: &Raw) -> bool {
    first_text(line, &raw.message.content).is_none_or(|text| text.starts_with("No response requested"))
}

/// The first text in a content.
pub(super) fn first_text(line: &Line, content: &Content) -> Option<Text> {
    match content {
        Content::None | Content::Other(_) => None,
        Content::Text(span) => Some(line.text(*span)),
        Content::Blocks(blocks) => blocks.iter().find_map(|block| Some(line.text(block.text?))),
    }
}

fn news_key(known: &mut Option<Key>, line: &Line, span: Option<Span>) -> bool {
    let Some(span) = span.filter(|span| span.end > span.start) else { return false };
    if known.as_ref().is_some_and(|known| known.as_bytes() == line.word(span)) {
        return false;
    }
    *known = Some(line.key(span));
    true
}

fn news_text(known: &mut Option<Text>, line: &Line, span: Option<Span>) -> bool {
    let Some(span) = span.filter(|span| span.end > span.start) else { return false };
    if known.as_ref().is_some_and(|known| known.is_raw(line.word(span))) {
        return false;
    }
    *known = Some(line.text(span));
    true
}
