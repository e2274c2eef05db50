//! Agents that talk to each other, with real processes, a real house and real logs: what is sent, what comes back, and what is
//! left when either side or the house itself goes away in the middle.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests run the program and may panic")]

mod common;

use std::fs;
use std::io::Write;
use std::process::Stdio;

use common::Home;
use common::house::{Follower, House, puppet, story};
use serde_json::{Value, json};

/// A house with the puppet as its Claude.
fn puppet_house(home: &Home) -> House {
    let program = puppet(home);
    House::open_with(home, &[("PARLOR_CLAUDE", &program)])
}

/// A session in a folder of its home.
fn session(house: &House, home: &Home, folder: &str) -> Follower {
    let cwd = home.path(folder);
    fs::create_dir_all(&cwd).unwrap();
    let mut guest = house.guest();
    let session = guest.create("claude", &cwd.to_string_lossy());
    guest.follow(&session)
}

/// What a client of the profile `events` is told of a session, up to the end of its first turn.
fn events(house: &House, session: &str) -> Vec<Value> {
    let mut guest = house.guest();
    let answer = guest.ask(json!({"type": "subscribe", "session": session, "profile": "events"}));
    assert_eq!(answer["type"], "subscribed", "{answer}");
    let mut events: Vec<Value> = Vec::new();
    while !events.iter().any(|event| event["type"] == "text_done") {
        events.extend(guest.next()["messages"].as_array().cloned().unwrap_or_default());
    }
    events
}

fn follow(house: &House, session: &str) -> Follower {
    house.guest().follow(session)
}

/// Waits until both sessions have as many records as these had, and compares what they tell.
fn same_after_restart(house: &House, before: &[&Follower]) {
    for one in before {
        let mut again = follow(house, &one.session);
        let end = one.view.end();
        again.until("the history", |view| view.end() >= end);
        assert_eq!(again.story(), one.story());
    }
}

#[test]
fn a_message_is_answered_in_the_call_and_reads_the_same_after_a_restart() {
    let home = Home::new();
    let house = puppet_house(&home);
    let mut one = session(&house, &home, "work");
    let mut two = session(&house, &home, "work");
    let to = two.session.clone();
    one.prompt("a", &format!("tell {to} true use it"));
    one.rest("a");
    two.until("the answer", |view| story(view).contains("used it") && view.is_idle());
    assert_eq!(
        one.story(),
        format!(
            "prompt: tell {to} true use it\nmcp__parlor__agents_message Done\n  notice Info: claude has answered\n  Bash Done\nreply: told: used it"
        )
    );
    assert_eq!(two.story(), "from claude: use it\nBash Done\nreply: used it");
    assert_eq!(two.view.session().counts.prompts, 0, "nobody typed that");
    let ids = |follower: &Follower| -> Vec<String> {
        let blocks = follower.view.entries().iter().map(|entry| serde_json::to_value(&entry.block).unwrap());
        blocks.filter_map(|block| Some(block["exchange"]["id"].as_str()?.to_owned())).collect()
    };
    assert_eq!((ids(&one).len(), ids(&one)), (1, ids(&two)), "one id ties both sides");
    for follower in [&one, &two] {
        let told = events(&house, &follower.session);
        assert!(told.iter().any(|event| event["agentExchangeId"] == ids(&one)[0].as_str()), "{told:?}");
    }
    assert_eq!(house.close(), 0);
    let house = puppet_house(&home);
    same_after_restart(&house, &[&one, &two]);
}

/// A tool of the house's, called with a token as an agent would call it: what it says, and whether that is an error.
fn call(home: &Home, folder: &str, token: Option<&str>, name: &str, arguments: Value) -> (String, bool) {
    let kept = fs::read_to_string(home.path(folder).join("token")).unwrap();
    let (url, own) = kept.trim().split_once(' ').unwrap();
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}});
    let mut command = home.command(&["mcp"]);
    command.env("PARLOR_MCP_URL", url).env("PARLOR_MCP_TOKEN", token.unwrap_or(own));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    writeln!(child.stdin.take().unwrap(), "{request}").unwrap();
    let output = child.wait_with_output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    match answer["error"]["message"].as_str() {
        Some(error) => (error.to_owned(), true),
        None => {
            let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
            (text.to_owned(), answer["result"]["isError"] == true)
        }
    }
}

