//! Live is replay: a client that patches only what changed, line after line, sees what a reader of the whole sees, in
//! every format and at every moment.

use std::collections::BTreeMap;

use parlor_dialect::Format;
use parlor_model::line::Line;
use parlor_profile::Profile;
use parlor_render::{Options, Outline};
use parlor_tests::{Talk, sessions, shared_files};
use serde_json::Value;

/// What a browser does with what it receives: it keeps one piece of HTML per entry that stands by itself.
#[derive(Default)]
struct Browser {
    outline: Outline,
    pieces: BTreeMap<usize, String>,
}

impl Browser {
    fn patch(&mut self, talk: &Talk, touched: &[usize]) {
        self.outline.grow(talk.entries());
        for index in touched {
            let root = self.outline.root_of(*index);
            self.pieces.insert(root, talk.piece(root, &self.outline, &Options::default()));
        }
    }

    fn html(&self) -> String {
        self.pieces.values().map(String::as_str).collect()
    }
}

/// Sessions with stops, subagents and runs of reads, besides the sound ones of every format.
fn conversations() -> Vec<(Format, Vec<String>)> {
    let mut all: Vec<(Format, Vec<String>)> =
        Format::ALL.into_iter().map(|format| (format, sessions::lines(format))).collect();
    let claude = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
    all.push((
        Format::ClaudeStream,
        claude(&[
            r#"{"type":"user","message":{"role":"user","content":"Look"},"session_id":"s","parent_tool_use_id":null}"#,
            r#"{"type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"r1","name":"Read","input":{"file_path":"/a"}}]},"session_id":"s","parent_tool_use_id":null}"#,
            r#"{"type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"r2","name":"Grep","input":{"pattern":"x"}}]},"session_id":"s","parent_tool_use_id":null}"#,
            r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"r2","content":"b"}]},"session_id":"s","parent_tool_use_id":null}"#,
            r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"r1","content":"no","is_error":true}]},"session_id":"s","parent_tool_use_id":null}"#,
            r#"{"type":"assistant","message":{"id":"m2","role":"assistant","content":[{"type":"tool_use","id":"task","name":"Task","input":{"description":"d","prompt":"p"}}]},"session_id":"s","parent_tool_use_id":null}"#,
            r#"{"type":"assistant","message":{"id":"m3","role":"assistant","content":[{"type":"thinking","thinking":"hm"}]},"session_id":"s","parent_tool_use_id":"task"}"#,
            r#"{"type":"assistant","message":{"id":"m3","role":"assistant","content":[{"type":"tool_use","id":"i1","name":"Bash","input":{"command":"ls"}}]},"session_id":"s","parent_tool_use_id":"task"}"#,
            r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"i1","content":"out"}]},"session_id":"s","parent_tool_use_id":"task"}"#,
            r#"{"type":"assistant","message":{"id":"m3","role":"assistant","content":[{"type":"tool_use","id":"i2","name":"Bash","input":{"command":"sleep"}}]},"session_id":"s","parent_tool_use_id":"task"}"#,
            r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user]"}]},"session_id":"s","parent_tool_use_id":null}"#,
        ]),
    ));
    all.push((
        Format::ClaudeStream,
        claude(&[
            r#"{"type":"user","message":{"role":"user","content":"Say"},"session_id":"s","parent_tool_use_id":null}"#,
            r#"{"type":"stream_event","event":{"type":"message_start","message":{"id":"m1","role":"assistant","content":[]}},"session_id":"s","parent_tool_use_id":null}"#,
            r#"{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}},"session_id":"s","parent_tool_use_id":null}"#,
            r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}},"session_id":"s","parent_tool_use_id":null}"#,
            r#"{"type":"stream_event","event":{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}},"session_id":"s","parent_tool_use_id":null}"#,
            r#"{"type":"stream_event","event":{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Half a "}},"session_id":"s","parent_tool_use_id":null}"#,
            r#"{"type":"stream_event","event":{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"word"}},"session_id":"s","parent_tool_use_id":null}"#,
            r#"{"type":"stream_event","event":{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t","name":"Bash","input":{}}},"session_id":"s","parent_tool_use_id":null}"#,
            r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user]"}]},"session_id":"s","parent_tool_use_id":null}"#,
        ]),
    ));
    all
}

#[test]
fn a_patched_page_is_the_replayed_page_after_every_line() {
    for (format, lines) in conversations() {
        let (mut live, mut browser) = (Talk::begin(format), Browser::default());
        for (count, line) in lines.iter().enumerate() {
            let touched = live.say(line);
            browser.patch(&live, &touched);
            let replayed = Talk::of(format, &lines[..=count]);
            assert_eq!(browser.html(), replayed.html(), "{} after {line}", format.name());
            assert_eq!(live.text(), replayed.text());
        }
    }
}

#[test]
fn a_patched_page_is_the_replayed_page_of_real_sessions() {
    const LARGEST_BYTES: u64 = 150_000;
    let mut read = 0;
    for path in shared_files(&["recordings", "corpus"]) {
        if std::fs::metadata(&path).is_ok_and(|data| data.len() > LARGEST_BYTES) {
            continue;
        }
        let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap_or_default()).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        let first: Vec<Line> =
            lines.iter().take(20).map(|line| Line::new((*line).to_owned().into())).collect();
        let format = Format::detect(&first);
        let (mut live, mut browser) = (Talk::begin(format), Browser::default());
        for line in &lines {
            let touched = live.say(line);
            browser.patch(&live, &touched);
        }
        assert_eq!(browser.html(), Talk::of(format, &lines).html(), "{}", path.display());
        read += 1;
    }
    match read {
        0 => println!("skipped: there are no recordings beside the workspace"),
        read => println!("{read} real sessions"),
    }
}

#[test]
fn a_late_joiner_receives_what_was_said_live_in_every_profile() {
    for (format, lines) in conversations() {
        let mut live = Talk::begin(format);
        for line in &lines {
            live.say(line);
        }
        let mut late = Talk::begin(format);
        lines.iter().for_each(|line| {
            late.say(line);
        });
        for profile in Profile::ALL {
            let told: &[Value] = live.told(profile);
            assert_eq!(told, late.told(profile), "{} {}", format.name(), profile.name());
            assert!(!told.is_empty(), "{} {}", format.name(), profile.name());
        }
    }
}

#[test]
fn stops_thoughts_and_subagents_are_there_after_a_reload() {
    let all = conversations();
    let [.., (_, tools), (format, text)] = all.as_slice() else { panic!() };
    let tools = Talk::of(*format, tools);
    let html = tools.html();
    assert!(
        html.contains("card interrupted")
            && html.contains("⚠ Interrupted")
            && html.contains("<div class=\"nested\">")
    );
    assert!(html.contains("id=\"e-i1\"") && html.contains("id=\"e-i2\""));
    assert!(!html.contains("card pending"), "a stop leaves nothing open: {html}");
    let text = Talk::of(*format, text).html();
    let order = [
        "hm",
        "Half a word</p></div><span class=\"tag warn\">⚠ Interrupted</span>",
        "e-t\"",
        "mark interrupted\">⚠ Interrupted</div>",
    ]
    .map(|words| text.find(words).unwrap());
    assert!(order.is_sorted(), "{order:?} {text}");
    assert!(text.contains("class=\"thought\""));
}
