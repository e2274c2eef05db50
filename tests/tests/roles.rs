//! Who speaks: from the raw record to the label, icon and colour that a reader sees. Tool calls and results are never
//! taken for a person's or the assistant's words.

use parlor_dialect::Format::ClaudeSession;
use parlor_model::block::{Block, Notice, NoticeKind};
use parlor_model::event::Fate;
use parlor_model::role::Role;
use parlor_model::rule::Rule;
use parlor_profile::Profile;
use parlor_render::page::STYLE;
use parlor_tests::Talk;
use serde_json::{Value, json};

const PROMPT: &str = r#"{"type":"user","message":{"role":"user","content":"Say hello"}}"#;
const REPLY: &str = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"Hello"}]}}"#;
const CALL: &str = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls"}}]}}"#;
const RESULT: &str = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"listing"}]}}"#;
const NOTICE: &str = r#"{"type":"system","content":"local command"}"#;

/// The roles that the text export shows, by its header lines, each with the first line under it.
fn shown(lines: &[&str]) -> Vec<(String, String)> {
    let text = Talk::of(ClaudeSession, lines).text();
    let messages = text.split("\n\n").filter(|message| !message.trim().is_empty());
    let split = |message: &str| {
        let mut lines = message.trim_start().lines();
        let label =
            lines.next().and_then(|line| line.strip_prefix('[')?.strip_suffix(']').map(str::to_owned));
        (label.unwrap_or_default(), lines.next().unwrap_or_default().to_owned())
    };
    messages.map(split).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(label, text)| ((*label).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn every_shape_of_message_is_read_and_shown_under_its_role() {
    for (record, expected) in [
        (PROMPT, &[("User", "Say hello")][..]),
        (
            r#"{"type":"user","message":{"content":[{"type":"text","text":"as array"}]}}"#,
            &[("User", "as array")],
        ),
        (
            r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"in an array"}]}]}}"#,
            &[("Tool Result", "in an array")],
        ),
        (
            r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"a string"}]}}"#,
            &[("Tool Result", "a string")],
        ),
        (REPLY, &[("Assistant", "Hello")]),
        (
            r#"{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash","input":{"command":"no id"}}]}}"#,
            &[("Tool Call", "Bash(no id)")],
        ),
        (
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":"Look"},{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]}}"#,
            &[("Assistant", "Look"), ("Tool Call", "Bash(ls)")],
        ),
        (
            r#"{"type":"user","message":{"content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]}}"#,
            &[("Tool Call", "Bash(ls)")],
        ),
        (
            r#"{"type":"assistant","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}}"#,
            &[("Tool Result", "x")],
        ),
    ] {
        assert_eq!(shown(&[record]), pairs(expected), "{record}");
    }
}

#[test]
fn a_conversation_with_tools_shows_each_under_its_own_label() {
    let expected = [
        ("User", "Say hello"),
        ("Tool Call", "Bash(ls)"),
        ("Tool Result", "listing"),
        ("Assistant", "Hello"),
    ];
    assert_eq!(shown(&[PROMPT, CALL, RESULT, REPLY]), pairs(&expected));
}

#[test]
fn live_and_history_give_the_same_roles() {
    let lines = [PROMPT, CALL, RESULT, REPLY, NOTICE];
    let mut live = Talk::begin(ClaudeSession);
    for count in 0..lines.len() {
        live.say(lines[count]);
        let history = Talk::of(ClaudeSession, &lines[..=count]);
        assert_eq!(live.text(), history.text());
        assert_eq!(live.html(), history.html());
    }
}

