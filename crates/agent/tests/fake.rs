//! The process runner against agents that behave badly: small programs that speak just enough of an agent's language.
#![allow(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

mod talk;

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;

use parlor_agent::{Kind, Launch, Run, Said, Settings, programs, sweep};
use parlor_model::block::Block;
use parlor_model::seen::{Force, Level, Seen};
use talk::{Talk, launch, marked, wait_until};
use tempfile::TempDir;
use tokio::process::Command;

/// What the fakes that are meant to be Claude Code begin with: lines in, lines out.
const CLAUDE: &str = r#"#!/usr/bin/env python3
import json, os, signal, subprocess, sys, time

def say(**line):
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()

def begin():
    say(type="system", subtype="init", session_id="fake-session", cwd=os.getcwd(), model="fake")

def reply(text):
    message = {"id": "m%d" % time.monotonic_ns(), "role": "assistant", "content": [{"type": "text", "text": text}]}
    say(type="assistant", message=message, session_id="fake-session")

def result(**more):
    say(type="result", subtype="success", is_error=False, session_id="fake-session", **more)

def granted(line):
    say(type="control_response", response={"subtype": "success", "request_id": line["request_id"]})

def heard():
    for line in sys.stdin:
        line = json.loads(line)
        yield line, line.get("request", {}).get("subtype", line["type"])

"#;

/// How often a test is tried that depends on the machine not standing still.
const TRIES: u32 = 5;

/// A folder with a program in it, and settings that know only that.
struct Fake {
    home: TempDir,
    kind: Kind,
    settings: Settings,
}

impl Fake {
    /// A program with this source.
    fn new(kind: Kind, source: &str) -> Fake {
        let home = tempfile::tempdir().unwrap();
        let program = home.path().join("program");
        std::fs::write(&program, source).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::create_dir(home.path().join("work")).unwrap();
        let path = std::env::var_os("PATH").unwrap();
        let variables = [("PATH".into(), path), ("HOME".into(), home.path().into())];
        let mut settings = Settings::from_variables(variables.into());
        settings.programs = BTreeMap::from([(kind, program)]);
        Fake { home, kind, settings }
    }

    /// A Claude Code that goes on like this.
    fn claude(source: &str) -> Fake {
        Fake::new(Kind::Claude, &format!("{CLAUDE}{source}"))
    }

    fn work(&self) -> PathBuf {
        self.home.path().join("work")
    }

    async fn start(&self) -> Talk {
        Talk::start(launch(self.kind, &self.work()), &self.settings).await.unwrap()
    }
}

const POLITE: &str = r#"
for line, kind in heard():
    if kind == "user":
        text = line["message"]["content"][-1]["text"]
        begin(); reply("%d characters" % len(text)); result()
    elif kind == "end_session":
        granted(line); sys.exit(0)
    else:
        granted(line)
"#;

#[tokio::test]
async fn a_turn_and_a_farewell() {
    let fake = Fake::claude(POLITE);
    let mut talk = fake.start().await;
    talk.turn("Hello").await;
    assert!(talk.replies().contains("5 characters"), "{}", talk.dump());
    assert_eq!(talk.session.as_deref(), Some("fake-session"));
    assert!(matches!(talk.seen[0], Seen::Started { pid: Some(_), .. }));
    // Nothing runs, so there is nothing to stop.
    let stop = talk.interrupt().await;
    assert_eq!((stop.needed, stop.left, stop.ended), (Force::Nothing, 0, false));
    assert!(talk.run.can_steer());
    assert!(talk.run.set(Some("other"), None).await.unwrap());
    let stop = talk.end().await;
    assert_eq!((stop.left, stop.ended), (0, true));
    assert_eq!(talk.exit(), (Some(0), None));
    assert!(talk.run.prompt("Hello?", &[]).await.unwrap_err().0.contains("Claude Code has ended"));
}

#[tokio::test]
async fn a_prompt_of_five_megabytes() {
    let fake = Fake::claude(POLITE);
    let mut talk = fake.start().await;
    talk.turn(&"word ".repeat(1 << 20)).await;
    assert!(talk.replies().contains(&format!("{} characters", 5 << 20)), "{}", talk.dump());
    talk.end().await;
}

