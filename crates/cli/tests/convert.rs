//! `parlor convert`: a filter that does not wait.

mod common;

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use common::{Home, prompt, reply, talk};
use serde_json::Value;

#[test]
fn every_profile_speaks_json_lines() {
    let home = Home::new();
    for profile in ["events", "elements", "bridge", "legion", "raw"] {
        let ran = home.pipe(&["convert", "--to", profile], talk("s", 2)).exits(0);
        assert!(ran.out.lines().count() >= 2, "{profile}: {ran:?}");
        for line in ran.out.lines() {
            serde_json::from_str::<Value>(line).unwrap();
        }
        assert!(ran.out.contains("answer 1"), "{profile}: {ran:?}");
    }
}

#[test]
fn what_is_known_is_written_before_more_comes() {
    let home = Home::new();
    let mut child = home
        .command(&["convert", "--to", "raw"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    // Each answer is waited for before the next question: a filter that held back would hang here.
    for number in 1..=3 {
        input.write_all(prompt("s", number, &format!("prompt {number}")).as_bytes()).unwrap();
        let line = output.next().unwrap().unwrap();
        assert!(line.contains(&format!("prompt {number}")), "{line}");
    }
    // A line that is not complete says nothing yet; the end of the input completes it.
    let last = reply("s", 4, "unfinished end");
    input.write_all(last.trim_end().as_bytes()).unwrap();
    drop(input);
    assert!(output.next().unwrap().unwrap().contains("unfinished end"));
    assert!(child.wait().unwrap().success());
}

#[test]
fn lines_of_no_known_format_are_kept_and_remarked() {
    let home = Home::new();
    let ran = home.pipe(&["convert", "--to", "raw"], "hello\nworld\n").exits(0).complains("--from");
    assert_eq!(ran.out.lines().count(), 2);
}

#[test]
fn the_format_may_be_said() {
    let home = Home::new();
    home.pipe(&["convert", "--to", "raw", "--from", "claude-session"], talk("s", 1))
        .exits(0)
        .says("answer 0");
    home.pipe(&["convert", "--to", "raw", "--from", "nonsense"], "").exits(2).complains("codex-rollout");
    home.pipe(&["convert", "--to", "nonsense"], "").exits(2).complains("elements");
}

#[test]
fn bytes_that_are_not_utf8_and_endless_nesting_do_no_harm() {
    let home = Home::new();
    let mut input = talk("s", 1).into_bytes();
    input.extend(b"{\"type\":\"user\",\"message\":{\"content\":\"\xff\xfe\"}}\n");
    input.extend("[".repeat(100_000).as_bytes());
    for profile in ["events", "elements", "bridge", "legion", "raw"] {
        home.pipe(&["convert", "--to", profile], &input).exits(0);
    }
}