#[test]
fn internal_records_are_kept_from_the_client_and_are_nobody_s_message() {
    let summary = r#"{"type":"summary","summary":"Session Title"}"#;
    let warm_up = r#"{"type":"user","isSidechain":true,"message":{"role":"user","content":"Warmup"}}"#;
    let answer =
        r#"{"type":"assistant","isSidechain":true,"message":{"content":[{"type":"text","text":"Ready"}]}}"#;
    let talk = Talk::of(ClaudeSession, &[summary, PROMPT, NOTICE, warm_up, answer, REPLY]);
    let records: Vec<&Value> = talk.told(Profile::Raw).iter().map(|message| &message["record"]).collect();
    assert_eq!(
        records,
        [&serde_json::from_str::<Value>(PROMPT).unwrap(), &serde_json::from_str(REPLY).unwrap()]
    );
    let fates = talk.whole.fates();
    assert_eq!(*fates[0], Fate::Hidden(Rule::Summary));
    assert_eq!((fates[3], fates[4]), (&Fate::Hidden(Rule::Sidechain), &Fate::Hidden(Rule::Sidechain)));
    assert_eq!(
        talk.session().title.as_ref().map(|title| title.to_string()).as_deref(),
        Some("Session Title")
    );
    for words in ["Session Title", "Warmup", "Ready"] {
        assert!(!talk.html().contains(words) && !talk.text().contains(words), "{words}");
    }
    // Local commands are a remark and no message of either speaker.
    assert!(matches!(&talk.entries()[1].block, Block::Notice(Notice { kind: NoticeKind::Info, .. })));
}

#[test]
fn the_client_gets_the_record_as_written_and_nothing_besides_its_place() {
    let talk = Talk::of(ClaudeSession, &[PROMPT, CALL, RESULT, REPLY]);
    for (message, record) in talk.told(Profile::Raw).iter().zip([PROMPT, CALL, RESULT, REPLY]) {
        let keys: Vec<&str> = message.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, ["seq", "record"], "no role, label, icon or colour is added");
        assert_eq!(message["record"].to_string(), record, "not a byte is rewritten");
        assert_eq!(
            Role::of_record(message["record"].to_string().as_bytes()),
            Role::of_record(record.as_bytes())
        );
    }
}

#[test]
fn a_stored_role_is_a_name_that_reads_back_and_unknown_names_stay_as_they_are() {
    for name in ["user", "assistant", "tool_call", "tool_result", "system", "something-new"] {
        let role = Role::named(name);
        assert_eq!(role.name(), name);
        assert_eq!(serde_json::to_value(&role).unwrap(), json!(name), "stored as the bare name");
        assert!(!role.label().is_empty() && !role.symbol().is_empty() && !role.colour().is_empty());
    }
    assert_eq!(Role::named("system").label(), "System");
}

