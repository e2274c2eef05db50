//! Quirks of the app server, one test each.

use super::*;
use crate::codex::testing::{assert_total, events, reads};

const THREAD: &str = r#"{"id":2,"result":{"thread":{"id":"t","cwd":"/w","cliVersion":"1","parentThreadId":null},"model":"m"}}"#;

/// A notification on the thread `t`.
fn note(method: &str, params: &str) -> String {
    format!(
        r#"{{"method":"{method}","params":{{"threadId":"t","turnId":"u",{params}}},"emittedAtMs":1794770456615}}"#
    )
}

fn said(lines: &[String]) -> Vec<String> {
    events(&mut CodexApp::default(), &lines.iter().map(String::as_str).collect::<Vec<_>>())
}

fn fates(lines: &[String], expected: &str) {
    reads(&mut CodexApp::default(), &lines.iter().map(String::as_str).collect::<Vec<_>>(), expected);
}

#[test]
fn deltas_add_up_to_the_final_text() {
    let delta = |text: &str| note("item/agentMessage/delta", &format!(r#""itemId":"m","delta":"{text}""#));
    let lines = [
        note("item/started", r#""item":{"type":"agentMessage","id":"m","text":""}"#),
        delta("Hello "),
        delta(""),
        delta("you"),
        note("item/completed", r#""item":{"type":"agentMessage","id":"m","text":"Hello you"}"#),
    ];
    assert_eq!(said(&lines), [r#"grow m Reply "Hello ""#, r#"grow m Reply "you""#, "reply m Hello you"]);
    fates(&lines, "hidden step, shown, hidden step, shown, shown");
}

#[test]
fn the_parts_of_a_summary_are_joined_as_the_item_joins_them() {
    let delta = |text: &str| {
        note("item/reasoning/summaryTextDelta", &format!(r#""itemId":"r","delta":"{text}","summaryIndex":0"#))
    };
    let part = |index: u32| {
        note("item/reasoning/summaryPartAdded", &format!(r#""itemId":"r","summaryIndex":{index}"#))
    };
    let lines = [
        part(0),
        delta("a"),
        part(1),
        delta("b"),
        note("item/completed", r#""item":{"type":"reasoning","id":"r","summary":["a","b"],"content":[]}"#),
    ];
    let expected =
        [r#"grow r Thought "a""#, r#"grow r Thought "\n\n""#, r#"grow r Thought "b""#, "thought r a\n\nb"];
    assert_eq!(said(&lines), expected);
    fates(
        &[note("item/completed", r#""item":{"type":"reasoning","id":"r","summary":[],"content":[]}"#)],
        "hidden step",
    );
}

#[test]
fn an_approval_waits_on_its_call_and_is_withdrawn_once() {
    let lines = [
        note("item/started", r#""item":{"type":"commandExecution","id":"c","command":"/bin/bash -lc 'rm x'","status":"inProgress"}"#),
        r#"{"method":"item/commandExecution/requestApproval","id":0,"params":{"threadId":"t","itemId":"c","reason":null,"availableDecisions":["accept",{"acceptWithExecpolicyAmendment":{}},"cancel"]}}"#.to_owned(),
        r#"{"direction":"out","frame":{"id":0,"result":{"decision":"decline"}}}"#.to_owned(),
        note("serverRequest/resolved", r#""requestId":0"#),
        note("item/completed", r#""item":{"type":"commandExecution","id":"c","command":"rm x","status":"declined","aggregatedOutput":null,"exitCode":null}"#),
    ];
    let expected = [
        r#"tool c shell {"command":["/bin/bash","-lc","rm x"]} Running"#,
        "ask c 0 accept|acceptWithExecpolicyAmendment|cancel",
        "ask c withdrawn",
        r#"end c Denied - """#,
    ];
    assert_eq!(said(&lines), expected);
    fates(&lines, "shown, shown, hidden protocol, hidden protocol, shown");
}

#[test]
fn a_request_that_comes_before_its_call_opens_it() {
    let lines = [r#"{"method":"item/tool/requestUserInput","id":"q1","params":{"threadId":"t","itemId":"c","questions":[{"question":"which"}]}}"#.to_owned()];
    assert_eq!(
        said(&lines),
        [r#"tool c request_user_input {"questions":[{"question":"which"}]} Pending"#, "ask c q1 "]
    );
}

#[test]
fn a_prompt_is_shown_once_whoever_says_it_first() {
    let client =
        r#"{"id":3,"method":"turn/start","params":{"threadId":"t","input":[{"type":"text","text":"do"}]}}"#
            .to_owned();
    let server = note(
        "item/started",
        r#""item":{"type":"userMessage","id":"p","content":[{"type":"text","text":"do"}]}"#,
    );
    let done = server.replace("started", "completed");
    assert_eq!(said(&[client.clone(), server.clone(), done.clone()]), ["prompt n1 Person do"]);
    assert_eq!(said(&[server.clone(), done, client.clone()]), ["prompt p Person do"]);
    fates(&[client.clone(), server], "shown, hidden repeat");
    assert_eq!(said(&[client.clone(), client]).len(), 2, "the same words twice are two prompts");
}

#[test]
fn a_second_prompt_steers_only_the_turn_of_its_own_thread() {
    let start = note("turn/started", r#""turn":{"id":"u"}"#);
    let user = |id: &str| {
        note(
            "item/started",
            &format!(
                r#""item":{{"type":"userMessage","id":"{id}","content":[{{"type":"text","text":"{id}"}}]}}"#
            ),
        )
    };
    let other = |line: String| line.replace(r#""threadId":"t""#, r#""threadId":"o""#);
    let lines = [start.clone(), other(start), user("a"), other(user("b")), user("c")];
    assert_eq!(said(&lines)[2..], ["prompt a Person a", "prompt b Person b", "prompt c Person steered c"]);
}

#[test]
fn a_subagent_works_under_the_call_that_started_it() {
    let sub =
        |method: &str, params: &str| note(method, params).replace(r#""threadId":"t""#, r#""threadId":"s""#);
    let spawn = |receivers: &str, status: &str| {
        format!(
            r#""item":{{"type":"collabAgentToolCall","id":"c","tool":"spawnAgent","prompt":"go","receiverThreadIds":[{receivers}],"agentsStates":{{}},"status":"{status}"}}"#
        )
    };
    let lines = [
        THREAD.to_owned(),
        note("item/started", &spawn("", "inProgress")),
        sub("warning", r#""message":"early""#),
        note("item/completed", &spawn(r#""s""#, "completed")),
        sub("turn/started", r#""turn":{}"#),
        sub(
            "item/started",
            r#""item":{"type":"userMessage","id":"p","content":[{"type":"text","text":"go"}]}"#,
        ),
        sub("item/agentMessage/delta", r#""itemId":"m","delta":"did""#),
        sub("thread/tokenUsage/updated", r#""tokenUsage":{"total":{"inputTokens":5},"last":{}}"#),
        sub("turn/completed", r#""turn":{"status":"completed"}"#),
    ];
    let expected = [
        r#"tool c spawn_agent {"prompt":"go","targets":[]} Running"#,
        "c> notice n1 Warning early",
        r#"end c Done - """#,
        "c> prompt p Caller go",
        "c> reply m ",
        r#"grow m Reply "did""#,
        "end m Interrupted",
    ];
    assert_eq!(said(&lines)[4..], expected);
}

#[test]
fn turns_fail_once_and_retries_abandon_what_was_written() {
    let error = |retry: bool| {
        note(
            "error",
            &format!(r#""error":{{"message":"busy","additionalDetails":"later"}},"willRetry":{retry}"#),
        )
    };
    let lines = [
        note("item/agentMessage/delta", r#""itemId":"m","delta":"par""#),
        error(true),
        error(false),
        note("turn/completed", r#""turn":{"status":"failed","error":{"message":"busy"}}"#),
        note("turn/completed", r#""turn":{"status":"interrupted","error":null}"#),
    ];
    let expected = [
        r#"grow m Reply "par""#,
        "end m Interrupted",
        "notice n1 Retry busy (later)",
        "notice n2 Error busy (later)",
        "turn Failed { error: None }",
        r#"turn Interrupted { reason: "interrupted" }"#,
    ];
    assert_eq!(said(&lines), expected);
}

#[test]
fn facts_come_from_answers_and_errors_are_shown() {
    let error = r#"{"id":4,"error":{"code":-32600,"message":"no active turn to interrupt"}}"#;
    let expected = [
        "id t",
        r#"meta Cwd { path: "/w" }"#,
        r#"meta Version { version: "1" }"#,
        r#"meta Model { name: "m" }"#,
        "notice n1 Error no active turn to interrupt",
    ];
    assert_eq!(said(&[THREAD.to_owned(), THREAD.replace("2", "9"), error.to_owned()])[..4], expected[..4]);
    assert_eq!(said(&[error.to_owned()]), expected[4..]);
}

#[test]
fn what_carries_no_conversation_is_hidden_by_name() {
    let lines = [
        note("account/rateLimits/updated", r#""x":1"#),
        note("turn/diff/updated", r#""diff":"x""#),
        r#"{"method":"initialized"}"#.to_owned(),
        r#"{"ms":1,"line":{"id":2,"method":"no/such"}}"#.to_owned(),
        r#"{"ms":1,"line":"not json"}"#.to_owned(),
        note("from/tomorrow", r#""x":1"#),
        note("item/started", r#""item":{"type":"fromTomorrow"}"#),
        r#"{"id":1}"#.to_owned(),
    ];
    let expected = "hidden status, hidden repeat, hidden protocol, hidden protocol, hidden protocol, unknown from/tomorrow, unknown item/started, unknown untyped";
    fates(&lines, expected);
}

#[test]
fn other_protocols_are_not_claimed() {
    let claims = |line: &str| claim(&Line::new(line.to_owned().into()));
    assert_eq!(claims(&note("turn/started", r#""x":1"#)), Claim::Yes);
    assert_eq!(claims(r#"{"direction":"in","frame":{"method":"item/started","params":{}}}"#), Claim::Yes);
    assert_eq!(claims(r#"{"id":0,"result":{}}"#), Claim::Maybe);
    for other in [
        r#"{"jsonrpc":"2.0","id":0,"result":{}}"#,
        r#"{"jsonrpc":"2.0","method":"session/update"}"#,
        "text",
        "[]",
        "{}",
    ] {
        assert_eq!(claims(other), Claim::No, "{other}");
    }
}

#[test]
fn no_input_is_too_odd() {
    let lines = [
        THREAD.to_owned(),
        note("item/completed", r#""item":{"type":"fileChange","id":"f","changes":[{"path":"a","kind":{"type":"add"},"diff":"x"}],"status":"completed"}"#),
        note("thread/tokenUsage/updated", r#""tokenUsage":{"total":{"inputTokens":5},"last":{"inputTokens":9},"modelContextWindow":7}"#),
        note("turn/completed", r#""turn":{"status":"failed","error":{"message":"m"}}"#),
        r#"{"direction":"in","frame":{"method":"item/fileChange/requestApproval","id":0,"params":{"itemId":"c","availableDecisions":[{"a":1}]}}}"#.to_owned(),
    ];
    assert_total(CodexApp::default, &lines.iter().map(String::as_str).collect::<Vec<_>>());
    let deep = format!("{}1{}", r#"{"frame":"#.repeat(50_000), "}".repeat(50_000));
    fates(&[deep], "unknown untyped");
}
