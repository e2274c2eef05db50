//! Real agents that talk to each other, in pairs, against the scripted model: one asks, the other is asked, and whatever happens in
//! the middle, both logs end in a right state. What was live, what a newcomer sees, and what is exported are the same on both sides.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests run the program and may panic"
)]

mod common;

use std::fs;

use base64::Engine;
use common::house::{Follower, House, signal, story};
use common::page::{Page, exported};
use common::stage::Stage;
use parlor_hub::View;
use parlor_model::block::{Author, Block};
use parlor_model::record::Origin;
use parlor_model::seen::{Receipt, Seen};
use parlor_model::tool::Tool;
use serde_json::{Value, json};

/// One message, what happens while it is worked on, and what the two logs say in the end.
struct Case {
    /// What the asked one does; a script of the model.
    script: &'static str,
    wait: bool,
    meanwhile: Meanwhile,
    /// How the exchange ends, by the sender's log.
    ends: Receipt,
    /// What stands in the sender's log.
    asks: &'static str,
    /// What stands in the other's log.
    asked: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Meanwhile {
    Nothing,
    /// The asked one is at work for a person when the message comes, and goes on.
    Busy,
    /// A person stops the one who asked, or the one who is asked.
    StopAsks,
    StopAsked,
    /// The process of one of them is killed.
    KillAsks,
    KillAsked,
    /// The whole house is killed, and opened again.
    KillHouse,
}

/// A command that runs until the file `go` is there.
const WORKS: &str = "bash while test ! -e go; do sleep 0.05; done; rm go";

#[rustfmt::skip]
const CASES: &[Case] = &[
    Case { script: "edit", wait: true, meanwhile: Meanwhile::Nothing, ends: Receipt::Answered, asks: "The tool said: The file is written and changed.", asked: "reply: The file is written and changed." },
    Case { script: "hello", wait: false, meanwhile: Meanwhile::Nothing, ends: Receipt::Answered, asks: ": Hello from the scripted model.", asked: "reply: Hello from the scripted model." },
    Case { script: "say I was busy.", wait: true, meanwhile: Meanwhile::Busy, ends: Receipt::Answered, asks: "The tool said: I was busy.", asked: "reply: I was busy." },
    Case { script: WORKS, wait: true, meanwhile: Meanwhile::StopAsked, ends: Receipt::Failed, asks: "it was stopped before it had answered", asked: "notice Interrupted" },
    Case { script: WORKS, wait: true, meanwhile: Meanwhile::StopAsks, ends: Receipt::Withdrawn, asks: "The message was taken back: ", asked: "notice Interrupted" },
    Case { script: WORKS, wait: true, meanwhile: Meanwhile::KillAsked, ends: Receipt::Failed, asks: "The agent was ended by signal 9", asked: "The agent was ended by signal 9" },
    Case { script: WORKS, wait: true, meanwhile: Meanwhile::KillAsks, ends: Receipt::Withdrawn, asks: "The agent was ended by signal 9", asked: "notice Interrupted" },
    Case { script: WORKS, wait: true, meanwhile: Meanwhile::KillHouse, ends: Receipt::Withdrawn, asks: "Parlor was ended while the sender waited", asked: "Parlor was ended while the agent was at work" },
    Case { script: WORKS, wait: false, meanwhile: Meanwhile::KillHouse, ends: Receipt::Failed, asks: "There is no answer to your message: ", asked: "Parlor was ended while the agent was at work" },
];

/// Two agents in one house.
struct Pair {
    /// None while it is closed.
    house: Option<House>,
    stage: Stage,
    asks: Side,
    asked: Side,
}

/// One of them: its log as it comes in, and its page.
struct Side {
    log: Follower,
    page: Page,
}

impl Side {
    fn of(house: &House, log: Follower) -> Side {
        let page = Page::open(house, &log.session);
        Side { log, page }
    }

    /// The process of its agent; the built-in agent has none.
    fn pid(&self) -> Option<u32> {
        let started = |(_, seen)| match seen {
            Seen::Started { pid, .. } => Some(pid),
            _ => None,
        };
        seen(&self.log.view).filter_map(started).last()?
    }

    /// The token of its run is in the environment of the process, and nowhere that others read.
    fn keeps_its_token(&self) {
        let Some(pid) = self.pid() else { return };
        let variables = fs::read_to_string(format!("/proc/{pid}/environ")).unwrap();
        let token = variables.split('\0').find_map(|one| one.strip_prefix("PARLOR_MCP_TOKEN=")).unwrap();
        assert_eq!(token.len(), 64, "{token}");
        assert!(!fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap().contains(token));
        let records = self.log.view.records();
        assert!(!records.iter().any(|record| String::from_utf8_lossy(&record.body).contains(token)));
    }

