//! `codex exec --json`: one event a line, items whole, no timestamps. Also its older forms, with `item_type` and with
//! `{"id":"0","msg":{…}}`. The prompt is not in this stream, and it does not invent one.

use std::collections::HashSet;

use parlor_model::Key;
use parlor_model::block::{Author, Block, NoticeKind};
use parlor_model::event::{Event, Fate, Meta, Reading, Turn};
use parlor_model::json::{Kind, Reader};
use parlor_model::line::Line;
use parlor_model::rule::Rule;
use parlor_model::text::Text;

use crate::codex::fields::{Field, Fields};
use crate::codex::item::{self, ItemKind, Place, Progress};
use crate::codex::{notice, prompt, unreadable, usage};
use crate::codex_rollout::CodexRollout;
use crate::decoder::unknown;
use crate::{Claim, Dialect};

/// Reads `codex exec --json`.
#[derive(Debug, Default)]
pub(crate) struct CodexExec {
    /// How many processes have written so far: item ids start again at `item_0` in each.
    runs: u32,
    notices: u32,
    open: HashSet<Key>,
    /// The error shown last: the failed turn repeats it.
    error: Option<Text>,
    /// The oldest form writes the events that rollouts keep.
    events: CodexRollout,
}

impl Dialect for CodexExec {
    fn read(&mut self, line: &Line, out: &mut Vec<Event>) -> Reading {
        let mut reader = Reader::new(line.bytes());
        let mut fields = Fields::new(line);
        let mut message = Fields::new(line);
        let mut old = false;
        let is_object = reader.object(|reader, key| match key {
            b"msg" => old = message.read(reader),
            key => fields.take(reader, key),
        });
        if !is_object || reader.finish().is_some() {
            return unreadable(line);
        }
        if old {
            return self.events.event(&message, line, out);
        }
        match self.event(&fields, out) {
            Some(fate) => Reading { fate, at: None },
            None => unknown(line, &kind(&fields)),
        }
    }
}

impl CodexExec {
    fn event(&mut self, fields: &Fields, out: &mut Vec<Event>) -> Option<Fate> {
        let (turn, fate) = match fields.word(Field::Type) {
            b"thread.started" => return Some(self.start(fields, out)),
            b"turn.started" => (Turn::Start, Fate::Hidden(Rule::Step)),
            b"turn.completed" => {
                if fields.has(Field::Usage) {
                    let usage = usage::read(&fields.json(Field::Usage));
                    out.push(Event::Usage { message: Key::new_static("total"), usage });
                }
                (Turn::Done, Fate::Hidden(Rule::Usage))
            }
            b"turn.failed" => {
                let error = fields.json(Field::Error);
                let error = error.field_text("message").or_else(|| error.text());
                let repeated = error.is_some() && error == self.error.take();
                (Turn::Failed { error: error.filter(|_| !repeated) }, Fate::Shown)
            }
            b"item.started" => return self.item(fields, Progress::Started, out),
            b"item.updated" => return self.item(fields, Progress::Updated, out),
            b"item.completed" => return self.item(fields, Progress::Completed, out),
            b"error" => {
                let text = fields.text(Field::Message)?;
                let kind =
                    if text.starts_with("Reconnecting...") { NoticeKind::Retry } else { NoticeKind::Error };
                self.error = Some(text.clone());
                out.push(notice(self.next_notice(), None, kind, text));
                return Some(Fate::Shown);
            }
            b"" => return self.preamble(fields, out),
            _ => return None,
        };
        out.push(Event::Turn { turn });
        Some(fate)
    }

    fn start(&mut self, fields: &Fields, out: &mut Vec<Event>) -> Fate {
        self.runs = self.runs.saturating_add(1);
        self.open.clear();
        let metas = [
            fields.key(Field::ThreadId).map(|id| Meta::Id { id }),
            fields.key(Field::Model).map(|name| Meta::Model { name }),
            fields.text(Field::Cwd).map(|path| Meta::Cwd { path }),
            fields.key(Field::Version).map(|version| Meta::Version { version }),
        ];
        out.extend(metas.into_iter().flatten().map(|meta| Event::Meta { meta }));
        Fate::Hidden(Rule::Init)
    }

    fn item(&mut self, fields: &Fields, progress: Progress, out: &mut Vec<Event>) -> Option<Fate> {
        let item = fields.sub(Field::Item)?;
        let key = self.key(&item);
        if ItemKind::of(item.word(Field::Type)) == ItemKind::Prompt {
            let prompt = prompt::read(&item.json(Field::Content), Author::Person);
            let shown = prompt.is_some();
            out.extend(prompt.map(|prompt| Event::put(key, Block::Prompt(prompt))));
            return Some(if shown { Fate::Shown } else { Fate::Hidden(Rule::Injected) });
        }
        let place = Place { key: key.clone(), under: None, open: self.open.contains(&key) };
        let fate = item::events(&item, progress, place, out)?;
        if fate == Fate::Shown {
            self.open.insert(key);
        }
        Some(fate)
    }

