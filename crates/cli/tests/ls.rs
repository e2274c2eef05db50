//! `parlor ls`: what is on this machine.

mod common;

use std::time::{Duration, SystemTime};

use common::{Home, exists, prompt, reply, sidechain, talk};
use serde_json::json;

#[test]
fn every_agent_s_sessions_are_found_newest_first() {
    let home = Home::new();
    home.session("claude-1", talk("claude-1", 2));
    let meta = |id: &str, hour: u32| json!({"timestamp": format!("2026-11-16T{hour:02}:00:00Z"), "type": "session_meta", "payload": {"id": id, "cwd": "/w/codex"}});
    home.write(
        ".codex/sessions/2026/11/16/rollout-2026-11-16T10-00-00-codex-1.jsonl.zst",
        zstd::encode_all(format!("{}\n", meta("codex-1", 10)).as_bytes(), 1).unwrap(),
    );
    home.write(
        ".codex/archived_sessions/rollout-2026-11-16T09-00-00-codex-2.jsonl",
        format!("{}\n", meta("codex-2", 9)),
    );
    let pi = json!({"type": "session", "version": 3, "id": "pi-1", "timestamp": "2026-11-14T10:00:00Z", "cwd": "/w/pi"});
    home.write(".pi/agent/sessions/--w-pi--/2026-11-14T10-00-00-000Z_pi-1.jsonl", format!("{pi}\n"));
    let listed = home.run(&["ls", "--json"]).exits(0).json();
    let ids: Vec<&str> = listed.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["codex-1", "codex-2", "claude-1", "pi-1"], "{listed:#}");
    assert_eq!(listed[0]["agent"], "Codex");
    assert_eq!(listed[0]["project"], "/w/codex");
    assert_eq!(listed[2]["tokens"]["total"], 30);
    assert_eq!(listed[2]["title"], "question 0");
    home.run(&["ls"]).exits(0).says("claude-1").says("garden").says("question 0");
}

#[test]
fn the_environment_moves_the_folders() {
    let home = Home::new();
    home.write("c/projects/-w/moved-1.jsonl", talk("moved-1", 1));
    home.session("not-there", talk("not-there", 1));
    let output = home.command(&["ls"]).env("CLAUDE_CONFIG_DIR", home.path("c")).output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(out.contains("moved-1") && !out.contains("not-ther"), "{out}");
}

#[test]
fn a_message_that_several_lines_repeat_is_counted_once() {
    let home = Home::new();
    let id = "split-1";
    let once = prompt(id, 1, "hi") + &reply(id, 2, "first part");
    let second_part = reply(id, 3, "second part").replace("msg-split-1-3", "msg-split-1-2");
    home.session(id, once + &second_part);
    assert_eq!(home.run(&["ls", "--json"]).exits(0).json()[0]["tokens"]["total"], 15);
}

#[test]
fn a_subagent_s_own_file_is_not_a_session() {
    let home = Home::new();
    home.session("main-1", talk("main-1", 1));
    home.session("agent-deadbeef", sidechain(&talk("main-1", 1), "deadbeef"));
    home.session("side-only", sidechain(&talk("main-1", 1), "cafe"));
    let listed = home.run(&["ls", "--json"]).exits(0).json();
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed:#}");
    assert_eq!(listed[0]["id"], "main-1");
}

#[test]
fn titles_cannot_take_over_the_terminal() {
    let home = Home::new();
    home.session("evil-1", prompt("evil-1", 1, "\x1b]0;owned\x07 \x1b[2J\u{202e}title"));
    let out = home.run(&["ls"]).exits(0).says("title").out;
    assert!(!out.contains(['\x1b', '\x07', '\u{202e}']), "{out:?}");
}

#[test]
fn an_unchanged_session_is_not_read_again() {
    let home = Home::new();
    let file = home.session("kept-1", talk("kept-1", 1));
    let cache = home.path(".cache/parlor/ls.json");
    let first = home.run(&["ls", "--json"]).exits(0).out;
    assert!(exists(&cache));
    // The row is taken from the cache: what was changed there shows.
    let marked = std::fs::read_to_string(&cache).unwrap().replace("question 0", "from the cache");
    std::fs::write(&cache, &marked).unwrap();
    home.run(&["ls", "--json"]).exits(0).says("from the cache");
    // A file that has changed is read.
    std::fs::write(&file, talk("kept-1", 2)).unwrap();
    home.run(&["ls", "--json"]).exits(0).says("question 0");
    std::fs::write(&file, talk("kept-1", 1)).unwrap();
    let later = SystemTime::UNIX_EPOCH + Duration::from_secs(2_000_000_000);
    std::fs::File::options().write(true).open(&file).unwrap().set_modified(later).unwrap();
    assert_eq!(home.run(&["ls", "--json"]).exits(0).out, first);
    // A cache that is damaged, or of another version, is thrown away.
    let marked = std::fs::read_to_string(&cache).unwrap().replace("question 0", "from the cache");
    for bad in ["not json".to_owned(), marked.replacen("\"version\":\"", "\"version\":\"0.0.0-", 1)] {
        std::fs::write(&cache, bad).unwrap();
        home.run(&["ls", "--json"]).exits(0).says("question 0");
    }
}

#[test]
fn a_session_of_no_known_format_is_left_out() {
    let home = Home::new();
    home.session("strange", "{\"what\":1}\n");
    home.session("binary", b"\0\x01\x02\x03");
    assert_eq!(home.run(&["ls", "--json"]).exits(0).json(), json!([]));
    home.run(&["ls"]).exits(0).complains("no sessions found").complains(".claude");
}

#[test]
fn a_table_stays_a_table_when_ids_share_their_start() {
    let home = Home::new();
    for id in ["01999999-0001", "01999999-0002"] {
        home.session(id, talk(id, 1));
    }
    let out = home.run(&["ls"]).exits(0).out;
    for line in out.lines().skip(1) {
        let id = line.split_whitespace().next().unwrap();
        home.run(&["show", id, "--format", "text"]).exits(0).says("answer 0");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_name_that_is_not_unicode_is_listed_and_examined() {
    use std::os::unix::ffi::OsStrExt;
    let home = Home::new();
    home.session("usual-1", talk("usual-1", 1));
    let strange = home.path(".claude/projects/-w").join(std::ffi::OsStr::from_bytes(b"od\xffd-1.jsonl"));
    std::fs::write(strange, talk("odd-1", 1)).unwrap();
    assert_eq!(home.run(&["ls", "--json"]).exits(0).json().as_array().unwrap().len(), 2);
    assert_eq!(home.run(&["ls", "--json"]).exits(0).json().as_array().unwrap().len(), 2);
    assert_eq!(home.run(&["doctor", "--json"]).exits(0).json()["total"]["files"], 2);
}

#[test]
fn of_copies_of_a_session_the_newest_is_shown() {
    let home = Home::new();
    let old = home.write(".claude/projects/-a/copy-1.jsonl", talk("copy-1", 1));
    let new = home.write(".claude/projects/-b/copy-1.jsonl", talk("copy-1", 2));
    let touch = |path, seconds| {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        std::fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
    };
    touch(&old, 1_000_000_000);
    touch(&new, 1_000_000_001);
    home.run(&["show", "copy", "--format", "text"]).exits(0).says("answer 1");
    touch(&old, 1_000_000_002);
    assert!(!home.run(&["show", "copy-1", "--format", "text"]).exits(0).out.contains("answer 1"));
}