#[test]
fn a_message_without_waiting_comes_back_as_a_prompt_once() {
    let home = Home::new();
    let house = puppet_house(&home);
    let mut one = session(&house, &home, "work");
    let mut two = session(&house, &home, "work");
    let to = two.session.clone();
    one.prompt("a", &format!("tell {to} false say hello"));
    one.until("the reply", |view| story(view).contains("from claude: hello") && view.is_idle());
    two.until("the work", |view| story(view).contains("reply: hello") && view.is_idle());
    let told = one.story();
    assert!(told.contains("mcp__parlor__agents_message Done\n"), "{told}");
    // The answer may come before or after the sender's own words: either way it stands under the card.
    for under in ["notice Info: claude has answered", "reply: hello"] {
        assert!(told.contains(&format!("\n  {under}\n")), "{told}");
    }
    assert_eq!(told.matches("from claude:").count(), 1, "{told}");
    assert_eq!(house.close(), 0);
    same_after_restart(&puppet_house(&home), &[&one, &two]);
}

#[test]
fn a_message_to_a_busy_agent_waits_and_a_person_can_take_it_out() {
    let home = Home::new();
    let house = puppet_house(&home);
    let mut one = session(&house, &home, "one");
    let mut two = session(&house, &home, "one");
    let to = two.session.clone();
    two.prompt("busy", "work");
    two.until("the work", |view| story(view).contains("reply: working"));
    one.prompt("a", &format!("tell {to} true say first"));
    one.until("the receipt", |view| story(view).contains("is busy: the message waits"));
    two.until("the queue", |view| view.session().queue.len() == 1);
    let queued = two.view.session().queue[0].clone();
    assert_eq!(
        (queued.text.to_string(), queued.from.map(|from| from.to_string())),
        ("say first".into(), Some("claude".into()))
    );
    let changed = two.order("e", json!({"order": "edit", "prompt": queued.id, "text": "say mine"}));
    assert_eq!(changed["error"]["code"], "conflict", "nobody puts words into an agent's mouth: {changed}");
    fs::write(home.path("one/go"), "").unwrap();
    one.rest("a");
    assert!(one.story().ends_with("reply: told: first"), "{}", one.story());
    assert!(one.story().contains("  notice Info: claude has answered"), "{}", one.story());

    two.prompt("busy2", "work");
    two.until("more work", |view| story(view).matches("reply: working").count() == 2);
    one.prompt("b", &format!("tell {to} true say second"));
    two.until("the queue", |view| view.session().queue.len() == 1);
    let queued = two.view.session().queue[0].id.clone();
    assert_eq!(two.order("c", json!({"order": "cancel", "prompt": queued}))["type"], "ordered");
    one.rest("b");
    assert!(one.story().contains("took it out of the queue"), "{}", one.story());
    assert!(one.story().contains("mcp__parlor__agents_message Failed"), "{}", one.story());
}

#[test]
fn whoever_is_not_there_is_named_and_a_new_one_is_made_by_its_name() {
    let home = Home::new();
    let house = puppet_house(&home);
    let mut one = session(&house, &home, "work");
    one.prompt("a", "tell nobody true say hello");
    one.rest("a");
    assert!(one.story().contains("there is no session or agent `nobody`"), "{}", one.story());
    let own = one.session.clone();
    one.prompt("b", &format!("tell {own} true say hello"));
    one.rest("b");
    assert!(one.story().contains("that is this session itself"), "{}", one.story());
    one.prompt("c", "tell claude true say hello");
    one.rest("c");
    assert!(one.story().ends_with("reply: told: hello"), "{}", one.story());
    one.prompt("d", "tell claude true say again");
    one.rest("d");
    assert!(one.story().ends_with("reply: told: again"), "{}", one.story());
    let (list, failed) = call(&home, "work", None, "agents_list", json!({}));
    let list: Value = serde_json::from_str(&list).unwrap();
    assert!(!failed && list["agents"].as_array().unwrap().contains(&json!("claude")), "{list}");
    assert_eq!(list["sessions"].as_array().unwrap().len(), 1, "it was made once, and found again: {list}");
}

#[test]
fn an_agent_that_cannot_start_or_dies_midway_is_told_of() {
    let home = Home::new();
    let program = puppet(&home);
    let house =
        House::open_with(&home, &[("PARLOR_CLAUDE", &program), ("PARLOR_CODEX", "/nonexistent/codex")]);
    let mut one = session(&house, &home, "work");
    let mut two = session(&house, &home, "work");
    let to = two.session.clone();
    one.prompt("a", &format!("tell {to} true die"));
    one.rest("a");
    assert!(one.story().contains("exited with code 7"), "{}", one.story());
    two.until("the end", |view| story(view).contains("exited with code 7"));
    one.prompt("b", "tell codex true say hello");
    one.rest("b");
    assert!(one.story().contains("/nonexistent/codex"), "{}", one.story());
    one.prompt("c", &format!("tell {to} true say alive"));
    one.rest("c");
    assert!(one.story().ends_with("reply: told: alive"), "{}", one.story());
}

