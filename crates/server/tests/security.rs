//! Nobody comes in who may not, and nobody who may only look changes anything.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod common;

use common::*;
use futures_util::{SinkExt, StreamExt};
use parlor_server::{Config, bind};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

/// What a browser says of itself on our own page.
fn own_page(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

/// A browser's cookie.
async fn cookie(house: &House, code: &str) -> Answer {
    let body = json!({"code": code}).to_string();
    let origin = own_page(house.port);
    let headers = [("content-type", "application/json"), ("origin", origin.as_str())];
    request(house.port, "POST", "/api/session", &headers, &body).await
}

fn code_of(link: &str) -> &str {
    link.split("#code=").nth(1).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_told_without_the_right_token() {
    let house = House::open().await;
    for path in
        ["/api/sessions", "/api/sessions/x/export", "/api/openapi.json", "/api/search?q=x", "/api/session"]
    {
        let answer = request(house.port, "GET", path, &[], "").await;
        assert_eq!((answer.status, answer.code().as_str()), (401, "unauthorized"), "{path}");
        let answer = request(house.port, "GET", path, &[("authorization", "Bearer wrong")], "").await;
        assert_eq!(answer.status, 401, "{path}");
    }
    assert!(Client::connect(house.port, &[]).await.is_err());
    assert!(Client::connect(house.port, &[("authorization", "Bearer wrong")]).await.is_err());
    assert_eq!(house.get("/api/sessions").await.status, 200);
    let answer = house.get(&format!("/api/sessions?token={}", house.token)).await;
    assert_eq!(
        (answer.status, answer.code().as_str()),
        (400, "bad_request"),
        "not even with the right header"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn other_pages_and_other_names_are_refused() {
    let house = House::open().await;
    let bearer = format!("Bearer {}", house.token);
    for (name, value) in [
        ("origin", "http://evil.example"),
        ("origin", "null"),
        ("origin", "http://127.0.0.1:1"),
        ("host", "evil.example"),
        ("host", "127.0.0.1.nip.io"),
    ] {
        for path in ["/", "/assets/page.css", "/api/sessions"] {
            let answer =
                request(house.port, "GET", path, &[("authorization", &bearer), (name, value)], "").await;
            assert_eq!((answer.status, answer.code().as_str()), (403, "forbidden"), "{name}: {value} {path}");
        }
        let refused = Client::connect(house.port, &[("authorization", &bearer), (name, value)]).await;
        assert!(refused.err().unwrap().contains("403"), "{name}: {value}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_lets_one_browser_in_once() {
    let house = House::open().await;
    let code = code_of(&house.link).to_owned();
    let answer = cookie(&house, &code).await;
    assert_eq!((answer.status, &answer.json()["access"]), (200, &json!("full")));
    let set = answer.headers["set-cookie"].clone();
    for part in ["parlor_session=", "HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(set.contains(part), "{set}");
    }
    assert!(!set.contains(&house.token));
    assert_eq!(cookie(&house, &code).await.status, 401, "a code works once");
    let value = set.split(';').next().unwrap();
    let origin = own_page(house.port);
    let get = request(house.port, "GET", "/api/sessions", &[("cookie", value)], "").await;
    assert_eq!(get.status, 200);
    let headers = [("cookie", value), ("content-type", "application/json")];
    let forged = request(house.port, "POST", "/api/stop", &headers, "").await;
    assert_eq!(forged.status, 403, "a form of another page has no origin of ours");
    let headers = [("cookie", value), ("origin", origin.as_str())];
    assert_eq!(request(house.port, "POST", "/api/stop", &headers, "").await.status, 200);
    assert!(Client::connect(house.port, &[("cookie", value)]).await.is_err(), "a socket needs our page");
    let foreign = [("cookie", value), ("origin", "http://localhost:3000")];
    assert!(Client::connect(house.port, &foreign).await.is_err());
    let mut client = Client::connect(house.port, &[("cookie", value), ("origin", &origin)]).await.unwrap();
    assert_eq!(client.next().await.unwrap()["access"], "full");
    let house = house.again().await;
    let get = request(house.port, "GET", "/api/sessions", &[("cookie", value)], "").await;
    assert_eq!(get.status, 200, "a browser stays known when the house is opened again");
}

#[tokio::test(flavor = "multi_thread")]
async fn new_links_come_for_those_who_may_do_everything() {
    let house = House::open().await;
    let link =
        house.post("/api/link", &json!({"access": "read"})).await.json()["url"].as_str().unwrap().to_owned();
    assert!(link.starts_with(&format!("http://127.0.0.1:{}/#code=", house.port)));
    assert_eq!(cookie(&house, code_of(&link)).await.json()["access"], "read");
    let bearer = format!("Bearer {}", house.read_token);
    let answer = request(house.port, "POST", "/api/link", &[("authorization", &bearer)], "").await;
    assert_eq!(answer.status, 403);
    for _ in 0..40 {
        let wrong = cookie(&house, "wrong").await.status;
        assert!([401, 429].contains(&wrong));
    }
    assert_eq!(cookie(&house, "wrong").await.code(), "too_many");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_only_look_changes_nothing() {
    let house = House::open().await;
    house.write_claude("one", &turns(1)).await;
    let mut client = house.socket_with(&house.read_token).await;
    for frame in [
        json!({"type": "order", "session": "one", "order": {"id": "o", "order": "interrupt"}}),
        json!({"type": "create", "agent": "demo", "cwd": "/"}),
        json!({"type": "stop_all"}),
    ] {
        let answer = client.ask(frame).await;
        assert_eq!(answer["error"]["code"], "forbidden", "{answer}");
    }
    assert_eq!(client.follow("one", json!({})).await.1.total, 2);
    let bearer = format!("Bearer {}", house.read_token);
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    for (path, body) in [
        ("/api/sessions", json!({"agent": "demo", "cwd": "/"})),
        ("/api/sessions/one/orders", json!({"id": "o", "order": "interrupt"})),
        ("/api/stop", Value::Null),
    ] {
        assert_eq!(
            request(house.port, "POST", path, &headers, &body.to_string()).await.status,
            403,
            "{path}"
        );
    }
    assert_eq!(request(house.port, "GET", "/api/sessions", &headers, "").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn browsers_are_told_to_trust_nothing() {
    let house = House::open().await;
    for path in ["/", "/assets/page.css", "/api/sessions", "/nowhere"] {
        let answer = request(house.port, "GET", path, &[], "").await;
        let policy = &answer.headers["content-security-policy"];
        assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"), "{policy}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(answer.headers.get(name).map(String::as_str), Some(value), "{path} {name}");
        }
        assert!(!answer.headers.contains_key("access-control-allow-origin"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_those_of_the_page_and_no_others() {
    let house = House::open().await;
    let css = request(house.port, "GET", "/assets/page.css", &[], "").await;
    assert_eq!((css.status, css.headers["content-type"].as_str()), (200, "text/css; charset=utf-8"));
    assert_eq!(css.body, parlor_render::page::STYLE);
    let tag = css.headers["etag"].clone();
    let again = request(house.port, "GET", "/assets/page.css", &[("if-none-match", &tag)], "").await;
    assert_eq!((again.status, again.body.len()), (304, 0));
    let small = request(house.port, "GET", "/assets/page.css", &[("accept-encoding", "gzip")], "").await;
    assert_eq!(small.headers["content-encoding"], "gzip");
    for bad in [
        "/assets/../crates/server/Cargo.toml",
        "/assets/%2e%2e/Cargo.toml",
        "/assets/..%2fCargo.toml",
        "/assets/%2e%2e%2fCargo.toml",
        "/assets//etc/passwd",
        "/assets/%2fetc%2fpasswd",
        "/assets/tsconfig.json",
        "/assets/wire.d.ts%00.js",
        "/assets/.hidden.js",
        "/assets/",
    ] {
        assert_eq!(request(house.port, "GET", bad, &[], "").await.status, 404, "{bad}");
    }
    let tests = request(house.port, "GET", "/assets/tests/anything.js", &[], "").await;
    assert_eq!(tests.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_large_is_refused_and_said_so() {
    let house = House::open().await;
    let mut client = house.socket().await;
    // Only the head of a frame of 9 MB: whoever sends the rest may not hear why it was refused.
    let mut head = vec![0x81, 0xff];
    head.extend_from_slice(&(9_u64 << 20).to_be_bytes());
    head.extend_from_slice(&[1, 2, 3, 4]);
    client.stream.get_mut().write_all(&head).await.unwrap();
    let close = loop {
        match client.stream.next().await {
            Some(Ok(Message::Close(frame))) => break frame,
            Some(Ok(_)) => {}
            other => panic!("closed without a word: {other:?}"),
        }
    };
    assert_eq!(close.unwrap().code, CloseCode::Size);
    let answer = request_announcing(house.port, &house.token, "/api/sessions/x/orders", 9 << 20).await;
    assert_eq!((answer.status, answer.code().as_str()), (413, "too_large"));
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_has_a_limit() {
    let house = House::open().await;
    house.write_claude("one", &turns(1)).await;
    let mut client = house.socket().await;
    for _ in 0..64 {
        let answer = client.ask(json!({"type": "subscribe", "session": "one", "window": 0})).await;
        assert_eq!(answer["type"], "subscribed", "{answer}");
    }
    let answer = client.ask(json!({"type": "subscribe", "session": "one"})).await;
    assert_eq!(answer["error"]["code"], "too_many");
    client.send(json!({"type": "unsubscribe", "sub": 1})).await;
    assert_eq!(client.ask(json!({"type": "subscribe", "session": "one"})).await["type"], "subscribed");
    // Orders to nowhere are orders too. On a slow machine they may come slowly enough.
    let begun = tokio::time::Instant::now();
    let mut taken = 0;
    for index in 0..200 {
        let order = json!({"id": format!("o{index}"), "order": "interrupt"});
        let answer = client.ask(json!({"type": "order", "session": "none", "order": order})).await;
        taken += usize::from(answer["error"]["code"] != "too_many");
    }
    let most = 61.0 + 60.0 * begun.elapsed().as_secs_f64();
    assert!(taken as f64 <= most, "{taken} orders were taken, at most {most}");
    client.stream.send(Message::binary(vec![1, 2])).await.unwrap();
    assert_eq!(client.until_type("error").await["error"]["code"], "bad_request");
    client.stream.send(Message::text("{")).await.unwrap();
    assert_eq!(client.until_type("error").await["error"]["code"], "bad_request");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_machines_are_shut_out_unless_somebody_says_so() {
    let house = House::open().await;
    let everywhere = Config { bind: "0.0.0.0".parse().unwrap(), port: 0, ..Config::default() };
    let refused = bind(house.hub.clone(), everywhere.clone()).await.err().unwrap().to_string();
    assert!(refused.contains("--allow-remote"), "{refused}");
    let allowed = bind(house.hub.clone(), Config { allow_remote: true, ..everywhere }).await.unwrap();
    assert_eq!(allowed.url(), format!("http://127.0.0.1:{}", allowed.port()));
    let taken = Config { port: house.port, ..Config::default() };
    assert!(bind(house.hub.clone(), taken).await.err().unwrap().to_string().contains("--port"));
}
