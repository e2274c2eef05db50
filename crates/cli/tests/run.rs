//! `parlor run`, `tail`, `link`, `stop-all` and `search`: the house from a terminal, beside one that is open and without; and
//! what it keeps, as other commands find it.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests run the program and may panic"
)]

mod common;

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use common::house::{House, PATIENCE, puppet, signal, story};
use common::{Home, call, prompt, reply, result, sidechain, talk};
use serde_json::{Value, json};

/// `parlor run` in a home with the puppet as its Claude.
fn run(home: &Home, arguments: &[&str]) -> Command {
    let program = puppet(home);
    let mut command = home.command(&[&["run"], arguments].concat());
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("PARLOR_CLAUDE", program).env("PARLOR_DEMO_SPEED", "50");
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Waits for a child that was told to end.
fn end(mut child: Child) -> (i32, String) {
    let until = Instant::now() + PATIENCE;
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < until, "it does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    (child.wait().unwrap().code().unwrap_or(-1), out)
}

#[test]
fn a_prompt_is_answered_and_the_session_can_be_gone_on_with() {
    let home = Home::new();
    let ran = run(&home, &["say hello"]).output().unwrap();
    assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
    assert!(
        text(&ran.stdout).contains("say hello") && text(&ran.stdout).contains("hello"),
        "{}",
        text(&ran.stdout)
    );
    assert!(!text(&ran.stdout).contains('\x1b'), "no colours and no redrawing where no terminal reads");
    // The house was opened and closed by it; what was said is in the log.
    let house = House::open(&home);
    let list = house.guest().ask(json!({"type": "list"}));
    let id = list["sessions"][0]["id"].as_str().unwrap().to_owned();
    drop(house);
    let ran = run(&home, &["--session", &id[..13], "say again"]).output().unwrap();
    assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
    assert!(
        !text(&ran.stdout).contains("say hello"),
        "what was said before is not said again: {}",
        text(&ran.stdout)
    );
    let ran = run(&home, &["--session", "zzz", "say x"]).output().unwrap();
    assert_eq!(ran.status.code(), Some(2));
    assert!(text(&ran.stderr).contains("parlor ls"), "{}", text(&ran.stderr));
}

#[test]
fn events_come_as_json_for_scripts() {
    let home = Home::new();
    let ran = run(&home, &["--json", "say hello"]).output().unwrap();
    assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
    let events: Vec<Value> =
        text(&ran.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let done =
        events.iter().find(|event| event["type"] == "text_done").unwrap_or_else(|| panic!("{events:?}"));
    assert_eq!(done["text"], "hello");
}

#[test]
fn what_fails_fails_with_a_code() {
    let home = Home::new();
    let ran = run(&home, &["die"]).output().unwrap();
    assert_eq!(ran.status.code(), Some(1), "{}", text(&ran.stdout));
    assert!(text(&ran.stdout).contains("exited with code 7"), "{}", text(&ran.stdout));
    let ran = run(&home, &["--agent", "nobody", "x"]).output().unwrap();
    assert_eq!(ran.status.code(), Some(2));
    assert!(text(&ran.stderr).contains("choose one of"), "{}", text(&ran.stderr));
}

#[test]
fn beside_an_open_house_it_is_a_guest_and_ctrl_c_stops_the_turn() {
    let home = Home::new();
    let program = puppet(&home);
    let house = House::open_with(&home, &[("PARLOR_CLAUDE", &program)]);
    let child = run(&home, &["work"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let end_of_wait = Instant::now() + PATIENCE;
    let session = loop {
        assert!(Instant::now() < end_of_wait);
        let list = house.guest().ask(json!({"type": "list"}));
        if let Some(id) = list["sessions"][0]["id"].as_str() {
            break id.to_owned();
        }
    };
    let mut talk = house.guest().follow(&session);
    talk.until("the work", |view| story(view).contains("reply: working"));
    signal(child.id(), "INT");
    talk.until("the stop", |view| story(view).contains("notice Interrupted"));
    let (code, out) = end(child);
    assert_eq!(code, 130, "{out}");
    assert!(out.contains("Interrupted"), "{out}");
}

#[test]
fn short_words_with_the_house_that_is_open() {
    let home = Home::new();
    let none = home.run(&["link"]);
    assert_eq!(none.code, 2);
    assert!(none.err.contains("no house is open"), "{none:?}");
    home.session("22222222-bbbb", talk("22222222-bbbb", 3));
    let house = House::open(&home);
    let link = home.run(&["link"]);
    assert_eq!(link.code, 0, "{link:?}");
    assert!(link.out.starts_with(&house.url) && link.out.contains("#code="), "{link:?}");
    assert_ne!(link.out.trim(), house.link);
    assert_eq!(home.run(&["stop-all"]).out.trim(), "nothing was at work");
    let until = Instant::now() + PATIENCE;
    loop {
        let found = home.run(&["search", "question", "2"]);
        if found.out.contains("22222222") {
            break;
        }
        assert!(Instant::now() < until, "{found:?}");
    }
    assert_eq!(home.run(&["search", "--exact", "no such words anywhere"]).err.trim(), "nothing found");
}

#[test]
fn what_the_house_keeps_is_listed_shown_and_exported() {
    let home = Home::new();
    let ran = run(&home, &["-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    ran.stdin.as_ref().unwrap().write_all(b"say hello").unwrap();
    let ran = ran.wait_with_output().unwrap();
    assert!(text(&ran.stdout).contains("hello"), "{}", text(&ran.stdout));
    // The agent's own file of the same session is no second one.
    home.session("puppet", talk("puppet", 1));
    home.session("22222222-bbbb", talk("22222222-bbbb", 1));
    let look = || {
        let rows = home.run(&["ls", "--json"]).exits(0).json();
        let ids: Vec<String> =
            rows.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect();
        assert_eq!(ids.len(), 2, "{rows}");
        let kept = &rows.as_array().unwrap()[ids.iter().position(|id| id != "22222222-bbbb").unwrap()];
        assert_eq!((&kept["agent"], &kept["title"]), (&json!("Claude"), &json!("say hello")), "{rows}");
        let id = kept["id"].as_str().unwrap().to_owned();
        home.run(&["show", &id[..13]]).exits(0).says("say hello");
        home.run(&["show", &id, "--last", "1", "--format", "text"]).exits(0).says("hello");
        home.run(&["show", &id, "--raw"]).exits(0).says("\"session_id\":\"puppet\"");
        home.run(&["export", &id, "-o", "talk.html"]).exits(0);
        assert!(std::fs::read_to_string(home.path("talk.html")).unwrap().contains("say hello"));
        id
    };
    let closed = look();
    // The same while a house is open and writes.
    let house = House::open(&home);
    assert_eq!(look(), closed);
    assert_eq!(house.close(), 0);
    home.run(&["show", "2222"]).exits(0).says("question 0");
    home.run(&["show", "zzz"]).exits(2).complains("parlor ls");
}

/// `parlor tail`, as far as it has printed.
struct Tail {
    child: Child,
    printed: Arc<Mutex<String>>,
}

impl Tail {
    fn start(home: &Home, arguments: &[&str]) -> Tail {
        let mut command = home.command(&[&["tail"], arguments].concat());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let printed = Arc::new(Mutex::new(String::new()));
        let (mut out, into) = (child.stdout.take().unwrap(), printed.clone());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = out.read(&mut bytes) {
                into.lock().unwrap().push_str(&text(&bytes[..count]));
            }
        });
        Tail { child, printed }
    }

    fn says(&self, words: &str) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            let printed = self.printed.lock().unwrap().clone();
            if printed.contains(words) {
                return printed;
            }
            assert!(Instant::now() < until, "no `{words}` in: {printed}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn leaves(mut self) {
        signal(self.child.id(), "INT");
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

#[test]
fn what_a_subagent_does_in_a_file_of_its_own_is_looked_at_too() {
    let (home, id) = (Home::new(), "66666666-ffff");
    let task = call(id, 2, "task-1", "Task", json!({"description": "Look", "prompt": "Look around"}));
    let path = home.session(id, prompt(id, 1, "delegate") + &task);
    let agent = path.with_extension("").join("subagents/agent-one.jsonl");
    std::fs::create_dir_all(agent.parent().unwrap()).unwrap();
    std::fs::write(agent.with_extension("meta.json"), r#"{"toolUseId":"task-1"}"#).unwrap();
    let bash = |number, command| {
        let input = json!({ "command": command });
        sidechain(&call(id, number, &format!("bash-{number}"), "Bash", input), "one")
    };
    std::fs::write(&agent, bash(3, "echo before")).unwrap();
    let tail = Tail::start(&home, &["6666"]);
    tail.says("delegate");
    let append = |path, lines: String| {
        let mut file = std::fs::File::options().append(true).open(path).unwrap();
        file.write_all(lines.as_bytes()).unwrap();
    };
    append(&agent, bash(4, "echo meanwhile"));
    append(&path, result(id, 5, "task-1", "All is well.") + &reply(id, 6, "It is done."));
    let shown = tail.says("It is done.");
    for words in ["echo before", "echo meanwhile", "All is well."] {
        assert!(shown.contains(words), "no `{words}` in: {shown}");
    }
    assert!(!shown.contains("Untyped"), "{shown}");
    tail.leaves();
}

#[test]
fn a_session_is_looked_at_as_it_goes_on() {
    let home = Home::new();
    let path = home.session("22222222-bbbb", talk("22222222-bbbb", 30));
    let tail = Tail::start(&home, &["2222", "--last", "2"]);
    let shown = tail.says("answer 29");
    assert!(!shown.contains("answer 28"), "only the end: {shown}");
    assert!(shown.contains("User") && !shown.contains("Untyped"), "its format is known: {shown}");
    let mut file = std::fs::File::options().append(true).open(path).unwrap();
    file.write_all(reply("22222222-bbbb", 99, "And one more thing.").as_bytes()).unwrap();
    tail.says("And one more thing.");
    tail.leaves();

    // Beside an open house, as events; and the newest where nobody says which.
    let program = puppet(&home);
    let house = House::open_with(&home, &[("PARLOR_CLAUDE", &program)]);
    let mut guest = house.guest();
    let session = guest.create("claude", &home.path("").to_string_lossy());
    let tail = Tail::start(&home, &[&session, "--json"]);
    let mut talk = guest.follow(&session);
    // It tells what happens from the moment on at which it has come in.
    for number in 0.. {
        let prompt = format!("p{number}");
        talk.prompt(&prompt, "say hello");
        talk.rest(&prompt);
        if tail.printed.lock().unwrap().contains("\"type\":\"text_done\"") {
            break;
        }
    }
    tail.leaves();
    let tail = Tail::start(&home, &[]);
    tail.says("say hello");
    tail.leaves();
}