    /// The item's id, told apart from the same id of an earlier process.
    fn key(&mut self, item: &Fields) -> Key {
        match (item.key(Field::Id), self.runs) {
            (Some(id), 0 | 1) => id,
            (Some(id), run) => format!("{run}/{id}").into(),
            (None, _) => self.next_notice(),
        }
    }

    /// The oldest form begins with a report of its settings and with the prompt, both without a type.
    fn preamble(&mut self, fields: &Fields, out: &mut Vec<Event>) -> Option<Fate> {
        if let Some(text) = fields.text(Field::Prompt) {
            let prompt = parlor_model::block::Prompt { text, ..Default::default() };
            out.push(Event::put(self.next_notice(), Block::Prompt(prompt)));
            return Some(Fate::Shown);
        }
        (fields.has(Field::Cwd) && fields.has(Field::Model)).then(|| self.start(fields, out))
    }

    fn next_notice(&mut self) -> Key {
        self.notices = self.notices.saturating_add(1);
        format!("n{}", self.notices).into()
    }
}

/// What an event that nobody knows calls itself.
fn kind(fields: &Fields) -> String {
    let event = String::from_utf8_lossy(fields.word(Field::Type)).into_owned();
    match fields.sub(Field::Item) {
        Some(item) => format!("{event}/{}", String::from_utf8_lossy(item.word(Field::Type))),
        None => event,
    }
}

