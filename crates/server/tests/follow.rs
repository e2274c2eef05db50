//! Following sessions: windows, news, patches, and coming back. Whatever way a client came, it holds the same page.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod common;

use std::fs;

use common::*;
use futures_util::SinkExt;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

/// What the export says is between the page's own tags.
async fn exported_main(house: &House, id: &str) -> String {
    let export = house.get(&format!("/api/sessions/{id}/export?format=html")).await;
    assert_eq!(export.status, 200, "{}", export.body);
    let (_, main) = export.body.split_once("<main class=\"talk\">\n").unwrap();
    let main = main.split_once("</main>").unwrap().0;
    // Only a file has words for nothing.
    if main.starts_with("<p class=\"empty\">") { String::new() } else { main.to_owned() }
}

/// Reads until the page holds what the export shows.
async fn read_until_whole(client: &mut Client, page: &mut Page, main: &str) {
    let reading = async {
        while page.main() != main {
            let frame = client.next().await.expect("news, not the end");
            page.take(&frame);
        }
    };
    if tokio::time::timeout(DEADLINE, reading).await.is_err() {
        panic!("the page never became the export:\n{}\n-----\n{main}", page.main());
    }
}

/// Waits until the house has read so many records of a session.
async fn read_by_house(house: &House, id: &str, records: u64) {
    // The server waits for the first look over the disk; the hub itself does not.
    assert_eq!(house.get(&format!("/api/sessions/{id}")).await.status, 200);
    let open = house.hub.open(id).await.unwrap();
    let mut bell = open.bell();
    let reading = async {
        while open.view().end() < records {
            bell.changed().await.unwrap();
        }
    };
    tokio::time::timeout(DEADLINE, reading).await.expect("all lines to be read");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_found_session_is_listed_followed_and_grows() {
    let house = House::open().await;
    let mut client = house.socket().await;
    let list = client.ask(json!({"type": "list"})).await;
    assert_eq!(list["type"], "list");
    let lines = turns(3);
    let path = house.write_claude("one", &lines[..4]).await;
    let has_one =
        |rows: &Value| rows.as_array().is_some_and(|rows| rows.iter().any(|row| row["id"] == "one"));
    // The first rows of an empty list may come as a list.
    client.until(|frame| has_one(&frame["rows"]) || has_one(&frame["sessions"])).await;
    let (subscribed, mut page) = client.follow("one", json!({"profile": "html"})).await;
    assert_eq!((&subscribed["verdict"], page.total), (&json!("fresh"), 4), "{subscribed}");
    append(&path, &format!("{}\n{}\n", lines[4], lines[5]));
    while page.total < 6 {
        let frame = client.next().await.unwrap();
        page.take(&frame);
        if frame["type"] == "entries" {
            assert_eq!(frame["kind"], "live");
        }
    }
    read_until_whole(&mut client, &mut page, &exported_main(&house, "one").await).await;
    fs::remove_file(&path).unwrap();
    let gone = |frame: &Value| frame["gone"].as_array().is_some_and(|gone| gone.contains(&json!("one")));
    let moved = |frame: &Value| {
        frame["rows"]
            .as_array()
            .is_some_and(|rows| rows.iter().any(|row| row["id"] == "one" && row["source"] == "archived"))
    };
    client.until(|frame| gone(frame) || moved(frame)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_large_file_is_shown_before_the_whole_replaces_it() {
    let house = House::open().await;
    let filler = "and so on ".repeat(200);
    let lines: Vec<String> = turns(1_500)
        .iter()
        .map(|line| line.replace("Question", &filler).replace("Answer", &filler))
        .collect();
    house.write_claude("large", &lines).await;
    let mut client = house.socket().await;
    // One write, so that the window is asked for before anything can have been read.
    for frame in [
        json!({"type": "subscribe", "ref": 1, "session": "large", "window": 50}),
        json!({"type": "window", "ref": 2, "sub": 1, "before": 10, "count": 10}),
        json!({"type": "window", "ref": 3, "sub": 1, "around": "m1400/0", "count": 10}),
    ] {
        client.stream.feed(Message::text(frame.to_string())).await.unwrap();
    }
    client.stream.flush().await.unwrap();
    let first = client.until_type("subscribed").await;
    assert_eq!(
        (&first["ref"], &first["verdict"], &first["epoch"]),
        (&json!(1), &json!("fresh"), &json!("end"))
    );
    let state = client.until_type("state").await;
    assert_eq!(state["session"]["reading"], true);
    assert_eq!(
        state["session"]["title"],
        house.hub.row("large").unwrap().title.as_deref().unwrap(),
        "not that of its end"
    );
    let mut end = Page { sub: 1, ..Page::default() };
    end.take(&client.until_type("entries").await);
    assert!((50..3_000).contains(&end.total), "{}", end.total);

    let second = client.until_type("subscribed").await;
    assert_eq!(
        (&second["ref"], &second["verdict"], &second["why"]),
        (&Value::Null, &json!("gap"), &json!("whole"))
    );
    assert_ne!(second["epoch"], "end");
    let state = client.until_type("state").await;
    assert_eq!(state["session"].get("reading"), None);
    let mut page = Page { sub: 1, ..Page::default() };
    page.take(&client.until_type("entries").await);
    assert_eq!((page.total, page.entries.len()), (3_000, 50));
    let held = |page: &Page| {
        page.entries.values().map(|held| (held.id.clone(), held.html.clone())).collect::<Vec<_>>()
    };
    assert_eq!(held(&end), held(&page), "the end reads the same in the whole");

    let refused = client.until(|frame| frame["ref"] == 2).await;
    assert_eq!(refused["error"]["code"], "conflict", "a place of the end is another in the whole: {refused}");
    let around = client.until(|frame| frame["ref"] == 3).await;
    assert_eq!(around["entries"][5]["id"], "m1400/0", "an entry is the same in both");

    let again =
        client.ask(json!({"type": "subscribe", "session": "large", "epoch": "end", "after": 3})).await;
    assert_eq!((&again["verdict"], &again["why"]), (&json!("gap"), &json!("whole")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_loaded_once_however_many_open_it_at_once() {
    let house = House::open().await;
    house.write_claude("one", &turns(500)).await;
    house.write_claude("two", &turns(500)).await;
    let opening = (0..16).map(|turn| {
        let hub = house.hub.clone();
        tokio::spawn(async move { hub.open(if turn % 2 == 0 { "one" } else { "two" }).await.unwrap() })
    });
    let mut open = Vec::new();
    for one in opening.collect::<Vec<_>>() {
        open.push(one.await.unwrap());
    }
    for (turn, one) in open.iter().enumerate() {
        assert!(one.bell().same_channel(&open[turn % 2].bell()), "the same session has one bell");
    }
    assert!(!open[0].bell().same_channel(&open[1].bell()));
}

#[tokio::test(flavor = "multi_thread")]
async fn windows_reach_the_whole_session() {
    let house = House::open().await;
    house.write_claude("long", &turns(300)).await;
    let mut client = house.socket().await;
    let (_, mut page) = client.follow("long", json!({"window": 50})).await;
    assert_eq!((page.total, page.entries.len()), (600, 50));
    assert_eq!(page.entries.keys().next(), Some(&550));
    for ask in [
        json!({"before": 550, "count": 100}),
        json!({"around": page.entries[&560].id, "count": 10}),
        json!({"from": 0, "count": 300}),
        json!({"before": 450, "count": 150}),
        json!({"from": 590, "count": 1000}),
    ] {
        let mut frame = json!({"type": "window", "sub": page.sub});
        frame.as_object_mut().unwrap().extend(ask.as_object().unwrap().clone());
        let answer = client.ask(frame).await;
        assert_eq!((&answer["type"], &answer["kind"]), (&json!("entries"), &json!("window")), "{ask}");
        page.take(&answer);
    }
    assert_eq!(page.entries.len(), 600);
    assert_eq!(page.main(), exported_main(&house, "long").await);
    for (bad, code) in [
        (json!({"around": "nothing"}), "not_found"),
        (json!({"from": 1, "before": 3}), "bad_request"),
        (json!({}), "bad_request"),
    ] {
        let mut frame = json!({"type": "window", "sub": page.sub});
        frame.as_object_mut().unwrap().extend(bad.as_object().unwrap().clone());
        assert_eq!(client.ask(frame).await["error"]["code"], code, "{bad}");
    }
    let beyond = client.ask(json!({"type": "window", "sub": page.sub, "from": 10_000})).await;
    assert_eq!(beyond["entries"], json!([]));
}

/// Appends a corpus file in pieces that end anywhere, while one client looks on from the start and others come late.
async fn grows(house: &House, name: &str, id: &str, path: &std::path::Path, seed: u64) -> usize {
    let lines = corpus(name);
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let first = lines[0].len() + 1;
    fs::write(path, &text[..first]).unwrap();
    house.listed(id).await;
    let mut client = house.socket().await;
    let (_, mut page) = client.follow(id, json!({})).await;
    let bytes = text.as_bytes();
    let (mut at, mut random) = (first, seed);
    while at < bytes.len() {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let size = 1 + (random >> 33) as usize % 1_500;
        let end = (at + size).min(bytes.len());
        let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
        std::io::Write::write_all(&mut file, &bytes[at..end]).unwrap();
        at = end;
        // Some pieces are seen one by one, others together.
        if random.is_multiple_of(3) {
            let mut late = house.socket().await;
            let (_, late) = late.follow(id, json!({})).await;
            assert!(late.entries.len() as u64 == late.total);
        }
    }
    read_by_house(house, id, lines.len() as u64).await;
    let main = exported_main(house, id).await;
    read_until_whole(&mut client, &mut page, &main).await;
    let mut late = house.socket().await;
    let (_, late) = late.follow(id, json!({})).await;
    assert_eq!(late.main(), main, "{name}: who comes late sees the same");
    for (n, held) in &page.entries {
        assert_eq!(held.html, late.entries[n].html, "{name}");
    }
    page.patches
}

#[tokio::test(flavor = "multi_thread")]
async fn patches_make_exactly_what_a_late_reader_sees() {
    let house = House::open().await;
    let mut patches = 0;
    for (seed, name) in [
        "claude-session/plain",
        "claude-session/edit-with-patch",
        "claude-session/interrupted-tool",
        "claude-session/parallel-calls",
        "claude-session/subagent-in-file",
        "claude-session/unknown-and-cut",
        "claude-session/user-words",
        "claude-stream/plain",
        "claude-stream/streamed",
        "claude-stream/stopped-thought",
    ]
    .iter()
    .enumerate()
    {
        let id = format!("grows-{seed}");
        let path = house.claude_file(&id);
        patches += grows(&house, name, &id, &path, seed as u64 + 1).await;
    }
    // How many patches there were depends on how fast the house reads; that there are some is the next test's.
    assert!(patches < 10_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_that_grows_is_told_by_what_is_new() {
    let house = House::open().await;
    let lines = corpus("claude-stream/streamed");
    let path = house.write_claude("one", &lines[..1]).await;
    let mut client = house.socket().await;
    let (_, mut page) = client.follow("one", json!({})).await;
    for (index, line) in lines.iter().enumerate().skip(1) {
        append(&path, &format!("{line}\n"));
        read_by_house(&house, "one", index as u64 + 1).await;
        read_until_whole(&mut client, &mut page, &exported_main(&house, "one").await).await;
    }
    assert!(page.patches > 2, "{} patches", page.patches);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subagent_that_begins_while_somebody_looks_is_shown_line_by_line() {
    let house = House::open().await;
    let said = |id: &str| line("assistant", id, &format!(r#"{{"type":"text","text":"said {id}"}}"#));
    let call =
        r#"{"type":"tool_use","id":"task","name":"Task","input":{"description":"Look","prompt":"Look"}}"#;
    let path = house.write_claude("one", &[said("begin"), line("assistant", "c", call)]).await;
    let mut client = house.socket().await;
    let (_, mut page) = client.follow("one", json!({})).await;
    assert_eq!(page.entries.len(), 2);

    let folder = path.with_extension("").join("subagents");
    fs::create_dir_all(&folder).unwrap();
    let subagent = folder.join("agent-a.jsonl");
    fs::write(&subagent, "").unwrap();
    fs::write(folder.join("agent-a.meta.json"), r#"{"toolUseId":"task"}"#).unwrap();
    for step in ["first", "second", "third"] {
        append(&subagent, &format!("{}\n", said(step)));
        while !page.main().contains(&format!("said {step}")) {
            let frame = client.next().await.unwrap();
            assert_ne!(frame["verdict"], "gap", "nothing has to be forgotten");
            page.take(&frame);
        }
    }
    let result = r#"{"type":"tool_result","tool_use_id":"task","content":"done"}"#;
    append(&path, &format!("{}\n{}\n", line("user", "r", result), said("end")));
    read_by_house(&house, "one", 4).await;
    let main = exported_main(&house, "one").await;
    read_until_whole(&mut client, &mut page, &main).await;

    let mut house = house.again().await;
    house.listed("one").await;
    assert_eq!(exported_main(&house, "one").await, main, "another life reads the same");

    // Made the house's own, the session keeps what its subagents did, though the agent deletes their files.
    let order = json!({"id": "name", "order": "rename", "title": "Ours"});
    assert_eq!(house.post("/api/sessions/one/orders", &order).await.status, 200);
    fs::remove_dir_all(&folder).unwrap();
    let steps = |main: &str| {
        let work =
            main.split_once("<summary>3 steps</summary>").unwrap().1.split_once("</details>").unwrap().0;
        ["first", "second", "third"].map(|step| work.matches(&format!("<p>said {step}</p>")).count())
    };
    for _ in 0..2 {
        assert_eq!(house.get("/api/sessions/one").await.json()["source"], "live");
        assert_eq!(steps(&exported_main(&house, "one").await), [1, 1, 1]);
        house = house.again().await;
        house.listed("one").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_agents_files_grow_as_well() {
    let house = House::open().await;
    let uuid = "0199a213-81c0-7800-8aa1-bbab2a035a53";
    let codex = house.folder.path().join(format!("codex/rollout-2026-11-15T14-02-00-{uuid}.jsonl"));
    grows(&house, "codex-rollout/plain", uuid, &codex, 7).await;
    let uuid = "0199a213-81c0-7800-8aa1-bbab2a035a54";
    let pi = house.folder.path().join(format!("pi/2026-11-15T14-02-00-000Z_{uuid}.jsonl"));
    grows(&house, "pi-session/plain", uuid, &pi, 11).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_resumes_where_it_was_also_after_the_house_was_closed() {
    let mut house = House::open().await;
    let lines = turns(4);
    let path = house.write_claude("one", &lines[..4]).await;
    let mut client = house.socket().await;
    let (subscribed, mut page) = client.follow("one", json!({})).await;
    page.epoch = subscribed["epoch"].as_str().unwrap().to_owned();
    drop(client);
    for again in [false, true] {
        if again {
            house = house.again().await;
            house.listed("one").await;
        }
        let more = if again { &lines[6..8] } else { &lines[4..6] };
        more.iter().for_each(|line| append(&path, &format!("{line}\n")));
        read_by_house(&house, "one", if again { 8 } else { 6 }).await;
        let mut client = house.socket().await;
        let have = json!({"epoch": page.epoch, "after": page.seq, "first": 0});
        let (subscribed, resumed) = client.follow("one", have).await;
        assert_eq!(
            (&subscribed["verdict"], &subscribed["why"]),
            (&json!("resumed"), &json!(null)),
            "again: {again}"
        );
        assert_eq!(subscribed["seq"], page.seq);
        page.sub = resumed.sub;
        let before = page.entries.len();
        let news = client.until_type("entries").await;
        assert_eq!(news["kind"], "window", "what was missed is history");
        assert_eq!(news["entries"].as_array().unwrap().len(), 2, "only what was missed is sent");
        page.take(&news);
        assert_eq!(page.entries.len(), before + 2);
        read_until_whole(&mut client, &mut page, &exported_main(&house, "one").await).await;
    }
    let mut client = house.socket().await;
    let ahead = client
        .ask(json!({"type": "subscribe", "session": "one", "epoch": page.epoch, "after": 10_000}))
        .await;
    assert_eq!(
        (&ahead["verdict"], &ahead["why"], &ahead["seq"]),
        (&json!("gap"), &json!("ahead"), &json!(null))
    );
    let other =
        client.ask(json!({"type": "subscribe", "session": "one", "epoch": "other", "after": 1})).await;
    assert_eq!((&other["verdict"], &other["why"]), (&json!("gap"), &json!("unknown_epoch")));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_missed_too_much_begins_again() {
    let house = House::open().await;
    let path = house.write_claude("one", &turns(1)).await;
    let mut client = house.socket().await;
    let (subscribed, page) = client.follow("one", json!({})).await;
    client.send(json!({"type": "unsubscribe", "sub": page.sub})).await;
    turns(400)[2..].iter().for_each(|line| append(&path, &format!("{line}\n")));
    read_by_house(&house, "one", 800).await;
    let have = json!({"epoch": subscribed["epoch"], "after": page.seq, "first": 0});
    let (subscribed, page) = client.follow("one", have).await;
    assert_eq!((&subscribed["verdict"], &subscribed["why"]), (&json!("gap"), &json!("behind")));
    assert_eq!((page.total, page.entries.len()), (800, 200));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_replaced_makes_a_gap() {
    let house = House::open().await;
    let path = house.write_claude("one", &turns(3)).await;
    let mut client = house.socket().await;
    let (first, mut page) = client.follow("one", json!({})).await;
    assert_eq!(page.total, 6);
    let messages = client.ask(json!({"type": "subscribe", "session": "one", "profile": "raw"})).await;
    let other: String = corpus("claude-session/plain").iter().map(|line| format!("{line}\n")).collect();
    let beside = house.folder.path().join("new");
    fs::write(&beside, other).unwrap();
    fs::rename(&beside, &path).unwrap();
    let (mut html, mut raw) = (None, None);
    while html.is_none() || raw.is_none() {
        let frame = client.next().await.unwrap();
        page.take(&frame);
        if frame["type"] == "subscribed" && frame["why"] == "replaced" {
            assert_eq!((&frame["verdict"], frame.get("ref")), (&json!("gap"), None));
            assert_ne!(frame["epoch"], first["epoch"]);
            if frame["sub"] == page.sub {
                html = Some(frame)
            } else if frame["sub"] == messages["sub"] {
                raw = Some(frame)
            }
        }
    }
    read_until_whole(&mut client, &mut page, &exported_main(&house, "one").await).await;
    let old = json!({"type": "subscribe", "session": "one", "epoch": first["epoch"], "after": 1});
    let answer = client.ask(old).await;
    assert_eq!((&answer["verdict"], &answer["why"]), (&json!("gap"), &json!("replaced")), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn clocks_are_those_of_the_reader() {
    let house = House::open().await;
    house.write_claude("one", &turns(1)).await;
    let mut client = house.socket().await;
    let (_, utc) = client.follow("one", json!({})).await;
    let (_, east) = client.follow("one", json!({"offset_s": 14 * 3600})).await;
    assert!(utc.main().contains(">10:00</time>"), "{}", utc.main());
    assert!(!east.main().contains(">10:00</time>"), "{}", east.main());
    assert_ne!(utc.entries[&0].day, east.entries[&0].day, "there it is tomorrow already");
    let export = house.get("/api/sessions/one/export?offset_s=50400").await.body;
    assert!(export.contains(&format!("<main class=\"talk\">\n{}</main>", east.main())));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_not_there_is_said_so() {
    let house = House::open().await;
    let mut client = house.socket().await;
    for profile in ["html", "events"] {
        let answer = client.ask(json!({"type": "subscribe", "session": "none", "profile": profile})).await;
        assert_eq!(answer["error"]["code"], "not_found", "{answer}");
    }
    client.send(json!({"type": "unsubscribe", "sub": 77})).await;
    client.send(json!({"type": "ping"})).await;
    assert_eq!(client.until_type("pong").await, json!({"type": "pong"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_larger_than_any_frame_is_passed_and_never_asked_for_again() {
    let house = House::open().await;
    let mut lines = turns(3);
    let huge = "word ".repeat(2 << 20);
    lines[2] = lines[2].replacen("\"content\":\"", &format!("\"content\":\"{huge}"), 1);
    assert!(lines[2].len() > 10 << 20, "it is in the line: {}", &lines[2][..200]);
    house.write_claude("huge", &lines).await;
    let mut client = house.socket().await;
    // A window of one entry at a time gets past it, from both ends.
    let (_, mut page) = client.follow("huge", json!({"window": 1})).await;
    while page.entries.len() < 6 {
        let first = *page.entries.keys().next().unwrap();
        let answer =
            client.ask(json!({"type": "window", "sub": page.sub, "before": first, "count": 1})).await;
        assert_eq!(answer["entries"].as_array().unwrap().len(), 1, "every window goes on");
        page.take(&answer);
    }
    assert!(page.entries[&2].html.contains("class=\"cut\""), "what is too long is cut, and says so");
    assert_eq!(page.main(), exported_main(&house, "huge").await);
    // Who has everything up to it goes on after it, and is told nothing twice.
    for profile in ["raw", "events"] {
        let ask = json!({"type": "subscribe", "session": "huge", "profile": profile});
        let fresh = client.ask(ask.clone()).await;
        let mut seen = Vec::new();
        while seen.last() != Some(&5) {
            let frame =
                client.until(|frame| frame["type"] == "messages" && frame["sub"] == fresh["sub"]).await;
            seen.push(frame["seq"].as_u64().unwrap());
        }
        assert!(seen.is_sorted(), "{profile} {seen:?}");
        let mut again = ask;
        again["epoch"] = fresh["epoch"].clone();
        again["after"] = 2.into();
        let resumed = client.ask(again).await;
        assert_eq!((&resumed["verdict"], &resumed["seq"]), (&json!("resumed"), &json!(2)));
        let next = client.until(|frame| frame["type"] == "messages" && frame["sub"] == resumed["sub"]).await;
        assert!(!next.to_string().contains("word word"), "{profile}: it is not told again");
    }
}
