//! What the app server is told, line by line.

use parlor_model::order::{Answer, Choice};
use parlor_model::seen::Seen;

use super::*;

fn launch() -> Launch {
    Launch {
        kind: Kind::Codex,
        run: "run".into(),
        cwd: "/work".into(),
        model: None,
        mode: Mode::Ask,
        resume: None,
        history: Vec::new(),
        mcp: Some(Mcp { url: "http://127.0.0.1:1/mcp".into(), token: "test-token".into() }),
        permits: Default::default(),
        servers: None,
    }
}

fn lines(acts: &Acts) -> Vec<Value> {
    acts.write.iter().map(|line| serde_json::from_slice(line).unwrap()).collect()
}

fn saw(codex: &mut Codex, line: Value) -> Acts {
    let mut acts = Acts::default();
    codex.saw(line.to_string().as_bytes(), &mut acts);
    acts
}

fn wish(codex: &mut Codex, wish: Wish<'_>) -> Vec<Value> {
    let mut acts = Acts::default();
    codex.ask(wish, &mut acts).unwrap();
    lines(&acts)
}

/// A server with a thread, and a prompt that came before it.
fn ready() -> Codex {
    let mut codex = Codex::new(launch());
    let mut acts = Acts::default();
    codex.begin(&mut acts);
    assert_eq!(lines(&acts)[0]["method"], "initialize");
    assert!(wish(&mut codex, Wish::Prompt { text: "Hello", files: &[] }).is_empty());
    assert!(codex.is_busy());
    let begun = lines(&saw(&mut codex, json!({ "id": 1, "result": {} })));
    assert_eq!(begun[0], json!({ "method": "initialized" }));
    assert_eq!(begun[1]["method"], "thread/start");
    assert_eq!(begun[1]["params"]["config"]["mcp_servers"]["parlor"]["bearer_token_env_var"], Mcp::TOKEN);
    assert!(!begun[1].to_string().contains("test-token"));
    let acts = saw(&mut codex, json!({ "id": 2, "result": { "thread": { "id": "th" } } }));
    assert_eq!(acts.session.as_deref(), Some("th"));
    assert_eq!(lines(&acts)[0]["params"]["input"][0]["text"], "Hello");
    codex
}

#[test]
fn a_stop_ends_the_turn_and_its_commands_and_is_said_once() {
    let mut codex = ready();
    // The turn has no name yet: the stop waits for it.
    assert!(wish(&mut codex, Wish::Interrupt).is_empty());
    let told = lines(&saw(&mut codex, json!({ "id": 3, "result": { "turn": { "id": "tu" } } })));
    assert_eq!(told[0]["params"], json!({ "threadId": "th", "turnId": "tu" }));
    let started = json!({ "method": "turn/started", "params": { "threadId": "th", "turn": { "id": "tu" } } });
    assert!(saw(&mut codex, started).write.is_empty());
    assert!(wish(&mut codex, Wish::Interrupt).is_empty());
    let other =
        json!({ "method": "turn/completed", "params": { "threadId": "subagent", "turn": { "id": "x" } } });
    saw(&mut codex, other);
    assert!(codex.is_busy());
    let over = json!({ "method": "turn/completed", "params": { "threadId": "th", "turn": { "id": "tu" } } });
    let acts = saw(&mut codex, over);
    assert_eq!(lines(&acts)[0]["method"], "thread/backgroundTerminals/clean");
    assert!(acts.matters && !codex.is_busy() && !codex.can_steer());
}

/// Codex lets subagents go on when their parent is stopped.
#[test]
fn a_stop_reaches_subagents_also_those_that_begin_late() {
    let mut codex = ready();
    let turn = |event: &str, thread: &str| json!({ "method": format!("turn/{event}"), "params": { "threadId": thread, "turn": { "id": format!("{thread}-turn") } } });
    saw(&mut codex, turn("started", "th"));
    assert!(saw(&mut codex, turn("started", "one")).write.is_empty());
    let told = wish(&mut codex, Wish::Interrupt);
    let threads =
        |told: &[Value]| told.iter().map(|line| line["params"]["threadId"].clone()).collect::<Vec<_>>();
    assert_eq!(threads(&told), ["th", "one"]);
    saw(&mut codex, turn("completed", "th"));
    assert!(!codex.is_busy() && codex.works_on(), "a subagent is at work");
    assert_eq!(threads(&lines(&saw(&mut codex, turn("started", "two")))), ["two"]);
    for thread in ["one", "two"] {
        let told = lines(&saw(&mut codex, turn("completed", thread)));
        assert_eq!(told[0]["method"], "thread/backgroundTerminals/clean");
        assert_eq!(threads(&told), [thread]);
    }
    assert!(!codex.works_on());
}

/// A `decline` has no words of its own.
#[test]
fn the_reason_of_a_no_goes_into_the_turn_before_it() {
    let mut codex = ready();
    saw(
        &mut codex,
        json!({ "method": "turn/started", "params": { "threadId": "th", "turn": { "id": "tu" } } }),
    );
    let params = json!({ "threadId": "th" });
    saw(&mut codex, json!({ "method": "item/fileChange/requestApproval", "id": 0, "params": params }));
    let answer = Answer { choice: Choice::Deny, reason: Some("Not there.".into()), answers: Vec::new() };
    let told = wish(&mut codex, Wish::Answer { ask: "0", answer: &answer });
    assert_eq!(
        (&told[0]["method"], &told[0]["params"]["input"][0]["text"]),
        (&json!("turn/steer"), &json!("Not there."))
    );
    assert_eq!(told[1]["result"], json!({ "decision": "decline" }));
}