#[test]
fn a_stop_on_either_side_ends_it_on_both() {
    let home = Home::new();
    let house = puppet_house(&home);
    let mut one = session(&house, &home, "work");
    let mut two = session(&house, &home, "work");
    let to = two.session.clone();
    one.prompt("a", &format!("tell {to} true work"));
    two.until("the work", |view| story(view).contains("reply: working"));
    assert_eq!(two.order("stop", json!({"order": "interrupt"}))["type"], "ordered");
    one.rest("a");
    assert!(one.story().contains("it was stopped before it had answered"), "{}", one.story());

    one.prompt("b", &format!("tell {to} true work"));
    two.until("the work", |view| story(view).matches("reply: working").count() == 2);
    two.prompt("mine", "say mine");
    assert_eq!(one.order("stop", json!({"order": "interrupt"}))["type"], "ordered");
    one.until("the receipt", |view| story(view).contains("taken back") && view.is_idle());
    assert!(one.story().contains("mcp__parlor__agents_message Interrupted"), "{}", one.story());
    two.rest("mine");
    let story = two.story();
    assert_eq!(story.matches("notice Interrupted").count(), 2, "{story}");
    assert!(story.ends_with("prompt: say mine\nreply: mine"), "what else waited goes on: {story}");
}

#[test]
fn a_house_killed_midway_ends_what_was_waited_for_and_keeps_what_was_not() {
    let home = Home::new();
    let house = puppet_house(&home);
    let mut one = session(&house, &home, "work");
    let mut two = session(&house, &home, "work");
    let mut three = session(&house, &home, "other");
    let mut four = session(&house, &home, "other");
    let (to, later) = (two.session.clone(), four.session.clone());
    two.prompt("busy", "work");
    two.until("the work", |view| story(view).contains("reply: working"));
    one.prompt("a", &format!("tell {to} true say lost"));
    one.until("the receipt", |view| story(view).contains("the message waits"));
    four.prompt("busy", "work");
    four.until("the work", |view| story(view).contains("reply: working"));
    three.prompt("a", &format!("tell {later} false say kept"));
    three.rest("a");
    house.kill();

    let house = puppet_house(&home);
    let mut one = follow(&house, &one.session);
    one.until("its end", |view| {
        view.is_idle() && story(view).contains("Parlor was ended while the sender waited")
    });
    assert!(one.story().contains("mcp__parlor__agents_message Interrupted"), "{}", one.story());
    let mut two = follow(&house, &to);
    two.until("its end", |view| view.is_idle() && view.session().queue.is_empty());
    assert!(!two.story().contains("say lost"), "{}", two.story());
    let mut four = follow(&house, &later);
    four.until("the queue", |view| view.is_idle() && view.session().held && view.session().queue.len() == 1);
    assert_eq!(four.order("go", json!({"order": "release"}))["type"], "ordered");
    let mut three = follow(&house, &three.session);
    three.until("the reply", |view| view.is_idle() && story(view).contains("from claude: kept"));
    four.until("its end", |view| view.is_idle() && story(view).contains("reply: kept"));
    assert_eq!(house.close(), 0);
    let house = puppet_house(&home);
    same_after_restart(&house, &[&one, &two, &three, &four]);
    assert_eq!(three.story().matches("from claude: kept").count(), 1, "{}", three.story());
}

#[test]
fn waiting_in_a_circle_is_refused_with_a_reason() {
    let home = Home::new();
    let house = puppet_house(&home);
    let mut one = session(&house, &home, "work");
    let mut two = session(&house, &home, "work");
    let (from, to) = (one.session.clone(), two.session.clone());
    one.prompt("a", &format!("tell {to} true tell {from} true say hello"));
    one.rest("a");
    let (mine, others) = (one.story(), {
        two.until("its end", |view| view.is_idle() && story(view).contains("circle"));
        two.story()
    });
    assert!(mine.contains("mcp__parlor__agents_message Done") && mine.contains("circle"), "{mine}");
    assert!(others.contains("mcp__parlor__agents_message Failed"), "{others}");
}

#[test]
fn limits_hold_and_say_so() {
    let home = Home::new();
    let house = puppet_house(&home);
    let mut one = session(&house, &home, "work");
    let mut two = session(&house, &home, "work");
    let to = two.session.clone();
    two.prompt("busy", "work");
    two.until("the work", |view| story(view).contains("reply: working"));
    one.prompt("a", &format!("tell {to} false say 0"));
    one.rest("a");
    // The token of the session that started last is the one that is kept: that of the sender.
    let send = |text: &str| {
        call(&home, "work", None, "agents_message", json!({"to": to, "message": text, "wait": false}))
    };
    for number in 1..8 {
        let (text, failed) = send(&format!("say {number}"));
        assert!(!failed, "{text}");
    }
    let (text, failed) = send("say 8");
    assert!(failed && text.contains("8 messages of this session have no reply yet"), "{text}");
    for _ in 9..20 {
        send("say more");
    }
    let (text, failed) = send("say too much");
    assert!(failed && text.contains("within a minute"), "{text}");
    let (text, failed) = call(&home, "work", None, "agents_message", json!({"to": to}));
    assert!(failed && text.contains("`message`"), "{text}");
}

