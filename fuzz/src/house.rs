//! Logs of a session out of any bytes: agents' lines, stderr, orders and what Parlor saw, sound ones among them. It must
//! not judge what comes of them.

use std::sync::LazyLock;

use bytes::Bytes;
use parlor_model::order::{Answer, Choice, File, Mode, Order, Ordered};
use parlor_model::record::{Origin, Record};
use parlor_model::seen::{Ended, Force, Level, Seen, TurnEnd};
use parlor_model::time::Time;
use serde::Serialize;
use serde_json::Value;

/// Each line is a record. Its first byte says who wrote it: `a`, `e`, `u` or `h`. After `U` or `H` the next byte picks a
/// sound order or host record, the one after it a value in there, and the rest takes that value's place.
pub fn records(data: &[u8]) -> Vec<Record> {
    static SOUND: LazyLock<(Vec<Value>, Vec<Value>)> = LazyLock::new(|| (orders(), seen()));
    let (orders, seen) = &*SOUND;
    let lines = data.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let record = |(seq, line): (usize, &[u8])| {
        let (first, rest) = (line[0], &line[1..]);
        let (origin, body) = match first {
            b'a' => (Origin::Agent, rest.to_vec()),
            b'e' => (Origin::Stderr, rest.to_vec()),
            b'u' => (Origin::User, rest.to_vec()),
            b'h' => (Origin::Host, rest.to_vec()),
            b'U' => (Origin::User, mutated(orders, rest)),
            b'H' => (Origin::Host, mutated(seen, rest)),
            _ => (Origin::Agent, line.to_vec()),
        };
        // Some records have no time, and time may go backwards.
        let at = (seq % 5 != 3).then(|| Time((seq as i64 * 7_919) % 100_000 * 1_000_000));
        Record { seq: seq as u64, at, origin, body: Bytes::from(body) }
    };
    lines.enumerate().map(record).collect()
}

