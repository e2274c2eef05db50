//! A real house in a home of its own, and a guest who talks to it over the real socket.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use parlor_hub::View;
use parlor_model::block::{Author, Block, Prompt};
use parlor_model::entry::Entry;
use parlor_model::record::{Origin, Record};
use parlor_model::time::Time;
use parlor_model::tool::Tool;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::stream::MaybeTlsStream;
use tokio_tungstenite::tungstenite::{self, Message, WebSocket};

use super::Home;

/// Nothing here takes this long; a machine may be busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A house that runs.
pub(crate) struct House {
    child: Child,
    pub(crate) url: String,
    pub(crate) token: String,
    pub(crate) link: String,
}

impl House {
    /// Opens the house of a home.
    pub(crate) fn open(home: &Home) -> House {
        House::open_with(home, &[])
    }

    /// Opens it with more variables in its environment.
    pub(crate) fn open_with(home: &Home, environment: &[(&str, &str)]) -> House {
        let mut command = home.command(&["serve", "--json", "--port", "0"]);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("PARLOR_DEMO_SPEED", "50").envs(environment.iter().copied());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        let ready: Value = serde_json::from_str(&ready).unwrap_or_else(|_| panic!("not ready: {ready:?}"));
        let text = |key: &str| ready[key].as_str().unwrap().to_owned();
        House { child, url: text("url"), token: text("token"), link: text("link") }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// A guest with the full token.
    pub(crate) fn guest(&self) -> Guest {
        Guest::of(&self.url, &self.token)
    }

    /// What each of its threads does at this moment, for a test that waits in vain.
    pub(crate) fn threads(&self) -> String {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).into_iter().flatten();
        let thread = |task: std::fs::DirEntry| {
            let read = |name| std::fs::read_to_string(task.path().join(name)).unwrap_or_default();
            let state =
                read("status").lines().find_map(|line| line.strip_prefix("State:\t").map(str::to_owned));
            let (state, call) = (state.unwrap_or_default(), read("syscall"));
            format!("{} {state} in {}, system call {}", read("comm").trim(), read("wchan"), call.trim())
        };
        tasks.flatten().map(thread).collect::<Vec<_>>().join("\n")
    }

