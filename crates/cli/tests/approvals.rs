//! What an agent asks before it acts, answered through the house: by the real programs and the built-in agent. Pi has no
//! permissions. They run only where `PARLOR_TEST_AGENTS` names the folder of commands that `scripts/install-agents` printed.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests run the program and may panic"
)]

mod common;

use std::fs;

use common::Home;
use common::house::{Follower, House};
use common::stage::Stage;
use parlor_model::tool::ToolState;
use parlor_model_server::ModelServer;
use serde_json::{Value, json};

/// Says a prompt and waits until its call asks; gives the ask.
fn ask(talk: &mut Follower, id: &str, text: &str) -> String {
    talk.prompt(id, text);
    talk.until("the ask", |view| !view.asks().is_empty());
    assert_eq!(talk.last_tool().state, ToolState::Waiting, "{}", talk.story());
    talk.view.asks()[0].0.to_string()
}

/// Answers what the agent asks, and waits for the end of the turn.
fn answer(talk: &mut Follower, id: &str, ask: &str, mut answer: Value) {
    answer["order"] = "answer".into();
    answer["ask"] = ask.into();
    let told = talk.order(&format!("{id}-answer"), answer);
    assert_eq!(told["type"], "ordered", "{told}");
    talk.rest(id);
    assert!(talk.view.asks().is_empty(), "{}", talk.story());
}

fn asks_before_it_acts(agent: &str) {
    let Some(stage) = Stage::set() else { return };
    let house = stage.house();
    let mut talk = stage.session(&house, agent, "ask");
    let made = |name: &str| stage.home.path("work").join(name).exists();

    // A no with its reason: nothing is done, and the model hears why.
    let asked = ask(&mut talk, "no", "Make one [[script bash touch one]]");
    answer(&mut talk, "no", &asked, json!({"choice": "deny", "reason": "Not on a Wednesday."}));
    assert!(!made("one"), "{agent}: {}", talk.story());
    assert_eq!(talk.last_tool().state, ToolState::Denied, "{agent}: {}", talk.story());
    let why = talk.last_tool().decision.as_ref().and_then(|decision| decision.reason.clone());
    assert_eq!(why.map(|why| why.as_str().into_owned()).as_deref(), Some("Not on a Wednesday."), "{agent}");
    let heard =
        |request: &parlor_model_server::Request| request.body.to_string().contains("Not on a Wednesday.");
    assert!(stage.server.requests().iter().any(heard), "{agent} did not hear why");

    // A yes is for this call alone: the same again is asked again. For the session it is not.
    for (id, choice, asks) in
        [("once", "allow", true), ("session", "allow_session", true), ("free", "", false)]
    {
        let text = format!("Make two, {id} [[script bash touch two]]");
        if asks {
            let asked = ask(&mut talk, id, &text);
            assert!(!made("two"), "{agent}: it did not wait");
            answer(&mut talk, id, &asked, json!({"choice": choice}));
        } else {
            talk.turn(id, &text);
        }
        assert!(made("two"), "{agent}, {id}: {}", talk.story());
        assert_eq!(talk.last_tool().state, ToolState::Done, "{agent}, {id}: {}", talk.story());
        fs::remove_file(stage.home.path("work/two")).unwrap();
    }

    // Stopped while it waits: the ask is withdrawn, the call is not carried out, and the next prompt works.
    let asked = ask(&mut talk, "waits", "Make three [[script bash touch three; sleep 1000]]");
    talk.stop("stop");
    assert!(talk.view.asks().is_empty(), "{agent}: {}", talk.story());
    let state = talk.last_tool().state;
    assert!(matches!(state, ToolState::Interrupted | ToolState::Denied), "{agent}: {}", talk.story());
    let late = talk.order("late", json!({"order": "answer", "ask": asked, "choice": "allow"}));
    assert_eq!(late["error"]["code"], "conflict", "{agent}: {late}");
    let told = talk.turn("next", "Go on [[script say As you like.]]");
    assert!(told.contains("reply: As you like.") && !made("three"), "{agent}: {told}");

    // The house is killed while it waits: nobody waits any more, and the next prompt works.
    ask(&mut talk, "lost", "Make four [[script bash touch four; sleep 1000]]");
    house.kill();
    let house = stage.house();
    let mut talk = house.guest().follow(&talk.session);
    talk.until("the loss", |view| view.is_idle() && view.entry("lost").is_some());
    assert!(talk.view.asks().is_empty(), "{agent}: {}", talk.story());
    assert_eq!(talk.last_tool().state, ToolState::Interrupted, "{agent}: {}", talk.story());
    let told = talk.turn("back", "Once more [[script say Here again.]]");
    assert!(told.contains("reply: Here again.") && !made("four"), "{agent}: {told}");
}