#[tokio::test]
async fn a_stubborn_agent_is_ended_by_force() {
    let fake = Fake::claude(
        r#"
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for line, kind in heard():
    if kind == "user":
        # Both inherit that these signals are ignored; one of them leaves the group too.
        subprocess.Popen(["sleep", "300"])
        subprocess.Popen(["setsid", "sleep", "301"])
        begin(); reply("never again")
"#,
    );
    let mut talk = fake.start().await;
    talk.prompt("Begin").await.unwrap();
    talk.until("the reply", |talk| talk.replies().contains("never")).await;
    let name = talk.name.clone();
    wait_until("its children", || marked(&name).len() == 3).await;
    let stop = talk.interrupt().await;
    assert_eq!((stop.needed, stop.left, stop.ended), (Force::Kill, 0, true), "{stop:?}");
    assert_eq!(marked(&name).len(), 0);
    talk.until("the end of the agent", |talk| talk.ended).await;
    assert_eq!(talk.exit(), (None, Some(9)));
    assert!(talk.is_idle(), "{}", talk.dump());
}

/// One that stops its turn when it is told to, and forgets what it has started.
const FORGETFUL: &str = r#"
for line, kind in heard():
    if kind == "user":
        begin()
        subprocess.Popen(["setsid", "sh", "-c", "nohup sleep 300 >/dev/null 2>&1 & sleep 301"], stdin=subprocess.DEVNULL)
        subprocess.Popen(["sh", "-c", "setsid setsid sh -c 'trap \"\" TERM; while :; do sleep 302; done' & exit"])
        reply("started")
    elif kind == "interrupt":
        granted(line)
        say(type="result", subtype="error_during_execution", is_error=True, terminal_reason="aborted_tools", session_id="fake-session")
    elif kind == "end_session":
        sys.exit(0)
"#;

#[tokio::test]
async fn what_a_stopped_turn_leaves_running_is_ended_and_the_agent_lives() {
    let fake = Fake::claude(FORGETFUL);
    // On a machine that stands still for seconds the agent itself may have to be ended; not every time.
    for _ in 0..TRIES {
        let mut talk = fake.start().await;
        talk.prompt("Begin").await.unwrap();
        talk.until("the reply", |talk| talk.replies().contains("started")).await;
        let name = talk.name.clone();
        // The agent, two sleeps and their shell, the loop and its sleep.
        wait_until("its daemons", || marked(&name).len() == 6).await;
        let stop = talk.interrupt().await;
        assert_eq!(stop.left, 0, "{stop:?}");
        assert!(talk.is_idle(), "{}", talk.dump());
        let alive = marked(&name);
        talk.end().await;
        assert_eq!(marked(&name).len(), 0);
        if !stop.ended {
            assert_eq!(stop.needed, Force::Kill, "{stop:?}");
            assert_eq!(alive, BTreeSet::from([talk.run.pid().unwrap()]));
            return;
        }
    }
    panic!("the agent was ended {TRIES} times");
}

#[tokio::test]
async fn nothing_is_left_of_an_agent_that_ends_by_itself() {
    // A child holds stdout open: its end must not be waited for.
    let fake = Fake::claude(
        r#"
for line, kind in heard():
    begin()
    subprocess.Popen(["setsid", "sleep", "300"])
    reply("bye")
    sys.stdout.write("no line end")
    sys.exit(7)
"#,
    );
    let mut talk = fake.start().await;
    talk.prompt("Begin").await.unwrap();
    talk.until("the end of the agent", |talk| talk.ended).await;
    assert_eq!(talk.exit(), (Some(7), None));
    assert!(talk.replies().contains("bye"));
    assert_eq!(talk.lines.last().unwrap().as_ref(), b"no line end");
    assert!(talk.is_idle(), "{}", talk.dump());
    assert_eq!(marked(&talk.name).len(), 0);
}

#[tokio::test]
async fn an_agent_that_closes_its_output_is_ended() {
    let fake = Fake::claude(
        r#"
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for line, kind in heard():
    begin()
    break
os.close(1); os.close(2)
while True: time.sleep(300)
"#,
    );
    let mut talk = fake.start().await;
    talk.prompt("Begin").await.unwrap();
    talk.until("the end of the agent", |talk| talk.ended).await;
    assert_eq!(talk.exit(), (None, Some(9)));
    let says = |seen: &Seen| matches!(seen, Seen::Note { text, .. } if text.contains("closed its output"));
    assert!(talk.has_seen(says), "{}", talk.dump());
}

