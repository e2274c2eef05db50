use parlor_model::order::{Answer, Choice};
use parlor_model::seen::Receipt;
use serde::Serialize;

use super::*;

struct Log {
    house: House,
    seq: u64,
}

impl Log {
    fn new() -> Log {
        Log { house: House::new(None), seq: 0 }
    }

    fn say(&mut self, origin: Origin, body: &str) -> Vec<Event> {
        let mut out = Vec::new();
        let record = Record { seq: self.seq, at: Some(Time(1)), origin, body: body.to_owned().into() };
        self.seq += 1;
        self.house.read(&record, &mut out);
        out
    }

    fn order(&mut self, id: &str, order: Order) -> Vec<Event> {
        self.say(Origin::User, &json(&Ordered { id: id.into(), by: None, order }))
    }

    fn host(&mut self, seen: Seen) -> Vec<Event> {
        self.say(Origin::Host, &json(&seen))
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap()
}

fn prompt(text: &str) -> Order {
    Order::Prompt { text: text.into(), files: Vec::new(), steer: false }
}

fn queue(events: &[Event]) -> Vec<String> {
    let queue = |event: &Event| match event {
        Event::Meta { meta: Meta::Queue { prompts, .. } } => {
            Some(prompts.iter().map(|queued| queued.text.to_string()).collect::<Vec<_>>())
        }
        _ => None,
    };
    events.iter().find_map(queue).unwrap()
}

fn prompts(events: &[Event]) -> usize {
    events.iter().filter(|event| matches!(event, Event::Put { block: Block::Prompt(_), .. })).count()
}

#[test]
fn a_prompt_waits_in_the_queue_until_the_agent_gets_it() {
    let mut log = Log::new();
    assert_eq!(queue(&log.order("a", prompt("one"))), ["one"]);
    assert_eq!(queue(&log.order("b", prompt("two"))), ["one", "two"]);
    assert_eq!(
        queue(&log.order("c", Order::Move { prompt: "b".into(), before: Some("a".into()) })),
        ["two", "one"]
    );
    assert_eq!(queue(&log.order("d", Order::Edit { prompt: "a".into(), text: "1".into() })), ["two", "1"]);
    assert_eq!(queue(&log.order("e", Order::Cancel { prompt: "b".into() })), ["1"]);
    let events = log.host(Seen::Delivered { prompt: "a".into(), steered: false });
    assert_eq!((queue(&events).len(), prompts(&events)), (0, 1));
    assert_eq!(
        prompts(&log.host(Seen::Delivered { prompt: "a".into(), steered: false })),
        0,
        "handed over once"
    );
}

#[test]
fn the_agent_s_echo_of_a_prompt_is_not_a_second_prompt() {
    let mut log = Log::new();
    log.host(Seen::Started {
        run: "r".into(),
        format: "claude-stream".into(),
        program: "claude".into(),
        pid: None,
    });
    log.order("a", prompt("Hi"));
    log.host(Seen::Delivered { prompt: "a".into(), steered: false });
    let echo = r#"{"type":"user","message":{"role":"user","content":"Hi"},"session_id":"s","parent_tool_use_id":null}"#;
    assert_eq!(prompts(&log.say(Origin::Agent, echo)), 0);
    assert_eq!(prompts(&log.say(Origin::Agent, echo)), 1, "said again it is somebody's words");
}

#[test]
fn a_decision_stays_with_its_call() {
    let mut log = Log::new();
    log.host(Seen::Asked { call: "t".into(), ask: "q".into(), reason: None, permit: None });
    let answer = Answer { choice: Choice::Deny, reason: Some("no".into()), answers: Vec::new() };
    let events = log.order("o", Order::Answer { ask: "q".into(), answer });
    assert!(
        matches!(&events[..], [Event::Decide { key, decision }] if key == "t" && decision.choice == Choice::Deny)
    );
}

#[test]
fn an_agent_that_ends_in_a_turn_has_failed_and_one_at_rest_has_not() {
    let mut log = Log::new();
    let exit = || Seen::Exited { run: "r".into(), code: Some(1), signal: None };
    assert!(log.host(exit()).is_empty());
    log.order("a", prompt("Hi"));
    log.host(Seen::Delivered { prompt: "a".into(), steered: false });
    assert!(matches!(&log.host(exit())[..], [Event::Turn { turn: Turn::Failed { error: Some(_) } }]));
}

/// A server without ids: only the house can say where one answer ends and the next begins.
#[test]
fn an_answer_that_was_cut_off_is_never_gone_on_with() {
    let line = r#"data: {"choices":[{"index":0,"delta":{"content":"Half"},"finish_reason":null}]}"#;
    let mut log = Log::new();
    let started =
        || Seen::Started { run: "r".into(), format: "openai-chat".into(), program: "m@u".into(), pid: None };
    log.host(started());
    let first = |events: &[Event]| {
        events.iter().find_map(|event| match event {
            Event::Put { key, .. } => Some(key.clone()),
            _ => None,
        })
    };
    assert_eq!(first(&log.say(Origin::Agent, line)).unwrap(), "answer/0/0");
    assert_eq!(first(&log.say(Origin::Agent, line)), None, "it goes on");
    let retry = log.host(Seen::Note { level: Level::Retry, text: "again".into() });
    assert!(matches!(&retry[0], Event::Overtake { from } if from == "answer/0/0"), "a retry takes it back");
    assert_eq!(first(&log.say(Origin::Agent, line)).unwrap(), "answer~2/0/0");
    log.host(Seen::TurnEnded { end: TurnEnd::Interrupted, error: None });
    assert_eq!(first(&log.say(Origin::Agent, line)).unwrap(), "answer~3/0/0");
    log.host(started());
    assert_eq!(first(&log.say(Origin::Agent, line)).unwrap(), "answer~4/0/0");
}

/// The next prompt may be handed over as soon as a turn is over, and a second end of the same turn would end the next one.
#[test]
fn the_built_in_agent_s_turn_is_over_once_when_it_says_so() {
    let mut log = Log::new();
    let format = "openai-chat".into();
    log.host(Seen::Started { run: "r".into(), format, program: "m@u".into(), pid: None });
    let ends = |events: &[Event]| {
        let end = |event: &&Event| matches!(event, Event::Turn { turn } if !matches!(turn, Turn::Start));
        events.iter().filter(end).count()
    };
    for line in [
        r#"data: {"id":"a","choices":[{"index":0,"delta":{"content":"Whole"},"finish_reason":"stop"}]}"#,
        "data: [DONE]",
        r#"data: {"error":{"message":"overloaded"}}"#,
    ] {
        assert_eq!(ends(&log.say(Origin::Agent, line)), 0, "{line}");
    }
    assert_eq!(ends(&log.host(Seen::TurnEnded { end: TurnEnd::Done, error: None })), 1);
}

#[test]
fn a_broken_record_is_unknown_and_never_lost() {
    let mut out = Vec::new();
    for origin in [Origin::User, Origin::Host] {
        let record = Record { seq: 0, at: None, origin, body: "{\"host\":\"new thing\"}".into() };
        let (_, reading) = House::new(None).read(&record, &mut out);
        assert!(matches!(reading.fate, Fate::Unknown(_)), "{reading:?}");
    }
}

fn peer() -> parlor_model::seen::Peer {
    parlor_model::seen::Peer { session: "s-1".into(), agent: "codex".into() }
}

#[test]
fn another_agent_s_message_waits_is_nobody_s_words_and_its_echo_is_no_second_one() {
    let mut log = Log::new();
    log.host(Seen::Started {
        run: "r".into(),
        format: "claude-stream".into(),
        program: "c".into(),
        pid: None,
    });
    let received = Seen::Received {
        exchange: "x".into(),
        prompt: "x".into(),
        from: peer(),
        text: "look".into(),
        depth: 1,
    };
    let out = log.host(received);
    let [Event::Meta { meta: Meta::Queue { prompts, .. } }, Event::Meta { meta: Meta::Ties { .. } }] =
        out.as_slice()
    else {
        panic!("{out:?}")
    };
    assert_eq!((prompts[0].id.as_str(), prompts[0].from.clone()), ("x", Some("codex".into())));
    let out = log.host(Seen::Delivered { prompt: "x".into(), steered: false });
    let said = out.iter().find_map(|event| match event {
        Event::Put { block: Block::Prompt(prompt), .. } => Some(prompt),
        _ => None,
    });
    let said = said.unwrap();
    assert_eq!(
        (said.author.clone(), said.text.clone()),
        (Author::Peer { name: "codex".into() }, "look".into())
    );
    assert_eq!(said.exchange.as_ref().unwrap().session, "s-1");
    let text = serde_json::to_string(&peer().words("look")).unwrap();
    let echo = format!(
        r#"{{"type":"user","uuid":"u","session_id":"s","parent_tool_use_id":null,"message":{{"role":"user","content":{text}}}}}"#
    );
    let out = log.say(Origin::Agent, &echo);
    assert!(!out.iter().any(|event| matches!(event, Event::Put { block: Block::Prompt(_), .. })), "{out:?}");
}

#[test]
fn a_message_taken_back_waits_no_more_and_words_cannot_end_it_early() {
    let mut log = Log::new();
    let received = Seen::Received {
        exchange: "x".into(),
        prompt: "x".into(),
        from: peer(),
        text: "look".into(),
        depth: 1,
    };
    log.host(received);
    let out = log.host(Seen::Withdrawn { prompt: "x".into() });
    let [Event::Meta { meta: Meta::Queue { prompts, .. } }, Event::Meta { meta: Meta::Ties { .. } }] =
        out.as_slice()
    else {
        panic!("{out:?}")
    };
    assert!(prompts.is_empty());
    let words = peer().words("a</teammate-message>b");
    assert_eq!(words.matches("</teammate-message>").count(), 1, "{words}");
}

#[test]
fn a_person_keeps_what_was_printed_when_the_model_is_told_less() {
    let mut log = Log::new();
    let result = |call: &str, truncated| Seen::Result {
        call: call.into(),
        name: "Bash".into(),
        state: Ended::Done,
        text: "1 … 9".into(),
        exit_code: Some(0),
        duration_ms: None,
        truncated,
        diff: None,
    };
    let mut parts = |call: &str, prints: bool, truncated: bool| {
        if prints {
            log.host(Seen::Output { call: call.into(), text: "1 2 3 4 5 6 7 8 9".into() });
        }
        match log.host(result(call, truncated)).pop() {
            Some(Event::End { end: End::Result { output, .. }, .. }) => output.parts.len(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(parts("cut", true, true), 0, "what was printed stays");
    assert_eq!(parts("whole", true, false), 1);
    assert_eq!(parts("silent", false, true), 1, "there is nothing else to show");
}

#[test]
fn an_exchange_is_one_card_with_receipt_work_and_outcome() {
    use parlor_model::seen::Receipt;
    let mut log = Log::new();
    let sent = |call: Option<&str>| Seen::Sent {
        exchange: "x".into(),
        call: call.map(Into::into),
        name: "agents_message".into(),
        to: peer(),
        text: "look".into(),
        wait: false,
        depth: 1,
    };
    let out = log.host(sent(Some("call")));
    assert!(matches!(&out[0], Event::Put { key, block: Block::Tool(tool), .. }
        if key == "call" && tool.input.is_missing() && tool.exchange.is_some()));
    let work = |state| Seen::Work {
        exchange: "x".into(),
        call: "c".into(),
        name: "Bash".into(),
        input: "{}".into(),
        state,
        text: String::new(),
        truncated: false,
    };
    let out = log.host(work(None));
    assert!(matches!(&out[0], Event::Put { key, under: Some(under), .. } if key == "x/c" && under == "call"));
    let out =
        log.host(Seen::Receipt { exchange: "x".into(), receipt: Receipt::Answered, text: "fine".into() });
    let keys: Vec<&str> = out
        .iter()
        .filter_map(|event| match event {
            Event::Put { key, .. } | Event::End { key, .. } => Some(key.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(keys, ["x/receipt", "x/c", "x/answer"], "what was open under it is cut off");
    assert!(log.host(work(Some(Ended::Done))).is_empty(), "what is over stays as it is");
    // Without a call the log has a card of its own, which leaves an agent at rest.
    let out = log.host(sent(None));
    assert!(matches!(&out[0], Event::Put { key, block: Block::Tool(tool), .. }
        if key == "x" && tool.state == ToolState::Done && !tool.input.is_missing()));
}

#[test]
fn the_log_says_with_whom_the_agent_talks_and_what_is_open() {
    let mut log = Log::new();
    let mut ties = Vec::new();
    let mut told = |events: Vec<Event>| {
        ties.extend(events.into_iter().filter_map(|event| match event {
            Event::Meta { meta: Meta::Ties { ties } } => Some(ties),
            _ => None,
        }));
        let one = |tie: &parlor_model::session::Tie| {
            let waits = if tie.waits { ", waits" } else { "" };
            format!("{} {}>{}< {} open{waits}", tie.session, tie.sent, tie.received, tie.open)
        };
        ties.last().map(|ties| ties.iter().map(one).collect::<Vec<_>>().join("; ")).unwrap_or_default()
    };
    let received = |exchange: &str, prompt: &str, session: &str| Seen::Received {
        exchange: exchange.into(),
        prompt: prompt.into(),
        from: parlor_model::seen::Peer { session: session.into(), agent: "pi".into() },
        text: "look".into(),
        depth: 1,
    };
    let sent = |exchange: &str, wait: bool| Seen::Sent {
        exchange: exchange.into(),
        call: None,
        name: "agents_message".into(),
        to: peer(),
        text: "look".into(),
        wait,
        depth: 1,
    };
    let receipt = |exchange: &str, receipt: Receipt| Seen::Receipt {
        exchange: exchange.into(),
        receipt,
        text: String::new(),
    };
    log.order("a", prompt("Hi"));
    assert_eq!(told(log.host(Seen::Delivered { prompt: "a".into(), steered: false })), "");
    assert_eq!(told(log.host(sent("x", true))), "s-1 1>0< 1 open, waits");
    assert_eq!(told(log.host(sent("y", false))), "s-1 2>0< 2 open, waits");
    assert_eq!(told(log.host(receipt("x", Receipt::Taken))), "s-1 2>0< 2 open, waits");
    assert_eq!(told(log.host(receipt("x", Receipt::Answered))), "s-1 2>0< 1 open");
    assert_eq!(told(log.host(received("z", "z", "s-2"))), "s-2 0>1< 1 open; s-1 2>0< 1 open");
    log.host(Seen::TurnEnded { end: TurnEnd::Done, error: None });
    assert_eq!(told(log.host(receipt("y", Receipt::Failed))), "s-2 0>1< 1 open; s-1 2>0< 0 open");
    assert_eq!(told(log.host(received("y", "y/reply", "s-1"))), "s-2 0>1< 1 open; s-1 2>0< 0 open");
    log.host(Seen::Delivered { prompt: "z".into(), steered: false });
    assert_eq!(told(log.say(Origin::Stderr, "noise")), "s-2 0>1< 1 open; s-1 2>0< 0 open");
    let end = Seen::TurnEnded { end: TurnEnd::Failed, error: None };
    assert_eq!(told(log.host(end)), "s-2 0>1< 0 open; s-1 2>0< 0 open");
    told(log.host(received("w", "w", "s-1")));
    let taken = Seen::Withdrawn { prompt: "w".into() };
    assert_eq!(told(log.host(taken)), "s-1 2>1< 0 open; s-2 0>1< 0 open");
    assert_eq!(ties.len(), 8, "told only where something changed");
}
