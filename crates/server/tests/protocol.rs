//! PROTOCOL.md is true: every frame that a client may send is understood, and every frame that it may receive exists.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod common;

use std::path::Path;

use common::*;
use parlor_server::wire::{Ask, Tell};
use serde_json::{Value, json};

/// What stands for more in the examples.
fn whole(line: &str) -> String {
    let row = json!({"id": "s", "title": null, "agent": "claude", "model": null, "cwd": null, "branch": null,
        "started": null, "updated": "", "size": 0, "tokens": 0, "cost": null, "prompts": 0, "tools": 0, "phase": "idle",
        "waiting": false, "source": "found", "archived": false, "queue": 0, "parent": null});
    let state = json!({"id": "s", "title": null, "agent": null, "model": null, "mode": null, "cwd": null, "branch": null,
        "version": null, "phase": {"phase": "executing", "tool": "Bash"}, "since": null,
        "usage": {"input": 0, "output": 0, "cache_read": 0, "cache_write": 0, "reasoning": 0}, "context": 0,
        "context_window": null, "cost_usd": null, "queue": [{"id": "q", "text": "t", "files": 0}], "held": false,
        "counts": {"prompts": 0, "replies": 0, "tools": 0, "failed": 0, "unknown": 0}, "source": "live",
        "can": {"prompt": true, "interrupt": true, "steer": true, "adopt": false, "answer": true}, "writer": null,
        "asks": [{"id": "a", "entry": "e"}], "archived": false});
    line.replace("[ROW…]", &format!("[{row}]")).replace(":STATE", &format!(":{state}"))
}

fn examples(arrow: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../PROTOCOL.md");
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().filter_map(|line| line.strip_prefix(arrow)).map(whole).collect()
}

#[test]
fn every_frame_of_the_house_exists() {
    let frames = examples("← ");
    assert!(frames.len() > 12);
    for frame in frames {
        let tell: Tell = serde_json::from_str(&frame).unwrap_or_else(|error| panic!("{error}: {frame}"));
        let made = serde_json::to_value(&tell).unwrap();
        assert_eq!(made, serde_json::from_str::<Value>(&frame).unwrap(), "nothing is left out");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_frame_of_a_client_is_understood() {
    let frames = examples("→ ");
    assert!(frames.len() > 8);
    let house = House::open().await;
    let mut client = house.socket().await;
    for frame in frames {
        serde_json::from_str::<Ask>(&frame).unwrap_or_else(|error| panic!("{error}: {frame}"));
        let frame: Value = serde_json::from_str(&frame).unwrap();
        client.send(frame.clone()).await;
        // An answer may say that there is no such session, but never that the frame makes no sense.
        let answer = match frame.get("ref") {
            Some(reference) => client.until(|answer| answer.get("ref") == Some(reference)).await,
            None if frame["type"] == "ping" => client.until_type("pong").await,
            None => continue,
        };
        let words = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(!words.contains("not understood"), "{frame}: {answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_frame_that_is_really_sent_is_of_the_protocol() {
    let house = House::open().await;
    house.write_claude("one", &corpus("claude-session/plain")).await;
    let mut client = house.socket().await;
    client.send(json!({"type": "list", "ref": 1})).await;
    client.send(json!({"type": "subscribe", "ref": 2, "session": "one"})).await;
    for (index, profile) in ["events", "elements", "bridge", "legion", "raw"].iter().enumerate() {
        client
            .send(json!({"type": "subscribe", "ref": 3 + index, "session": "one", "profile": profile}))
            .await;
    }
    client.send(json!({"type": "nonsense", "ref": 20})).await;
    client.send(json!({"type": "subscribe", "ref": 21, "session": "one", "profile": "nonsense"})).await;
    client.send(json!({"type": "window", "ref": 22, "sub": 99, "before": 3})).await;
    let mut kinds = std::collections::BTreeSet::new();
    let wanted = ["entries", "error", "list", "messages", "state", "subscribed"];
    while !wanted.iter().all(|kind| kinds.contains(*kind)) {
        let frame = client.next().await.unwrap();
        kinds.insert(frame["type"].as_str().unwrap().to_owned());
        serde_json::from_value::<Tell>(frame.clone()).unwrap_or_else(|error| panic!("{error}: {frame}"));
    }
}