    /// Ends the house without a word.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks the house to close; says its exit code.
    pub(crate) fn close(mut self) -> i32 {
        signal(self.child.id(), "TERM");
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code().unwrap_or(-1);
            }
            assert!(Instant::now() < end, "the house did not close");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for House {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until something holds that no socket tells.
pub(crate) fn wait_until(what: &str, holds: impl Fn() -> bool) {
    wait(what, PATIENCE, holds);
}

/// The same for what takes its time.
pub(crate) fn wait_long(what: &str, holds: impl Fn() -> bool) {
    wait(what, PATIENCE * 10, holds);
}

fn wait(what: &str, patience: Duration, holds: impl Fn() -> bool) {
    let end = Instant::now() + patience;
    while !holds() {
        assert!(Instant::now() < end, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Sends a signal to a process that this test started.
pub(crate) fn signal(pid: u32, name: &str) {
    std::process::Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status().unwrap();
}

/// Someone who talks to a house.
pub(crate) struct Guest {
    socket: WebSocket<MaybeTlsStream<TcpStream>>,
    refs: u64,
    early: VecDeque<Value>,
    pub(crate) hello: Value,
}

impl Guest {
    pub(crate) fn of(url: &str, token: &str) -> Guest {
        let mut request = format!("{}/ws", url.replacen("http", "ws", 1)).into_client_request().unwrap();
        request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        let (socket, _) = tungstenite::connect(request).unwrap();
        if let MaybeTlsStream::Plain(stream) = socket.get_ref() {
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
        }
        let mut guest = Guest { socket, refs: 0, early: VecDeque::new(), hello: Value::Null };
        guest.hello = guest.next();
        guest
    }

    pub(crate) fn send(&mut self, mut frame: Value) -> u64 {
        self.refs += 1;
        frame["ref"] = self.refs.into();
        self.socket.send(Message::text(frame.to_string())).unwrap();
        self.refs
    }

    /// The next frame.
    pub(crate) fn next(&mut self) -> Value {
        self.next_until(Instant::now() + PATIENCE).unwrap_or_else(|| panic!("nothing was told"))
    }

    /// The next frame; `None` when there is none until then.
    pub(crate) fn next_until(&mut self, end: Instant) -> Option<Value> {
        self.early.pop_front().or_else(|| self.read(end))
    }

    fn read(&mut self, end: Instant) -> Option<Value> {
        // The house keeps the socket alive, so that reading alone would wait for ever.
        while Instant::now() < end {
            match self.socket.read().unwrap() {
                Message::Text(text) => return serde_json::from_str(&text).unwrap(),
                Message::Close(frame) => panic!("closed: {frame:?}"),
                _ => {}
            }
        }
        None
    }

    /// Asks, and gives the answer; what comes before it waits.
    pub(crate) fn ask(&mut self, frame: Value) -> Value {
        let number = self.send(frame);
        loop {
            let frame = self.read(Instant::now() + PATIENCE).unwrap_or_else(|| panic!("no answer"));
            if frame["ref"] == json!(number) {
                return frame;
            }
            self.early.push_back(frame);
        }
    }

    /// Makes a session with an agent.
    pub(crate) fn create(&mut self, agent: &str, cwd: &str) -> String {
        let answer = self.ask(json!({"type": "create", "agent": agent, "cwd": cwd, "mode": "allow_all"}));
        answer["session"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// Gives an order; says the answer.
    pub(crate) fn order(&mut self, session: &str, id: &str, mut order: Value) -> Value {
        order["id"] = id.into();
        self.ask(json!({"type": "order", "session": session, "order": order}))
    }

    pub(crate) fn prompt(&mut self, session: &str, id: &str, text: &str) {
        let answer = self.order(session, id, json!({"order": "prompt", "text": text}));
        assert_eq!(answer["type"], "ordered", "{answer}");
    }

    /// Follows a session by its records, as another house would.
    pub(crate) fn follow(mut self, session: &str) -> Follower {
        let answer = self.ask(json!({"type": "subscribe", "session": session, "profile": "records"}));
        assert_eq!(answer["type"], "subscribed", "{answer}");
        Follower { guest: self, session: session.to_owned(), view: View::new("records".into(), None) }
    }
}

/// Someone who follows a session.
pub(crate) struct Follower {
    pub(crate) guest: Guest,
    pub(crate) session: String,
    pub(crate) view: View,
}

impl Follower {
    /// Waits until something holds.
    pub(crate) fn until(&mut self, what: &str, holds: impl Fn(&View) -> bool) {
        self.until_end(what, Instant::now() + PATIENCE, holds);
    }

    fn until_end(&mut self, what: &str, end: Instant, holds: impl Fn(&View) -> bool) {
        while !holds(&self.view) {
            match self.guest.next_until(end) {
                Some(frame) => self.take(&frame),
                None => panic!("waited in vain for {what}; {}", self.story()),
            }
        }
    }

    fn take(&mut self, frame: &Value) {
        for message in frame["messages"].as_array().into_iter().flatten() {
            let record = record(message);
            assert_eq!(record.seq, self.view.end(), "a record is missing or doubled");
            self.view.push(record);
        }
    }

    pub(crate) fn order(&mut self, id: &str, order: Value) -> Value {
        let session = self.session.clone();
        self.guest.order(&session, id, order)
    }

    pub(crate) fn prompt(&mut self, id: &str, text: &str) {
        let session = self.session.clone();
        self.guest.prompt(&session, id, text);
    }

    /// Waits until a prompt is in the conversation and the agent is at rest.
    pub(crate) fn rest(&mut self, prompt: &str) {
        self.until(&format!("the end of {prompt}"), |view| view.entry(prompt).is_some() && view.is_idle());
    }

    /// The same for a turn that takes its time.
    pub(crate) fn rest_long(&mut self, prompt: &str) {
        let end = Instant::now() + PATIENCE * 3;
        self.until_end(prompt, end, |view| view.entry(prompt).is_some() && view.is_idle());
    }

    /// Says a prompt and waits for the end of its turn; gives the story from that prompt on.
    pub(crate) fn turn(&mut self, id: &str, text: &str) -> String {
        self.prompt(id, text);
        self.rest(id);
        self.story_since(text)
    }

    /// The story from a prompt on.
    pub(crate) fn story_since(&self, text: &str) -> String {
        let story = self.story();
        story[story.rfind(&format!("prompt: {text}")).unwrap()..].to_owned()
    }

    /// Stops the agent and waits until nothing of the turn is left.
    pub(crate) fn stop(&mut self, id: &str) {
        assert_eq!(self.order(id, json!({"order": "interrupt"}))["type"], "ordered");
        let marker = format!("\"order\":\"{id}\"");
        self.until("the stop", |view| {
            let stopped = |record: &Record| {
                let body = String::from_utf8_lossy(&record.body);
                body.starts_with("{\"host\":\"stopped\"")
                    && body.contains(&marker)
                    && body.contains("\"left\":0")
            };
            view.is_idle() && view.records().iter().rev().take(400).any(stopped)
        });
    }

    /// The tool call that was made last.
    pub(crate) fn last_tool(&self) -> &Tool {
        let tool = |entry: &'_ Entry| matches!(entry.block, Block::Tool(_));
        match self.view.entries().iter().rfind(|entry| tool(entry)).map(|entry| &entry.block) {
            Some(Block::Tool(tool)) => tool,
            _ => panic!("no call: {}", self.story()),
        }
    }

    /// The conversation in one line an entry, for assertions and for a test that fails.
    pub(crate) fn story(&self) -> String {
        story(&self.view)
    }
}

/// A conversation in one line an entry.
pub(crate) fn story(view: &View) -> String {
    let one = |block: &Block| match block {
        Block::Prompt(Prompt { text, author: Author::Peer { name }, .. }) => format!("from {name}: {text}"),
        Block::Prompt(prompt) => format!("prompt: {}", prompt.text),
        Block::Reply(reply) if reply.interrupted => format!("reply, cut: {}", reply.text),
        Block::Reply(reply) => format!("reply: {}", reply.text),
        Block::Thought(thought) if thought.interrupted => "thought, cut".to_owned(),
        Block::Thought(_) => "thought".to_owned(),
        Block::Tool(tool) => format!("{} {:?}", tool.name, tool.state),
        Block::Notice(notice) => format!("notice {:?}: {}", notice.kind, notice.text),
        Block::Unknown(unknown) => format!("unknown {}", unknown.kind),
    };
    let line = |entry: &Entry| match &entry.parent {
        Some(_) => format!("  {}", one(&entry.block)),
        None => one(&entry.block),
    };
    view.entries().iter().map(line).collect::<Vec<_>>().join("\n")
}

fn record(message: &Value) -> Record {
    let origin = match message["origin"].as_str() {
        Some("agent") => Origin::Agent,
        Some("stderr") => Origin::Stderr,
        Some("user") => Origin::User,
        Some("host") => Origin::Host,
        other => panic!("{other:?}"),
    };
    let body = match message["body"].as_str() {
        Some(text) => text.to_owned().into(),
        None => {
            message["latin1"].as_str().unwrap().chars().map(|c| c as u32 as u8).collect::<Vec<u8>>().into()
        }
    };
    Record { seq: message["seq"].as_u64().unwrap(), at: message["at_us"].as_i64().map(Time), origin, body }
}

/// An agent that speaks Claude's stream and does what the prompt says: `say X`, `work` until it is stopped or told `go` by
/// a file, `spend N` (the same after N tokens), `ask`, `die`, `stubborn` (ignores every request and signal).
pub(crate) fn puppet(home: &Home) -> String {
    let path = home.write(
        "puppet.sh",
        PUPPET.replace("parlor=PARLOR", &format!("parlor={}", env!("CARGO_BIN_EXE_parlor"))),
    );
    let mut permissions = std::fs::metadata(&path).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
    std::fs::set_permissions(&path, permissions).unwrap();
    path.to_string_lossy().into_owned()
}

const PUPPET: &str = r#"#!/usr/bin/env bash
# The test's agent. One message a turn, so that ids stay unique over restarts: they hold the process's own.
[ "$1" = "--version" ] && { echo "9.9.9 (Claude Code)"; exit 0; }
turn=0
parlor=PARLOR
# Where the house's tools are; the token is in the environment, as for the real one.
for argument in "$@"; do
  case "$argument" in --mcp-config=*) PARLOR_MCP_URL=$(sed -n 's/.*"url":"\([^"]*\)".*/\1/p' <<<"$argument"); export PARLOR_MCP_URL ;; esac
done
printf '%s %s\n' "$PARLOR_MCP_URL" "$PARLOR_MCP_TOKEN" > "$PWD/token"
result() { printf '{"type":"result","subtype":"%s","is_error":%s,"result":"","session_id":"puppet","terminal_reason":"%s"}\n' "$1" "$2" "$3"; }
say() { printf '{"type":"assistant","message":{"id":"m-%s-%s","role":"assistant","content":[{"type":"text","text":"%s"}]},"session_id":"puppet","parent_tool_use_id":null}\n' "$$" "$turn" "$1"; }
interrupted() {
  printf '{"type":"control_response","response":{"subtype":"success","request_id":"%s"}}\n' "$1"
  printf '{"type":"user","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user]"}]},"session_id":"puppet","parent_tool_use_id":null}\n'
  result error_during_execution true aborted_streaming
}
id_of() { sed -n 's/.*"request_id":"\([^"]*\)".*/\1/p' <<<"$1"; }
while IFS= read -r line; do
  case "$line" in
    *'"type":"user"'*) ;;
    *'"subtype":"interrupt"'*) printf '{"type":"control_response","response":{"subtype":"success","request_id":"%s"}}\n' "$(id_of "$line")"; continue ;;
    *) continue ;;
  esac
  turn=$((turn + 1))
  printf '{"type":"system","subtype":"init","session_id":"puppet","model":"puppet-1","cwd":"%s"}\n' "$PWD"
  words=$(sed -n 's/.*"text":"\(<teammate-message[^>]*>\\n\)\{0,1\}\([^"]*\)".*/\2/p' <<<"${line//\\\"/}")
  words=${words%%\\n*}
  case "$words" in
    say*) say "${words#say }"; result success false completed ;;
    die*) say "dying"; exit 7 ;;
    garbage*) printf 'not json at all\n\001\002 \377\n{"type":"brand_new_record","x":1}\n'; say "after garbage"; result success false completed ;;
    stubborn*) trap '' INT TERM; say "try me"; sleep 1000 & child=$!; while :; do wait "$child"; done ;;
    work*|spend*)
      if [ "${words%% *}" = spend ]; then
        printf '{"type":"assistant","message":{"id":"u-%s-%s","role":"assistant","content":[{"type":"text","text":"spending"}],"usage":{"input_tokens":10,"output_tokens":%s}},"session_id":"puppet","parent_tool_use_id":null}\n' "$$" "$turn" "${words#spend }"
      fi
      say "working"
      sleep 1000 & child=$!
      while :; do
        if IFS= read -r -t 0.05 more; then
          case "$more" in
            *'"subtype":"interrupt"'*) kill "$child"; interrupted "$(id_of "$more")"; break ;;
          esac
        elif [ $? -le 128 ]; then
          # Nobody writes any more: the house is gone.
          kill "$child"; exit 0
        fi
        if [ -e "$PWD/go" ]; then rm -f "$PWD/go"; kill "$child"; say "gone"; result success false completed; break; fi
      done ;;
    tell*)
      read -r _ to wait message <<<"$words"
      call="call-$$-$turn"
      input=$(printf '{"to":"%s","message":"%s","wait":%s}' "$to" "$message" "$wait")
      printf '{"type":"assistant","message":{"id":"c-%s-%s","role":"assistant","content":[{"type":"tool_use","id":"%s","name":"mcp__parlor__agents_message","input":%s}]},"session_id":"puppet","parent_tool_use_id":null}\n' "$$" "$turn" "$call" "$input"
      answer=$(mktemp "$PWD/answer.XXXXXX")
      printf '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"agents_message","arguments":%s,"_meta":{"claudecode/toolUseId":"%s"}}}\n' "$input" "$call" | "$parlor" mcp > "$answer" 2>&1 & child=$!
      while kill -0 "$child" 2>/dev/null; do
        if IFS= read -r -t 0.05 more; then
          case "$more" in
            *'"subtype":"interrupt"'*) kill "$child"; interrupted "$(id_of "$more")"; continue 2 ;;
          esac
        fi
      done
      text=$(sed -n 's/.*"text":"\(.*\)"}].*/\1/p' "$answer" | head -1)
      failed=$(grep -q '"isError":true' "$answer" && echo true || echo false)
      printf '{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"%s","is_error":%s,"content":[{"type":"text","text":"%s"}]}]},"session_id":"puppet","parent_tool_use_id":null}\n' "$call" "$failed" "$text"
      say "told: $text"
      result success false completed ;;
    use*)
      printf '{"type":"assistant","message":{"id":"c-%s-%s","role":"assistant","content":[{"type":"tool_use","id":"tool-%s-%s","name":"Bash","input":{"command":"true"}}]},"session_id":"puppet","parent_tool_use_id":null}\n' "$$" "$turn" "$$" "$turn"
      printf '{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"tool-%s-%s","content":"used"}]},"session_id":"puppet","parent_tool_use_id":null}\n' "$$" "$turn"
      say "used it"
      result success false completed ;;
    *) say "what"; result success false completed ;;
  esac
done
"#;