#[test]
fn unknown_structures_keep_their_message_s_role_are_counted_and_never_disappear() {
    let novel = r#"{"type":"assistant","message":{"content":[{"type":"novel","x":"petunia"},{"type":"text","text":"after"}]}}"#;
    let object = r#"{"type":"user","message":{"content":{"strange":"tulip"}}}"#;
    let mixed = r#"{"type":"user","message":{"content":["dahlia",{"type":"text","text":"rose"}]}}"#;
    let typeless = r#"{"message":{"content":"violet"}}"#;
    for (record, role) in [(novel, "assistant"), (object, "user"), (mixed, "user")] {
        assert_eq!(Role::of_record(record.as_bytes()).unwrap().name(), role, "{record}");
    }
    assert_eq!(Role::of_record(typeless.as_bytes()), None);
    let talk =
        Talk::of(ClaudeSession, &[novel, object, mixed, typeless, r#"{"type":"brand-new","x":"lilac"}"#]);
    for words in ["petunia", "after", "tulip", "dahlia", "rose", "violet", "lilac"] {
        assert!(talk.html().contains(words) && talk.text().contains(words), "{words}");
    }
    assert!(talk.text().contains("[Assistant]\nafter") && talk.text().contains("[User]\ndahlia\nrose"));
    assert!(talk.text().contains("[Novel]\n") && talk.text().contains("[Brand-new]\n"));
    assert_eq!(talk.session().counts.unknown, 4, "each is counted for the report");
}

#[test]
fn every_export_uses_the_same_labels() {
    let unknown = r#"{"type":"brand-new","x":1}"#;
    let talk = Talk::of(ClaudeSession, &[PROMPT, CALL, RESULT, REPLY, NOTICE, unknown]);
    let text = talk.text();
    for label in ["User", "Assistant", "Tool Call", "Tool Result", "System", "Brand-new"] {
        assert!(text.contains(&format!("[{label}]\n")), "{label} in\n{text}");
    }
    let markdown = talk.markdown();
    for heading in ["## User\n", "## Assistant\n", "**Tool Call** ", "**Tool Result**\n", "**Brand-new**\n"] {
        assert!(markdown.contains(heading), "{heading} in\n{markdown}");
    }
    let html = talk.html();
    for label in [">User<", ">Assistant<", "title=\"Tool Call · Bash\"", ">Tool Result<", ">Brand-new<"] {
        assert!(html.contains(label), "{label} in\n{html}");
    }
    let orphan = Talk::of(ClaudeSession, &[RESULT]);
    assert!(!orphan.markdown().contains("Tool Call") && !orphan.html().contains("Tool Call"));
    assert!(orphan.markdown().contains("**Tool Result**\n"));
}

/// The value of a custom property in the light theme.
fn colour(name: &str) -> (f64, f64) {
    let value = STYLE.split(&format!("--{name}: light-dark(#")).nth(1).unwrap_or("000000");
    let part = |at: usize| f64::from(u8::from_str_radix(&value[at..at + 2], 16).unwrap_or_default()) / 255.0;
    let (red, green, blue) = (part(0), part(2), part(4));
    let (most, least) = (red.max(green).max(blue), red.min(green).min(blue));
    let spread = most - least;
    let sixth = match most {
        _ if spread == 0.0 => 0.0,
        most if most == red => ((green - blue) / spread).rem_euclid(6.0),
        most if most == green => (blue - red) / spread + 2.0,
        _ => (red - green) / spread + 4.0,
    };
    (sixth * 60.0, spread / most)
}

#[test]
fn every_role_has_its_icon_its_colour_and_a_ground_of_ten_percent() {
    assert!(STYLE.contains("--tint: 10%;"));
    let ground = "background: color-mix(in srgb, var(--{}) var(--tint)";
    // The hue of each property is the colour that the role names.
    for (role, property, icon, hues, rule) in [
        (
            "user",
            "user",
            "i-user",
            200.0..250.0,
            ".entry.user, .entry.other:not(.notice) { background: color-mix(in srgb, var(--role) var(--tint)",
        ),
        (
            "assistant",
            "assistant",
            "i-assistant",
            90.0..160.0,
            "color: var(--role); background: color-mix(in srgb, var(--role) var(--tint)",
        ),
        ("tool_call", "call", "i-tool-call", 15.0..45.0, &ground.replace("{}", "call")),
        ("tool_result", "result", "i-tool-result", 250.0..290.0, &ground.replace("{}", "result")),
    ] {
        let (hue, strength) = colour(property);
        assert!(hues.contains(&hue) && strength > 0.5, "{role} is not {}: {hue}", Role::named(role).colour());
        assert!(STYLE.contains(&format!(".icon.{icon}")), "{role} has no icon");
        assert!(STYLE.contains(rule), "{role} has no ground");
    }
    let (_, strength) = colour("other");
    assert!(
        strength < 0.2 && STYLE.contains(".icon.i-other") && STYLE.contains(".entry { --role: var(--other);")
    );
    for class in ["user", "assistant"] {
        assert!(STYLE.contains(&format!(".entry.{class} {{ --role: var(--{class}); }}")));
    }
    let html = Talk::of(ClaudeSession, &[PROMPT, CALL, RESULT, REPLY, r#"{"type":"brand-new"}"#]).html();
    for markup in [
        "<article class=\"entry user opens\"",
        "icon i-user",
        "<article class=\"entry assistant",
        "icon i-assistant",
        "<span class=\"name\" title=\"Tool Call",
        "icon i-run",
        "<section class=\"result\">",
        "icon i-tool-result",
        "<article class=\"entry other\"",
        "icon i-other",
    ] {
        assert!(html.contains(markup), "{markup}");
    }
    assert!(STYLE.contains(".name { ") && STYLE.contains("color: var(--call)"));
}

#[test]
fn the_order_of_priority_stands_in_the_function_s_own_words() {
    let source = include_str!("../../crates/model/src/role.rs");
    let (doc, _) = source.split_once("pub fn of_record").unwrap();
    assert!(
        doc.contains("The order of priority is `tool_result`, then `tool_use`, then the top-level `type`")
    );
}
