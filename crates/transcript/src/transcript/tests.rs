use bytes::Bytes;
use parlor_model::event::Turn;
use parlor_model::tool::{Output, Tool};

use super::*;

/// Folds each event as a line of its own, at one second per line.
fn fold(events: impl IntoIterator<Item = Event>) -> Transcript {
    let mut transcript = Transcript::default();
    for (seq, event) in (0..).zip(events) {
        let reading = Reading::shown(Some(Time(seq as i64 * 1_000_000)));
        transcript.fold(seq, &Line::new(Bytes::new()), &reading, [event]);
    }
    transcript
}

fn prompt(key: &str, text: &str) -> Event {
    Event::put(key, Block::Prompt(Prompt { text: text.into(), ..Prompt::default() }))
}

fn reply(key: &str, text: &str, streaming: bool) -> Event {
    Event::put(key, Block::Reply(Reply { text: text.into(), streaming, ..Reply::default() }))
}

fn call(key: &str, name: &str) -> Event {
    Event::put(key, Block::Tool(Box::new(Tool::call(name, Json::default()))))
}

fn result(key: &str, state: ToolState, text: &str) -> Event {
    Event::End {
        key: key.into(),
        end: End::Result { name: None, state, output: Box::new(Output::text(text)) },
    }
}

fn grow(key: &str, part: Part, text: &str) -> Event {
    Event::Grow { key: key.into(), part, text: text.into() }
}

fn tool<'a>(transcript: &'a Transcript, id: &str) -> &'a Tool {
    match &transcript.entry(id).unwrap().block {
        Block::Tool(tool) => tool,
        other => panic!("{other:?}"),
    }
}

fn interrupted() -> Event {
    Event::Turn { turn: Turn::Interrupted { reason: "user_cancel".into() } }
}

#[test]
fn results_find_their_calls_by_id_in_any_order() {
    let t = fold([
        call("a", "Bash"),
        call("b", "Bash"),
        call("c", "Bash"),
        result("c", ToolState::Done, "C"),
        result("a", ToolState::Failed, "A"),
        result("b", ToolState::Done, "B"),
    ]);
    for (id, text, state) in
        [("a", "A", ToolState::Failed), ("b", "B", ToolState::Done), ("c", "C", ToolState::Done)]
    {
        assert_eq!(tool(&t, id).state, state);
        assert_eq!(tool(&t, id).output.as_ref().unwrap().joined(), text);
    }
    assert_eq!(t.session().counts.failed, 1);
}

#[test]
fn a_result_before_its_call_opens_an_orphan_that_the_call_adopts() {
    let mut events = vec![result("a", ToolState::Done, "early")];
    let t = fold(events.clone());
    assert!(tool(&t, "a").orphan);
    events.push(call("a", "Read"));
    let t = fold(events);
    assert_eq!(t.entries().len(), 1);
    assert!(!tool(&t, "a").orphan);
    assert_eq!(tool(&t, "a").state, ToolState::Done);
    assert_eq!(tool(&t, "a").output.as_ref().unwrap().joined(), "early");
}

#[test]
fn a_repeated_call_or_result_makes_no_second_entry() {
    let t = fold([
        call("a", "Bash"),
        call("a", "Bash"),
        result("a", ToolState::Done, "x"),
        result("a", ToolState::Done, "x"),
    ]);
    assert_eq!(t.entries().len(), 1);
    assert_eq!(t.session().counts.tools, 1);
}

#[test]
fn deltas_and_the_final_form_are_one_entry_and_whitespace_counts() {
    let t = fold([
        reply("m/0", "", true),
        grow("m/0", Part::Reply, "Hello"),
        grow("m/0", Part::Reply, " "),
        grow("m/0", Part::Reply, "\n"),
        grow("m/0", Part::Reply, "you"),
    ]);
    let Block::Reply(streamed) = &t.entries()[0].block else { panic!() };
    assert!(streamed.streaming);
    assert_eq!(streamed.text, "Hello \nyou");
    let t = fold([reply("m/0", "", true), grow("m/0", Part::Reply, "Hel"), reply("m/0", "Hello", false)]);
    assert_eq!(t.entries().len(), 1);
    assert_eq!(t.entries()[0].block, Block::Reply(Reply { text: "Hello".into(), ..Reply::default() }));
}

#[test]
fn a_stop_keeps_the_partial_text_and_closes_every_open_call() {
    let t = fold([
        prompt("p", "go"),
        reply("m/0", "half", true),
        call("a", "Bash"),
        call("b", "Bash"),
        result("a", ToolState::Done, "ok"),
        interrupted(),
        interrupted(),
    ]);
    let Block::Reply(text) = &t.entry("m/0").unwrap().block else { panic!() };
    assert!(text.interrupted && !text.streaming);
    assert_eq!(tool(&t, "a").state, ToolState::Done);
    assert_eq!(tool(&t, "b").state, ToolState::Interrupted);
    assert_eq!(t.session().phase, Phase::Idle);
    let marks = t
        .entries()
        .iter()
        .filter(|e| matches!(&e.block, Block::Notice(n) if n.kind == NoticeKind::Interrupted));
    assert_eq!(marks.count(), 1, "one stop is marked once");
}

