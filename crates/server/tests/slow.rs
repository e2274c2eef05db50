//! A client that does not read holds up nobody, and has the right state in the end. A house that closes says so.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod common;

use common::*;
use futures_util::StreamExt;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

/// One reply of about half a megabyte.
fn long_reply(turn: usize) -> String {
    let text = format!("Paragraph {turn} has `code` and words. ").repeat(12_000);
    json!({"type": "assistant", "uuid": format!("long{turn}"), "sessionId": "s", "timestamp": "2026-11-15T10:00:00.000Z",
        "message": {"id": format!("l{turn}"), "role": "assistant", "stop_reason": "end_turn",
            "content": [{"type": "text", "text": text}]}})
    .to_string()
}

/// A socket that can hold little of what it does not read.
async fn small_socket(house: &House) -> Client {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4 << 10).unwrap();
    let stream = socket.connect(format!("127.0.0.1:{}", house.port).parse().unwrap()).await.unwrap();
    let bearer = format!("Bearer {}", house.token);
    let mut client = Client::connect_over(stream, house.port, &[("authorization", &bearer)]).await.unwrap();
    client.until_type("hello").await;
    client
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_holds_up_nobody_and_ends_right() {
    const REPLIES: usize = 24;
    let house = House::open().await;
    let path = house.write_claude("one", &turns(1)).await;
    let mut slow = small_socket(&house).await;
    let (_, mut late) = slow.follow("one", json!({})).await;
    let mut fast = house.socket().await;
    let (_, mut page) = fast.follow("one", json!({})).await;
    for turn in 0..REPLIES {
        append(&path, &format!("{}\n", long_reply(turn)));
        // The one who reads has each reply before the next is written, whatever the other does.
        while page.total < turn as u64 + 3 {
            page.take(&fast.next().await.expect("news"));
        }
    }
    assert_eq!(page.entries.len(), REPLIES + 2);
    let reading = async {
        while late.entries.len() < REPLIES + 2 {
            late.take(&slow.next().await.expect("the slow one was not thrown out"));
        }
    };
    tokio::time::timeout(DEADLINE, reading).await.expect("the slow one to catch up");
    assert!(late.main() == page.main(), "both hold the same page");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_is_heard_while_the_client_takes_nothing() {
    let house = House::open().await;
    let cwd = house.folder.path().to_str().unwrap();
    let made = house.post("/api/sessions", &json!({"agent": "demo", "cwd": cwd})).await.json();
    let session = made["session"].as_str().unwrap().to_owned();
    let lines: Vec<String> = (0..24).map(long_reply).collect();
    house.write_claude("one", &lines).await;
    let mut client = small_socket(&house).await;
    // Windows that nobody takes.
    for _ in 0..3 {
        client.send(json!({"type": "subscribe", "session": "one"})).await;
    }
    let order = json!({"id": "while-jammed", "order": "rename", "title": "Heard"});
    client.send(json!({"type": "order", "session": session, "order": order})).await;
    let mut bell = house.hub.watch_list();
    let heard = async {
        while house.hub.row(&session).and_then(|row| row.title.clone()).as_deref() != Some("Heard") {
            bell.changed().await.unwrap();
        }
    };
    tokio::time::timeout(DEADLINE, heard).await.expect("the order to be carried out");
    drop(client);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_house_that_closes_says_so() {
    let mut house = House::open().await;
    let mut client = house.socket().await;
    let closing = tokio::spawn(async move {
        loop {
            match client.stream.next().await {
                Some(Ok(Message::Close(frame))) => return frame.map(|frame| frame.code),
                Some(Ok(_)) => {}
                _ => return None,
            }
        }
    });
    house.close().await;
    assert_eq!(closing.await.unwrap(), Some(CloseCode::Away));
    assert!(
        tokio::net::TcpStream::connect(("127.0.0.1", house.port)).await.is_err(),
        "nobody listens any more"
    );
}
