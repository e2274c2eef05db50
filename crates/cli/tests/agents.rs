//! The four agents in a house, all alike: the real programs against a scripted model, from the guests' point of view. They
//! run only where `PARLOR_TEST_AGENTS` names the folder of commands that `scripts/install-agents` printed.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests run the program and may panic"
)]

mod common;

use std::fs;
use std::time::{Duration, Instant};

use common::house::{Follower, story, wait_until};
use common::page::{Page, exported};
use common::stage::Stage;
use parlor_model::block::Block;
use serde_json::json;

/// What every agent must show, in the order in which a person would come upon it.
fn all_alike(agent: &str) {
    let Some(stage) = Stage::set() else { return };
    let house = stage.house();
    let mut talk = stage.session(&house, agent, "allow_all");

    let told = talk.turn("hello", "Hi [[script hello]]");
    assert!(told.contains("reply: Hello from the scripted model."), "{agent}: {told}");

    let told = talk.turn("tool", "Run [[script tool]]");
    assert!(
        told.contains("thought") && told.contains(" Done") && told.contains("hello-from-tool"),
        "{agent}: {told}"
    );

    let told = talk.turn("multi", "Many [[script multi-tool]]");
    assert!(told.matches(" Done").count() >= 3, "{agent}: {told}");

    let told = talk.turn("fails", "Fail [[script tool-error]]");
    assert!(
        told.contains(" Failed") || told.contains("status 3") || told.contains("code 3"),
        "{agent}: {told}"
    );

    let told = talk.turn("edit", "Edit [[script edit path=notes.txt]]");
    assert!(stage.home.path("work/notes.txt").exists(), "{agent}: {told}");

    let told = talk.turn("retry", &format!("Again [[script error status=500 times=1 id={agent}]]"));
    assert!(told.contains("reply: "), "{agent}: {told}");

    long_output(agent, &stage, &mut talk);

    // A stop in the middle of a thought or of the text keeps what was said.
    for (id, text) in [
        ("thought", "Think [[script slow-think n=2000 ms=20]]"),
        ("text", "Talk [[script long-text n=2000 ms=20]]"),
    ] {
        talk.prompt(id, text);
        talk.until("some words", |view| {
            view.entry(id).is_some()
                && match view.entries().last().map(|entry| &entry.block) {
                    Some(Block::Reply(reply)) => reply.text.as_str().len() > 20,
                    Some(Block::Thought(thought)) => thought.text.as_str().len() > 20,
                    _ => false,
                }
        });
        talk.stop(&format!("stop-{id}"));
        let told = talk.story_since(text);
        assert!(told.ends_with("notice Interrupted: Interrupted"), "{agent}: {told}");
        assert!(
            told.contains(&format!("{}, cut", if id == "text" { "reply" } else { id })),
            "{agent}: {told}"
        );
    }

    // A stop in the middle of a command ends the command; what was queued waits for a word.
    talk.prompt("slow", "Sleep [[script bash touch begun; sleep 1000]]");
    wait_until("the command", || stage.home.path("work/begun").exists());
    talk.prompt("queued", "Next [[script say I was queued.]]");
    talk.order("stop-tool", json!({"order": "interrupt"}));
    talk.until("the stop", |view| view.is_idle() && view.session().held);
    let told = talk.story();
    assert!(told.contains(" Interrupted\n") && !told.contains(" Running"), "{agent}: {told}");
    wait_until("no sleeper", || !stage.sleeps());
    talk.order("go", json!({"order": "release"}));
    talk.rest("queued");
    assert!(talk.story().contains("reply: I was queued."), "{agent}: {}", talk.story());

    // The house is closed and opened again: the same story, and the agent knows what was said.
    let (before, end, session) = (talk.story(), talk.view.end(), talk.session.clone());
    assert_eq!(house.close(), 0);
    wait_until("nothing left", || stage.at_work().is_empty());
    let house = stage.house();
    let mut again = house.guest().follow(&session);
    again.until("the history", |view| view.end() >= end);
    assert!(again.story().starts_with(&before), "{agent}: {}\n---\n{before}", again.story());
    let told = again.turn("resumed", "Still there [[script say Yes, I remember.]]");
    assert!(told.contains("reply: Yes, I remember."), "{agent}: {told}");
    let last = stage.server.requests().last().unwrap().body.to_string();
    assert!(last.contains("Hi [[script hello]]"), "{agent} forgot what was said");
}