/// Sound logs for a start: every order and host record by itself, and sessions in which they stand between agents'
/// lines.
pub fn seeds(agents: &[(&str, Vec<String>)]) -> Vec<Vec<u8>> {
    let lines = |origin: char, values: &[Value]| -> Vec<String> {
        values.iter().map(|value| format!("{origin}{value}")).collect()
    };
    let (orders, seen) = (lines('u', &orders()), lines('h', &seen()));
    let mut seeds: Vec<Vec<String>> = orders.iter().chain(&seen).map(|line| vec![line.clone()]).collect();
    let picked = |letter: char, count: usize| (0..count).map(move |index| format!("{letter}{}", pick(index)));
    seeds.push(picked('U', orders.len()).chain(picked('H', seen.len())).collect());
    let about = |lines: &[String], word: &str| -> Vec<String> {
        lines.iter().filter(|line| line.contains(word)).cloned().collect()
    };
    let (asked, answers) = (about(&seen, "\"asked\""), about(&orders, "\"answer\""));
    for (format, agent) in agents {
        let started = format!(r#"h{{"host":"started","run":"r1","format":"{format}","program":"x"}}"#);
        let mut log = vec![seen[0].clone(), orders[0].clone(), started.clone()];
        for (index, line) in agent.iter().enumerate() {
            log.push(format!("a{line}"));
            log.push(seen[index % seen.len()].clone());
            log.push(orders[index % orders.len()].clone());
            log.push(format!("ewarning {index}"));
        }
        seeds.push(log.clone());
        // The same without a break, and what it asks is answered at once.
        log.retain(|line| line.starts_with('a'));
        log.insert(0, started);
        for answer in &answers {
            log.extend([asked[0].clone(), answer.clone()]);
        }
        seeds.push(log);
    }
    seeds.into_iter().map(|log| log.join("\n").into_bytes()).collect()
}

/// The byte that picks a seed or a value, as a letter where that is possible.
fn pick(index: usize) -> char {
    char::from(b'A' + (index % 58) as u8)
}

/// The seed that the first byte picks, with one value replaced.
fn mutated(seeds: &[Value], line: &[u8]) -> Vec<u8> {
    let index = |at: usize| line.get(at).map_or(0, |byte| usize::from(byte.wrapping_sub(b'A')));
    let mut seed = seeds[index(0) % seeds.len()].clone();
    if let Some(rest) = line.get(2..).filter(|rest| !rest.is_empty()) {
        let text = String::from_utf8_lossy(rest);
        // What is JSON takes the place as such, so that the types change too.
        let value = serde_json::from_str(&text).unwrap_or_else(|_| Value::from(&*text));
        let count = seed.as_object().map_or(1, |members| members.len());
        if let Some(place) = seed.as_object_mut().and_then(|it| it.values_mut().nth(index(1) % count)) {
            *place = value;
        }
    }
    seed.to_string().into_bytes()
}

fn value(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// Every kind of order.
fn orders() -> Vec<Value> {
    let file = File { name: "a.png".into(), media_type: "image/png".into(), data: "aGk=".into() };
    let answer = |choice, reason: Option<&str>, answers| Order::Answer {
        ask: "k1".into(),
        answer: Answer { choice, reason: reason.map(Into::into), answers },
    };
    let answers = vec![("Which?".into(), "this one".into())];
    let orders = [
        Order::Prompt { text: "one".into(), files: Vec::new(), steer: false },
        Order::Prompt { text: "two".into(), files: vec![file], steer: true },
        Order::Interrupt,
        answer(Choice::Allow, None, Vec::new()),
        answer(Choice::AllowSession, None, Vec::new()),
        answer(Choice::AllowAlways, None, Vec::new()),
        answer(Choice::Deny, Some("not this"), Vec::new()),
        answer(Choice::Reply, None, answers),
        Order::Rename { title: "a title".into() },
        Order::Edit { prompt: "o0".into(), text: "one, changed".into() },
        Order::Cancel { prompt: "o1".into() },
        Order::Move { prompt: "o1".into(), before: Some("o0".into()) },
        Order::Move { prompt: "o0".into(), before: None },
        Order::Release,
        Order::Permit { permit: "Bash(ls *)".into(), allowed: true },
        Order::Set { model: Some("m".into()), mode: Some(Mode::AcceptEdits) },
        Order::Archive { archived: true },
    ];
    let ordered = |(index, order)| Ordered {
        id: format!("o{index}").into(),
        by: (index % 2 == 1).then(|| "phone".into()),
        order,
    };
    orders.into_iter().enumerate().map(|pair| value(&ordered(pair))).collect()
}

/// Every kind of thing that Parlor sees.
fn seen() -> Vec<Value> {
    let note = |level| Seen::Note { level, text: "worth knowing".into() };
    let started = |format: &str| Seen::Started {
        run: "r1".into(),
        format: format.into(),
        program: "agent".into(),
        pid: Some(7),
    };
    let result = |state, diff: Option<&str>| Seen::Result {
        call: "toolu_st1".into(),
        name: "Bash".into(),
        state,
        text: "done".into(),
        exit_code: Some(1),
        duration_ms: Some(12),
        truncated: true,
        diff: diff.map(Into::into),
    };
    let ended = |end, error: Option<&str>| Seen::TurnEnded { end, error: error.map(Into::into) };
    let stopped = |needed, left| Seen::Stopped { order: "o2".into(), needed, left, duration_ms: 9 };
    let exited = |code, signal| Seen::Exited { run: "r1".into(), code, signal };
    let diff = "--- /dev/null\n+++ b/x.rs\n@@ -0,0 +1 @@\n+fn x() {}\n";
    let seen = vec![
        Seen::Created { agent: "claude".into(), cwd: "/w".into(), model: Some("m".into()), mode: Mode::Ask },
        started("claude-stream"),
        started("openai-chat"),
        started("codex-app"),
        started("no-format"),
        Seen::Imported {
            format: "pi-session".into(),
            path: "/w/x.jsonl".into(),
            session: "s".into(),
            from: 0,
        },
        Seen::Delivered { prompt: "o0".into(), steered: false },
        Seen::Delivered { prompt: "o1".into(), steered: true },
        Seen::Held,
        Seen::Asked { call: "toolu_st0".into(), ask: "k1".into(), reason: Some("may I".into()), permit: None },
        Seen::Settled { ask: "k1".into() },
        Seen::Output { call: "toolu_st0".into(), text: "a line\n".into() },
        result(Ended::Done, Some(diff)),
        result(Ended::Failed, None),
        result(Ended::Denied, None),
        result(Ended::Interrupted, None),
        note(Level::Info),
        note(Level::Warning),
        note(Level::Error),
        note(Level::Retry),
        Seen::Compacted { before: 9_000, after: 200, summary: "so far".into() },
        ended(TurnEnd::Done, None),
        ended(TurnEnd::Failed, Some("no quota")),
        ended(TurnEnd::Interrupted, None),
        stopped(Force::Protocol, 0),
        stopped(Force::Kill, 2),
        exited(Some(1), None),
        exited(None, Some(9)),
        Seen::Lost { run: "r1".into(), ended: 1 },
        Seen::Nested { agent: "a1".into(), call: "toolu_1".into() },
        Seen::Main,
        Seen::Failed { text: "no such program; install it".into() },
    ];
    seen.iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use parlor_dialect::House;
    use parlor_model::event::Fate;

    use super::*;

    #[test]
    fn every_seed_is_understood() {
        let agents = [("claude-stream", vec!["{\"type\":\"system\",\"subtype\":\"init\"}".to_owned()])];
        for seed in seeds(&agents) {
            let mut house = House::new(None);
            for record in records(&seed) {
                let (_, reading) = house.read(&record, &mut Vec::new());
                let text = String::from_utf8_lossy(&record.body);
                assert!(!matches!(reading.fate, Fate::Unknown(_)), "{:?} {text}", record.origin);
            }
        }
    }

    #[test]
    fn bytes_take_the_place_of_a_value() {
        let bodies: Vec<String> = records(b"UAAx\nUAC[1]\nHI")
            .iter()
            .map(|record| String::from_utf8_lossy(&record.body).into_owned())
            .collect();
        assert_eq!(
            bodies,
            [
                r#"{"id":"x","order":"prompt","text":"one"}"#,
                r#"{"id":"o0","order":"prompt","text":[1]}"#,
                r#"{"host":"held"}"#
            ]
        );
    }
}