/// How sure this format is that the line is its own.
pub(crate) fn claim(line: &Line) -> Claim {
    let mut claim = Claim::No;
    let (mut message, mut id) = (false, false);
    let mut reader = Reader::new(line.bytes());
    if reader.kind() != Kind::Object {
        return Claim::No;
    }
    reader.object(|reader, key| match key {
        b"type" => {
            claim = reader.text().map_or(Claim::No, |kind| match line.word(kind) {
                b"thread.started" | b"turn.started" | b"turn.completed" | b"turn.failed"
                | b"item.started" | b"item.updated" | b"item.completed" => Claim::Yes,
                b"error" => Claim::Maybe,
                _ => Claim::No,
            });
            if claim == Claim::Yes {
                reader.leave();
            }
        }
        b"id" => id = reader.kind() == Kind::String,
        b"msg" => message = reader.kind() == Kind::Object,
        _ => {}
    });
    if message && id { Claim::Yes } else { claim }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codex::testing::{assert_total, events, fates, reads};

    fn said(lines: &[&str]) -> Vec<String> {
        events(&mut CodexExec::default(), lines)
    }

    #[test]
    fn a_command_is_one_block_from_its_start_to_its_result() {
        let lines = [
            r#"{"type":"thread.started","thread_id":"t1"}"#,
            r#"{"type":"turn.started"}"#,
            r#"{"item":{"status":"in_progress","exit_code":null,"aggregated_output":"","command":"/bin/bash -lc 'ls'","type":"command_execution","id":"item_1"},"type":"item.started"}"#,
            r#"{"type":"item.completed","item":{"id":"item_1","type":"command_execution","command":"/bin/bash -lc 'ls'","aggregated_output":"a\n","exit_code":2,"status":"failed"}}"#,
            r#"{"type":"turn.completed","usage":{"input_tokens":10,"cached_input_tokens":4,"output_tokens":3}}"#,
        ];
        let expected = [
            "id t1",
            "turn Start",
            r#"tool item_1 shell {"command":["/bin/bash","-lc","ls"]} Running"#,
            r#"end item_1 Failed 2 "a\n""#,
            "usage total 6+4+3",
            "turn Done",
        ];
        assert_eq!(said(&lines), expected);
        reads(&mut CodexExec::default(), &lines, "hidden init, hidden step, shown, shown, hidden usage");
    }

    #[test]
    fn every_item_becomes_its_kind_of_block() {
        for (item, expected) in [
            (r#""type":"agent_message","text":"hi""#, &["reply i hi"][..]),
            (r#""item_type":"assistant_message","text":"old""#, &["reply i old"]),
            (r#""type":"reasoning","text":"hm""#, &["thought i hm"]),
            (r#""type":"error","message":"careful""#, &["notice i Warning careful"]),
            (
                r#""type":"file_change","changes":[{"path":"a","kind":"add"}],"status":"completed""#,
                &[
                    r#"tool i apply_patch {"changes":[{"path":"a","kind":"add"}]} Running"#,
                    r#"end i Done - "" a:Add"#,
                ],
            ),
            (
                r#""type":"mcp_tool_call","server":"s","tool":"t","arguments":{"x":1},"result":{"content":[{"type":"text","text":"r"}]},"error":null,"status":"completed""#,
                &[r#"tool i mcp__s__t {"x":1} Running"#, r#"end i Done - "r""#],
            ),
            (
                r#""type":"mcp_tool_call","server":"s","tool":"t","arguments":{},"result":null,"error":{"message":"no"},"status":"failed""#,
                &["tool i mcp__s__t {} Running", r#"end i Failed - "no""#],
            ),
            (
                r#""type":"collab_tool_call","tool":"spawn_agent","prompt":"do","receiver_thread_ids":["t2"],"agents_states":{"t2":{"status":"completed","message":"did"}},"status":"completed""#,
                &[r#"tool i spawn_agent {"prompt":"do","targets":["t2"]} Running"#, r#"end i Done - "did""#],
            ),
            (
                r#""id":"ws_1","type":"web_search","query":"q""#,
                &[r#"tool i web_search {"query":"q"} Running"#, r#"end i Done - """#],
            ),
            (
                r#""type":"todo_list","items":[{"text":"a","completed":true}]"#,
                &[
                    r#"tool i update_plan {"plan":[{"text":"a","completed":true}]} Running"#,
                    r#"end i Done - """#,
                ],
            ),
        ] {
            let line = format!(r#"{{"type":"item.completed","item":{{"id":"i",{item}}}}}"#);
            assert_eq!(said(&[&line]), expected, "{item}");
        }
    }

    #[test]
    fn item_ids_of_a_second_process_are_other_blocks() {
        let start = r#"{"type":"thread.started","thread_id":"t"}"#;
        let reply = r#"{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"x"}}"#;
        assert_eq!(said(&[start, reply, start, reply])[1..], ["reply item_0 x", "id t", "reply 2/item_0 x"]);
    }

    #[test]
    fn the_final_error_is_said_once_and_retries_are_retries() {
        let lines = [
            r#"{"type":"error","message":"Reconnecting... 1/2 (busy)"}"#,
            r#"{"type":"error","message":"busy"}"#,
            r#"{"type":"turn.failed","error":{"message":"busy"}}"#,
        ];
        assert_eq!(
            said(&lines),
            [
                "notice n1 Retry Reconnecting... 1/2 (busy)",
                "notice n2 Error busy",
                "turn Failed { error: None }"
            ]
        );
        assert_eq!(said(&lines[2..]), [r#"turn Failed { error: Some("busy") }"#]);
    }

    #[test]
    fn the_oldest_form_is_read_as_events() {
        let lines = [
            r#"{"id":"0","msg":{"type":"task_started"}}"#,
            r#"{"id":"0","msg":{"type":"exec_command_begin","call_id":"c","command":["bash","-lc","ls"]}}"#,
            r#"{"id":"0","msg":{"type":"exec_command_end","call_id":"c","stdout":"a","stderr":"","exit_code":0}}"#,
            r#"{"id":"0","msg":{"type":"agent_message","message":"done"}}"#,
        ];
        let expected = [
            "turn Start",
            r#"tool c shell {"command":["bash","-lc","ls"]} Running"#,
            r#"end c Done 0 "a""#,
            "reply n1 done",
        ];
        assert_eq!(said(&lines), expected);
        assert_eq!(claim(&Line::new(lines[0].into())), Claim::Yes);
    }

    #[test]
    fn what_is_not_known_is_unknown_by_its_kind_and_what_is_broken_is_damaged() {
        let fates = fates(
            &mut CodexExec::default(),
            &[
                r#"{"type":"item.completed","item":{"id":"i","type":"from_tomorrow"}}"#,
                r#"{"type":"turn.tomorrow"}"#,
                r#"{"type":"item.completed","item":7}"#,
                r#"{"type":"error","message":7}"#,
                "Reading additional input from stdin...",
                r#"{"type":"turn.started""#,
                r#"{"type" "turn.started"}"#,
            ],
        );
        let expected = [
            "unknown item.completed/from_tomorrow",
            "unknown turn.tomorrow",
            "unknown item.completed",
            "unknown error",
            "unknown text",
            "damaged",
            "damaged",
        ];
        assert_eq!(fates, expected);
    }

    #[test]
    fn no_input_is_too_odd() {
        assert_total(
            CodexExec::default,
            &[
                r#"{"type":"item.completed","item":{"id":"i","type":"command_execution","command":"x","aggregated_output":"y","exit_code":1,"status":"failed"}}"#,
                r#"{"type":"item.completed","item":{"id":"i","type":"collab_tool_call","tool":"wait","agents_states":{"a":{"completed":"x"}}}}"#,
                r#"{"type":"item.updated","item":{"id":"i","type":"mcp_tool_call","result":{"Ok":{"content":[{"text":"a"}]}}}}"#,
                r#"{"type":"turn.completed","usage":{"input_tokens":-5,"output_tokens":1e300}}"#,
            ],
        );
    }
}
