//! What Claude Code is told, line by line.

use super::*;

const ASK: &str = r#"{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"make"},"permission_suggestions":[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"make"}],"behavior":"allow","destination":"localSettings"},{"type":"setMode","mode":"acceptEdits","destination":"session"}],"tool_use_id":"t1"}}"#;
const QUESTION: &str = r#"{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"AskUserQuestion","input":{"questions":[{"question":"Which?","options":[]}]},"tool_use_id":"t1"}}"#;

fn wish(claude: &mut Claude, wish: Wish<'_>) -> Result<Vec<Value>, AgentError> {
    let mut acts = Acts::default();
    claude.ask(wish, &mut acts)?;
    Ok(acts.write.iter().map(|line| serde_json::from_slice(line).unwrap()).collect())
}

fn answered(ask: &str, answer: Answer) -> Value {
    let mut claude = Claude::default();
    let mut acts = Acts::default();
    claude.saw(ask.as_bytes(), &mut acts);
    assert!(acts.matters);
    let mut lines = wish(&mut claude, Wish::Answer { ask: "r1", answer: &answer }).unwrap();
    assert!(wish(&mut claude, Wish::Answer { ask: "r1", answer: &answer }).is_err(), "it is answered once");
    assert_eq!(lines[0]["response"]["request_id"], "r1");
    lines[0]["response"]["response"].take()
}

fn answer(choice: Choice) -> Answer {
    Answer { choice, reason: None, answers: Vec::new() }
}

#[test]
fn an_answer_repeats_what_was_asked() {
    assert_eq!(
        answered(ASK, answer(Choice::Allow)),
        json!({ "behavior": "allow", "updatedInput": { "command": "make" } })
    );
    let no = Answer { reason: Some("too soon".into()), ..answer(Choice::Deny) };
    assert_eq!(answered(ASK, no), json!({ "behavior": "deny", "message": "too soon" }));
}

#[test]
fn rules_are_what_claude_offers() {
    let session = &answered(ASK, answer(Choice::AllowSession))["updatedPermissions"];
    assert_eq!(session.as_array().unwrap().len(), 1);
    assert_eq!((&session[0]["type"], &session[0]["destination"]), (&json!("addRules"), &json!("session")));
    let always = &answered(ASK, answer(Choice::AllowAlways))["updatedPermissions"];
    assert_eq!(always[0]["destination"], "localSettings");
}

/// Claude lets what is in the background go on when its turn is over, and begins a turn by itself when that has ended.
#[test]
fn a_stop_ends_claude_where_something_works_in_the_background() {
    let mut claude = Claude::default();
    let saw =
        |claude: &mut Claude, line: Value| claude.saw(line.to_string().as_bytes(), &mut Acts::default());
    let told = |lines: Vec<Value>| {
        lines.into_iter().map(|line| line["request"]["subtype"].clone()).collect::<Vec<_>>()
    };
    let task = |id: &str, kind: &str| json!({ "task_id": id, "task_type": kind });
    let tasks =
        |tasks: &[Value]| json!({ "type": "system", "subtype": "background_tasks_changed", "tasks": tasks });
    let result = json!({ "type": "result", "subtype": "success" });
    wish(&mut claude, Wish::Prompt { text: "Go", files: &[] }).unwrap();
    assert_eq!(told(wish(&mut claude, Wish::Interrupt).unwrap()), ["interrupt"]);
    saw(&mut claude, tasks(&[task("server", "local_bash")]));
    saw(&mut claude, result.clone());
    assert!(!claude.is_busy() && claude.works_on(), "a command of this turn");
    wish(&mut claude, Wish::Prompt { text: "Go on", files: &[] }).unwrap();
    assert!(!claude.works_on(), "it was there before the turn");
    assert_eq!(told(wish(&mut claude, Wish::Interrupt).unwrap()), ["interrupt"]);
    saw(&mut claude, tasks(&[task("server", "local_bash"), task("helper", "local_agent")]));
    saw(&mut claude, result);
    assert!(claude.works_on(), "a subagent");
    assert_eq!(told(wish(&mut claude, Wish::Interrupt).unwrap()), ["end_session"]);
    assert!(wish(&mut claude, Wish::Interrupt).unwrap().is_empty(), "said once");
}

