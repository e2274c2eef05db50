//! The house as its guests know it: prompts, the queue, stops, restarts and crashes, with a real process and a real log.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests run the program and may panic"
)]

mod common;

use std::fs;
use std::time::Duration;

use common::house::{Follower, House, puppet, story, wait_until};
use common::page::exported;
use common::{Home, call, prompt, reply, result, talk};
use parlor_model::session::Phase;
use serde_json::{Value, json};

/// A house with the puppet as its Claude, and a session with it.
fn puppet_house(home: &Home) -> House {
    let program = puppet(home);
    House::open_with(home, &[("PARLOR_CLAUDE", &program)])
}

/// The same with a session that somebody follows.
fn puppet_talk(home: &Home) -> (House, Follower) {
    let house = puppet_house(home);
    let mut guest = house.guest();
    let session = guest.create("claude", &cwd(home));
    let follower = guest.follow(&session);
    (house, follower)
}

fn cwd(home: &Home) -> String {
    let folder = home.path("work");
    fs::create_dir_all(&folder).unwrap();
    folder.to_string_lossy().into_owned()
}

/// Processes whose environment carries a run of this house's agents.
fn left_behind(home: &Home) -> Vec<u32> {
    let marker = home.path("puppet.sh");
    let marker = marker.to_string_lossy();
    let mut found = Vec::new();
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = process.file_name().to_string_lossy().parse::<u32>() else { continue };
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let has = |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
        if has(&command, &marker)
            || has(&environment, "PARLOR_RUN=") && has(&environment, &home.path("").to_string_lossy())
        {
            found.push(pid);
        }
    }
    found
}

#[test]
fn the_demo_runs_streams_is_stopped_and_is_the_same_after_a_restart() {
    let home = Home::new();
    let house = House::open(&home);
    let mut guest = house.guest();
    assert_eq!(guest.hello["type"], "hello");
    let session = guest.create("demo", &cwd(&home));
    let mut one = guest.follow(&session);
    one.prompt("p1", "Show me around");
    one.rest("p1");
    assert!(one.view.session().counts.tools >= 3, "{}", one.story());
    let before = one.story();
    assert!(before.starts_with("prompt: Show me around\n"), "{before}");
    assert_eq!(house.close(), 0);

    let house = House::open(&home);
    let mut two = house.guest().follow(&session);
    let end = one.view.end();
    two.until("the history", |view| view.end() >= end);
    assert_eq!(two.story(), before);
    assert_eq!(two.view.session().phase, Phase::Idle);
}

#[test]
fn prompts_sent_while_the_agent_works_wait_in_order_and_can_be_changed() {
    let home = Home::new();
    let (_house, mut one) = puppet_talk(&home);
    one.prompt("a", "work");
    one.until("the work", |view| story(view).contains("reply: working"));
    one.prompt("b", "say two");
    one.prompt("c", "say three");
    one.prompt("d", "say four");
    assert_eq!(one.order("e1", json!({"order": "edit", "prompt": "b", "text": "say 2"}))["type"], "ordered");
    assert_eq!(one.order("e2", json!({"order": "cancel", "prompt": "c"}))["type"], "ordered");
    assert_eq!(one.order("e3", json!({"order": "move", "prompt": "d", "before": "b"}))["type"], "ordered");
    let late = one.order("e4", json!({"order": "cancel", "prompt": "a"}));
    assert_eq!(late["error"]["code"], "conflict", "{late}");
    one.until("the queue", |view| view.session().queue.len() == 2);
    fs::write(home.path("work/go"), "").unwrap();
    one.rest("b");
    let story = one.story();
    let order =
        ["prompt: work", "reply: gone", "prompt: say four", "reply: four", "prompt: say 2", "reply: 2"];
    let places: Vec<usize> =
        order.iter().map(|text| story.find(text).unwrap_or_else(|| panic!("{text}: {story}"))).collect();
    assert!(places.is_sorted(), "{story}");
    assert!(!story.contains("three"), "{story}");
}

