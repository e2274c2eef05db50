//! `parlor show` on everything that can be named.

#![allow(clippy::disallowed_methods, reason = "these tests run the program")]

mod common;

use std::io::{Read, Write};
use std::process::Stdio;

use common::{Home, call, prompt, record, reply, result, sidechain, talk};
use serde_json::json;

#[test]
fn a_file_shows_in_every_form() {
    let home = Home::new();
    let file = home.write("a.jsonl", talk("s", 2));
    let file = file.to_str().unwrap();
    for (form, word) in [
        ("terminal", "answer 1"),
        ("markdown", "answer 1"),
        ("text", "answer 1"),
        ("html", "<!doctype html>"),
    ] {
        home.run(&["show", file, "--format", form]).exits(0).says("question 0").says(word);
    }
    let shown = home.run(&["show", file, "--format", "json"]).exits(0).json();
    assert_eq!(shown["entries"].as_array().unwrap().len(), 4);
    assert_eq!(shown["session"]["usage"]["input"], 20);
}

#[test]
fn stdin_shows_like_the_file() {
    let home = Home::new();
    let file = home.write("a.jsonl", talk("s", 2));
    let from_file = home.run(&["show", file.to_str().unwrap()]).exits(0);
    let from_stdin = home.pipe(&["show", "-"], talk("s", 2)).exits(0);
    assert_eq!(from_file.out, from_stdin.out);
}

#[test]
fn packed_files_are_told_by_their_first_bytes() {
    let home = Home::new();
    let plain = home.write("a.jsonl", talk("s", 3));
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(talk("s", 3).as_bytes()).unwrap();
    let gzip = home.write("packed", gzip.finish().unwrap());
    let zstd = home.write("other.jsonl", zstd::encode_all(talk("s", 3).as_bytes(), 1).unwrap());
    let expected = home.run(&["show", plain.to_str().unwrap()]).exits(0).out;
    for file in [&gzip, &zstd] {
        assert_eq!(home.run(&["show", file.to_str().unwrap()]).exits(0).out, expected);
    }
    let cut = std::fs::read(&zstd).unwrap();
    let cut = home.write("cut.zst", &cut[..cut.len() - 9]);
    home.run(&["show", cut.to_str().unwrap()]).exits(2).complains("cut.zst").complains("cut or damaged");
}

#[test]
fn an_id_or_its_start_finds_the_session() {
    let home = Home::new();
    home.session("aaaa1111-0000", talk("aaaa1111-0000", 1));
    home.session("aaaa2222-0000", talk("aaaa2222-0000", 1).replace("answer 0", "the second"));
    home.write(
        ".codex/sessions/2026/11/15/rollout-2026-11-15T14-02-03-bbbb-1.jsonl",
        "{\"timestamp\":\"2026-11-15T14:02:03Z\",\"type\":\"session_meta\",\"payload\":{\"id\":\"bbbb-1\",\"cwd\":\"/w\"}}\n",
    );
    home.run(&["show", "aaaa2222-0000", "--format", "text"]).exits(0).says("the second");
    home.run(&["show", "aaaa2", "--format", "text"]).exits(0).says("the second");
    home.run(&["show", "aaaa"]).exits(2).complains("2 sessions start with `aaaa`").complains("aaaa1111-0000");
    home.run(&["show", "bbbb", "--raw"]).exits(0).says("session_meta");
    home.run(&["show", "zzzz"]).exits(2).complains("`zzzz`").complains("parlor ls");
    home.run(&["show", ""]).exits(2);
}

#[test]
fn what_cannot_be_shown_is_named_with_a_way_on() {
    let home = Home::new();
    home.write("notes.txt", "just\nsome\nnotes\n");
    home.write("program", b"\x7fELF\0\0\0\x01");
    home.write("empty.jsonl", "");
    home.write("blank.jsonl", "\n\n  \n");
    std::fs::create_dir(home.path("nothing")).unwrap();
    home.run(&["show", "gone.jsonl"]).exits(2).complains("`gone.jsonl`").complains("parlor ls");
    home.run(&["show", "some/where"]).exits(2).complains("`some/where`");
    home.run(&["show", "notes.txt"])
        .exits(2)
        .complains("`notes.txt`")
        .complains("--from")
        .complains("claude-session");
    home.run(&["show", "program"]).exits(2).complains("`program` is a binary file");
    home.run(&["show", "empty.jsonl"]).exits(0).complains("`empty.jsonl` is empty");
    home.run(&["show", "blank.jsonl"]).exits(0).complains("is empty");
    home.run(&["show", "nothing"]).exits(2).complains("`nothing` is a folder");
    home.run(&["show"]).exits(2).complains("Usage");
    home.run(&["show", "a\x1b[31mb"]).exits(2).complains("a\u{fffd}[31mb");
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_read_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let file = home.write("secret.jsonl", talk("s", 1));
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o000)).unwrap();
    if std::fs::read(&file).is_ok() {
        println!("skipped: this user may read everything");
        return;
    }
    home.run(&["show", "secret.jsonl"]).exits(2).complains("no permission to read `secret.jsonl`");
}

