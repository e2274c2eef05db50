//! Agents on a real model, which says what it likes: only what holds of every conversation is asserted. They run only where
//! `scripts/test-small-model` names the model's address; elsewhere they say that they are skipped.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests run the program and may panic"
)]

mod common;

use std::fs;
use std::path::Path;

use common::Home;
use common::house::{Follower, House};
use common::page::{Page, exported};
use parlor_model::block::Block;
use serde_json::json;

/// A house whose agents use the small model; `None` where there is none.
fn open() -> Option<(Home, House)> {
    let Ok(url) = std::env::var("PARLOR_TEST_SMALL_MODEL") else {
        println!("skipped: run scripts/test-small-model");
        return None;
    };
    let home = Home::new();
    let providers = json!({"small": {
        "baseUrl": url, "api": "openai-completions", "apiKey": "test-key", "models": [{"id": "small", "contextWindow": 8192}],
    }});
    home.write(".pi/agent/models.json", json!({ "providers": providers }).to_string());
    fs::create_dir_all(home.path("work")).unwrap();
    let commands = std::env::var("PARLOR_TEST_AGENTS").unwrap();
    let environment = [
        ("PATH", &*format!("{commands}:/usr/local/bin:/usr/bin:/bin")),
        ("LANG", "C.UTF-8"),
        ("PI_OFFLINE", "1"),
        ("PI_TELEMETRY", "0"),
        ("PARLOR_MODEL_URL", &url),
        ("PARLOR_MODEL_KEY", "test-key"),
        ("PARLOR_MODEL_NAME", "small"),
    ];
    let house = House::open_with(&home, &environment);
    Some((home, house))
}

fn session(house: &House, work: &Path, agent: &str, model: Option<&str>) -> Follower {
    let mut guest = house.guest();
    let create = json!({"type": "create", "agent": agent, "cwd": work, "model": model, "mode": "allow_all"});
    let answer = guest.ask(create);
    let session = answer["session"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
    guest.follow(&session)
}

/// The words of all replies so far.
fn said(talk: &Follower) -> usize {
    let words = |block: &Block| match block {
        Block::Reply(reply) => reply.text.to_string().split_whitespace().count(),
        _ => 0,
    };
    talk.view.entries().iter().map(|entry| words(&entry.block)).sum()
}

/// Two turns, a stop in the middle of a long one, and one more; then what was live is what is exported.
fn talks(agent: &str, model: Option<&str>) {
    let Some((home, house)) = open() else { return };
    let mut talk = session(&house, &home.path("work"), agent, model);
    let mut page = Page::open(&house, &talk.session);
    for (id, text) in [("one", "What is the capital of France?"), ("two", "And of Italy?")] {
        let before = said(&talk);
        println!("{agent}: {}", talk.turn(id, text));
        assert!(said(&talk) > before, "{}", talk.story());
    }
    let used = &talk.view.session().usage;
    assert!(used.input > 0 && used.output > 0, "{used:?}");

    let before = said(&talk);
    talk.prompt("long", "Count from one to ten thousand, a number a line. Do not stop.");
    let begun = |view: &parlor_hub::View| match view.entries().last().map(|entry| &entry.block) {
        Some(Block::Reply(reply)) => view.entry("long").is_some() && reply.text.to_string().len() > 20,
        _ => false,
    };
    talk.until("some of the answer", begun);
    talk.stop("stop");
    assert!(said(&talk) > before, "what it had said is kept: {}", talk.story());
    assert!(talk.story().contains("notice Interrupted"), "{}", talk.story());

    let before = said(&talk);
    println!("{agent}: {}", talk.turn("again", "Say hello."));
    assert!(said(&talk) > before, "{}", talk.story());
    page.becomes(&exported(&house, &talk.session), "the page that was live");
}

#[test]
fn the_built_in_agent_talks_with_a_real_model() {
    talks("builtin", None);
}

#[test]
fn pi_talks_with_a_real_model() {
    talks("pi", Some("small/small"));
}