    fn stop(&mut self, id: &str) {
        assert_eq!(self.log.order(id, json!({"order": "interrupt"}))["type"], "ordered");
    }

    /// What was live, what somebody sees who comes now, and what is exported are one.
    fn is_one(&mut self, house: &House) {
        let (main, session) = (exported(house, &self.log.session), &self.log.session);
        self.page.becomes(&main, "the page that was live");
        Page::open(house, session).becomes(&main, "a new page");
        let mut fresh = house.guest().follow(session);
        let end = self.log.view.end();
        fresh.until("the history", |view| view.end() >= end);
        assert_eq!(fresh.story(), self.log.story());
        assert_eq!(fresh.view.session().ties, self.log.view.session().ties);
    }
}

/// A prompt by which the scripted model calls a tool of the house's.
fn calls(tool: &str, input: &Value) -> String {
    let input = base64::engine::general_purpose::STANDARD.encode(input.to_string());
    format!("Ask the other [[script mcp tool={tool} json={input}]]")
}

/// A prompt by which it sends a message.
fn sends(to: &str, message: &str, wait: bool) -> String {
    calls("agents_message", &json!({"to": to, "message": message, "wait": wait}))
}

/// What the house saw of a session, with when it did.
fn seen(view: &View) -> impl Iterator<Item = (i64, Seen)> {
    let host = view.records().iter().filter(|record| record.origin == Origin::Host);
    host.filter_map(|record| Some((record.at?.0, serde_json::from_slice(&record.body).ok()?)))
}

/// How the exchanges of a session ended, in order.
fn receipts(view: &View) -> Vec<Receipt> {
    let receipt = |(_, seen)| match seen {
        Seen::Receipt { receipt, .. } if receipt.is_final() => Some(receipt),
        _ => None,
    };
    seen(view).filter_map(receipt).collect()
}

fn cards(view: &View) -> impl Iterator<Item = &Tool> {
    view.entries().iter().filter(|entry| entry.parent.is_none()).filter_map(|entry| match &entry.block {
        Block::Tool(tool) if tool.agent_callback => Some(&**tool),
        _ => None,
    })
}

/// Whether a call is not over: one of the session's own, or one of another's under a card.
fn at_work(view: &View, own: bool) -> bool {
    let runs = |block: &Block| matches!(block, Block::Tool(tool) if !tool.state.is_final());
    view.entries().iter().any(|entry| entry.parent.is_none() == own && runs(&entry.block))
}

/// Whether something is told after the last `mark`.
fn told_since(view: &View, mark: &str, what: &str) -> bool {
    story(view).rsplit_once(mark).is_some_and(|(_, rest)| rest.contains(what))
}

fn from_peers(view: &View, words: &str) -> usize {
    let is = |block: &Block| matches!(block, Block::Prompt(prompt) if matches!(prompt.author, Author::Peer { .. }) && prompt.text.to_string().contains(words));
    view.entries().iter().filter(|entry| is(&entry.block)).count()
}

impl Pair {
    fn of(one: &str, other: &str) -> Option<Pair> {
        let stage = Stage::set()?;
        let house = stage.house();
        let [asks, asked] =
            [one, other].map(|name| Side::of(&house, stage.session(&house, name, "allow_all")));
        Some(Pair { house: Some(house), stage, asks, asked })
    }

    fn go(&self) {
        fs::write(self.stage.home.path("work/go"), "").unwrap();
    }

    fn open_again(&mut self) {
        let house = self.stage.house();
        for side in [&mut self.asks, &mut self.asked] {
            let log = house.guest().follow(&side.log.session);
            *side = Side::of(&house, log);
        }
        self.house = Some(house);
    }

    fn is_one(&mut self) {
        let house = self.house.as_ref().unwrap();
        self.asks.is_one(house);
        self.asked.is_one(house);
    }