#[test]
fn questions_are_answered_by_their_words() {
    let several = Answer { answers: vec![("Which?".into(), "This".into())], ..answer(Choice::Reply) };
    let words = Answer { reason: Some("This".into()), ..answer(Choice::Reply) };
    for reply in [answered(QUESTION, several), answered(QUESTION, words.clone())] {
        assert_eq!(reply["behavior"], "allow");
        assert_eq!(reply["updatedInput"]["answers"], json!({ "Which?": "This" }));
        assert_eq!(reply["updatedInput"]["questions"][0]["question"], "Which?");
    }
    assert_eq!(answered(ASK, words), json!({ "behavior": "deny", "message": "This" }));
}

#[test]
fn files_go_before_the_words() {
    let file = |media_type: &str, data: &str| File {
        name: "f".into(),
        media_type: media_type.into(),
        data: data.into(),
    };
    let files = [file("image/png", "iVBO"), file("application/pdf", "JVBE"), file("text/plain", "aGk=")];
    let lines = wish(&mut Claude::default(), Wish::Prompt { text: "Look", files: &files }).unwrap();
    let content = lines[0]["message"]["content"].as_array().unwrap();
    let kinds: Vec<&str> = content.iter().map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["image", "document", "text", "text"]);
    assert_eq!(content[0]["source"], json!({ "type": "base64", "media_type": "image/png", "data": "iVBO" }));
    assert_eq!(content[3]["text"], "Look");
    let zip = [file("application/zip", "/w==")];
    assert!(wish(&mut Claude::default(), Wish::Prompt { text: "Look", files: &zip }).is_err());
}

#[test]
fn a_change_waits_for_claudes_word() {
    let mut claude = Claude::default();
    let said = |claude: &mut Claude, id: &str, subtype: &str| {
        let line =
            json!({ "type": "control_response", "response": { "subtype": subtype, "request_id": id } });
        claude.saw(line.to_string().as_bytes(), &mut Acts::default());
    };
    let (done, mut settled) = tokio::sync::oneshot::channel();
    wish(&mut claude, Wish::Set { model: Some("m"), mode: Some(Mode::AcceptEdits), done }).unwrap();
    said(&mut claude, "parlor-1", "success");
    assert!(settled.try_recv().is_err());
    said(&mut claude, "parlor-2", "success");
    assert!(settled.try_recv().unwrap().unwrap());
    let (done, mut settled) = tokio::sync::oneshot::channel();
    wish(&mut claude, Wish::Set { model: None, mode: Some(Mode::AllowAll), done }).unwrap();
    said(&mut claude, "parlor-3", "error");
    assert!(!settled.try_recv().unwrap().unwrap());
}

#[test]
fn the_token_is_not_on_the_command_line() {
    let launch = Launch {
        kind: Kind::Claude,
        run: "run".into(),
        cwd: "/".into(),
        model: Some("m".into()),
        mode: Mode::Ask,
        resume: Some("session".into()),
        history: Vec::new(),
        mcp: Some(Mcp { url: "http://127.0.0.1:1/mcp".into(), token: "test-token".into() }),
        permits: Default::default(),
        servers: None,
    };
    let spec = spec(&launch, "claude".into());
    let arguments: Vec<_> =
        spec.arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect();
    assert!(arguments.iter().all(|argument| !argument.contains("test-token")), "{arguments:?}");
    assert!(arguments.contains(&"--resume=session".into()) && arguments.contains(&"--model=m".into()));
    assert_eq!(spec.environment, [(Mcp::TOKEN, OsString::from("test-token"))]);
}