#[test]
fn claude_does_all_that_the_others_do() {
    all_alike("claude");
}

#[test]
fn codex_does_all_that_the_others_do() {
    all_alike("codex");
}

#[test]
fn pi_does_all_that_the_others_do() {
    all_alike("pi");
}

#[test]
fn the_built_in_agent_does_all_that_the_others_do() {
    all_alike("builtin");
}

/// What a command prints without end is cut for the model, with a mark; all of it is kept where the mark leads.
fn long_output(agent: &str, stage: &Stage, talk: &mut Follower) {
    talk.turn("long", "Count [[script long-output lines=60000]]");
    let output = talk.last_tool().output.clone().unwrap();
    let told = output.joined();
    let text = if told.contains("\n30000\n") { told.clone() } else { full_text(stage, &told) };
    println!("{agent}: {} told, truncated {}", told.len(), output.truncated);
    assert!(
        text.contains("\n30000\n") && text.contains("\n59999\n60000"),
        "{agent}: {}",
        &told[..told.len().min(600)]
    );
    assert!(output.truncated || told.contains("\n30000\n"), "{agent}: {told:.600}");
}

/// The file that a cut output names.
fn full_text(stage: &Stage, told: &str) -> String {
    let root = stage.home.path("").display().to_string();
    let start = told.find(&root).unwrap_or_else(|| panic!("no file is named: {:.600}", told));
    let path: String = told[start..].chars().take_while(|character| !" \n]\"".contains(*character)).collect();
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A session begun in a terminal is gone on with in the house, and then in a terminal again: one history.
fn adopted_and_handed_back(agent: &str) {
    let Some(stage) = Stage::set() else { return };
    let id = stage.terminal(agent, None, "In a terminal [[script say Begun outside.]]");
    let house = stage.house();
    let listed = || {
        let list = house.guest().ask(json!({"type": "list"}));
        list["sessions"].as_array().unwrap().iter().filter(|row| row["id"] == json!(id)).count()
    };
    wait_until("the session in the list", || listed() == 1);
    house.guest().prompt(&id, "p1", "On the page [[script say Gone on inside.]]");
    let mut talk = house.guest().follow(&id);
    talk.rest("p1");
    let told = talk.story();
    assert!(told.contains("Begun outside.") && told.contains("reply: Gone on inside."), "{agent}: {told}");
    assert_eq!(listed(), 1, "{agent}: one session, not two");
    assert_eq!(house.close(), 0);

    let again = stage.terminal(agent, Some(&id), "Outside again [[script say Back in the terminal.]]");
    assert_eq!(again, id, "{agent}");
    let house = stage.house();
    let mut talk = house.guest().follow(&id);
    talk.until("what was said outside", |view| story(view).contains("Back in the terminal."));
    let told = talk.story();
    let order = ["Begun outside.", "Gone on inside.", "Back in the terminal."];
    let places: Vec<usize> = order.iter().map(|text| told.find(text).unwrap()).collect();
    assert!(places.is_sorted(), "{agent}: {told}");
    for text in order {
        assert_eq!(told.matches(&format!("reply: {text}")).count(), 1, "{agent}, {text}: {told}");
        let prompts = ["In a terminal", "On the page", "Outside again"];
        for prompt in prompts {
            assert_eq!(told.matches(&format!("prompt: {prompt}")).count(), 1, "{agent}, {prompt}: {told}");
        }
    }
    let told = talk.turn("p2", "And once more [[script say One history.]]");
    assert!(told.contains("reply: One history."), "{agent}: {told}");
    let last = stage.server.requests().last().unwrap().body.to_string();
    for text in order {
        assert!(last.contains(text), "{agent} forgot {text}");
    }
}

#[test]
fn a_session_of_claude_s_is_adopted_and_handed_back() {
    adopted_and_handed_back("claude");
}

#[test]
fn a_session_of_codex_s_is_adopted_and_handed_back() {
    adopted_and_handed_back("codex");
}

#[test]
fn a_session_of_pi_s_is_adopted_and_handed_back() {
    adopted_and_handed_back("pi");
}

/// Claude works in a terminal, and somebody looks on: a subagent's work is shown while it goes on, as it is to whoever comes later.
#[test]
fn a_subagent_in_a_terminal_is_followed_while_it_works() {
    let Some(stage) = Stage::set() else { return };
    let house = stage.house();
    let wait = stage.home.path("work/wait");
    fs::write(&wait, "#!/bin/sh\nuntil test -e go; do sleep 0.05; done\n").unwrap();
    fs::set_permissions(&wait, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let text = "Delegate [[script subagent script=slow-tool seconds=0;./wait]]";
    std::thread::scope(|scope| {
        let outside = scope.spawn(|| stage.terminal("claude", None, text));
        let listed = || {
            let list = house.guest().ask(json!({"type": "list"}));
            list["sessions"].as_array().unwrap().first().map(|row| row["id"].as_str().unwrap().to_owned())
        };
        wait_until("the session in the list", || listed().is_some());
        let id = listed().unwrap();
        let mut page = Page::open(&house, &id);
        page.shows("sleep 0;./wait");
        assert!(!outside.is_finished(), "it is shown while it works");
        fs::write(stage.home.path("work/go"), "").unwrap();
        assert_eq!(outside.join().unwrap(), id);
        page.shows("The subagent is done.");
        let live = exported(&house, &id);
        page.becomes(&live, "what was followed");
        assert_eq!(house.close(), 0);
        assert_eq!(exported(&stage.house(), &id), live, "another life reads the same");
    });
}

/// In the house a subagent is told by its run, in a terminal by its own file: in one history, each once.
#[test]
fn subagents_of_an_adopted_session_are_kept_wherever_they_work() {
    let Some(stage) = Stage::set() else { return };
    let delegate = |seconds| format!("Delegate [[script subagent script=slow-tool seconds={seconds}]]");
    let id = stage.terminal("claude", None, &delegate("0.01"));
    let house = stage.house();
    let listed = || house.guest().ask(json!({"type": "list"})).to_string().contains(&id);
    wait_until("the session in the list", listed);
    let set = json!({"order": "set", "mode": "allow_all"});
    let mut guest = house.guest();
    guest.prompt(&id, "p0", "On the page [[script say Gone on inside.]]");
    let mut talk = house.guest().follow(&id);
    talk.rest("p0");
    talk.order("mode", set);
    talk.turn("p1", &delegate("0.02"));
    assert_eq!(house.close(), 0);
    stage.terminal("claude", Some(&id), &delegate("0.03"));
    let house = stage.house();
    let mut talk = house.guest().follow(&id);
    let nested = |view: &parlor_hub::View| -> Vec<&'static str> {
        let under = view.entries().iter().filter(|entry| entry.parent.is_some());
        let all: String = under.map(|entry| format!("{:?}", entry.block)).collect();
        let commands = ["sleep 0.01", "sleep 0.02", "sleep 0.03"];
        commands.into_iter().flat_map(|command| vec![command; all.matches(command).count()]).collect()
    };
    talk.until("what was done outside", |view| nested(view).len() >= 3);
    assert_eq!(nested(&talk.view), ["sleep 0.01", "sleep 0.02", "sleep 0.03"], "{}", talk.story());
}

/// A stop reaches the work of a subagent. Pi and the built-in agent have none.
#[test]
fn a_stop_ends_what_a_subagent_runs() {
    for agent in ["claude", "codex"] {
        let Some(stage) = Stage::set() else { return };
        let house = stage.house();
        let mut talk = stage.session(&house, agent, "allow_all");
        let text = "Delegate [[script subagent script=slow-tool seconds=1000]]";
        talk.prompt("p", text);
        wait_until("the subagent's command", || stage.sleeps());
        talk.stop("stop");
        wait_until("no sleeper", || !stage.sleeps());
        let told = talk.story_since(text);
        assert!(told.contains("notice Interrupted: Interrupted"), "{agent}: {told}");
        assert!(!told.contains(" Running") && !told.contains(" Pending"), "{agent}: {told}");
        let told = talk.turn("after", "After it [[script say All right.]]");
        assert!(told.contains("reply: All right."), "{agent}: {told}");
        // Stopped, it does not go on with the model either.
        let requests = stage.server.requests();
        let asked = requests.iter().filter(|request| request.script.as_deref() == Some("slow-tool")).count();
        assert_eq!(asked, 1, "{agent}: {}", talk.story());
    }
}

/// Claude's own way with subagents is to end the turn and let them work in the background: a stop reaches them there too.
#[test]
fn a_stop_ends_a_subagent_in_the_background() {
    let Some(stage) = Stage::set() else { return };
    let house = stage.house_without(&["CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"]);
    let mut talk = stage.session(&house, "claude", "allow_all");
    let text = "Delegate [[script subagent script=slow-tool seconds=1000 background=yes]]";
    talk.prompt("p", text);
    wait_until("the subagent's command", || stage.sleeps());
    talk.until("the end of the turn", |view| view.entry("p").is_some() && view.is_idle());
    talk.stop("stop");
    wait_until("no sleeper", || !stage.sleeps());
    assert!(
        stage.at_work().is_empty(),
        "Claude itself had to be ended: it would begin a turn to tell of the stop"
    );
    // Begun again, Claude first has a turn without a word about what did not finish.
    talk.prompt("after", "After it [[script say All right.]]");
    talk.until("the reply", |view| view.is_idle() && story(view).ends_with("reply: All right."));
    let requests = stage.server.requests();
    let asked = requests.iter().filter(|request| request.script.as_deref() == Some("slow-tool")).count();
    assert_eq!(asked, 1, "{}", talk.story());
}

/// What the model is made to do while it is stopped; the last one leaves behind children that ignore signals.
const WORK: [&str; 6] = [
    "[[script long-text n=4000 ms=5]]",
    "[[script slow-think n=4000 ms=5]]",
    "[[script bash sleep 1000]]",
    "[[script bash (trap '' INT TERM HUP; sleep 1000) & sleep 1000]]",
    "[[script hang]]",
    "[[script bash setsid nohup sleep 1000 >/dev/null 2>&1 & echo started; sleep 1000]]",
];

/// Stops an agent at moments that nobody chose. With `PARLOR_THOROUGH` set, 130 times; it then says how long stops took.
fn stopped_at_random(agent: &str, seed: u64) {
    let Some(stage) = Stage::set() else { return };
    let stops = if std::env::var_os("PARLOR_THOROUGH").is_some() { 130 } else { 6 };
    let house = stage.house();
    let mut talk = stage.session(&house, agent, "allow_all");
    let (mut random, mut took) = (seed, Vec::new());
    for round in 0..stops {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (work, delay) = (WORK[round % WORK.len()], (random >> 33) % 1_500);
        let (prompt, stop) = (format!("p{round}"), format!("s{round}"));
        talk.prompt(&prompt, &format!("Round {round} {work}"));
        std::thread::sleep(Duration::from_millis(delay));
        let begun = Instant::now();
        talk.stop(&stop);
        took.push(begun.elapsed());
        // A stop that came before the agent was there holds the prompt, which nobody wants any more.
        for waiting in talk.view.session().queue.clone() {
            talk.order(&format!("cancel-{round}"), json!({"order": "cancel", "prompt": waiting.id}));
        }
    }
    wait_until("no sleeper", || !stage.sleeps());
    let told = talk.turn("after", "After all [[script say Still here.]]");
    assert!(told.contains("reply: Still here."), "{agent}: {told}");
    took.sort();
    let at = |hundredths: usize| took[(took.len() - 1) * hundredths / 100];
    println!("{agent}: {stops} stops, p50 {:?}, p99 {:?}, max {:?}", at(50), at(99), at(100));
}

#[test]
fn claude_is_stopped_at_any_moment() {
    stopped_at_random("claude", 11);
}

#[test]
fn codex_is_stopped_at_any_moment() {
    stopped_at_random("codex", 22);
}

#[test]
fn pi_is_stopped_at_any_moment() {
    stopped_at_random("pi", 33);
}

#[test]
fn the_built_in_agent_is_stopped_at_any_moment() {
    stopped_at_random("builtin", 44);
}