#[test]
fn an_error_that_comes_in_after_the_stop_leaves_the_call_interrupted() {
    let t = fold([call("a", "Bash"), interrupted(), result("a", ToolState::Failed, "exit -1")]);
    assert_eq!(tool(&t, "a").state, ToolState::Interrupted);
    assert_eq!(tool(&t, "a").output.as_ref().unwrap().joined(), "exit -1");
}

#[test]
fn the_phase_follows_the_newest_open_call_and_idle_comes_once() {
    let mut t = Transcript::default();
    let steps = [
        (prompt("p", "go"), Phase::Preparing),
        (Event::Grow { key: "t".into(), part: Part::Thought, text: "hm".into() }, Phase::Thinking),
        (call("a", "Bash"), Phase::Executing { tool: "Bash".into() }),
        (call("b", "Read"), Phase::Executing { tool: "Read".into() }),
        (result("b", ToolState::Done, ""), Phase::Executing { tool: "Bash".into() }),
        (Event::Ask { key: "a".into(), ask: Some(ask()) }, Phase::Waiting { tool: "Bash".into() }),
        (Event::Ask { key: "a".into(), ask: None }, Phase::Executing { tool: "Bash".into() }),
        (result("a", ToolState::Done, ""), Phase::Thinking),
        (reply("m", "done", false), Phase::Replying),
        (Event::Turn { turn: Turn::Done }, Phase::Idle),
        (Event::Turn { turn: Turn::Done }, Phase::Idle),
    ];
    for (seq, (event, phase)) in (0..).zip(steps) {
        t.fold(seq, &Line::new(Bytes::new()), &Reading::shown(None), [event]);
        assert_eq!(t.session().phase, phase, "step {seq}");
    }
}

fn ask() -> Ask {
    Ask { id: "r1".into(), reason: None, options: Vec::new() }
}

#[test]
fn the_first_output_shows_that_a_call_runs() {
    let t = fold([call("a", "Bash"), grow("a", Part::Output, "."), call("b", "Bash")]);
    assert_eq!([tool(&t, "a").state, tool(&t, "b").state], [ToolState::Running, ToolState::Pending]);
}

#[test]
fn each_prompt_has_a_bubble_and_what_the_agent_does_in_a_row_shares_one() {
    let t = fold([
        prompt("p", "a"),
        prompt("q", "b"),
        reply("m", "c", false),
        call("t", "Bash"),
        prompt("r", "d"),
    ]);
    let opens: Vec<bool> = t.entries().iter().map(|entry| entry.opens).collect();
    assert_eq!(opens, [true, true, true, false, true]);
}

#[test]
fn a_question_before_its_call_waits_for_it() {
    let t = fold([Event::Ask { key: "a".into(), ask: Some(ask()) }, call("a", "Write")]);
    assert_eq!(tool(&t, "a").state, ToolState::Waiting);
    assert_eq!(tool(&t, "a").ask, Some(Box::new(ask())));
}

#[test]
fn usage_of_a_split_message_counts_once_and_takes_the_largest() {
    let usage =
        |output| Event::Usage { message: "m".into(), usage: Usage { input: 10, output, ..Usage::default() } };
    let t = fold([usage(1), usage(7), usage(3)]);
    assert_eq!(t.session().usage, Usage { input: 10, output: 7, ..Usage::default() });
}

#[test]
fn reads_and_searches_in_a_row_form_a_group_and_anything_else_ends_it() {
    let t =
        fold([call("a", "Read"), call("b", "Grep"), call("c", "Glob"), call("d", "Bash"), call("e", "Read")]);
    let groups: Vec<_> = t.entries().iter().map(|entry| entry.group.as_deref()).collect();
    assert_eq!(groups, [Some("a"), Some("a"), Some("a"), None, Some("e")]);
}

#[test]
fn a_subagent_s_work_lies_under_its_task_and_is_counted_there() {
    let under = |key: &str, name: &str| Event::Put {
        key: key.into(),
        under: Some("task".into()),
        message: None,
        block: Block::Tool(Box::new(Tool::call(name, Json::default()))),
    };
    let t = fold([
        call("task", "Task"),
        under("x", "Read"),
        under("y", "Bash"),
        result("y", ToolState::Done, ""),
    ]);
    assert_eq!(tool(&t, "task").subagent.as_ref().unwrap().tools, Some(2));
    assert_eq!(t.entry("x").unwrap().parent.as_deref(), Some("task"));
    assert_eq!(t.session().phase, Phase::Executing { tool: "Task".into() }, "the subagent moves no phase");
}