/// Whether the sender waits or not, it is told; and the other's log says why its turn was stopped.
#[test]
fn an_exchange_that_uses_too_much_is_given_up_on_both_sides() {
    let home = Home::new();
    let house = puppet_house(&home);
    let mut one = session(&house, &home, "work");
    let mut two = session(&house, &home, "work");
    let to = two.session.clone();
    // What a person's prompts use while the message waits does not count.
    two.prompt("busy", "work");
    two.prompt("before", "spend 3999999");
    two.until("its work", |view| story(view).contains("reply: working"));
    one.prompt("enough", &format!("tell {to} true spend 3999980"));
    one.until("the receipt", |view| story(view).contains("the message waits"));
    for used in [0, 3_999_999, 4_000_000] {
        two.until("its work", |view| {
            let begun = story(view).ends_with("reply: working");
            begun && view.session().usage.output >= used
        });
        fs::write(home.path("work/go"), "").unwrap();
        two.until("its end", |view| !story(view).ends_with("reply: working"));
    }
    one.rest("enough");
    assert!(one.story().ends_with("reply: told: gone"), "{}", one.story());
    let limit = "more than 4 million tokens were used for it";
    for (number, wait) in [(1, true), (2, false)] {
        one.prompt(&format!("much-{wait}"), &format!("tell {to} {wait} spend 5000000"));
        let told = if wait { "told: There is no answer: " } else { "There is no answer to your message: " };
        one.until("the end", |view| view.is_idle() && story(view).contains(&format!("{told}{limit}")));
        two.until("its end", |view| {
            let story = story(view);
            let said = story.matches(&format!("from claude was given up: {limit}")).count();
            view.is_idle() && (said, story.matches("notice Interrupted").count()) == (number, number)
        });
    }
}

#[test]
fn a_chain_of_messages_ends_at_its_limit() {
    let home = Home::new();
    let house = puppet_house(&home);
    let all: Vec<Follower> = (0..7).map(|_| session(&house, &home, "work")).collect();
    let ids: Vec<String> = all.iter().map(|one| one.session.clone()).collect();
    let mut words = "say end".to_owned();
    for to in ids[1..].iter().rev() {
        words = format!("tell {to} true {words}");
    }
    let mut all = all.into_iter();
    let mut one = all.next().unwrap();
    one.prompt("a", &words);
    one.rest("a");
    assert!(one.story().contains("the last of a chain of 5 messages"), "{}", one.story());
    let mut last = all.next_back().unwrap();
    last.prompt("b", "say untouched");
    last.rest("b");
    assert_eq!(last.story(), "prompt: say untouched\nreply: untouched");
}

#[test]
fn a_token_allows_its_own_folder_and_nothing_after_its_run() {
    let home = Home::new();
    let house = puppet_house(&home);
    let mut one = session(&house, &home, "work");
    let mut two = session(&house, &home, "elsewhere");
    two.prompt("b", "say secret");
    two.rest("b");
    one.prompt("a", "say ready");
    one.rest("a");
    let (text, failed) = call(&home, "work", None, "agents_read", json!({"session": two.session}));
    assert!(failed && !text.contains("secret"), "{text}");
    for token in ["", "wrong", &house.token] {
        let (text, failed) = call(&home, "work", Some(token), "agents_list", json!({}));
        assert!(failed && text.contains("401"), "{token:?}: {text}");
    }
    // To another folder a person is asked, on the call; the answer is theirs.
    let to = two.session.clone();
    for (prompt, choice, expected) in [("c", "deny", "a person said no"), ("d", "allow", "told: hello")] {
        one.prompt(prompt, &format!("tell {to} true say hello"));
        one.until("the ask", |view| !view.asks().is_empty());
        let ask = one.view.asks()[0].0.to_string();
        let answer =
            one.order(&format!("answer-{prompt}"), json!({"order": "answer", "ask": ask, "choice": choice}));
        assert_eq!(answer["type"], "ordered", "{answer}");
        one.rest(prompt);
        assert!(one.story().contains(expected), "{}", one.story());
    }
    one.prompt("e", "die");
    one.rest("e");
    let (text, failed) = call(&home, "work", None, "agents_list", json!({}));
    assert!(failed && text.contains("401"), "a run that has ended has no say: {text}");
}
