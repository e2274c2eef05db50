//! The REST twin says what the socket says, and refuses in the same words.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod common;

use common::*;
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn what_is_asked_once_is_what_is_followed() {
    let house = House::open().await;
    let lines = corpus("claude-session/plain");
    house.write_claude("one", &lines).await;
    let mut client = house.socket().await;
    let list = client.ask(json!({"type": "list"})).await;
    let rows = house.get("/api/sessions").await.json();
    assert_eq!(rows["sessions"].as_array().unwrap().len(), list["sessions"].as_array().unwrap().len());
    let subscribed = client.ask(json!({"type": "subscribe", "session": "one"})).await;
    let state = client.until_type("state").await;
    assert_eq!(house.get("/api/sessions/one").await.json(), state["session"]);
    let page = house.get("/api/sessions/one/entries").await.json();
    assert_eq!(page["epoch"], subscribed["epoch"]);
    let entries = page["entries"].as_array().unwrap();
    assert_eq!(page["total"], entries.len());
    let export = house.get("/api/sessions/one/export?format=json").await;
    assert_eq!(export.json()["entries"], page["entries"]);
    assert!(export.headers["content-disposition"].contains("parlor-one.json"));
    let part = house.get("/api/sessions/one/entries?from=1&count=2").await.json();
    assert_eq!(part["entries"], json!(entries[1..3]));
    for entry in entries {
        let id = entry["id"].as_str().unwrap().replace('/', "%2F");
        assert_eq!(house.get(&format!("/api/sessions/one/entries/{id}")).await.json(), *entry);
        let full = house.get(&format!("/api/sessions/one/entries/{id}/full")).await;
        assert_eq!((full.status, full.headers["content-type"].as_str()), (200, "text/html; charset=utf-8"));
        assert!(full.body.contains("<article"), "{}", full.body);
        let text = house.get(&format!("/api/sessions/one/entries/{id}/full?format=text")).await;
        assert_eq!((text.status, text.headers["content-type"].as_str()), (200, "text/plain; charset=utf-8"));
    }
    let records = house.get("/api/sessions/one/records").await.json();
    let bodies: Vec<&str> = records["records"]
        .as_array()
        .unwrap()
        .iter()
        .map(|record| record["body"].as_str().unwrap())
        .collect();
    assert_eq!(bodies, lines);
    let two = house.get("/api/sessions/one/records?from=2&count=1").await.json();
    assert_eq!((&two["from"], &two["records"][0]["seq"]), (&json!(2), &json!(2)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_is_what_the_renderer_says() {
    let house = House::open().await;
    house.write_claude("one", &corpus("claude-session/plain")).await;
    let open = house.hub.open("one").await.unwrap();
    let (session, entries) = {
        let view = open.view();
        (view.session().clone(), view.entries().to_vec())
    };
    let options = parlor_render::Options::default();
    for (format, kind, text) in [
        ("html", "text/html", parlor_render::page::page(&session, &entries, &options).into_string()),
        (
            "markdown",
            "text/markdown",
            parlor_render::export_markdown::transcript(&session, &entries, &options),
        ),
        ("text", "text/plain", parlor_render::plain::transcript(&session, &entries, &options)),
    ] {
        let export = house.get(&format!("/api/sessions/one/export?format={format}")).await;
        assert_eq!(export.body, text, "{format}");
        assert!(export.headers["content-type"].starts_with(kind));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_output_is_whole_where_it_is_asked_for() {
    let house = House::open().await;
    let output: String = (0..9_000).map(|line| format!("line {line}\n")).collect();
    let lines = [
        json!({"type": "assistant", "uuid": "a", "sessionId": "s", "message": {"id": "m", "role": "assistant",
            "content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "seq"}}]}}),
        json!({"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t", "content": output}]}}),
    ];
    house.write_claude("one", &lines.map(|line| line.to_string())).await;
    let mut client = house.socket().await;
    let (_, page) = client.follow("one", json!({})).await;
    assert!(page.main().contains("lines not shown") && !page.main().contains("line 4500\n"));
    for format in ["html", "text"] {
        let full = house.get(&format!("/api/sessions/one/entries/t/full?format={format}")).await;
        assert!(full.body.contains("line 4500\n") && !full.body.contains("not shown"), "{format}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_answered_is_said_in_words() {
    let house = House::open().await;
    house.write_claude("one", &turns(1)).await;
    for (path, status, code) in [
        ("/api/sessions/none", 404, "not_found"),
        ("/api/sessions/none/entries", 404, "not_found"),
        ("/api/sessions/one/entries/none", 404, "not_found"),
        ("/api/sessions/one/entries/none/full", 404, "not_found"),
        ("/api/sessions/one/entries?from=x", 400, "bad_request"),
        ("/api/sessions/one/export?format=pdf", 400, "bad_request"),
        ("/api/sessions/one/messages?profile=none", 400, "bad_request"),
        ("/api/sessions/one/messages", 400, "bad_request"),
        ("/api/search", 400, "bad_request"),
        ("/api/search?q=x&kind=none", 400, "bad_request"),
        ("/api/nothing", 404, "not_found"),
        ("/nothing", 404, "not_found"),
    ] {
        let answer = house.get(path).await;
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{path}");
        let words = answer.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(!words.is_empty(), "{path}");
    }
    let answer = house.post("/api/sessions/one/orders", &json!({"order": "dance", "id": "x"})).await;
    assert_eq!((answer.status, answer.code().as_str()), (400, "bad_request"));
    let answer = house.post("/api/sessions", &json!({"agent": "none", "cwd": "/"})).await;
    assert_eq!((answer.status, answer.code().as_str()), (400, "bad_request"));
    assert_eq!(house.post("/api/agents", &Value::Null).await.status, 400, "this address takes no POST");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_session_is_offered_only_folders_that_are_still_there() {
    let house = House::open().await;
    let paths = ["old", "gone", "new"].map(|name| house.folder.path().join(name));
    for path in paths.iter().chain([&paths[0]]) {
        std::fs::create_dir_all(path).unwrap();
        let answer = house.post("/api/sessions", &json!({"agent": "demo", "cwd": path})).await;
        assert_eq!(answer.status, 200, "{}", answer.code());
    }
    std::fs::remove_dir(&paths[1]).unwrap();
    let expected = [&paths[0], &paths[2]].map(|path| path.canonicalize().unwrap());
    assert_eq!(house.get("/api/folders").await.json(), json!({"folders": expected}));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_house_tells_of_itself() {
    let house = House::open().await;
    let agents = house.get("/api/agents").await.json();
    let names: Vec<&str> =
        agents["agents"].as_array().unwrap().iter().map(|agent| agent["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"demo"), "{names:?}");
    let document = house.get("/api/openapi.json").await.json();
    assert_eq!(document, parlor_server::document());
    assert_eq!(house.get("/api/session").await.json(), json!({"access": "full"}));
    assert_eq!(house.post("/api/stop", &Value::Null).await.json(), json!({"sessions": 0}));
    for (path, operations) in document["paths"].as_object().unwrap() {
        let path = path.replace("{id}", "none").replace("{entry}", "none");
        for method in operations.as_object().unwrap().keys() {
            let answer = request(house.port, &method.to_uppercase(), &path, &[], "{}").await;
            assert_ne!(answer.status, 404, "{method} {path} has a handler");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_made_ordered_and_followed() {
    let house = House::open().await;
    let mut client = house.socket().await;
    let cwd = house.folder.path().to_str().unwrap();
    let created = client.ask(json!({"type": "create", "agent": "demo", "cwd": cwd, "mode": "ask"})).await;
    assert_eq!(created["type"], "created", "{created}");
    let session = created["session"].as_str().unwrap().to_owned();
    let (_, mut page) = client.follow(&session, json!({})).await;
    let order = json!({"id": "rename-1", "order": "rename", "title": "A *good* name"});
    let ordered = client.ask(json!({"type": "order", "session": session, "order": order})).await;
    assert_eq!((&ordered["type"], &ordered["id"]), (&json!("ordered"), &json!("rename-1")), "{ordered}");
    let again = client.ask(json!({"type": "order", "session": session, "order": order})).await;
    assert_eq!(again["type"], "ordered");
    let records = house.get(&format!("/api/sessions/{session}/records")).await.body;
    assert_eq!(records.matches("rename-1").count(), 1, "sent twice, carried out once");
    let order = json!({"id": "rename-2", "order": "rename", "title": "A better name"});
    let answer = house.post(&format!("/api/sessions/{session}/orders"), &order).await;
    assert_eq!((answer.status, &answer.json()["id"]), (200, &json!("rename-2")), "{}", answer.body);
    while page.state["title"] != "A better name" {
        let frame = client.next().await.unwrap();
        page.take(&frame);
    }
    assert_eq!(house.get(&format!("/api/sessions/{session}")).await.json()["title"], "A better name");
    let made = house.post("/api/sessions", &json!({"agent": "demo", "cwd": cwd})).await.json();
    house.listed(made["session"].as_str().unwrap()).await;
    let wrong = client.ask(json!({"type": "create", "agent": "demo", "cwd": "/no/such/folder"})).await;
    assert_eq!(wrong["error"]["code"], "bad_request");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_names_the_session_and_marks_the_words() {
    let house = House::open().await;
    let line = json!({"type": "user", "uuid": "u", "sessionId": "s", "timestamp": "2026-11-15T10:00:00.000Z",
        "message": {"role": "user", "content": "The 🦉 saw a marmoset yesterday"}});
    house.write_claude("one", &[line.to_string()]).await;
    // The index follows the list.
    let found = async {
        loop {
            let hits = house.get("/api/search?q=marmoset").await.json()["hits"].clone();
            if hits.as_array().is_some_and(|hits| !hits.is_empty()) {
                return hits[0].clone();
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let hit = tokio::time::timeout(DEADLINE, found).await.expect("the word to be indexed");
    assert_eq!((&hit["session"], &hit["at"]), (&json!("one"), &json!("2026-11-15T10:00:00.000Z")));
    let units: Vec<u16> = hit["snippet"].as_str().unwrap().encode_utf16().collect();
    let mark = &hit["marks"][0];
    let (start, end) = (mark[0].as_u64().unwrap() as usize, mark[1].as_u64().unwrap() as usize);
    assert_eq!(String::from_utf16(&units[start..end]).unwrap(), "marmoset");
    assert!(hit.get("title").is_some());
}