#[test]
fn a_stop_cuts_off_a_subagent_s_open_call_and_the_end_of_a_turn_does_not() {
    let under = |key: &str| Event::Put {
        key: key.into(),
        under: Some("task".into()),
        message: None,
        block: Block::Tool(Box::new(Tool::call("Bash", Json::default()))),
    };
    let t = fold([
        call("task", "Task"),
        under("x"),
        under("y"),
        result("y", ToolState::Done, "ok"),
        interrupted(),
    ]);
    assert_eq!([tool(&t, "task").state, tool(&t, "x").state], [ToolState::Interrupted; 2]);
    assert_eq!(tool(&t, "y").state, ToolState::Done);
    let t = fold([
        call("task", "Task"),
        under("x"),
        result("task", ToolState::Done, ""),
        Event::Turn { turn: Turn::Done },
    ]);
    assert_eq!(tool(&t, "x").state, ToolState::Pending, "it may work in the background");
}

#[test]
fn the_first_prompt_is_the_title_until_a_better_one_comes() {
    let title = |text: &str, rank| Event::Meta { meta: Meta::Title { text: text.into(), rank } };
    let t = fold([prompt("p", "\n  Fix the parser  \nplease"), prompt("q", "second")]);
    assert_eq!(t.session().title.as_ref().unwrap(), &"Fix the parser");
    let t =
        fold([prompt("p", "first"), title("Agent's", TitleRank::Agent), title("old", TitleRank::Summary)]);
    assert_eq!(t.session().title.as_ref().unwrap(), &"Agent's");
}

#[test]
fn streamed_input_is_whole_when_the_call_ends_or_the_turn_is_cut() {
    let mut events = vec![call("a", "Write")];
    let text: String = (0..2000).map(|n| format!("{n},")).collect();
    for chunk in text.as_bytes().chunks(3) {
        events.push(grow("a", Part::Input, std::str::from_utf8(chunk).unwrap()));
    }
    events.push(interrupted());
    assert_eq!(tool(&fold(events), "a").input.lossy(), text);
}

#[test]
fn a_timestamp_that_is_missing_is_inherited() {
    let mut t = Transcript::default();
    let line = Line::new(Bytes::new());
    t.fold(0, &line, &Reading::shown(Some(Time(5))), [prompt("a", "x")]);
    t.fold(1, &line, &Reading::shown(None), [prompt("b", "y")]);
    assert_eq!(t.entry("b").unwrap().at, Some(Time(5)));
}

#[test]
fn an_unknown_or_damaged_line_is_kept_visible_and_counted() {
    let mut t = Transcript::default();
    t.fold(0, &Line::new(Bytes::from_static(b"{\"type\":\"new\"}")), &Reading::unknown("new", None), []);
    t.fold(1, &Line::new(Bytes::from_static(b"{\"half")), &Reading::damaged("cut"), []);
    assert_eq!(t.session().counts.unknown, 2);
    let Block::Unknown(unknown) = &t.entries()[0].block else { panic!() };
    assert_eq!((unknown.kind.as_str(), &*unknown.raw.lossy()), ("new", "{\"type\":\"new\"}"));
}

#[test]
fn a_rewind_marks_what_it_overtakes_and_removes_nothing() {
    let t = fold([
        prompt("a", "1"),
        prompt("b", "2"),
        reply("c", "x", false),
        Event::Overtake { from: "b".into() },
        prompt("d", "3"),
    ]);
    let marks: Vec<_> = t.entries().iter().map(|entry| entry.overtaken).collect();
    assert_eq!(marks, [false, true, true, false]);
}

#[test]
fn an_error_the_agent_already_said_is_not_said_twice() {
    let failed = || Event::Turn { turn: Turn::Failed { error: Some("API Error".into()) } };
    assert_eq!(fold([reply("m", "API Error", false), failed()]).entries().len(), 1);
    assert_eq!(fold([reply("m", "Other", false), failed()]).entries().len(), 2);
    assert_eq!(fold([interrupted(), failed()]).entries().len(), 1, "a stop is no failure");
}

#[test]
fn after_a_compaction_the_context_holds_what_was_left() {
    let full = Event::Meta { meta: Meta::Context { tokens: 9000 } };
    let kind = |after| NoticeKind::Compaction { before: Some(9000), after };
    let compact = |after| Event::notice("c", Notice { kind: kind(after), text: Text::default() });
    assert_eq!(fold([full.clone(), compact(Some(400))]).session().context, 400);
    assert_eq!(fold([full, compact(None)]).session().context, 9000, "it was not said what is left");
}
