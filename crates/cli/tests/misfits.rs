//! Agents that are missing, broken or mad, in a house: each is told of in words that say what to do, nothing is lost, and
//! nothing is left running.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests run the program and may panic"
)]

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

use common::Home;
use common::house::{Follower, House, story, wait_until};
use common::stage::Stage;
use serde_json::{Value, json};

/// An agent that speaks Claude's stream and misbehaves as the prompt's first word says.
const MISFIT: &str = r#"#!/usr/bin/env python3
import json, os, subprocess, sys, time

if "--version" in sys.argv:
    print("9.9.9 (Claude Code)"); sys.exit(0)
out = sys.stdout.buffer

def say(**line):
    out.write(json.dumps(dict(line, session_id="misfit")).encode() + b"\n"); out.flush()

def reply(text):
    message = {"id": "m-%d-%d" % (os.getpid(), time.monotonic_ns()), "role": "assistant", "content": [{"type": "text", "text": text}]}
    say(type="assistant", message=message, parent_tool_use_id=None)

def result():
    say(type="result", subtype="success", is_error=False, result="", terminal_reason="completed")

def flood(line, least):
    # At least so much, and then until the test has seen enough.
    piece = line * max(1, 65536 // len(line))
    written = 0
    while written < least or not os.path.exists("enough"):
        out.write(piece); written += len(piece)
    out.write(b"\n"); out.flush()

if os.path.exists("deaf"):
    while True: time.sleep(1000)
for line in sys.stdin:
    line = json.loads(line)
    if line.get("request", {}).get("subtype") == "end_session": sys.exit(0)
    if line["type"] != "user": continue
    text = line["message"]["content"][-1]["text"]
    word, _, rest = text.partition(" ")
    say(type="system", subtype="init", model="misfit-1", cwd=os.getcwd())
    if word == "say": reply(rest); result()
    elif word == "count": reply("%d characters" % len(text)); result()
    elif word == "binary":
        out.write(bytes(range(256)) * 64 + b"\n\x00\x00\xff\xfe\n" + b"{\"type\":\"assistant\",\"message\":\n\xc3\x28{}\n")
        reply("after the binary"); result()
    elif word == "forks":
        subprocess.Popen(["setsid", "sh", "-c", "trap '' TERM INT HUP; sleep 1000"], stdin=subprocess.DEVNULL)
        reply("I leave this to my child"); sys.exit(0)
    elif word == "silent":
        reply("my last words")
        os.close(1)
        while True: time.sleep(1000)
    elif word == "flood":
        flood(json.dumps({"type": "assistant", "session_id": "misfit", "parent_tool_use_id": None, "message":
            {"id": "flood", "role": "assistant", "content": [{"type": "text", "text": "water " * 160}]}}).encode() + b"\n", int(rest))
        reply("dry again"); result()
    elif word == "drizzle":
        flood(b"y\n", int(rest)); reply("dry again"); result()
"#;

/// A program that can be run.
fn program(home: &Home, name: &str, source: &str) -> String {
    let path = home.write(name, source);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_string_lossy().into_owned()
}

fn work(home: &Home) -> String {
    fs::create_dir_all(home.path("work")).unwrap();
    home.path("work").to_string_lossy().into_owned()
}

/// A house whose Claude is the misfit.
fn misfit_house(home: &Home) -> House {
    let misfit = program(home, "misfit.py", MISFIT);
    House::open_with(home, &[("PARLOR_CLAUDE", &misfit)])
}

fn begin(house: &House, home: &Home) -> Follower {
    let mut guest = house.guest();
    let session = guest.create("claude", &work(home));
    guest.follow(&session)
}

/// Processes that carry the mark of a run in this home.
fn left_running(home: &Home) -> usize {
    let home = home.path("").to_string_lossy().trim_end_matches('/').to_owned();
    let carries = |process: &fs::DirEntry| {
        let environment = fs::read(process.path().join("environ")).unwrap_or_default();
        let environment = String::from_utf8_lossy(&environment);
        environment.contains("PARLOR_RUN=") && environment.contains(&home)
    };
    fs::read_dir("/proc").unwrap().flatten().filter(carries).count()
}

/// What could not be started is said; the prompt waits, and is carried out when the way is clear.
#[test]
fn an_agent_that_is_missing_or_does_not_start_says_what_to_do() {
    let home = Home::new();
    let none = [("PATH", "/nowhere"), ("PARLOR_MODEL_URL", "")];
    let house = House::open_with(&home, &none);
    for (agent, words) in [
        ("claude", "Claude Code is not installed"),
        ("codex", "Codex is not installed"),
        ("pi", "Pi is not installed"),
        ("builtin", "no model is set"),
    ] {
        let mut guest = house.guest();
        let session = guest.create(agent, &work(&home));
        let mut talk = guest.follow(&session);
        talk.prompt("p", "say hello");
        talk.until("the reason", |view| story(view).contains("notice Error"));
        assert!(talk.story().contains(words), "{agent}: {}", talk.story());
        talk.until("the queue", |view| view.session().held && view.session().queue.len() == 1);
    }
    let session = begin(&house, &home).session;
    let mut guest = house.guest();
    guest.prompt(&session, "p", "say kept");
    let mut talk = guest.follow(&session);
    talk.until("the reason", |view| view.session().held);
    house.kill();
    let house = misfit_house(&home);
    let mut talk = house.guest().follow(&session);
    talk.order("go", json!({"order": "release"}));
    talk.rest("p");
    assert!(talk.story().ends_with("reply: kept"), "{}", talk.story());
}

#[test]
fn an_agent_that_gives_up_at_once_is_heard() {
    let home = Home::new();
    let old = program(
        &home,
        "old.sh",
        "#!/bin/sh\nread line\necho 'claude needs Node 22 or newer; you have 12' >&2\nexit 3\n",
    );
    let house = House::open_with(&home, &[("PARLOR_CLAUDE", &old)]);
    let mut talk = begin(&house, &home);
    talk.prompt("p", "say hello");
    talk.rest("p");
    talk.until("its end", |view| story(view).contains("notice Error"));
    let told = talk.story();
    assert!(told.contains("claude needs Node 22 or newer") && told.contains("exited with code 3"), "{told}");
    wait_until("nothing left", || left_running(&home) == 0);
}

#[test]
fn a_folder_that_vanished_is_named_and_can_come_back() {
    let home = Home::new();
    let house = misfit_house(&home);
    let mut talk = begin(&house, &home);
    fs::remove_dir(home.path("work")).unwrap();
    talk.prompt("p", "say hello");
    talk.until("the reason", |view| view.session().held);
    let told = talk.story();
    assert!(told.contains(&work(&home)) && told.contains("create the folder"), "{told}");
    talk.order("go", json!({"order": "release"}));
    talk.rest("p");
    assert!(talk.story().ends_with("reply: hello"), "{}", talk.story());
}

#[test]
fn a_huge_prompt_goes_through_and_a_larger_one_is_refused() {
    let home = Home::new();
    let house = misfit_house(&home);
    let mut talk = begin(&house, &home);
    let words = format!("count {}", "word ".repeat(1 << 20));
    talk.prompt("p", &words);
    talk.rest("p");
    let count = words.len();
    assert!(talk.story().ends_with(&format!("reply: {count} characters")), "{:.200}", talk.story());
    let larger = json!({"order": "prompt", "text": "x".repeat(7 << 20)});
    let answer = talk.order("q", larger);
    assert_eq!(answer["error"]["code"], "bad_request", "{answer}");
    assert!(
        answer["error"]["message"].as_str().unwrap().contains("put what is large into a file"),
        "{answer}"
    );
    // One that never reads its prompt is stopped all the same.
    fs::write(home.path("work/deaf"), "").unwrap();
    let mut deaf = begin(&house, &home);
    deaf.prompt("p", &words);
    deaf.until("the prompt", |view| view.entry("p").is_some());
    deaf.stop("stop");
    wait_until("only the one that rests", || left_running(&home) == 1);
    fs::remove_file(home.path("work/deaf")).unwrap();
    let told = deaf.turn("q", "say I listen now");
    assert!(told.ends_with("reply: I listen now"), "{told:.300}");
}

#[test]
fn what_an_agent_does_besides_talking_is_told_and_ended() {
    for (word, words) in [
        ("binary", "reply: after the binary"),
        ("forks", "exited with code 0 before its turn was over"),
        ("silent", "closed its output without ending"),
    ] {
        let home = Home::new();
        let house = misfit_house(&home);
        let mut talk = begin(&house, &home);
        talk.prompt("p", word);
        talk.rest("p");
        talk.until("the words", |view| story(view).contains(words));
        if word == "binary" {
            let bytes: Vec<u8> = (b'\n' + 1..=255).collect();
            let kept = talk.view.records().iter().any(|record| record.body.ends_with(&bytes));
            assert!(kept, "bytes are kept as they came");
        } else {
            wait_until("nothing left", || left_running(&home) == 0);
        }
        let told = talk.turn("q", "say on we go");
        assert!(told.ends_with("reply: on we go"), "{word}: {told}");
    }
}

/// A flood is taken in as fast as it can be, up to a limit with a mark, while others in the house go on. With
/// `PARLOR_THOROUGH` set it is a gigabyte; it then says how much memory the house needed.
#[test]
fn a_flood_has_a_limit_and_does_not_stop_others() {
    let thorough = std::env::var_os("PARLOR_THOROUGH").is_some();
    let floods: [(&str, u64); 2] = if thorough {
        [("flood", 1 << 30), ("drizzle", 32 << 20)]
    } else {
        [("flood", 20 << 20), ("drizzle", 1 << 20)]
    };
    for (word, bytes) in floods {
        let home = Home::new();
        let house = misfit_house(&home);
        let session = begin(&house, &home).session;
        let before = peak(&house);
        let begun = Instant::now();
        house.guest().prompt(&session, "p", &format!("{word} {bytes}"));
        let row = || -> Value {
            let list = house.guest().ask(json!({"type": "list"}));
            list["sessions"]
                .as_array()
                .unwrap()
                .iter()
                .find(|row| row["id"] == json!(session))
                .unwrap()
                .clone()
        };
        wait_until("the flood", || row()["size"].as_u64().unwrap() > 200_000);
        let mut other = begin(&house, &home);
        let asked = Instant::now();
        let told = other.turn("q", "say dry here");
        assert!(told.ends_with("reply: dry here"), "{told}");
        let answered = asked.elapsed();
        assert_ne!(row()["phase"], "idle", "the flood goes on meanwhile");
        fs::write(home.path("work/enough"), "").unwrap();
        common::house::wait_long("the end of the flood", || row()["phase"] == "idle");
        let size = row()["size"].as_u64().unwrap();
        println!(
            "{word}: {} MB kept in {:?}, house {} MB more at its peak; another session answered in {answered:?}",
            size >> 20,
            begun.elapsed(),
            (peak(&house) - before) >> 10,
        );
        // It goes on, and the mark is there: not for a flood that was within the limit.
        house.guest().prompt(&session, "q", "say dry land");
        wait_until("its reply", || row()["prompts"] == 2 && row()["phase"] == "idle");
        let found = |words: &str| home.run(&["search", "--exact", words]).out.contains(&session[..8]);
        wait_until("the reply in the search", || found("dry land"));
        assert!(found("dry again") || found("the rest is left out"), "{word}");
        assert!(word == "flood" || found("524000 lines"), "lines are counted too");
    }
}

/// The most memory that a house has needed, in KB.
fn peak(house: &House) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", house.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// The real programs without their keys say so themselves; the house passes it on.
#[test]
fn an_agent_that_is_not_signed_in_says_so() {
    let Some(stage) = Stage::set() else { return };
    let house = stage.house_without(&["ANTHROPIC_API_KEY", "SCRIPTED_KEY"]);
    for (agent, words) in [("claude", "/login"), ("codex", "SCRIPTED_KEY")] {
        let mut talk = stage.session(&house, agent, "allow_all");
        talk.prompt("p", "Hi [[script hello]]");
        talk.rest("p");
        talk.until("the reason", |view| story(view).contains(words));
        assert!(talk.view.is_idle(), "{agent}: {}", talk.story());
    }
}