#[tokio::test]
async fn an_agent_that_exits_at_once() {
    let fake = Fake::new(Kind::Claude, "#!/bin/sh\necho 'no licence' >&2\nexit 3\n");
    let mut talk = fake.start().await;
    talk.until("the end of the agent", |talk| talk.ended).await;
    assert_eq!(talk.exit(), (Some(3), None));
    assert_eq!(talk.stderr, ["no licence"]);
    assert!(talk.run.prompt("Hello", &[]).await.is_err());
    let stop = talk.run.end().await;
    assert_eq!((stop.needed, stop.left, stop.ended), (Force::Nothing, 0, true));
}

#[tokio::test]
async fn garbage_comes_through_as_it_is() {
    let fake = Fake::claude(
        r#"
for line, kind in heard():
    begin()
    sys.stdout.flush()
    sys.stdout.buffer.write(b"\xff\xfe\x00binary\x80\r\n\n{\"type\":\n[]\n\"result\"\n{\"type\":7}\n")
    sys.stderr.buffer.write(b"\xff oops\n")
    sys.stderr.flush()
    sys.stdout.flush()
    result()
"#,
    );
    let mut talk = fake.start().await;
    talk.turn("Begin").await;
    let garbage: Vec<&[u8]> =
        vec![b"\xff\xfe\x00binary\x80", b"", b"{\"type\":", b"[]", b"\"result\"", b"{\"type\":7}"];
    assert_eq!(talk.lines[1..7].iter().map(|line| line.as_ref()).collect::<Vec<_>>(), garbage);
    talk.until("stderr", |talk| !talk.stderr.is_empty()).await;
    assert_eq!(talk.stderr[0].as_ref(), b"\xff oops");
    talk.end().await;
}

#[tokio::test]
async fn a_flood_is_cut_and_its_turn_still_ends() {
    let fake = Fake::claude(
        r#"
for line, kind in heard():
    if kind == "user":
        begin()
        sys.stdout.flush()
        sys.stdout.buffer.write(b"y" * (40 << 20) + b"\n")
        piece = b"x" * ((1 << 20) - 1) + b"\n"
        for number in range(300):
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
        result()
"#,
    );
    let mut talk = fake.start().await;
    talk.keep = false;
    talk.prompt("Begin").await.unwrap();
    let notes = |talk: &Talk| -> Vec<String> {
        let notes = talk.seen.iter().filter_map(|seen| match seen {
            Seen::Note { level: Level::Warning, text } => Some(text.clone()),
            _ => None,
        });
        notes.collect()
    };
    talk.until("both marks", |talk| notes(talk).len() == 2).await;
    assert!(notes(&talk)[0].contains("too long: its last 8388608 bytes"), "{:?}", notes(&talk));
    assert!(notes(&talk)[1].contains("more than 256 MB"), "{:?}", notes(&talk));
    talk.keep = true;
    talk.until("the result", |talk| talk.lines.last().is_some_and(|line| line.starts_with(b"{"))).await;
    assert!(talk.heard <= 257 << 20, "{}", talk.heard);
    assert!(talk.heard >= 254 << 20, "{}", talk.heard);
    talk.end().await;
}

#[tokio::test]
async fn an_agent_waits_when_nobody_reads_and_can_be_ended_all_the_same() {
    let fake = Fake::claude(
        r#"
for line, kind in heard():
    begin()
    while True: reply("on and on")
"#,
    );
    let (run, said) = Run::start(launch(fake.kind, &fake.work()), &fake.settings).await.unwrap();
    run.prompt("Begin", &[]).await.unwrap();
    // Nobody reads `said` from here on.
    let stop = run.end().await;
    assert_eq!((stop.left, stop.ended), (0, true), "{stop:?}");
    assert!(said.len() <= 64);
}