#[test]
fn a_folder_lists_its_sessions() {
    let home = Home::new();
    home.write("old/one.jsonl", talk("one", 1));
    home.write("old/deep/two.jsonl", talk("two", 1));
    home.run(&["show", "old"]).exits(0).says("one").says("two").says("question 0");
}

#[test]
fn only_the_last_entries() {
    let home = Home::new();
    let file = home.write("long.jsonl", talk("s", 500));
    let file = file.to_str().unwrap();
    let shown = home.run(&["show", file, "--last", "3", "--format", "json"]).exits(0).json();
    let entries = shown["entries"].as_array().unwrap();
    let texts: Vec<&str> = entries.iter().map(|entry| entry["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["answer 498", "question 499", "answer 499"]);
    assert_eq!(shown["session"]["cwd"], "/home/kit/garden");
    let read = home.run(&["show", file, "--last", "3"]).exits(0).out;
    assert!(!read.contains("prompts"), "nobody has counted them: {read}");
    let all = home.run(&["show", file, "--last", "100000", "--format", "json"]).exits(0).json();
    assert_eq!(all["entries"].as_array().unwrap().len(), 1000);
    let none = home.run(&["show", file, "--last", "0", "--format", "json"]).exits(0).json();
    assert_eq!(none["entries"].as_array().unwrap().len(), 0);
}

#[test]
fn a_result_in_the_last_entries_finds_its_call() {
    let home = Home::new();
    let mut lines = talk("s", 2) + &call("s", 5, "toolu_1", "Bash", json!({"command": "make"}));
    // Between call and result stand more lines than the first look from the end takes in.
    for number in 6..200 {
        lines += &record("s", number, "progress", json!({}), json!({"data": {"type": "bash_progress"}}));
    }
    lines += &result("s", 200, "toolu_1", "built");
    let file = home.write("far.jsonl", lines);
    let shown =
        home.run(&["show", file.to_str().unwrap(), "--last", "1", "--format", "json"]).exits(0).json();
    assert_eq!(shown["entries"][0]["name"], "Bash", "{shown:#}");
    assert_eq!(shown["entries"][0]["state"], "done");
}

#[test]
fn raw_is_byte_for_byte() {
    let home = Home::new();
    let content = talk("s", 2) + "{\"half\":";
    let file = home.write("a.jsonl", &content);
    let file = file.to_str().unwrap();
    assert_eq!(home.run(&["show", "--raw", file]).exits(0).out, content);
    assert_eq!(home.run(&["show", "--raw", "--last", "1", file]).exits(0).out, "{\"half\":");
}

#[test]
fn subagents_lie_under_the_call_that_started_them() {
    let home = Home::new();
    let id = "parent-1";
    let session = home.session(
        id,
        prompt(id, 1, "do it")
            + &call(id, 2, "toolu_new", "Task", json!({"description": "look", "prompt": "Look around"}))
            + &call(id, 3, "toolu_old", "Task", json!({"description": "dig", "prompt": "Dig"}))
            + &record(
                id,
                4,
                "user",
                json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_old", "content": "dug"}]}),
                json!({"toolUseResult": {"status": "completed", "agentId": "0a1b2c3d"}}),
            )
            + &result(id, 5, "toolu_new", "seen")
            + &reply(id, 6, "done"),
    );
    // The new form: a folder, with a note that names the call. The old form: beside the session, named in the
    // result.
    let rename = |lines: String, name: &str| lines.replace("u-parent-1", name).replace("msg-parent-1", name);
    let new = prompt(id, 1, "Look around")
        + &call(id, 2, "toolu_deep", "Bash", json!({"command": "ls"}))
        + &reply(id, 3, "I looked");
    home.write(".claude/projects/-w/parent-1/subagents/agent-x9.jsonl", sidechain(&rename(new, "n"), "x9"));
    home.write(
        ".claude/projects/-w/parent-1/subagents/agent-x9.meta.json",
        r#"{"agentType":"e","toolUseId":"toolu_new"}"#,
    );
    let old = prompt(id, 1, "Dig") + &reply(id, 2, "I dug");
    home.write(".claude/projects/-w/agent-0a1b2c3d.jsonl", sidechain(&rename(old, "o"), "0a1b2c3d"));

    let shown = home.run(&["show", session.to_str().unwrap(), "--format", "json"]).exits(0).json();
    let places: Vec<(&str, &str)> = shown["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            (
                entry["text"].as_str().or(entry["name"].as_str()).unwrap(),
                entry["parent"].as_str().unwrap_or(""),
            )
        })
        .collect();
    assert_eq!(
        places,
        [
            ("do it", ""),
            ("Task", ""),
            ("Look around", "toolu_new"),
            ("Bash", "toolu_new"),
            ("I looked", "toolu_new"),
            ("Task", ""),
            ("Dig", "toolu_old"),
            ("I dug", "toolu_old"),
            ("done", ""),
        ]
    );
    // Six messages of 15 tokens, wherever they were written.
    assert_eq!(shown["session"]["usage"]["input"], 60);
    let listed = home.run(&["ls", "--json"]).exits(0).json();
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed:#}");
    assert_eq!(listed[0]["tokens"]["total"], 90);
    assert_eq!(listed[0]["subagents"], 2);
}