#[test]
fn a_prompt_that_never_reached_the_server_is_taken_back() {
    let mut codex = Codex::new(launch());
    codex.begin(&mut Acts::default());
    wish(&mut codex, Wish::Prompt { text: "Hello", files: &[] });
    wish(&mut codex, Wish::Interrupt);
    assert!(!codex.is_busy());
    saw(&mut codex, json!({ "id": 1, "result": {} }));
    assert!(saw(&mut codex, json!({ "id": 2, "result": { "thread": { "id": "th" } } })).write.is_empty());
}

#[test]
fn asks_are_answered_in_their_own_words() {
    let rule = json!({ "acceptWithExecpolicyAmendment": { "execpolicy_amendment": ["touch"] } });
    let command = json!({ "availableDecisions": ["accept", rule.clone(), "cancel"] });
    let questions = json!({ "questions": [{ "id": "q1", "question": "Which?" }] });
    let approval = "item/commandExecution/requestApproval";
    let cases = [
        (approval, command.clone(), Choice::Allow, json!({ "decision": "accept" })),
        (approval, command.clone(), Choice::AllowSession, json!({ "decision": "acceptForSession" })),
        (approval, command.clone(), Choice::AllowAlways, json!({ "decision": rule })),
        (approval, command, Choice::Deny, json!({ "decision": "decline" })),
        ("execCommandApproval", json!({}), Choice::Allow, json!({ "decision": "approved" })),
        (
            "item/permissions/requestApproval",
            json!({ "permissions": { "network": true } }),
            Choice::Allow,
            json!({ "permissions": { "network": true }, "scope": "turn" }),
        ),
        (
            "item/tool/requestUserInput",
            questions,
            Choice::Reply,
            json!({ "answers": { "q1": { "answers": ["This"] } } }),
        ),
        (
            "mcpServer/elicitation/request",
            json!({}),
            Choice::Deny,
            json!({ "action": "decline", "content": null }),
        ),
    ];
    for (method, params, choice, result) in cases {
        for (id, name) in [(json!(0), "0"), (json!("seven"), "seven")] {
            let mut codex = ready();
            let acts = saw(&mut codex, json!({ "method": method, "id": id, "params": params }));
            assert!(acts.write.is_empty() && acts.matters);
            let answer = Answer { choice, reason: None, answers: vec![("Which?".into(), "This".into())] };
            let told = wish(&mut codex, Wish::Answer { ask: name, answer: &answer });
            assert_eq!(told, [json!({ "id": id, "result": result })], "{method}");
        }
    }
}

#[test]
fn what_nobody_can_answer_is_refused_at_once() {
    let told = lines(&saw(&mut ready(), json!({ "method": "item/tool/call", "id": 5, "params": {} })));
    assert_eq!((&told[0]["id"], &told[0]["error"]["code"]), (&json!(5), &json!(-32601)));
}

#[test]
fn a_refused_turn_is_over() {
    let mut codex = ready();
    let acts = saw(&mut codex, json!({ "id": 3, "error": { "code": -32600, "message": "no" } }));
    assert!(!codex.is_busy());
    assert!(matches!(&acts.seen[..], [Seen::TurnEnded { error: Some(error), .. }] if error == "no"));
}

#[test]
fn a_session_that_is_not_there_is_said_and_the_server_let_go() {
    let mut codex = Codex::new(Launch { resume: Some("gone".into()), ..launch() });
    codex.begin(&mut Acts::default());
    wish(&mut codex, Wish::Prompt { text: "Hello", files: &[] });
    let begun = lines(&saw(&mut codex, json!({ "id": 1, "result": {} })));
    assert_eq!(
        (&begun[1]["method"], &begun[1]["params"]["threadId"]),
        (&json!("thread/resume"), &json!("gone"))
    );
    let acts = saw(&mut codex, json!({ "id": 2, "error": { "message": "no rollout found" } }));
    assert!(acts.close && !codex.is_busy());
    assert!(
        matches!(&acts.seen[..], [Seen::TurnEnded { error: Some(error), .. }] if error.contains("new session"))
    );
    assert!(codex.ask(Wish::Prompt { text: "Hello", files: &[] }, &mut Acts::default()).is_err());
}

#[test]
fn changes_go_with_the_next_turn() {
    let mut codex = ready();
    let (done, mut settled) = tokio::sync::oneshot::channel();
    assert!(wish(&mut codex, Wish::Set { model: Some("m"), mode: Some(Mode::AllowAll), done }).is_empty());
    assert!(settled.try_recv().unwrap().unwrap());
    let told = wish(&mut codex, Wish::Prompt { text: "Again", files: &[] });
    assert_eq!(told[0]["params"]["model"], "m");
    assert_eq!(told[0]["params"]["approvalPolicy"], "never");
    assert_eq!(told[0]["params"]["sandboxPolicy"]["type"], "dangerFullAccess");
    assert!(wish(&mut codex, Wish::Prompt { text: "Again", files: &[] })[0]["params"]["model"].is_null());
}