#[tokio::test]
async fn an_agent_without_a_handle_is_ended() {
    let fake = Fake::claude(FORGETFUL);
    let mut talk = fake.start().await;
    talk.prompt("Begin").await.unwrap();
    talk.until("the reply", |talk| talk.replies().contains("started")).await;
    let (name, pid) = (talk.name.clone(), talk.run.pid().unwrap());
    drop(talk);
    wait_until("its end", || marked(&name).is_empty()).await;
    // Orphans that have ended are waited for as well: none stays as a zombie of this process.
    wait_until("the process to be gone", || !std::path::Path::new(&format!("/proc/{pid}")).exists()).await;
}

#[tokio::test]
async fn what_cannot_be_started_says_what_to_do() {
    let fake = Fake::claude(POLITE);
    let start = async |launch: Launch, settings: &Settings| Run::start(launch, settings).await.unwrap_err().0;
    let missing =
        Launch { cwd: fake.home.path().join("no-such-folder"), ..launch(Kind::Claude, &fake.work()) };
    let message = start(missing, &fake.settings).await;
    assert!(message.contains("no-such-folder") && message.contains("create the folder"), "{message}");
    let file = Launch { cwd: fake.home.path().join("program"), ..launch(Kind::Claude, &fake.work()) };
    let message = start(file, &fake.settings).await;
    assert!(message.contains("is not a folder"), "{message}");

    let mut settings = fake.settings.clone();
    settings.programs = BTreeMap::from([(Kind::Claude, fake.home.path().join("no-such-program"))]);
    let message = start(launch(Kind::Claude, &fake.work()), &settings).await;
    assert!(message.contains("no-such-program") && message.contains("PARLOR_CLAUDE"), "{message}");
    settings.programs.clear();
    settings.environment.insert("PATH".into(), "/nowhere".into());
    let message = start(launch(Kind::Pi, &fake.work()), &settings).await;
    assert!(message.contains("Pi is not installed") && message.contains("npm install"), "{message}");
    let message = start(launch(Kind::Builtin, &fake.work()), &settings).await;
    assert!(message.contains("OPENAI_API_KEY"), "{message}");
}

#[tokio::test]
async fn programs_say_their_versions() {
    let fake = Fake::new(Kind::Claude, "#!/bin/sh\necho '9.9.9 (Claude Code)'\n");
    let codex = fake.home.path().join("codex");
    std::fs::write(&codex, "#!/bin/sh\necho broken >&2\nexit 1\n").unwrap();
    std::fs::set_permissions(&codex, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut settings = fake.settings.clone();
    settings
        .environment
        .insert("PATH".into(), format!("{}:/usr/bin:/bin", fake.home.path().display()).into());
    let found = programs(&settings).await;
    assert_eq!(found.iter().map(|program| program.kind).collect::<Vec<_>>(), Kind::ALL);
    assert_eq!(found[0].version.as_deref(), Some("9.9.9"));
    assert_eq!(found[1].path.as_deref(), Some(codex.as_path()));
    assert!(found[1].problem.as_ref().unwrap().contains("broken"), "{found:?}");
    assert!(found[3].problem.as_ref().unwrap().contains("PARLOR_MODEL_URL"), "{found:?}");
    assert_eq!(found[4].problem, None);
}

#[tokio::test]
async fn a_codex_without_an_app_server_is_run_turn_by_turn() {
    let fake = Fake::new(
        Kind::Codex,
        r#"#!/bin/sh
case "$1" in
  app-server) echo "error: unrecognized subcommand" >&2; exit 2 ;;
  exec)
    prompt=$(cat)
    echo '{"type":"thread.started","thread_id":"thread-1"}'
    echo '{"type":"turn.started"}'
    printf '{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"heard %s; told %s"}}\n' "$prompt" "$*"
    case "$prompt" in
      wait*) sleep 300 ;;
    esac
    echo '{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}' ;;
esac
"#,
    );
    let mut talk = fake.start().await;
    talk.prompt("one").await.unwrap();
    talk.until("the end of the agent", |talk| talk.ended).await;
    assert_eq!(talk.exit(), (Some(0), None));
    assert!(talk.replies().contains("heard one; told exec --json"), "{}", talk.dump());
    assert!(talk.is_idle());
    assert_eq!(talk.session.as_deref(), Some("thread-1"));

    let again = Launch { resume: talk.session.clone(), ..launch(Kind::Codex, &fake.work()) };
    let mut talk = Talk::start(again, &fake.settings).await.unwrap();
    talk.prompt("wait").await.unwrap();
    talk.until("the reply", |talk| talk.replies().contains("heard wait; told exec")).await;
    assert!(talk.replies().contains("resume thread-1 -"), "{}", talk.dump());
    assert!(!talk.run.can_steer());
    let stop = talk.interrupt().await;
    assert_eq!((stop.left, stop.ended), (0, true), "{stop:?}");
    assert!(stop.needed > Force::Protocol, "{stop:?}");
    assert_eq!(marked(&talk.name).len(), 0);
    talk.until("the end of the agent", |talk| talk.ended).await;
    assert!(talk.is_idle());
}