#[test]
fn a_subagent_s_subagent_and_what_nobody_understands_lie_under_their_calls() {
    let home = Home::new();
    let task = |name: &str| json!({"description": name, "prompt": name});
    let session = home.session("p", prompt("p", 1, "go") + &call("p", 2, "toolu_a", "Task", task("outer")));
    let write = |agent: &str, under: &str, lines: String| {
        let start = format!(".claude/projects/-w/p/subagents/agent-{agent}");
        home.write(&format!("{start}.jsonl"), sidechain(&lines, agent));
        home.write(&format!("{start}.meta.json"), json!({ "toolUseId": under }).to_string());
    };
    write("a", "toolu_a", prompt("qa", 1, "outer") + &call("qa", 2, "toolu_b", "Task", task("inner")));
    write("b", "toolu_b", reply("qb", 1, "deep") + &record("qb", 2, "brand-new", json!({}), json!({})));
    // Two files that name each other's calls, and one whose call is nowhere, are left alone.
    write("c", "toolu_d", call("qc", 1, "toolu_c", "Task", task("c")));
    write("d", "toolu_c", call("qd", 1, "toolu_d", "Task", task("d")));
    let shown = home.run(&["show", session.to_str().unwrap(), "--format", "json"]).exits(0).json();
    let places: Vec<(&str, &str)> = shown["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (entry["block"].as_str().unwrap(), entry["parent"].as_str().unwrap_or("")))
        .collect();
    assert_eq!(
        places,
        [
            ("prompt", ""),
            ("tool", ""),
            ("prompt", "toolu_a"),
            ("tool", "toolu_a"),
            ("reply", "toolu_b"),
            ("unknown", "toolu_b"),
        ]
    );
}

#[test]
fn a_reader_who_leaves_early_is_no_error() {
    let home = Home::new();
    let file = home.write("long.jsonl", talk("s", 5000));
    for arguments in
        [vec!["show", "--format", "text"], vec!["show", "--format", "json"], vec!["show", "--raw"]]
    {
        let mut child = home
            .command(&[arguments, vec![file.to_str().unwrap()]].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut start = [0; 10];
        child.stdout.take().unwrap().read_exact(&mut start).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }
}

#[test]
fn colours_only_when_wanted() {
    let home = Home::new();
    let file = home.write("a.jsonl", talk("s", 1));
    let file = file.to_str().unwrap();
    assert!(!home.run(&["show", file]).exits(0).out.contains('\x1b'));
    assert!(home.run(&["show", file, "--color", "always"]).exits(0).out.contains('\x1b'));
    let forced = home.command(&["show", file, "--color", "always"]).env("NO_COLOR", "1").output().unwrap();
    assert!(forced.stdout.contains(&0x1b));
}

#[test]
fn the_width_is_the_one_in_columns() {
    let home = Home::new();
    let long = "word ".repeat(60);
    let file = home.write("a.jsonl", prompt("s", 1, "hi") + &reply("s", 2, &long));
    let widest = |columns: &str| {
        let output =
            home.command(&["show", file.to_str().unwrap()]).env("COLUMNS", columns).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().filter(|line| line.contains("word word")).map(|line| line.chars().count()).max().unwrap()
    };
    assert!(widest("50") <= 50);
    assert!((60..=100).contains(&widest("100")));
}

#[cfg(target_os = "linux")]
#[test]
fn the_end_of_a_large_file_needs_little_memory() {
    let home = Home::new();
    let path = home.write("large.jsonl", talk("s", 30));
    // A hole of 300 MB: long on paper, nothing on disk, and fatal to someone who reads it.
    let mut file = std::fs::File::options().append(true).open(&path).unwrap();
    file.set_len(300 << 20).unwrap();
    file.write_all(format!("\n{}", talk("t", 100)).as_bytes()).unwrap();
    let command = format!(
        "ulimit -d 100000; exec '{}' show large.jsonl --last 3 --format text",
        env!("CARGO_BIN_EXE_parlor")
    );
    let mut limited = std::process::Command::new("/bin/sh");
    let output = limited
        .args(["-c", &command])
        .current_dir(home.path("."))
        .env("HOME", home.path("."))
        .output()
        .unwrap();
    let ran: common::Ran = output.into();
    let ran = ran.exits(0).says("answer 98").says("question 99").says("answer 99");
    assert!(!ran.out.contains("question 98"));
}
