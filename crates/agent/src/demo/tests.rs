//! The recording is whole, and every way to stop it leaves a turn that is over.

use std::sync::mpsc::channel;

use super::*;

fn play(heard: Vec<Heard>) -> Vec<Value> {
    let (sender, receiver) = channel();
    heard.into_iter().for_each(|heard| sender.send(heard).unwrap());
    // What the thread does at the end of stdin.
    drop(sender);
    let mut player =
        Player { voice: Voice::new("/work".into()), speed: 1e9, waiting: VecDeque::new(), out: Vec::new() };
    player.serve(&receiver).unwrap();
    let text = String::from_utf8(player.out).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_step_of_the_recording_is_played() {
    let mut voice = Voice::new("/work".into());
    for (recording, calls) in [(script::FIRST, 8), (script::LATER, 0)] {
        let steps =
            recording.lines().filter(|line| serde_json::from_str::<script::Step>(line).is_ok()).count();
        assert_eq!(steps, recording.lines().count());
        let frames = voice.turn("prompt");
        let lines: Vec<&Value> = frames.iter().map(|frame| &frame.line).collect();
        let results =
            lines.iter().filter(|line| line["message"]["content"][0]["type"] == "tool_result").count();
        assert_eq!(results, calls);
        assert_eq!(lines.last().unwrap()["type"], "result");
        assert!(frames.iter().all(|frame| !frame.line.to_string().contains("{cwd}")));
        assert_eq!(frames.last().unwrap().leaves, Open::Nothing);
    }
}

#[test]
fn the_second_turn_quotes_its_prompt() {
    let mut voice = Voice::new("/work".into());
    voice.turn("one");
    let frames = voice.turn(&quote(&"long\n".repeat(500)));
    let said = frames.last().unwrap().line["result"].as_str().unwrap().to_owned();
    assert!(said.starts_with("You said:\n\n> long\n> long\n"), "{said}");
    assert!(said.contains('…') && said.len() < 1500, "{said}");
}

#[test]
fn an_interrupt_is_granted_and_ends_the_turn() {
    let lines = play(vec![Heard::Prompt("go".into()), Heard::Interrupt(json!("i1"))]);
    let granted = lines.iter().position(|line| line["type"] == "control_response").unwrap();
    assert_eq!(lines[granted]["response"]["request_id"], "i1");
    let last: Vec<&str> = lines[granted + 1..].iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(last, ["user", "result"]);
}

#[test]
fn a_call_that_is_open_gets_a_result() {
    let mut voice = Voice::new("/work".into());
    let frames = voice.turn("go");
    let open = frames.iter().find_map(|frame| match &frame.leaves {
        Open::Calls(calls) if calls.len() == 2 => Some(frame.leaves.clone()),
        _ => None,
    });
    let lines = voice.interrupted(&open.unwrap());
    // With just these words Claude marks a call that was interrupted, and not one that failed.
    let interrupted = |line: &&Value| {
        line["message"]["content"][0]["content"] == "[Request interrupted by user for tool use]"
    };
    assert_eq!(lines.iter().filter(interrupted).count(), 2);
    assert_eq!(lines.last().unwrap()["terminal_reason"], "aborted_tools");
}

#[test]
fn what_is_asked_between_turns_is_granted() {
    let line = r#"{"type":"control_request","request_id":"s","request":{"subtype":"set_model","model":"x"}}"#;
    let lines = play(vec![listen(line).unwrap(), Heard::End(json!("e"))]);
    assert_eq!(lines.len(), 2);
    assert!(listen("no json").is_none());
    assert!(
        matches!(listen(r#"{"type":"user","message":{"content":"hi"}}"#), Some(Heard::Prompt(text)) if text == "hi")
    );
}