#[test]
fn a_stop_stops_holds_the_queue_and_lets_the_next_prompt_through() {
    let home = Home::new();
    let (_house, mut one) = puppet_talk(&home);
    one.prompt("a", "work");
    one.until("the work", |view| story(view).contains("reply: working"));
    one.prompt("b", "say queued");
    assert_eq!(one.order("stop", json!({"order": "interrupt"}))["type"], "ordered");
    one.until("the stop", |view| view.is_idle() && view.session().held);
    assert_eq!(one.story().matches("notice Interrupted").count(), 1, "{}", one.story());
    assert_eq!(one.view.session().queue.len(), 1);
    one.prompt("c", "say next");
    one.rest("c");
    let story = one.story();
    assert!(story.contains("reply: queued") && story.contains("reply: next"), "{story}");
}

#[test]
fn an_agent_that_ignores_everything_is_ended_with_all_it_started() {
    let home = Home::new();
    let (_house, mut one) = puppet_talk(&home);
    one.prompt("a", "stubborn");
    one.until("its words", |view| story(view).contains("try me"));
    one.order("stop", json!({"order": "interrupt"}));
    one.until("the stop", |view| view.is_idle());
    wait_until("nothing left", || left_behind(&home).is_empty());
    one.prompt("b", "say again");
    one.rest("b");
    assert!(one.story().contains("reply: again"), "{}", one.story());
}

#[test]
fn a_killed_house_loses_nothing_it_acknowledged_and_ends_what_it_left_running() {
    let home = Home::new();
    let (house, mut one) = puppet_talk(&home);
    one.prompt("a", "work");
    one.until("the work", |view| story(view).contains("reply: working"));
    one.prompt("b", "say kept");
    house.kill();
    let house = puppet_house(&home);
    wait_until("nothing left", || left_behind(&home).is_empty());
    let mut two = house.guest().follow(&one.session);
    two.until("the loss", |view| view.is_idle() && view.session().held);
    assert_eq!(
        two.view.session().queue.iter().map(|queued| queued.text.to_string()).collect::<Vec<_>>(),
        ["say kept"]
    );
    assert!(two.story().contains("Parlor was ended"), "{}", two.story());
    two.order("go", json!({"order": "release"}));
    two.rest("b");
    assert!(two.story().contains("reply: kept"), "{}", two.story());
}

/// With `PARLOR_THOROUGH` set it is killed 200 times.
#[test]
fn however_often_it_is_killed_every_acknowledged_prompt_is_there_once() {
    let home = Home::new();
    let kills: u64 = if std::env::var_os("PARLOR_THOROUGH").is_some() { 200 } else { 6 };
    let mut session = String::new();
    for round in 0..kills {
        let house = puppet_house(&home);
        let mut guest = house.guest();
        if session.is_empty() {
            session = guest.create("claude", &cwd(&home));
        }
        guest.prompt(&session, &format!("p{round}"), &format!("say {round}"));
        // Somewhere between the prompt's way to the agent and the end of its turn.
        std::thread::sleep(Duration::from_millis(round * 37 % 211));
        house.kill();
    }
    let house = puppet_house(&home);
    let mut talk = house.guest().follow(&session);
    talk.prompt("last", "say last");
    talk.rest("last");
    let told = talk.story();
    for round in 0..kills {
        let prompts = told.lines().filter(|line| *line == format!("prompt: say {round}")).count();
        assert_eq!(prompts, 1, "p{round}: {told}");
        let replies = told.lines().filter(|line| *line == format!("reply: {round}")).count();
        assert!(replies <= 1, "p{round} was answered {replies} times: {told}");
    }
    assert!(told.ends_with("reply: last"), "{told}");
    drop(house);
    wait_until("nothing left", || left_behind(&home).is_empty());
}

#[test]
fn an_order_sent_twice_is_carried_out_once() {
    let home = Home::new();
    let (_house, mut one) = puppet_talk(&home);
    one.prompt("a", "say once");
    one.rest("a");
    one.prompt("a", "say once");
    one.prompt("b", "say more");
    one.rest("b");
    assert_eq!(one.story().matches("reply: once").count(), 1, "{}", one.story());
}