/// "Always" is for the folder: a later session is not asked, another folder is, and it can be taken back.
#[test]
fn always_is_a_permit_that_lasts_and_can_be_taken_back() {
    let (home, server) = (Home::new(), ModelServer::start());
    let url = format!("{}/v1", server.url);
    let model = [("PARLOR_MODEL_URL", url.as_str()), ("PARLOR_MODEL_NAME", "scripted")];
    let house = House::open_with(&home, &model);
    let begin = |house: &House, folder: &str| {
        fs::create_dir_all(home.path(folder)).unwrap();
        let cwd = home.path(folder).display().to_string();
        let answer =
            house.guest().ask(json!({"type": "create", "agent": "builtin", "cwd": cwd, "mode": "ask"}));
        house.guest().follow(answer["session"].as_str().unwrap())
    };
    let mut talk = begin(&house, "work");
    let asked = ask(&mut talk, "one", "Make one [[script bash touch one]]");
    let words = talk.last_tool().ask.as_ref().unwrap().reason.as_ref().unwrap().as_str().into_owned();
    assert_eq!(words, "Run `touch one`; always: `Bash(touch *)` in this folder");
    answer(&mut talk, "one", &asked, json!({"choice": "allow_always"}));
    let work = fs::canonicalize(home.path("work")).unwrap().display().to_string();
    let listed = home.run(&["permits"]).exits(0).out;
    assert_eq!(listed, format!("{work}\tBash(touch *)\n"));

    // In the same session, in another one, and after the house was killed.
    talk.turn("two", "Make two [[script bash touch two]]");
    begin(&house, "work").turn("three", "Make three [[script bash touch three]]");
    house.kill();
    let house = House::open_with(&home, &model);
    let mut talk = begin(&house, "work");
    talk.turn("four", "Make four [[script bash touch four]]");
    for name in ["one", "two", "three", "four"] {
        assert!(home.path("work").join(name).exists(), "{name}");
    }
    ask(&mut begin(&house, "elsewhere"), "five", "Make five [[script bash touch five]]");
    ask(&mut begin(&house, "work"), "six", "Remove one [[script bash rm one]]");

    let taken = ["permits", "--remove", "Bash(touch *)", "--folder", work.as_str()];
    home.run(&taken).exits(0);
    assert_eq!(home.run(&["permits"]).exits(0).out, "");
    home.run(&taken).exits(2).complains("is not allowed in");
    // It holds at once, for sessions at work too.
    let asked = ask(&mut talk, "seven", "Make seven [[script bash touch seven]]");
    answer(&mut talk, "seven", &asked, json!({"choice": "deny"}));
    assert!(!home.path("work/seven").exists());
}

#[test]
fn claude_asks_and_takes_every_answer() {
    asks_before_it_acts("claude");
}

#[test]
fn codex_asks_and_takes_every_answer() {
    asks_before_it_acts("codex");
}

#[test]
fn the_built_in_agent_asks_and_takes_every_answer() {
    asks_before_it_acts("builtin");
}
