//! Entries in a terminal, line by line.

use super::*;
use crate::sample::{done, ended, prompt, reply, thought};
use parlor_model::tool::Totals;
use serde_json::json;

fn lines(entries: &[Entry], options: &Options, width: usize) -> String {
    transcript(&Session::default(), entries, options, width, Paint { colour: false })
}

#[test]
fn a_conversation_in_full() {
    let mut entries = vec![
        prompt("p", "Bound the retries, and say how you did it in a sentence.", Author::Person),
        thought("h", "Hm."),
        reply("r", "I **will**."),
        done(
            "e",
            "Edit",
            json!({"file_path": "/p/a.go", "old_string": "a\nb\n", "new_string": "a\nc\n"}),
            "ok",
        ),
        ended(
            "c",
            "Bash",
            json!({"command": "go test"}),
            ToolState::Failed,
            Output { exit_code: Some(1), ..Output::text("1\n2\n3\n4\n5\n6\n") },
        ),
    ];
    entries.iter_mut().skip(2).for_each(|entry| entry.opens = false);
    assert_eq!(
        lines(&entries, &Options::default(), 40),
        "\n── 15 November 2026 ──\n\
         \nUser  14:02\n  Bound the retries, and say how you did\n  it in a sentence.\n\
         \nAssistant  14:02\n✻ Thought\n  Hm.\n\
         \n  I will.\n\
         \n● Update(/p/a.go)\n  ⎿ Added 1 line, removed 1 line\n    1 1   a\n    2   - b\n      2 + c\n\
         \n● Bash(go test)\n  ⎿ exit 1\n    1\n    2\n    3\n    4\n    … +2 lines\n"
    );
}

#[test]
fn a_bubble_that_a_hidden_thought_opens_keeps_its_label() {
    let mut entries = vec![prompt("p", "Go", Author::Person), thought("h", "Hm."), reply("r", "Yes.")];
    entries[2].opens = false;
    let shown = lines(&entries, &Options { thinking: false, ..Options::default() }, 40);
    assert!(shown.contains("Assistant  14:02\n  Yes."), "{shown}");
    assert!(!shown.contains("Hm."), "{shown}");
}

#[test]
fn nothing_is_wider_than_the_terminal_but_diffs_and_code() {
    let entries = [
        prompt("p", &"word ".repeat(100), Author::Person),
        reply("r", &"more words ".repeat(50)),
        done("c", "Bash", json!({"command": "echo ".repeat(60)}), &"x".repeat(3_000)),
        done("m", "mcp__a__b", json!({"key": "value ".repeat(40)}), "é".repeat(500).as_str()),
    ];
    for width in [24, 80, 200] {
        for line in lines(&entries, &Options::default(), width).lines() {
            assert!(crate::paint::width(line) <= width, "{width}: {line}");
        }
    }
}

#[test]
fn folded_output_can_be_unfolded() {
    let text: String = (0..50).map(|n| format!("row {n}\n")).collect();
    let entries = [done("c", "Bash", json!({"command": "x"}), &text)];
    assert!(lines(&entries, &Options::default(), 80).contains("… +46 lines"));
    let whole = Options { unfolded: true, ..Options::default() };
    assert!(lines(&entries, &whole, 80).ends_with("    row 49\n"));
}

#[test]
fn escapes_in_names_paths_and_output_do_not_reach_the_terminal() {
    let bad = "\u{1b}[2J\u{1b}]0;x\u{7}\u{9b}1m";
    let entries = [
        prompt("p", bad, Author::Peer { name: bad.into() }),
        done("c", "Bash", json!({ "command": bad }), bad),
        done("x", bad, json!({ bad: bad }), bad),
        done("w", "Write", json!({"file_path": bad, "content": bad}), bad),
    ];
    let text = lines(&entries, &Options::default(), 80);
    assert!(!text.contains(['\u{1b}', '\u{7}', '\u{9b}']), "{text:?}");
}

#[test]
fn a_subagent_shows_its_last_calls_and_totals() {
    let totals = Some(Box::new(Totals { tools: Some(9), ..Totals::default() }));
    let output = Output { totals, ..Output::text("Done.") };
    let mut entries = vec![ended("t", "Task", json!({"description": "Review"}), ToolState::Done, output)];
    entries.extend((1..=4).map(|n| done(&format!("n{n}"), "Bash", json!({"command": format!("s{n}")}), "x")));
    entries.iter_mut().skip(1).for_each(|entry| entry.parent = Some("t".into()));
    let text = lines(&entries, &Options::default(), 80);
    assert!(text.ends_with(
        "● Task(Review)\n    Bash(s2)\n    Bash(s3)\n    Bash(s4)\n  ⎿ 9 tools\n  ⎿ Tool Result\n    Done.\n"
    ), "{text}");
}