#[test]
fn an_agent_that_dies_or_prints_garbage_is_told_of_and_the_session_goes_on() {
    let home = Home::new();
    let (_house, mut one) = puppet_talk(&home);
    one.prompt("a", "die");
    one.rest("a");
    assert!(one.story().contains("exited with code 7"), "{}", one.story());
    one.prompt("b", "garbage");
    one.rest("b");
    let story = one.story();
    assert!(story.contains("unknown brand_new_record") && story.contains("after garbage"), "{story}");
    one.prompt("c", "say fine");
    one.rest("c");
}

#[test]
fn what_cannot_start_says_what_to_do() {
    let home = Home::new();
    let house = House::open_with(&home, &[("PARLOR_CLAUDE", "/nonexistent/claude")]);
    let mut guest = house.guest();
    let session = guest.create("claude", &cwd(&home));
    let mut one = guest.follow(&session);
    one.prompt("a", "hello");
    one.until("the reason", |view| story(view).contains("notice Error"));
    assert!(one.story().contains("/nonexistent/claude"), "{}", one.story());
    assert!(one.view.is_idle());
    for (frame, code) in [
        (json!({"type": "create", "agent": "nobody", "cwd": "/"}), "bad_request"),
        (json!({"type": "create", "agent": "claude", "cwd": "/no/such/folder"}), "bad_request"),
        (
            json!({"type": "order", "session": "nope", "order": {"id": "x", "order": "interrupt"}}),
            "not_found",
        ),
        (
            json!({"type": "order", "session": session, "order": {"id": "x", "order": "prompt", "text": "  "}}),
            "bad_request",
        ),
        (json!({"type": "order", "session": session, "order": {"id": "x", "order": "dance"}}), "bad_request"),
        (json!({"type": "nonsense"}), "bad_request"),
    ] {
        let answer = one.guest.ask(frame.clone());
        assert_eq!(answer["error"]["code"], code, "{frame} {answer}");
    }
}

#[test]
fn found_sessions_are_listed_followed_and_adopted() {
    let home = Home::new();
    home.session("11111111-aaaa", talk("11111111-aaaa", 1));
    let house = puppet_house(&home);
    let mut guest = house.guest();
    let rows = |guest: &mut common::house::Guest| -> Vec<Value> {
        let list = guest.ask(json!({"type": "list"}));
        list["sessions"].as_array().unwrap().clone()
    };
    wait_until("the list", || rows(&mut house.guest()).iter().any(|row| row["id"] == "11111111-aaaa"));
    let row = rows(&mut guest).into_iter().find(|row| row["id"] == "11111111-aaaa").unwrap();
    assert_eq!((row["source"].as_str(), row["agent"].as_str()), (Some("found"), Some("claude")));
    let mut file = house.guest();
    let answer = file.ask(json!({"type": "subscribe", "session": "11111111-aaaa", "profile": "html"}));
    assert_eq!(answer["verdict"], "fresh", "{answer}");
    // A line that the agent writes elsewhere is shown.
    let line = r#"{"type":"user","uuid":"u-late","sessionId":"11111111-aaaa","cwd":"/","message":{"role":"user","content":"typed in a terminal"}}"#;
    let path = home.path(".claude/projects/-w/11111111-aaaa.jsonl");
    let mut file_of_agent = fs::OpenOptions::new().append(true).open(path).unwrap();
    std::io::Write::write_all(&mut file_of_agent, format!("{line}\n").as_bytes()).unwrap();
    loop {
        let frame = file.next();
        if frame["type"] == "entries" && frame.to_string().contains("typed in a terminal") {
            assert_eq!(frame["kind"], "live");
            break;
        }
    }
    // A prompt makes it the house's own, and it is listed once.
    guest.prompt("11111111-aaaa", "p", "say adopted");
    let mut one = house.guest().follow("11111111-aaaa");
    one.rest("p");
    let story = one.story();
    assert!(story.contains("typed in a terminal") && story.contains("reply: adopted"), "{story}");
    let same: Vec<Value> = rows(&mut guest).into_iter().filter(|row| row["id"] == "11111111-aaaa").collect();
    assert_eq!(same.len(), 1, "{same:?}");
    assert_eq!(same[0]["source"], "live");
}

