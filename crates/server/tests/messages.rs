//! Every profile says on the socket, and by REST, what running the session through it directly says.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod common;

use std::collections::BTreeSet;

use common::*;
use parlor_dialect::{Decoder, Format};
use parlor_hub::View;
use parlor_model::entry::Entry;
use parlor_model::line::Line;
use parlor_model::record::{Origin, Record};
use parlor_profile::{Mask, Profile, Step};
use parlor_transcript::Transcript;
use serde_json::{Value, json};

/// What a profile says of these lines, and what it says at the end, each with its record.
fn direct(profile: Profile, lines: &[String]) -> (Vec<(u64, Value)>, Vec<Value>) {
    let mut decoder = Decoder::new(Format::ClaudeSession);
    let (mut transcript, mut projector) = (Transcript::default(), profile.projector());
    let (mut told, mut out) = (Vec::new(), Vec::new());
    for (seq, line) in lines.iter().enumerate() {
        let line = Line::new(line.clone().into());
        let mut events = Vec::new();
        let reading = decoder.read(&line, &mut events);
        let touched = transcript.fold(seq as u64, &line, &reading, events.iter().cloned());
        let entries = transcript.entries();
        let touched: Vec<&Entry> = touched.iter().map(|index| &entries[*index]).collect();
        let step = Step {
            seq: seq as u64,
            origin: Origin::Agent,
            received: None,
            line: &line,
            reading: &reading,
            events: &events,
            touched: &touched,
            session: transcript.session(),
        };
        projector.step(&step, &mut out);
        told.extend(out.drain(..).map(|message| (seq as u64, message)));
    }
    projector.finish(&mut out);
    (told, out)
}

fn values(told: &[(u64, Value)]) -> Vec<Value> {
    told.iter().map(|(_, message)| message.clone()).collect()
}