#[tokio::test]
async fn a_sweep_ends_what_a_dead_parlor_left_behind() {
    let run = launch(Kind::Claude, std::path::Path::new("/")).run;
    let mut left = Command::new("sh")
        .args([
            "-c",
            "setsid sleep 300 & trap '' TERM; env -u PARLOR_RUN sleep 301 & while :; do sleep 1; done",
        ])
        .env("PARLOR_RUN", run.as_str())
        .stdin(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap();
    wait_until("its processes", || marked(&run).len() >= 3).await;
    let runs = [run.clone()];
    let ended = tokio::task::spawn_blocking(move || sweep(&runs)).await.unwrap();
    // The shell, both long sleeps, and at least one short one.
    assert!(ended >= 4, "{ended}");
    assert_eq!(marked(&run).len(), 0);
    // The sweep may have waited for it already.
    let _ = left.wait().await;
    assert_eq!(sweep(&[run]), 0);
}

#[tokio::test]
async fn the_demo_plays_stops_and_goes_on() {
    let fake = Fake::new(Kind::Demo, "");
    let demo = PathBuf::from(env!("CARGO_BIN_EXE_demo_agent"));
    let mut settings = fake.settings.clone();
    settings.programs = BTreeMap::from([(Kind::Demo, demo)]);
    settings.demo_speed = Some("50".into());
    let mut talk = Talk::start(launch(Kind::Demo, &fake.work()), &settings).await.unwrap();
    talk.turn("Show me").await;
    assert!(talk.replies().contains("| text |") && talk.replies().contains("```python"), "{}", talk.dump());
    let names: Vec<&str> = talk.tools().iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["TodoWrite", "Read", "Read", "Bash", "Edit", "Edit", "Bash", "TodoWrite"]);
    let unknown = talk.entries().iter().filter(|entry| matches!(entry.block, Block::Unknown(_))).count();
    assert_eq!(unknown, 0, "{}", talk.dump());
    talk.turn("And <b>this</b>?").await;
    assert!(talk.replies().contains("> And <b>this</b>?"), "{}", talk.dump());
    talk.end().await;
    assert_eq!(talk.exit(), (Some(0), None));

    settings.demo_speed = None;
    for _ in 0..TRIES {
        let mut talk = Talk::start(launch(Kind::Demo, &fake.work()), &settings).await.unwrap();
        talk.prompt("Show me").await.unwrap();
        talk.until("words", |talk| talk.replies().contains("Welcome")).await;
        let stop = talk.interrupt().await;
        assert!(talk.is_idle(), "{}", talk.dump());
        let is_cut = |block: &Block| matches!(block, Block::Reply(reply) if reply.interrupted);
        assert!(talk.entries().iter().any(|entry| is_cut(&entry.block)), "{}", talk.dump());
        talk.end().await;
        if !stop.ended {
            assert_eq!((stop.needed, stop.left), (Force::Protocol, 0), "{stop:?}");
            return;
        }
    }
    panic!("the demo was ended {TRIES} times");
}

#[tokio::test]
async fn the_last_words_of_a_run_are_its_end() {
    let fake = Fake::claude(POLITE);
    let (run, mut said) = Run::start(launch(fake.kind, &fake.work()), &fake.settings).await.unwrap();
    run.end().await;
    let mut all = Vec::new();
    while let Some(said) = said.recv().await {
        all.push(said);
    }
    assert!(matches!(all.first(), Some(Said::Seen(Seen::Started { .. }))), "{all:?}");
    let last = &all[all.len() - 2..];
    assert!(matches!(last, [Said::Seen(Seen::Exited { .. }), Said::Ended]), "{all:?}");
}