/// Adopted, then used in a terminal again, where the agent has a subagent: while the house is closed, and while it looks on.
#[test]
fn an_adopted_session_that_goes_on_in_a_terminal_has_its_subagents_work() {
    let (home, id) = (Home::new(), "55555555-eeee");
    let first = r#"{"type":"user","uuid":"u","sessionId":"55555555-eeee","cwd":"/","message":{"role":"user","content":"typed in a terminal"}}"#;
    let path = home.session(id, format!("{first}\n"));
    let house = puppet_house(&home);
    wait_until("the list", || house.guest().ask(json!({"type": "list"})).to_string().contains(id));
    house.guest().prompt(id, "p", "say adopted");
    let mut one = house.guest().follow(id);
    one.rest("p");
    assert_eq!(house.close(), 0);

    let append = |path: &std::path::Path, line: &str| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
        std::io::Write::write_all(&mut file, format!("{line}\n").as_bytes()).unwrap();
    };
    let call = r#"{"type":"assistant","uuid":"late","sessionId":"55555555-eeee","message":{"id":"m-late","role":"assistant","content":[{"type":"tool_use","id":"task-1","name":"Task","input":{"description":"Look","prompt":"Look around"}}]}}"#;
    let said = |words: &str| {
        let text = json!([{"type": "text", "text": words}]);
        json!({"type": "assistant", "uuid": words, "sessionId": id, "isSidechain": true, "agentId": "one",
            "message": {"id": format!("m-{words}"), "role": "assistant", "content": text}})
        .to_string()
    };
    append(&path, call);
    let agent = path.with_extension("").join("subagents/agent-one.jsonl");
    append(&agent, &said("while-closed"));
    append(&agent.with_extension("meta.json"), r#"{"toolUseId":"task-1"}"#);

    let times = |view: &parlor_hub::View, words: &str| {
        let says = |record: &&parlor_model::record::Record| {
            String::from_utf8_lossy(&record.body).contains(&format!("m-{words}"))
        };
        view.records().iter().filter(says).count()
    };
    let house = puppet_house(&home);
    let mut one = house.guest().follow(id);
    one.until("its work", |view| times(view, "while-closed") == 1);
    append(&agent, &said("while-open"));
    one.until("more of its work", |view| times(view, "while-open") == 1);
    house.kill();
    append(&agent, &said("after-a-kill"));
    let house = puppet_house(&home);
    let mut one = house.guest().follow(id);
    one.until("the rest of its work", |view| times(view, "after-a-kill") == 1);
    assert_eq!(["while-closed", "while-open"].map(|words| times(&one.view, words)), [1, 1], "once");
    let under = |parent: &str| {
        one.view.entries().iter().filter(|entry| entry.parent.as_deref() == Some(parent)).count()
    };
    assert_eq!(under("task-1"), 3, "{}", one.story());
    drop(house);
}

#[test]
fn what_an_agent_cleans_up_is_kept() {
    let home = Home::new();
    let path = home.session("33333333-cccc", talk("33333333-cccc", 2));
    let house = House::open(&home);
    wait_until("the search", || home.run(&["search", "--exact", "question 1"]).out.contains("33333333"));
    fs::remove_file(path).unwrap();
    let source = || {
        let list = house.guest().ask(json!({"type": "list"}));
        let rows = list["sessions"].as_array().unwrap().clone();
        rows.into_iter().find(|row| row["id"] == "33333333-cccc").map(|row| row["source"].clone())
    };
    wait_until("the archive", || source() == Some(json!("archived")));
    let mut guest = house.guest();
    guest.ask(json!({"type": "subscribe", "session": "33333333-cccc", "profile": "html"}));
    loop {
        let frame = guest.next();
        if frame["type"] == "entries" {
            assert!(frame.to_string().contains("question 1"), "{frame}");
            break;
        }
    }
    let answer = guest.order("33333333-cccc", "p", json!({"order": "prompt", "text": "hello"}));
    assert_eq!(answer["error"]["code"], "conflict", "{answer}");
}