    /// Plays a case: `number` tells its message from the others.
    fn play(&mut self, number: usize, case: &Case) {
        let (words, to) = (format!("Message {number}."), self.asked.log.session.clone());
        let busy = format!("busy-{number}");
        if case.meanwhile == Meanwhile::Busy {
            self.asked.log.prompt(&busy, &format!("Work. [[script {WORKS}]]"));
            self.asked.log.until("its work", |view| at_work(view, true));
        }
        self.asks.log.prompt(&words, &sends(&to, &format!("{words} [[script {}]]", case.script), case.wait));
        match case.meanwhile {
            Meanwhile::Nothing => {}
            Meanwhile::Busy => {
                self.asks.log.until("the receipt", |view| story(view).contains("is busy: the message waits"));
                self.go();
            }
            _ => {
                self.asks.log.until("the other's work", |view| at_work(view, false));
                assert_eq!(self.asks.log.view.session().ties[0].waits, case.wait);
            }
        }
        match case.meanwhile {
            Meanwhile::Nothing | Meanwhile::Busy => {}
            Meanwhile::StopAsks => self.asks.stop(&format!("stop-{number}")),
            Meanwhile::StopAsked => self.asked.stop(&format!("stop-{number}")),
            Meanwhile::KillAsks => signal(self.asks.pid().unwrap(), "KILL"),
            Meanwhile::KillAsked => signal(self.asked.pid().unwrap(), "KILL"),
            Meanwhile::KillHouse => {
                self.house.take().unwrap().kill();
                self.open_again();
            }
        }
    }

    /// The state in which a case must leave the two logs: the `number`th exchange of this pair.
    fn settles(&mut self, number: usize, case: &Case) {
        let words = format!("Message {number}.");
        let replies = if case.wait { 0 } else { 1 };
        let before = from_peers(&self.asks.log.view, "");
        self.asks.log.until("its end", |view| {
            receipts(view).len() > number && view.is_idle() && told_since(view, "prompt: Ask ", case.asks)
        });
        if replies > 0 && from_peers(&self.asks.log.view, "") == before {
            let come = |view: &View| from_peers(view, "") > before && view.is_idle();
            self.asks.log.until("the reply as a prompt", come);
        }
        self.asked.log.until("its end", |view| view.is_idle() && told_since(view, &words, case.asked));
        let (mine, others) = (self.asks.log.story(), self.asked.log.story());
        let context = format!("{number} {:?}\n{mine}\n-----\n{others}", case.meanwhile);
        let receipts = receipts(&self.asks.log.view);
        assert_eq!((receipts.len(), receipts.last()), (number + 1, Some(&case.ends)), "{context}");
        assert_eq!(cards(&self.asks.log.view).count(), number + 1, "one card a message: {context}");
        assert_eq!(from_peers(&self.asked.log.view, &words), 1, "it came once: {context}");
        for side in [&self.asks, &self.asked] {
            let runs = at_work(&side.log.view, true) || at_work(&side.log.view, false);
            assert!(!runs, "nothing is left running: {context}");
            let session = side.log.view.session();
            assert!(session.queue.is_empty(), "nothing is left waiting: {context}");
            let open: Vec<_> = session.ties.iter().map(|tie| (tie.open, tie.waits)).collect();
            assert_eq!(open, [(0, false)], "one tie, and nothing open: {context}");
        }
    }

    /// The other tools, and a message for nobody.
    fn asks_otherwise(&mut self) {
        let first = cards(&self.asks.log.view).find_map(|tool| tool.exchange.clone()).unwrap();
        for (tool, input, told) in [
            ("agents_list", json!({}), &*first.session),
            ("agents_read", json!({"session": first.session}), ": Message "),
            ("agents_wait", json!({"exchange": first.id}), "The file is written and changed."),
            ("agents_message", json!({"to": "nobody", "message": "Hello?"}), "no session or agent `nobody`"),
        ] {
            self.asks.log.prompt(tool, &calls(tool, &input));
            self.asks.log.rest(tool);
            let is_told = told_since(&self.asks.log.view, "reply: The tool said: ", told);
            assert!(is_told, "{tool}: {}", self.asks.log.story());
        }
    }

