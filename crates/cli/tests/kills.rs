//! The house is killed in the middle of runs of the real agents: nothing that it acknowledged is lost or doubled, nothing
//! is left running, and every session goes on. It runs only where `PARLOR_TEST_AGENTS` names the folder of commands that
//! `scripts/install-agents` printed.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests run the program and may panic"
)]

mod common;

use std::time::{Duration, Instant};

use common::stage::Stage;
use serde_json::json;

const AGENTS: [&str; 4] = ["claude", "codex", "pi", "builtin"];

/// What the agents are at when the house is killed; the last leaves behind what ignores signals.
const WORK: [&str; 4] = [
    "[[script long-text n=300 ms=5]]",
    "[[script slow-think n=300 ms=5]]",
    "[[script bash echo begun; sleep 2; echo ended]]",
    "[[script bash (trap '' INT TERM HUP; setsid sleep 1000) & sleep 1]]",
];

/// With `PARLOR_THOROUGH` set it is killed 50 times; it then says how long it took to open again.
#[test]
fn a_house_killed_while_all_agents_work_loses_and_doubles_nothing() {
    let Some(stage) = Stage::set() else { return };
    let kills: u64 = if std::env::var_os("PARLOR_THOROUGH").is_some() { 50 } else { 3 };
    let house = stage.house();
    let sessions = AGENTS.map(|agent| stage.session(&house, agent, "allow_all").session);
    let (mut house, mut random, mut reopened, mut at_work) = (house, 7_u64, Vec::new(), 0);
    for round in 0..kills {
        let mut guest = house.guest();
        for (index, session) in sessions.iter().enumerate() {
            let work = WORK[(index + round as usize) % WORK.len()];
            guest.prompt(session, &format!("p{round}"), &format!("Round {round} {work}"));
        }
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_millis((random >> 33) % 4_000));
        house.kill();
        at_work += stage.at_work().len();
        let begun = Instant::now();
        house = stage.house();
        reopened.push(begun.elapsed());
        assert_eq!(stage.at_work(), [], "round {round}: an open house has ended what it left behind");
    }
    for (agent, session) in AGENTS.iter().zip(&sessions) {
        let mut talk = house.guest().follow(session);
        talk.order("go", json!({"order": "release"}));
        talk.prompt("last", "At last [[script say Still here.]]");
        talk.rest("last");
        let told = talk.story();
        assert!(told.ends_with("reply: Still here."), "{agent}: {told}");
        assert!(talk.view.session().queue.is_empty(), "{agent}: {told}");
        for round in 0..kills {
            let prompts = told.matches(&format!("prompt: Round {round} ")).count();
            assert_eq!(prompts, 1, "{agent}, round {round}: {told}");
        }
    }
    assert_eq!(house.close(), 0);
    assert_eq!(stage.at_work(), [], "a house that closes leaves nothing");
    assert!(at_work > 0, "no kill came while an agent worked");
    reopened.sort();
    let (median, last) = (reopened[reopened.len() / 2], reopened[reopened.len() - 1]);
    println!("{kills} kills with {at_work} processes at work; open again in {median:?}, at most {last:?}");
}