/// Reads messages of a subscription until there are so many.
async fn read(client: &mut Client, sub: &Value, count: usize) -> (Vec<Value>, u64) {
    let (mut messages, mut seq) = (Vec::new(), 0);
    while messages.len() < count {
        let frame = client.until(|frame| frame["type"] == "messages" && frame["sub"] == *sub).await;
        messages.extend(frame["messages"].as_array().unwrap().iter().cloned());
        seq = frame["seq"].as_u64().unwrap();
    }
    (messages, seq)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_profile_says_what_it_says_directly() {
    let house = House::open().await;
    for name in ["plain", "parallel-calls", "edit-with-patch", "interrupted-tool", "subagent-in-file"] {
        let lines = corpus(&format!("claude-session/{name}"));
        house.write_claude(name, &lines).await;
        for profile in Profile::ALL {
            let (told, end) = direct(profile, &lines);
            let mut client = house.socket().await;
            let ask = json!({"type": "subscribe", "session": name, "profile": profile.name()});
            let subscribed = client.ask(ask).await;
            assert_eq!((&subscribed["verdict"], &subscribed["seq"]), (&json!("fresh"), &json!(null)));
            let (messages, _) = read(&mut client, &subscribed["sub"], told.len()).await;
            assert_eq!(messages, values(&told), "{name} {profile:?}");
            let path = format!("/api/sessions/{name}/messages?profile={}", profile.name());
            let answer = house.get(&path).await.json();
            let mut whole = values(&told);
            whole.extend(end);
            assert_eq!(answer["messages"], json!(whole), "{name} {profile:?}");
            assert_eq!(answer["seq"], lines.len() as u64 - 1);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_go_on_live_and_resume_after_any_record() {
    let house = House::open().await;
    let lines = turns(6);
    let path = house.write_claude("one", &lines[..6]).await;
    let (told, _) = direct(Profile::Events, &lines);
    let before = told.iter().filter(|(seq, _)| *seq < 6).count();
    let mut client = house.socket().await;
    let ask = json!({"type": "subscribe", "session": "one", "profile": "events"});
    let subscribed = client.ask(ask.clone()).await;
    let (mut messages, seq) = read(&mut client, &subscribed["sub"], before).await;
    assert_eq!(seq, told[before - 1].0);
    lines[6..].iter().for_each(|line| append(&path, &format!("{line}\n")));
    let live = client.until(|frame| frame["type"] == "messages").await;
    assert_eq!(live["kind"], "live");
    messages.extend(live["messages"].as_array().unwrap().iter().cloned());
    let rest = told.len() - messages.len();
    messages.extend(read(&mut client, &subscribed["sub"], rest).await.0);
    assert_eq!(messages, values(&told));
    for after in 0..lines.len() as u64 - 1 {
        let mut again = ask.clone();
        again["epoch"] = subscribed["epoch"].clone();
        again["after"] = after.into();
        let answer = client.ask(again).await;
        assert_eq!((&answer["verdict"], &answer["seq"]), (&json!("resumed"), &json!(after)));
        let lacking: Vec<Value> =
            values(&told.iter().filter(|(seq, _)| *seq > after).cloned().collect::<Vec<_>>());
        assert_eq!(read(&mut client, &answer["sub"], lacking.len()).await.0, lacking, "after {after}");
        client.send(json!({"type": "unsubscribe", "sub": answer["sub"]})).await;
    }
    let mut ahead = ask.clone();
    ahead["epoch"] = subscribed["epoch"].clone();
    ahead["after"] = lines.len().into();
    let answer = client.ask(ahead).await;
    assert_eq!((&answer["verdict"], &answer["why"]), (&json!("gap"), &json!("ahead")));
    let path = format!("/api/sessions/one/messages?profile=events&after={}", lines.len() - 3);
    let rest = house.get(&path).await.json();
    let last = |seq: u64| seq > lines.len() as u64 - 3;
    let lacking = told.iter().filter(|(seq, _)| last(*seq)).count();
    assert!(rest["messages"].as_array().unwrap().len() >= lacking);
}

/// Some subagents keep a file of their own. What they do is told under the call that started them, as it happens and later, and
/// nobody who resumes lacks any of it.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_subagent_writes_in_a_file_of_its_own_is_told_under_its_call() {
    let house = House::open().await;
    let said = |id: &str| line("assistant", id, &format!(r#"{{"type":"text","text":"said {id}"}}"#));
    let call = |id: &str, name: &str| {
        line(
            "assistant",
            &format!("c-{id}"),
            &format!(r#"{{"type":"tool_use","id":"{id}","name":"{name}","input":{{}}}}"#),
        )
    };
    let path = house.write_claude("one", &[said("begin"), call("task", "Task")]).await;
    let ask = |profile: &str| json!({"type": "subscribe", "session": "one", "profile": profile});
    let mut client = house.socket().await;
    let subscribed = client.ask(ask("events")).await;
    let folder = path.with_extension("").join("subagents");
    std::fs::create_dir_all(&folder).unwrap();
    let subagent = folder.join("agent-a.jsonl");
    std::fs::write(&subagent, "").unwrap();
    std::fs::write(folder.join("agent-a.meta.json"), r#"{"toolUseId":"task"}"#).unwrap();
    // Between the subagent's lines the session's own go on.
    let mut told: Vec<(u64, Value)> = Vec::new();
    for (file, line, sign) in [
        (&subagent, said("first"), "said first"),
        (&path, said("aside"), "said aside"),
        (&subagent, call("ls", "Bash"), "\"ls\""),
        (&subagent, said("last"), "said last"),
        (&path, said("end"), "said end"),
    ] {
        append(file, &format!("{line}\n"));
        loop {
            let frame = client.until(|frame| frame["type"] == "messages").await;
            assert_eq!(frame["verdict"], json!(null));
            let seq = frame["seq"].as_u64().unwrap();
            told.extend(frame["messages"].as_array().unwrap().iter().map(|message| (seq, message.clone())));
            if told.iter().any(|(_, message)| message.to_string().contains(sign)) {
                break;
            }
        }
    }
    let parents = |text: &str| -> Vec<&Value> {
        let about =
            |message: &&(u64, Value)| message.1["type"] == "text_segment_done" && message.1["text"] == text;
        told.iter().filter(about).map(|(_, message)| &message["parentCallId"]).collect()
    };
    let (task, none) = (json!("task"), Value::Null);
    assert_eq!(parents("said first"), [&task]);
    assert_eq!(parents("said last"), [&task]);
    assert_eq!(parents("said end"), [&none]);
    let last = told.last().unwrap().0;
    assert_eq!(last, 6, "four records and three lines of the subagent");
    // The first two records may have come in one frame.
    for after in 1..last {
        let mut again = ask("events");
        (again["epoch"], again["after"]) = (subscribed["epoch"].clone(), after.into());
        let answer = client.ask(again).await;
        assert_eq!((&answer["verdict"], &answer["seq"]), (&json!("resumed"), &json!(after)));
        let lacking: Vec<(u64, Value)> = told.iter().filter(|(seq, _)| *seq > after).cloned().collect();
        let (messages, seq) = read(&mut client, &answer["sub"], lacking.len()).await;
        assert_eq!((messages, seq), (values(&lacking), last), "after {after}");
        client.send(json!({"type": "unsubscribe", "sub": answer["sub"]})).await;
        let rest =
            house.get(&format!("/api/sessions/one/messages?profile=events&after={after}")).await.json();
        assert!(rest["messages"].as_array().unwrap().starts_with(&values(&lacking)), "after {after}");
    }
    for (profile, nests) in
        [("elements", true), ("bridge", true), ("legion", true), ("raw", false), ("records", true)]
    {
        let answer = house.get(&format!("/api/sessions/one/messages?profile={profile}")).await.json();
        assert_eq!(answer["messages"].to_string().contains("said last"), nests, "{profile}");
        assert_eq!(answer["seq"], last);
    }
    // Who folds records by itself sees what is seen here.
    let records = house.get("/api/sessions/one/messages?profile=records").await.json();
    let mut view = View::new("records".into(), None);
    for message in records["messages"].as_array().unwrap() {
        assert_eq!(message["seq"], view.end());
        let body = message["body"].as_str().unwrap().to_owned().into_bytes().into();
        let origin = if message["origin"] == "host" { Origin::Host } else { Origin::Agent };
        view.push(Record { seq: view.end(), at: None, origin, body });
    }
    let under = view.entries().iter().filter(|entry| entry.parent.as_deref() == Some("task")).count();
    assert_eq!(under, 3, "{:?}", view.entries());
    let house = house.again().await;
    house.listed("one").await;
    let mut client = house.socket().await;
    let mut again = ask("events");
    (again["epoch"], again["after"]) = (subscribed["epoch"].clone(), last.into());
    let answer = client.ask(again).await;
    assert_eq!(answer["verdict"], "gap", "another reading may find them in another order");
    let (messages, _) = read(&mut client, &answer["sub"], told.len()).await;
    let texts = |messages: &[Value]| -> BTreeSet<String> {
        let texts = messages.iter().filter(|message| message["type"] == "text_segment_done");
        texts.map(|message| format!("{} {}", message["text"], message["parentCallId"])).collect()
    };
    assert_eq!(texts(&messages), texts(&values(&told)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mask_leaves_messages_out_and_changes_none() {
    let house = House::open().await;
    let lines = corpus("claude-session/parallel-calls");
    house.write_claude("one", &lines).await;
    let (told, _) = direct(Profile::Events, &lines);
    let types: BTreeSet<String> =
        values(&told).iter().filter_map(|message| message["type"].as_str().map(str::to_owned)).collect();
    assert!(types.len() > 2, "{types:?}");
    for kind in types {
        let mask = Mask { types: [kind.clone()].into(), ..Mask::default() };
        let wanted: Vec<Value> = values(&told).into_iter().filter(|message| mask.passes(message)).collect();
        let mut client = house.socket().await;
        let ask =
            json!({"type": "subscribe", "session": "one", "profile": "events", "mask": {"types": [kind]}});
        let sub = client.ask(ask).await["sub"].clone();
        assert_eq!(read(&mut client, &sub, wanted.len()).await.0, wanted, "{kind}");
        let answer =
            house.get(&format!("/api/sessions/one/messages?profile=events&types={kind}")).await.json();
        let passed = answer["messages"].as_array().unwrap();
        assert!(passed.len() >= wanted.len() && passed.iter().all(|message| mask.passes(message)));
    }
}