/// Waits until a session is only kept.
fn is_only_kept(house: &House, id: &str) {
    wait_until("the archive", || {
        let list = house.guest().ask(json!({"type": "list"}));
        list["sessions"].as_array().unwrap().iter().any(|row| row["id"] == id && row["source"] == "archived")
    });
}

#[test]
fn what_subagents_did_is_kept_with_their_session() {
    let home = Home::new();
    let id = "55555555-eeee";
    let task = json!({"description": "Look", "prompt": "Look around"});
    let lines = [prompt(id, 1, "Go"), call(id, 2, "task", "Task", task), result(id, 3, "task", "done")];
    home.session(id, lines.concat());
    let beside = |name: &str| format!(".claude/projects/-w/{id}/subagents/agent-a.{name}");
    home.write(&beside("jsonl"), reply(id, 4, "a kingfisher by the pond"));
    home.write(&beside("meta.json"), r#"{"toolUseId":"task"}"#);
    let house = House::open(&home);
    let found = || home.run(&["search", "--exact", "kingfisher"]).out.contains("55555555");
    wait_until("the search", found);
    let whole = exported(&house, id);
    assert!(whole.contains("kingfisher"), "{whole}");
    assert_eq!(house.close(), 0);
    fs::remove_dir_all(home.path(".claude/projects/-w")).unwrap();
    let house = House::open(&home);
    is_only_kept(&house, id);
    assert_eq!(exported(&house, id), whole);
}

#[test]
fn a_file_that_was_written_anew_is_kept_as_it_is_now() {
    let home = Home::new();
    let id = "66666666-ffff";
    let path = home.session(id, prompt(id, 1, "an old heron"));
    let house = House::open(&home);
    wait_until("the search", || home.run(&["search", "--exact", "heron"]).out.contains("66666666"));
    assert_eq!(house.close(), 0);
    // Longer, so that it could be taken for what was kept and more.
    let new = [prompt(id, 1, "a new bittern"), reply(id, 2, "booming in the reeds, far and wide")];
    fs::write(&path, new.concat()).unwrap();
    let house = House::open(&home);
    wait_until("the search", || home.run(&["search", "--exact", "bittern"]).out.contains("66666666"));
    let whole = exported(&house, id);
    assert_eq!(house.close(), 0);
    fs::remove_file(&path).unwrap();
    let house = House::open(&home);
    is_only_kept(&house, id);
    assert_eq!(exported(&house, id), whole);
}

#[test]
fn an_archive_that_was_taken_away_is_filled_again() {
    let home = Home::new();
    home.session("44444444-dddd", talk("44444444-dddd", 2));
    let archive = home.path(".local/share/parlor/archive.db");
    let kept = || {
        let files = [archive.clone(), archive.with_extension("db-wal")].map(fs::read);
        files.into_iter().flatten().any(|bytes| memchr::memmem::find(&bytes, b"44444444-dddd").is_some())
    };
    let house = House::open(&home);
    wait_until("the search", || home.run(&["search", "--exact", "question 1"]).out.contains("44444444"));
    assert!(kept(), "it is kept before it can be found");
    assert_eq!(house.close(), 0);
    fs::remove_file(&archive).unwrap();
    assert!(!kept());
    let _house = House::open(&home);
    wait_until("the archive", kept);
}

#[test]
fn two_houses_never_share_a_data_folder() {
    let home = Home::new();
    let _house = House::open(&home);
    let second = home.run(&["serve", "--json", "--port", "0"]);
    assert_eq!(second.code, 2, "{second:?}");
    assert!(second.err.contains("already in use") && second.err.contains("parlor link"), "{second:?}");
}
