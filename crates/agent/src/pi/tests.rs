//! What Pi is told, line by line.

use parlor_model::seen::Seen;

use super::*;

fn saw(pi: &mut Pi, line: Value) -> Acts {
    let mut acts = Acts::default();
    pi.saw(line.to_string().as_bytes(), &mut acts);
    acts
}

fn wish(pi: &mut Pi, wish: Wish<'_>) -> Value {
    let mut acts = Acts::default();
    pi.ask(wish, &mut acts).unwrap();
    acts.write.first().map(|line| serde_json::from_slice(line).unwrap()).unwrap_or_default()
}

#[test]
fn a_turn_is_over_when_pi_has_settled() {
    let mut pi = Pi::default();
    wish(&mut pi, Wish::Prompt { text: "Hello", files: &[] });
    for (line, busy) in [
        (json!({ "type": "response", "id": "parlor-1", "command": "prompt", "success": true }), true),
        (json!({ "type": "agent_start" }), true),
        (json!({ "type": "agent_end", "messages": [], "willRetry": false }), true),
        (json!({ "type": "agent_settled" }), false),
        (json!({ "type": "agent_start" }), true),
        // An older version.
        (json!({ "type": "agent_end", "messages": [] }), false),
    ] {
        saw(&mut pi, line.clone());
        assert_eq!(pi.is_busy(), busy, "{line}");
    }
}

#[test]
fn a_prompt_that_pi_does_not_take_is_over() {
    let mut pi = Pi::default();
    wish(&mut pi, Wish::Prompt { text: "Hello", files: &[] });
    let acts =
        saw(&mut pi, json!({ "type": "response", "id": "parlor-1", "success": false, "error": "no key" }));
    assert!(!pi.is_busy());
    assert!(matches!(&acts.seen[..], [Seen::TurnEnded { error: Some(error), .. }] if error == "no key"));
}

#[test]
fn the_session_is_what_get_state_tells() {
    let state =
        json!({ "id": "parlor-1", "type": "response", "success": true, "data": { "sessionId": "s1" } });
    assert_eq!(saw(&mut Pi::default(), state).session.as_deref(), Some("s1"));
}

#[test]
fn pictures_go_with_the_words() {
    let file = |media_type: &str, data: &str| File {
        name: "f".into(),
        media_type: media_type.into(),
        data: data.into(),
    };
    let files = [file("image/png", "iVBO"), file("text/plain", "aGk=")];
    let told = wish(&mut Pi::default(), Wish::Steer { text: "Look", files: &files });
    assert_eq!(told["type"], "steer");
    assert_eq!(told["images"], json!([{ "type": "image", "data": "iVBO", "mimeType": "image/png" }]));
    assert_eq!(told["message"], "Look\n\n<file name=\"f\">\nhi\n</file>");
}

#[test]
fn a_model_is_set_by_its_provider() {
    let mut pi = Pi::default();
    let (done, mut settled) = tokio::sync::oneshot::channel();
    let told = wish(&mut pi, Wish::Set { model: Some("openai/gpt/x"), mode: None, done });
    assert_eq!((&told["provider"], &told["modelId"]), (&json!("openai"), &json!("gpt/x")));
    saw(&mut pi, json!({ "type": "response", "id": told["id"], "success": false, "error": "unknown" }));
    assert!(settled.try_recv().unwrap().unwrap_err().0.contains("unknown"));
    let (done, mut settled) = tokio::sync::oneshot::channel();
    wish(&mut pi, Wish::Set { model: Some("gpt"), mode: None, done });
    assert!(!settled.try_recv().unwrap().unwrap());
}

#[test]
fn an_extension_that_asks_hears_that_nobody_answers() {
    let ask = |method: &str| json!({ "type": "extension_ui_request", "id": "u1", "method": method });
    let told = saw(&mut Pi::default(), ask("confirm")).write;
    let told: Value = serde_json::from_slice(&told[0]).unwrap();
    assert_eq!(told, json!({ "type": "extension_ui_response", "id": "u1", "cancelled": true }));
    assert!(saw(&mut Pi::default(), ask("notify")).write.is_empty());
}

/// A program that does what the shell line says, as Pi's.
async fn arguments_of(line: &str) -> (Vec<String>, Vec<(&'static str, OsString)>) {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (program, extension) = (folder.path().join("pi"), folder.path().join("pi-extension.js"));
    std::fs::write(&program, format!("#!/bin/sh\n{line}\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let settings =
        Settings { pi_extension: Some(extension), ..Settings::from_variables([].into_iter().collect()) };
    let launch = Launch {
        kind: Kind::Pi,
        run: "run".into(),
        cwd: "/".into(),
        model: None,
        mode: parlor_model::order::Mode::Ask,
        resume: None,
        history: Vec::new(),
        mcp: Some(Mcp { url: "http://127.0.0.1:1/mcp".into(), token: "test-token".into() }),
        permits: Default::default(),
        servers: None,
    };
    let spec = spec(&launch, program, &settings).await;
    let arguments = spec.arguments.iter().map(|argument| argument.to_string_lossy().into_owned());
    (arguments.collect(), spec.environment)
}

#[tokio::test]
async fn the_tools_come_by_an_extension_and_the_token_is_in_the_environment() {
    let (arguments, environment) = arguments_of("exit 0").await;
    assert!(
        arguments.windows(2).any(|pair| pair[0] == "--extension" && pair[1].ends_with("/pi-extension.js"))
    );
    assert!(arguments.iter().all(|argument| !argument.contains("test-token")), "{arguments:?}");
    assert!(environment.contains(&("PARLOR_MCP_TOKEN", OsString::from("test-token"))));
    assert!(!extension::text().contains("test-token"));
}

#[tokio::test]
async fn a_pi_that_cannot_load_extensions_is_started_without() {
    for line in ["exit 1", "case \"$*\" in *--extension*) exit 1 ;; esac"] {
        let (arguments, environment) = arguments_of(line).await;
        assert_eq!((arguments, environment), (vec!["--mode".into(), "rpc".into()], Vec::new()), "{line}");
    }
}