    /// Two that message each other without end are stopped, and both logs say why.
    fn goes_round(&mut self) {
        let sessions = [&self.asks, &self.asked].map(|side| side.log.session.clone());
        let mut words = "Enough. [[script hello]]".to_owned();
        for step in (0..6).rev() {
            words = sends(&sessions[(step + 1) % 2], &words, false);
        }
        self.asks.log.prompt("round", &words);
        // The fifth is the last that is let through, and the asked one has it.
        let limit = "of 5 messages between agents";
        self.asked.log.until("the refusal", |view| story(view).contains(limit) && view.is_idle());
        self.asks.log.until("the word of it", |view| {
            let word = format!("was not let send another message: this chain {limit}");
            story(view).contains(&word) && view.is_idle() && replies_are_in(view)
        });
        self.asked.log.until("the last reply", |view| view.is_idle() && replies_are_in(view));
        self.is_one();
    }
}

/// Whether every message that did not wait has its reply, and nothing waits.
fn replies_are_in(view: &View) -> bool {
    let sent = cards(view).filter(|tool| tool.exchange.is_some()).count();
    receipts(view).len() == sent && view.session().queue.is_empty()
}

/// Plays every case with a pair, and looks at both sides in between and after another restart.
fn talk(one: &str, other: &str) {
    let Some(mut pair) = Pair::of(one, other) else { return };
    let has_process = |name: &str| name != "builtin";
    let fits = |case: &&Case| match case.meanwhile {
        Meanwhile::KillAsks => has_process(one),
        Meanwhile::KillAsked => has_process(other),
        _ => true,
    };
    for (number, case) in CASES.iter().filter(fits).enumerate() {
        let begin = std::time::Instant::now();
        pair.play(number, case);
        pair.settles(number, case);
        pair.is_one();
        if number == 0 {
            pair.asks.keeps_its_token();
            pair.asked.keeps_its_token();
        }
        println!("{one} → {other}: {:?} wait {} took {:?}", case.meanwhile, case.wait, begin.elapsed());
    }
    pair.asks_otherwise();
    pair.goes_round();
    let house = pair.house.take().unwrap();
    let before =
        [&pair.asks, &pair.asked].map(|side| (side.log.story(), exported(&house, &side.log.session)));
    assert_eq!(house.close(), 0);
    pair.open_again();
    for (side, (told, main)) in [&mut pair.asks, &mut pair.asked].into_iter().zip(before) {
        side.page.becomes(&main, "the page after a restart");
        side.log.until("the history", |view| story(view) == told);
    }
}

#[test]
fn claude_asks_codex() {
    talk("claude", "codex");
}

#[test]
fn codex_asks_claude() {
    talk("codex", "claude");
}

#[test]
fn the_built_in_agent_asks_pi() {
    talk("builtin", "pi");
}

#[test]
fn pi_asks_the_built_in_agent() {
    talk("pi", "builtin");
}

/// One asks another who asks a third: each card holds what was done for it, and a stop of the first stops them all.
#[test]
fn claude_asks_codex_who_asks_claude() {
    let Some(stage) = Stage::set() else { return };
    let house = stage.house();
    let mut chain =
        ["claude", "codex", "claude"].map(|name| Side::of(&house, stage.session(&house, name, "allow_all")));
    let ids = chain.each_ref().map(|side| side.log.session.clone());
    let through = |script: &str| {
        let last = sends(&ids[2], &format!("Do it. [[script {script}]]"), true);
        sends(&ids[1], &last, true)
    };
    chain[0].log.prompt("edit", &through("edit"));
    chain[0].log.rest("edit");
    let told = "The tool said: The tool said: The file is written and changed.";
    assert!(chain[0].log.story().contains(told), "{}", chain[0].log.story());
    chain[1].log.until("its end", |view| view.is_idle() && receipts(view).len() == 1);
    let nested = cards(&chain[1].log.view).next().unwrap().name.clone();
    assert!(chain[0].log.story().contains(&format!("\n  {nested} Done")), "{}", chain[0].log.story());

    chain[0].log.prompt("work", &through(WORKS));
    chain[1].log.until("the last one's work", |view| at_work(view, false));
    chain[0].stop("stop");
    for (place, side) in chain.iter_mut().enumerate() {
        let end = |view: &View| view.is_idle() && told_since(view, "[[script", "notice Interrupted");
        side.log.until("its end", |view| end(view) && (place == 2 || receipts(view).len() == 2));
        assert!(!at_work(&side.log.view, true) && !at_work(&side.log.view, false), "{}", side.log.story());
        side.is_one(&house);
    }
}

/// A reply that takes longer than the minute after which agents give up on tools by themselves.
#[test]
fn a_reply_may_take_longer_than_a_minute() {
    let Some(stage) = Stage::set() else { return };
    let house = stage.house();
    let ask = |agent: &str| {
        let [mut asks, asked] = [agent, "builtin"].map(|name| stage.session(&house, name, "allow_all"));
        let words = "Take your time. [[script bash sleep 65; echo worth waiting for]]";
        asks.prompt("ask", &sends(&asked.session, words, true));
        asks
    };
    for mut asks in ["claude", "codex", "pi", "builtin"].map(ask) {
        asks.rest_long("ask");
        assert_eq!(receipts(&asks.view), [Receipt::Answered], "{}", asks.story());
        assert!(asks.story().contains("The tool said: "), "{}", asks.story());
        assert!(asks.story().ends_with("worth waiting for"), "{}", asks.story());
    }
}

/// A Pi that cannot load extensions has no tools of the house's, and works all the same.
#[test]
fn a_pi_that_cannot_load_extensions_still_works() {
    let Some(stage) = Stage::set() else { return };
    let real = stage.commands.join("pi");
    let refuses = format!(
        "#!/bin/sh\ncase \"$*\" in *--extension*) echo no >&2; exit 1 ;; esac\nexec {} \"$@\"\n",
        real.display()
    );
    let program = stage.home.write("pi-without", refuses);
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut environment = stage.environment();
    environment.push(("PARLOR_PI", program.display().to_string()));
    let environment: Vec<(&str, &str)> = environment.iter().map(|(name, value)| (*name, &**value)).collect();
    let house = House::open_with(&stage.home, &environment);
    let mut log = stage.session(&house, "pi", "allow_all");
    log.prompt("a", "Hi. [[script hello]]");
    log.rest("a");
    assert!(
        log.story().ends_with("reply: Hello from the scripted model. How can I help?"),
        "{}",
        log.story()
    );
}

/// When a turn ended that began with this prompt.
fn end_of_turn(view: &View, prompt: &str) -> Option<i64> {
    let mut later = seen(view).skip_while(
        |(_, seen)| !matches!(seen, Seen::Delivered { prompt: delivered, .. } if delivered == prompt),
    );
    later.find_map(|(at, seen)| matches!(seen, Seen::TurnEnded { .. }).then_some(at))
}

/// A hundred messages among twenty sessions, all of them on their way at once: each comes once, and is answered once.
#[test]
fn a_hundred_exchanges_at_once_all_settle() {
    const SESSIONS: usize = 20;
    const EACH: usize = 5;
    let stage = Stage::with("/nonexistent".into());
    let house = stage.house();
    let mut all: Vec<Follower> =
        (0..SESSIONS).map(|_| stage.session(&house, "builtin", "allow_all")).collect();
    let ids: Vec<String> = all.iter().map(|log| log.session.clone()).collect();
    let other = |from: usize, step: usize| (from + 1 + step * 3) % SESSIONS;
    for step in 0..EACH {
        for (from, log) in all.iter_mut().enumerate() {
            let words = format!("Number {from}-{step}. [[script say reply {from}-{step}]]");
            log.prompt(&format!("p{step}"), &sends(&ids[other(from, step)], &words, false));
        }
    }
    for log in &mut all {
        log.until("all replies", |view| {
            view.is_idle() && view.session().queue.is_empty() && from_peers(view, "") == 2 * EACH
        });
        assert_eq!(receipts(&log.view), [Receipt::Answered; EACH], "{}", log.story());
        assert_eq!(cards(&log.view).count(), EACH, "{}", log.story());
    }
    let (mut there, mut back) = (Vec::new(), Vec::new());
    for (from, log) in all.iter().enumerate() {
        for step in 0..EACH {
            let target = &all[other(from, step)].view;
            assert_eq!(from_peers(target, &format!("Number {from}-{step}.")), 1, "{}", log.story());
            assert_eq!(from_peers(&log.view, &format!("reply {from}-{step}")), 1, "{}", log.story());
        }
        for (sent, one) in seen(&log.view) {
            let Seen::Sent { exchange, to, .. } = one else { continue };
            let target = &all[ids.iter().position(|id| *id == to.session).unwrap()].view;
            let came = seen(target).find_map(|(at, seen)| {
                matches!(&seen, Seen::Received { prompt, .. } if *prompt == exchange).then_some(at)
            });
            let told = seen(&log.view).find_map(|(at, seen)| {
                matches!(&seen, Seen::Receipt { exchange: id, receipt, .. } if *id == exchange && receipt.is_final())
                    .then_some(at)
            });
            there.push(came.unwrap() - sent);
            back.push(told.unwrap() - end_of_turn(target, &exchange).unwrap());
        }
    }
    for (way, times) in [("there", &mut there), ("back", &mut back)] {
        times.sort_unstable();
        let at = |share: usize| times[(times.len() - 1) * share / 100] as f64 / 1000.0;
        println!("{} hops {way}: p50 {:.1} ms, p99 {:.1} ms", times.len(), at(50), at(99));
    }
}
