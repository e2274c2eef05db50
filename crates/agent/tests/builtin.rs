//! The built-in agent against a scripted model on loopback. What it says is folded as the log folds it, so that what is
//! asserted is what a person sees; and every request it sends is checked to be one that servers take.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on must fail")]

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use parlor_agent::builtin::{Builtin, Endpoint};
use parlor_agent::{Kind, Launch, Said, Stop};
use parlor_dialect::House;
use parlor_model::Key;
use parlor_model::block::{Block, NoticeKind, Reply};
use parlor_model::entry::Entry;
use parlor_model::order::{Answer, Choice, Mode, Order, Ordered};
use parlor_model::record::{Origin, Record};
use parlor_model::seen::{Ended, Force, Seen, TurnEnd};
use parlor_model::session::Phase;
use parlor_model::tool::{Tool, ToolState};
use parlor_transcript::Transcript;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc};

/// Nothing here takes long; only a broken agent gets so far.
const DEADLINE: Duration = Duration::from_secs(60);

/// What the model's server does with a request.
enum Act {
    /// Sends these lines and closes the connection.
    Stream(Vec<String>),
    /// Sends these lines and then nothing, until the client goes away.
    Hang(Vec<String>),
    /// Answers with a status, headers and a body.
    Status(u16, &'static str, String),
}

#[derive(Clone)]
struct Model {
    url: String,
    requests: Arc<Mutex<Vec<Value>>>,
    keys: Arc<Mutex<Vec<String>>>,
    gone: Arc<Notify>,
}

impl Model {
    async fn start(acts: Vec<Act>) -> Model {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let model = Model { url, requests: Arc::default(), keys: Arc::default(), gone: Arc::default() };
        let acts = Arc::new(Mutex::new(VecDeque::from(acts)));
        let server = model.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(server.clone().serve(stream, acts.clone()));
            }
        });
        model
    }

    async fn serve(self, mut stream: TcpStream, acts: Arc<Mutex<VecDeque<Act>>>) {
        let Some((head, body)) = read_request(&mut stream).await else { return };
        assert!(head.starts_with("POST /v1/chat/completions "), "{head}");
        let key =
            head.lines().find_map(|line| line.strip_prefix("authorization: Bearer ")).unwrap_or_default();
        self.keys.lock().unwrap().push(key.to_owned());
        self.requests.lock().unwrap().push(serde_json::from_slice(&body).unwrap());
        let act = acts.lock().unwrap().pop_front();
        let act = act.unwrap_or_else(|| Act::Status(418, "", "the script is over".to_owned()));
        let events = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        let written = match &act {
            Act::Stream(lines) | Act::Hang(lines) => format!("{events}{}", lines.join("\n\n") + "\n\n"),
            Act::Status(status, headers, body) => {
                let length = body.len();
                format!(
                    "HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
                )
            }
        };
        // A client that has gone away meanwhile is none of the server's business.
        let _ = stream.write_all(written.as_bytes()).await;
        if let Act::Hang(_) = act {
            // A read ends when the client goes away.
            let _ = stream.read(&mut [0; 16]).await;
            self.gone.notify_one();
        }
    }

    fn requests(&self) -> Vec<Value> {
        self.requests.lock().unwrap().clone()
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|part| part == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let length = head.lines().find_map(|line| {
                line.to_lowercase()
                    .strip_prefix("content-length: ")
                    .and_then(|length| length.parse::<usize>().ok())
            });
            if bytes.len() >= end + 4 + length.unwrap_or(0) {
                return Some((head, bytes.split_off(end + 4)));
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

/// A chunk of an answer.
fn chunk(id: &str, delta: Value, finish: Value) -> String {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
    let mut chunk = json!({"object": "chat.completion.chunk", "model": "test-model", "choices": [choice]});
    if !id.is_empty() {
        chunk["id"] = json!(id);
    }
    format!("data: {chunk}")
}

/// A whole answer of words.
fn words(id: &str, text: &str) -> Act {
    Act::Stream(vec![
        chunk(id, json!({"role": "assistant", "content": ""}), Value::Null),
        chunk(id, json!({"content": text}), Value::Null),
        chunk(id, json!({}), json!("stop")),
        "data: [DONE]".to_owned(),
    ])
}

/// A whole answer of calls: id, name, arguments.
fn calls(id: &str, calls: &[(&str, &str, Value)]) -> Act {
    let mut lines = Vec::new();
    for (index, (call, name, arguments)) in calls.iter().enumerate() {
        let arguments = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
        let (first, second) = arguments.split_at(arguments.floor_char_boundary(arguments.len() / 2));
        let part = |fields: Value| json!({"tool_calls": [fields]});
        let begin = json!({"index": index, "id": call, "type": "function", "function": {"name": name, "arguments": first}});
        lines.push(chunk(id, part(begin), Value::Null));
        lines.push(chunk(id, part(json!({"index": index, "function": {"arguments": second}})), Value::Null));
    }
    lines.push(chunk(id, json!({}), json!("tool_calls")));
    lines.push("data: [DONE]".to_owned());
    Act::Stream(lines)
}

fn bash(id: &str, call: &str, command: &str) -> Act {
    calls(id, &[(call, "Bash", json!({"command": command}))])
}

/// The agent with the log and the page behind it.
struct Seat {
    agent: Builtin,
    heard: mpsc::Receiver<Said>,
    house: House,
    transcript: Transcript,
    records: Vec<Record>,
    said: Vec<Said>,
    prompts: usize,
    model: Model,
    folder: tempfile::TempDir,
    run: Key,
}

fn launch(folder: &Path, run: &Key, mode: Mode) -> Launch {
    Launch {
        kind: Kind::Builtin,
        run: run.clone(),
        cwd: folder.to_owned(),
        model: None,
        mode,
        resume: None,
        history: Vec::new(),
        mcp: None,
        permits: Default::default(),
        servers: None,
    }
}

/// A name that no other test and no other process has.
fn run_name(folder: &Path) -> Key {
    format!("run-{}-{}", std::process::id(), folder.file_name().unwrap().to_string_lossy()).into()
}

impl Seat {
    async fn new(mode: Mode, acts: Vec<Act>) -> Seat {
        Seat::with(mode, acts, |_, _| {}).await
    }

    async fn with(mode: Mode, acts: Vec<Act>, change: impl FnOnce(&mut Launch, &mut Endpoint)) -> Seat {
        let folder = tempfile::tempdir().unwrap();
        let run = run_name(folder.path());
        let model = Model::start(acts).await;
        let mut endpoint = Endpoint::new(model.url.clone(), "test-model");
        let mut launch = launch(folder.path(), &run, mode);
        change(&mut launch, &mut endpoint);
        let (said, heard) = mpsc::channel(64);
        let agent = Builtin::start(launch, endpoint, said);
        Seat {
            agent,
            heard,
            house: House::new(None),
            transcript: Transcript::default(),
            records: Vec::new(),
            said: Vec::new(),
            prompts: 0,
            model,
            folder,
            run,
        }
    }

    fn log(&mut self, origin: Origin, body: impl Into<Bytes>) {
        let seq = self.records.len() as u64;
        let record = Record { seq, at: None, origin, body: body.into() };
        fold(&mut self.house, &mut self.transcript, &record);
        self.records.push(record);
    }

    fn order(&mut self, order: Order) {
        let ordered = Ordered { id: format!("order-{}", self.records.len()).into(), by: None, order };
        self.log(Origin::User, serde_json::to_vec(&ordered).unwrap());
    }

    fn deliver(&mut self, text: &str, steer: bool) {
        self.order(Order::Prompt { text: text.to_owned(), files: Vec::new(), steer });
        let prompt = format!("order-{}", self.records.len() - 1).into();
        self.log(Origin::Host, serde_json::to_vec(&Seen::Delivered { prompt, steered: steer }).unwrap());
    }

    async fn prompt(&mut self, text: &str) {
        self.deliver(text, false);
        self.prompts += 1;
        self.agent.prompt(text, &[]).await;
    }

    async fn answer(&mut self, ask: &str, choice: Choice, reason: Option<&str>) {
        let answer = Answer { choice, reason: reason.map(str::to_owned), answers: Vec::new() };
        self.order(Order::Answer { ask: ask.into(), answer: answer.clone() });
        assert!(self.agent.answer(ask, &answer).await, "somebody waits for the answer to {ask}");
    }

    /// Takes the next thing that the agent says.
    async fn next(&mut self) -> Option<Said> {
        let said = tokio::time::timeout(DEADLINE, self.heard.recv()).await;
        let said =
            said.unwrap_or_else(|_| panic!("the agent says nothing more after {:#?}", self.said.last()))?;
        match &said {
            Said::Line(line) => self.log(Origin::Agent, line.clone()),
            Said::Seen(seen) => self.log(Origin::Host, serde_json::to_vec(seen).unwrap()),
            Said::Stderr(_) | Said::Session(_) | Said::Ended => {}
        }
        self.said.push(said.clone());
        Some(said)
    }

    /// Listens until something is said.
    async fn until(&mut self, wanted: impl Fn(&Said) -> bool) -> Said {
        loop {
            let said = self.next().await.expect("the agent is at work");
            if wanted(&said) {
                return said;
            }
        }
    }

    /// Listens until the turn is over.
    async fn turn(&mut self) -> (TurnEnd, Option<String>) {
        let ended = self.until(|said| matches!(said, Said::Seen(Seen::TurnEnded { .. }))).await;
        let Said::Seen(Seen::TurnEnded { end, error }) = ended else { unreachable!() };
        (end, error)
    }

    async fn say(&mut self, text: &str) -> (TurnEnd, Option<String>) {
        self.prompt(text).await;
        self.turn().await
    }

    /// The id of the next ask.
    async fn asked(&mut self) -> (Key, String) {
        let asked = self.until(|said| matches!(said, Said::Seen(Seen::Asked { .. }))).await;
        let Said::Seen(Seen::Asked { ask, reason, .. }) = asked else { unreachable!() };
        (ask, reason.unwrap_or_default())
    }

    /// Stops the agent while somebody listens, as in the house.
    async fn interrupt(&mut self) -> Stop {
        let agent = self.agent.clone();
        let stop = tokio::spawn(async move { agent.interrupt().await });
        assert_eq!(self.turn().await.0, TurnEnd::Interrupted);
        tokio::time::timeout(DEADLINE, stop).await.unwrap().unwrap()
    }

    fn tool(&self, id: &str) -> Tool {
        match self.transcript.entry(id).map(|entry| &entry.block) {
            Some(Block::Tool(tool)) => (**tool).clone(),
            other => panic!("{id} is {other:?} in {:#?}", self.page()),
        }
    }

    fn output(&self, id: &str) -> String {
        self.tool(id).output.unwrap().joined()
    }

    /// Everything on the page, one line each; what was taken back has a `~` before it.
    fn page(&self) -> Vec<String> {
        page(self.transcript.entries())
    }

    /// Ends the agent and checks what must hold whatever happened.
    async fn finish(mut self) -> Vec<Entry> {
        let agent = self.agent.clone();
        let end = tokio::spawn(async move { agent.end().await });
        self.until(|said| matches!(said, Said::Ended)).await;
        let stop = tokio::time::timeout(DEADLINE, end).await.unwrap().unwrap();
        assert!(stop.ended && stop.left == 0, "{stop:?}");
        assert_eq!(marked(&self.run), Vec::<String>::new(), "no process of the run is left");
        self.check_results();
        let ends = self.said.iter().filter(|said| matches!(said, Said::Seen(Seen::TurnEnded { .. }))).count();
        assert_eq!(ends, self.prompts, "each turn ends once");
        assert!(
            matches!(&self.said[0], Said::Seen(Seen::Started { format, pid: None, .. }) if format == "openai-chat")
        );
        self.model.requests().iter().for_each(check_request);
        let session = self.transcript.session();
        assert_eq!((session.phase.clone(), session.counts.unknown), (Phase::Idle, 0), "{:#?}", self.page());
        let (mut house, mut transcript) = (House::new(None), Transcript::default());
        self.records.iter().for_each(|record| fold(&mut house, &mut transcript, record));
        assert_eq!(transcript.entries(), self.transcript.entries(), "read again, the log says the same");
        transcript.into_parts().1
    }

    /// Every call has exactly one result, and it is found where the page shows the call.
    fn check_results(&self) {
        let mut results: BTreeMap<&str, usize> = BTreeMap::new();
        for said in &self.said {
            if let Said::Seen(Seen::Result { call, .. }) = said {
                *results.entry(call).or_default() += 1;
            }
        }
        for entry in self.transcript.entries() {
            if let Block::Tool(tool) = &entry.block {
                assert!(tool.state.is_final() && !tool.orphan && tool.ask.is_none(), "{entry:?}");
                assert_eq!(results.remove(entry.id.as_str()), Some(1), "{}", entry.id);
            }
        }
        assert!(results.is_empty(), "results of calls that nobody sees: {results:?}");
    }
}

fn fold(house: &mut House, transcript: &mut Transcript, record: &Record) {
    let mut events = Vec::new();
    let (line, reading) = house.read(record, &mut events);
    transcript.fold(record.seq, &line, &reading, events);
}

fn page(entries: &[Entry]) -> Vec<String> {
    let line = |entry: &Entry| {
        let words = match &entry.block {
            Block::Prompt(prompt) => format!("prompt {}", prompt.text.as_str()),
            Block::Reply(Reply { text, interrupted, .. }) => {
                format!("reply {}{}", text.as_str(), if *interrupted { " (interrupted)" } else { "" })
            }
            Block::Thought(thought) => format!("thought {}", thought.text.as_str()),
            Block::Tool(tool) => format!("tool {} {} {:?}", entry.id, tool.name, tool.state),
            Block::Notice(notice) => {
                let kind = match &notice.kind {
                    NoticeKind::Error => "error",
                    NoticeKind::Retry => "retry",
                    NoticeKind::Warning => "warning",
                    NoticeKind::Interrupted => "stop",
                    NoticeKind::Compaction { .. } => "compaction",
                    _ => "notice",
                };
                format!("{kind} {}", notice.text.as_str())
            }
            Block::Unknown(unknown) => format!("unknown {}", unknown.kind),
        };
        format!("{}{words}", if entry.overtaken { "~" } else { "" })
    };
    entries.iter().map(line).collect()
}

/// A request is valid when the system speaks first, and each call is followed by its result before anybody speaks.
fn check_request(request: &Value) {
    let messages = request["messages"].as_array().unwrap();
    assert_eq!(messages[0]["role"], "system");
    let mut open: Vec<String> = Vec::new();
    let mut last = "system";
    for message in &messages[1..] {
        let role = message["role"].as_str().unwrap();
        match role {
            "tool" => {
                let id = message["tool_call_id"].as_str().unwrap();
                let index = open.iter().position(|call| call == id);
                open.remove(index.unwrap_or_else(|| panic!("a result of no call: {message} in {request:#}")));
                assert!(message["content"].is_string());
            }
            _ => assert!(open.is_empty(), "calls {open:?} have no result before {message} in {request:#}"),
        }
        for call in message["tool_calls"].as_array().unwrap_or(&Vec::new()) {
            open.push(call["id"].as_str().unwrap().to_owned());
            let arguments = call["function"]["arguments"].as_str().unwrap();
            assert!(serde_json::from_str::<Value>(arguments).unwrap().is_object());
        }
        assert!(role != "user" || last != "user", "the roles alternate: {request:#}");
        last = role;
    }
    assert!(open.is_empty(), "calls {open:?} have no result in {request:#}");
}

/// The processes that carry a run's mark.
fn marked(run: &Key) -> Vec<String> {
    let mark = format!("PARLOR_RUN={run}");
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let has_mark = |path: &Path| {
        let environment = std::fs::read(path.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    };
    let alive = entries.filter(|entry| has_mark(&entry.path()));
    alive.map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default()).collect()
}

/// The processes whose command line is these words.
fn running(words: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).ok());
    lines.map(|line| line.replace('\0', " ")).filter(|line| line.trim_end() == words).collect()
}

/// A command that takes long and that no other test and no other process runs.
fn nap(name: u32) -> String {
    format!("sleep {name}.{}", std::process::id())
}

/// Waits until something holds, by looking again and again.
async fn eventually(what: &str, holds: impl Fn() -> bool) {
    let start = tokio::time::Instant::now();
    while !holds() {
        assert!(start.elapsed() < DEADLINE, "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn words_and_thoughts_stream_in_and_the_request_is_as_servers_want_it() {
    let lines = vec![
        ": heartbeat".to_owned(),
        chunk("a", json!({"reasoning_content": "Let me "}), Value::Null),
        chunk("a", json!({"reasoning_content": "see."}), Value::Null),
        chunk("a", json!({"content": "Hel"}), Value::Null),
        chunk("a", json!({"content": "lo"}), json!("stop")),
        r#"data: {"id":"a","choices":[],"usage":{"prompt_tokens":90,"completion_tokens":10}}"#.to_owned(),
        "data: [DONE]".to_owned(),
    ];
    let acts = vec![Act::Stream(lines.clone()), words("b", "Again")];
    let mut seat = Seat::with(Mode::Ask, acts, |_, endpoint| endpoint.key = Some("test-key".into())).await;
    assert_eq!(seat.say("hi").await, (TurnEnd::Done, None));
    assert_eq!(seat.page(), ["prompt hi", "thought Let me see.", "reply Hello"]);
    let heard: Vec<String> = seat
        .said
        .iter()
        .filter_map(|said| match said {
            Said::Line(line) => Some(String::from_utf8(line.to_vec()).unwrap()),
            _ => None,
        })
        .collect();
    assert_eq!(heard, lines[1..], "the lines are passed on as they came");
    assert_eq!(seat.transcript.session().usage.total(), 100);
    seat.say("more").await;
    let requests = seat.model.requests();
    assert_eq!(requests[0]["model"], "test-model");
    assert_eq!(
        (&requests[0]["stream"], &requests[0]["stream_options"]["include_usage"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(requests[0]["tools"].as_array().unwrap().len(), 8);
    assert_eq!(requests[1]["messages"][2], json!({"role": "assistant", "content": "Hello"}));
    assert_eq!(requests[1]["messages"][3], json!({"role": "user", "content": "more"}));
    assert_eq!(*seat.model.keys.lock().unwrap(), ["test-key", "test-key"]);
    seat.finish().await;
}

#[tokio::test]
async fn calls_that_look_run_side_by_side_and_their_results_go_back() {
    let acts = vec![
        calls(
            "a",
            &[
                ("c1", "Read", json!({"file_path": "a.txt"})),
                ("c2", "Grep", json!({"pattern": "two"})),
                ("c3", "Glob", json!({"pattern": "*.txt"})),
                ("c4", "TodoWrite", json!({"todos": [{"content": "x", "status": "in_progress"}]})),
                ("c5", "Read", json!({"file_path": "none"})),
            ],
        ),
        words("b", "Seen."),
    ];
    let mut seat = Seat::new(Mode::Ask, acts).await;
    std::fs::write(seat.folder.path().join("a.txt"), "one\ntwo\n").unwrap();
    assert_eq!(seat.say("look").await, (TurnEnd::Done, None));
    assert_eq!(seat.output("c1"), "     1\tone\n     2\ttwo\n");
    assert_eq!((seat.output("c2"), seat.output("c3")), ("a.txt\n".into(), "a.txt".into()));
    assert!(seat.output("c4").contains("1 in progress"));
    assert_eq!(seat.tool("c5").state, ToolState::Failed);
    assert!(seat.output("c5").contains("does not exist"));
    let request = &seat.model.requests()[1]["messages"];
    assert_eq!(request[2]["tool_calls"].as_array().unwrap().len(), 5);
    let results = request.as_array().unwrap().iter().filter(|message| message["role"] == "tool");
    assert_eq!(results.count(), 5);
    seat.finish().await;
}

#[tokio::test]
async fn files_are_written_and_edited_with_a_diff_that_the_page_shows() {
    let acts = vec![
        calls("a", &[("c1", "Write", json!({"file_path": "new/f.txt", "content": "one\ntwo\n"}))]),
        calls(
            "b",
            &[
                ("c2", "Edit", json!({"file_path": "new/f.txt", "old_string": "two", "new_string": "2"})),
                ("c3", "Edit", json!({"file_path": "new/f.txt", "old_string": "absent", "new_string": "x"})),
            ],
        ),
        words("c", "Done."),
    ];
    let mut seat = Seat::new(Mode::AcceptEdits, acts).await;
    seat.say("write").await;
    assert_eq!(std::fs::read_to_string(seat.folder.path().join("new/f.txt")).unwrap(), "one\n2\n");
    let patch = |id: &str| {
        let patches = seat.tool(id).output.unwrap().patches;
        let lines: Vec<String> =
            patches[0].hunks[0].lines.iter().map(|line| line.as_str().into_owned()).collect();
        (patches[0].path.as_str().into_owned(), patches[0].change, lines)
    };
    use parlor_model::tool::FileChange;
    assert_eq!(patch("c1"), ("new/f.txt".into(), FileChange::Add, vec!["+one".into(), "+two".into()]));
    let edited = vec![" one".to_owned(), "-two".into(), "+2".into()];
    assert_eq!(patch("c2"), ("new/f.txt".into(), FileChange::Update, edited));
    assert_eq!(seat.tool("c3").state, ToolState::Failed);
    seat.finish().await;
}

#[tokio::test]
async fn a_command_shows_what_it_prints_while_it_runs() {
    let command = "echo first; echo second >&2; until [ -e go ]; do sleep 0.02; done; echo third; exit 3";
    let mut seat = Seat::new(Mode::AllowAll, vec![bash("a", "c", command), words("b", "Ok.")]).await;
    seat.prompt("run").await;
    seat.until(|said| matches!(said, Said::Seen(Seen::Output { text, .. }) if text.contains("second"))).await;
    assert_eq!(seat.tool("c").state, ToolState::Running);
    assert_eq!(seat.output("c"), "first\nsecond\n", "both streams, in order");
    std::fs::write(seat.folder.path().join("go"), "").unwrap();
    assert_eq!(seat.turn().await.0, TurnEnd::Done);
    assert_eq!(seat.output("c"), "first\nsecond\nthird\n[exit code 3]");
    let tool = seat.tool("c");
    assert_eq!((tool.state, tool.output.unwrap().exit_code), (ToolState::Failed, Some(3)));
    seat.finish().await;
}

#[tokio::test]
async fn long_output_is_cut_for_the_model_and_kept_for_the_person() {
    let acts = vec![bash("a", "c", "seq 1 30000; echo the end"), words("b", "Ok.")];
    let mut seat = Seat::new(Mode::AllowAll, acts).await;
    seat.say("run").await;
    let told = seat.said.iter().find_map(|said| match said {
        Said::Seen(Seen::Result { text, .. }) => Some(text.clone()),
        _ => None,
    });
    let told = told.unwrap();
    assert!(told.len() < 31_000 && told.starts_with("1\n2\n") && told.ends_with("the end\n"));
    assert!(told.contains("bytes are left out here") && seat.tool("c").output.unwrap().truncated);
    let pieces = seat.said.iter().filter_map(|said| match said {
        Said::Seen(Seen::Output { text, .. }) => Some(text.as_str()),
        _ => None,
    });
    let (count, kept) = (pieces.clone().count(), pieces.collect::<String>());
    let whole: String = (1..=30_000).map(|number| format!("{number}\n")).collect();
    assert_eq!(kept, whole + "the end\n");
    assert_eq!(seat.output("c"), kept, "the page has all of it");
    assert!(count < 100, "{count} pieces are too many for 170 kB");
    seat.finish().await;
}

#[tokio::test]
async fn a_server_in_trouble_is_asked_again() {
    let busy =
        |status| Act::Status(status, "retry-after: 0\r\n", r#"{"error":{"message":"overloaded"}}"#.into());
    let mut seat = Seat::new(Mode::Ask, vec![busy(500), busy(429), words("a", "There.")]).await;
    assert_eq!(seat.say("hi").await, (TurnEnd::Done, None));
    let page = seat.page();
    assert_eq!(page.len(), 4, "{page:#?}");
    assert!(
        page[1].starts_with("retry ") && page[1].contains("500") && page[1].contains("overloaded"),
        "{page:#?}"
    );
    assert!(page[2].starts_with("retry ") && page[3] == "reply There.");
    seat.finish().await;
}

#[tokio::test]
async fn giving_up_says_what_to_do() {
    let refused =
        |status, text: &str| Act::Status(status, "", json!({"error": {"message": text}}).to_string());
    let busy = || Act::Status(503, "retry-after: 0\r\n", "busy".into());
    let table: Vec<(Vec<Act>, &[&str])> = vec![
        (vec![refused(401, "bad key test-key")], &["refuses the key", "set another one"]),
        (vec![refused(404, "no such model")], &["`test-model`", "/v1", "no such model"]),
        (vec![refused(400, "nonsense")], &["status 400", "nonsense"]),
        (vec![busy(), busy(), busy(), busy(), busy(), busy()], &["503", "tried 6 times"]),
        (vec![Act::Status(429, "retry-after: 4000\r\n", "later".into())], &["4000 s"]),
    ];
    for (acts, expected) in table {
        let mut seat =
            Seat::with(Mode::Ask, acts, |_, endpoint| endpoint.key = Some("test-key".into())).await;
        let (end, error) = seat.say("hi").await;
        let error = error.unwrap();
        assert_eq!(end, TurnEnd::Failed);
        assert!(expected.iter().all(|words| error.contains(words)), "{error}");
        assert!(!error.contains("test-key"), "the key is not told: {error}");
        assert_eq!(seat.page().last().unwrap(), &format!("error {error}"));
        seat.finish().await;
    }
    let mut seat =
        Seat::with(Mode::Ask, vec![], |_, endpoint| endpoint.url = "http://127.0.0.1:1/v1".into()).await;
    let (_, error) = seat.say("hi").await;
    assert!(error.unwrap().contains("no model server answers at http://127.0.0.1:1/v1"));
    seat.finish().await;
}

#[tokio::test]
async fn an_answer_that_is_cut_begins_again_and_the_part_is_taken_back() {
    for id in ["a", ""] {
        let half_call = json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "Bash", "arguments": "{\"comm"}}]});
        let cut = Act::Stream(vec![
            chunk(id, json!({"content": "Half an ans"}), Value::Null),
            chunk(id, half_call, Value::Null),
        ]);
        let mut seat =
            Seat::new(Mode::Ask, vec![cut, words(id, "A whole answer."), words("z", "Next.")]).await;
        assert_eq!(seat.say("hi").await, (TurnEnd::Done, None));
        let page = seat.page();
        assert_eq!(
            page[..3],
            ["prompt hi", "~reply Half an ans", "~tool c Bash Interrupted"],
            "{id:?} {page:#?}"
        );
        assert!(page[3].starts_with("retry the model's answer was cut off"), "{page:#?}");
        assert_eq!(page[4..], ["reply A whole answer."], "{id:?}");
        seat.say("on").await;
        let request = &seat.model.requests()[2];
        assert_eq!(request["messages"][2], json!({"role": "assistant", "content": "A whole answer."}));
        let entries = seat.finish().await;
        assert_eq!(page_of_history(&entries), ["hi", "A whole answer.", "on", "Next."]);
    }
}

/// What is not taken back of prompts and replies.
fn page_of_history(entries: &[Entry]) -> Vec<String> {
    let there = entries.iter().filter(|entry| !entry.overtaken);
    let words = there.filter_map(|entry| match &entry.block {
        Block::Prompt(prompt) => Some(prompt.text.as_str().into_owned()),
        Block::Reply(reply) => Some(reply.text.as_str().into_owned()),
        _ => None,
    });
    words.collect()
}

#[tokio::test]
async fn an_error_within_the_stream_is_tried_again_or_told_once() {
    let failing = |code: u64| {
        let error = format!("data: {}", json!({"error": {"message": "broke down", "code": code}}));
        Act::Stream(vec![chunk("a", json!({"content": "Hm"}), Value::Null), error])
    };
    let mut seat = Seat::new(Mode::Ask, vec![failing(502), words("b", "Fine.")]).await;
    assert_eq!(seat.say("hi").await.0, TurnEnd::Done);
    let page = seat.page();
    assert_eq!((page[1].as_str(), page.last().unwrap().as_str()), ("~reply Hm", "reply Fine."), "{page:#?}");
    seat.finish().await;
    let mut seat = Seat::new(Mode::Ask, vec![failing(400)]).await;
    assert_eq!(seat.say("hi").await.0, TurnEnd::Failed);
    assert!(seat.page().iter().any(|line| line.starts_with("error ") && line.contains("broke down")));
    seat.finish().await;
}

#[tokio::test]
async fn a_stop_while_words_stream_keeps_them_and_closes_the_connection() {
    for id in ["a", ""] {
        let half = Act::Hang(vec![chunk(id, json!({"content": "Once upon"}), Value::Null)]);
        let mut seat = Seat::new(Mode::Ask, vec![half, words(id, "Another.")]).await;
        seat.prompt("tell").await;
        seat.until(|said| matches!(said, Said::Line(_))).await;
        let stop = seat.interrupt().await;
        assert_eq!((stop.needed, stop.left, stop.ended), (Force::Protocol, 0, false));
        tokio::time::timeout(DEADLINE, seat.model.gone.notified()).await.expect("the stream is aborted");
        assert_eq!(seat.page(), ["prompt tell", "reply Once upon (interrupted)", "stop Interrupted"]);
        seat.say("another").await;
        assert_eq!(seat.page()[3..], ["prompt another", "reply Another."], "{id:?}");
        let request = &seat.model.requests()[1]["messages"];
        assert_eq!(request[2], json!({"role": "assistant", "content": "Once upon"}));
        seat.finish().await;
    }
}

#[tokio::test]
async fn a_stop_before_the_first_word_and_when_nothing_runs() {
    let mut seat = Seat::new(Mode::Ask, vec![Act::Hang(vec![]), words("b", "Yes.")]).await;
    let idle = seat.agent.interrupt().await;
    assert_eq!((idle.needed, idle.ended), (Force::Nothing, false));
    seat.prompt("one").await;
    let model = seat.model.clone();
    eventually("the model is asked", || !model.requests().is_empty()).await;
    seat.interrupt().await;
    seat.say("two").await;
    assert_eq!(seat.page(), ["prompt one", "stop Interrupted", "prompt two", "reply Yes."]);
    assert_eq!(seat.model.requests()[1]["messages"][1]["content"], "one\n\ntwo");
    seat.finish().await;
}

#[tokio::test]
async fn a_stop_ends_a_command_with_everything_it_started() {
    // One child stays in the group, one leaves the session, one drops its environment and ignores polite requests.
    let (one, two, three) = (nap(101), nap(102), nap(103));
    let command = format!(
        "echo begun; setsid {two} & env -i bash -c 'trap \"\" TERM; {three}; true' & touch ready; {one}"
    );
    let mut seat = Seat::new(Mode::AllowAll, vec![bash("a", "c", &command), words("b", "Ok.")]).await;
    seat.prompt("run").await;
    seat.until(|said| matches!(said, Said::Seen(Seen::Output { text, .. }) if text.contains("begun"))).await;
    eventually("all three run", || [&one, &two, &three].iter().all(|words| !running(words).is_empty())).await;
    let stop = seat.interrupt().await;
    assert_eq!((stop.needed, stop.left), (Force::Kill, 0));
    for words in [&one, &two, &three] {
        assert_eq!(running(words), Vec::<String>::new());
    }
    assert_eq!(marked(&seat.run), Vec::<String>::new());
    assert_eq!(seat.tool("c").state, ToolState::Interrupted);
    assert!(
        seat.output("c").starts_with("begun\nInterrupted"),
        "what it printed stays: {}",
        seat.output("c")
    );
    seat.say("go on").await;
    let request = &seat.model.requests()[1]["messages"];
    assert_eq!((&request[3]["role"], &request[3]["tool_call_id"]), (&json!("tool"), &json!("c")));
    seat.finish().await;
}

#[tokio::test]
async fn a_person_allows_denies_and_allows_for_the_session() {
    let acts = vec![
        bash("a", "c1", "echo one"),
        bash("b", "c2", "echo two"),
        bash("c", "c3", "rm -r x"),
        calls("d", &[("c4", "Write", json!({"file_path": "../out", "content": ""}))]),
        words("e", "So be it."),
    ];
    let mut seat = Seat::new(Mode::Ask, acts).await;
    seat.prompt("go").await;
    let (ask, reason) = seat.asked().await;
    assert_eq!((seat.tool("c1").state, reason.as_str()), (ToolState::Waiting, "Run `echo one`"));
    assert!(
        !seat.agent.answer("another", &Answer { choice: Choice::Allow, reason: None, answers: vec![] }).await
    );
    seat.answer(&ask, Choice::AllowSession, None).await;
    let (ask, reason) = seat.asked().await;
    assert_eq!(reason, "Run `rm -r x`", "echo was allowed for the session");
    assert_eq!((seat.output("c1"), seat.output("c2")), ("one\n".into(), "two\n".into()));
    seat.answer(&ask, Choice::Deny, Some("I need x")).await;
    let (ask, reason) = seat.asked().await;
    assert!(reason.contains("outside of the working directory"), "{reason}");
    assert_eq!(
        (seat.tool("c3").state, seat.output("c3")),
        (ToolState::Denied, "The person said no: I need x".into())
    );
    seat.answer(&ask, Choice::Deny, None).await;
    assert_eq!(seat.turn().await, (TurnEnd::Done, None));
    assert_eq!(seat.tool("c1").decision.unwrap().choice, Choice::AllowSession);
    let request = seat.model.requests()[3]["messages"].to_string();
    assert!(request.contains("The person said no: I need x"));
    seat.finish().await;
}

#[tokio::test]
async fn a_stop_withdraws_an_ask_and_closes_every_call_behind_it() {
    let acts = vec![
        calls("a", &[("c1", "Bash", json!({"command": "ls"})), ("c2", "Read", json!({"file_path": "x"}))]),
        words("b", "Ok."),
    ];
    let mut seat = Seat::new(Mode::Ask, acts).await;
    seat.prompt("go").await;
    let (ask, _) = seat.asked().await;
    seat.interrupt().await;
    assert_eq!([seat.tool("c1").state, seat.tool("c2").state], [ToolState::Interrupted; 2]);
    assert!(
        seat.said
            .iter()
            .any(|said| matches!(said, Said::Seen(Seen::Settled { ask: settled }) if *settled == ask))
    );
    assert!(!seat.agent.answer(&ask, &Answer { choice: Choice::Allow, reason: None, answers: vec![] }).await);
    seat.say("on").await;
    seat.finish().await;
}

#[tokio::test]
async fn a_long_conversation_is_replaced_by_a_summary() {
    let usage = r#"data: {"id":"a","choices":[],"usage":{"prompt_tokens":9000,"completion_tokens":100}}"#;
    let full =
        Act::Stream(vec![chunk("a", json!({"content": "Long talk."}), json!("stop")), usage.to_owned()]);
    let acts = vec![full, words("s", "They talked at length."), words("b", "On we go.")];
    let mut seat = Seat::with(Mode::Ask, acts, |_, endpoint| endpoint.context = 10_000).await;
    seat.say("first").await;
    seat.say("second").await;
    let page = seat.page();
    assert_eq!(page[..3], ["prompt first", "reply Long talk.", "prompt second"]);
    assert!(page[3].starts_with("compaction ") && page[3].contains("They talked at length."), "{page:#?}");
    assert_eq!(page[4..], ["reply On we go."], "the summary itself is no reply");
    let requests = seat.model.requests();
    assert!(requests[1].get("tools").is_none() && requests[1].to_string().contains("Long talk."));
    let messages = requests[2]["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 2, "{messages:#?}");
    let notes = messages[1]["content"].as_str().unwrap();
    assert!(notes.contains("They talked at length.") && notes.ends_with("second"));
    seat.finish().await;
}

#[tokio::test]
async fn a_server_that_finds_the_conversation_too_long_gets_a_shorter_one() {
    let long =
        || Act::Status(400, "", json!({"error": {"message": "maximum context length is 8"}}).to_string());
    let acts = vec![words("a", "One."), long(), words("s", "Notes."), words("b", "Two.")];
    let mut seat = Seat::new(Mode::Ask, acts).await;
    seat.say("first").await;
    assert_eq!(seat.say("second").await, (TurnEnd::Done, None));
    assert_eq!(seat.page().last().unwrap(), "reply Two.");
    seat.finish().await;
    let mut seat = Seat::new(Mode::Ask, vec![long()]).await;
    let (end, error) = seat.say("first").await;
    assert_eq!(end, TurnEnd::Failed);
    assert!(error.unwrap().contains("begin a new session"));
    seat.finish().await;
}

#[tokio::test]
async fn a_resumed_conversation_is_told_from_the_entries_and_calls_keep_their_names() {
    let call = |id: &str| calls(id, &[("call_0", "Read", json!({"file_path": "none"}))]);
    let (first, second) = (call("a"), Act::Hang(vec![]));
    let mut seat = Seat::new(Mode::Ask, vec![first, second]).await;
    seat.prompt("one").await;
    seat.until(|said| matches!(said, Said::Seen(Seen::Result { .. }))).await;
    let model = seat.model.clone();
    eventually("the result goes back", || model.requests().len() == 2).await;
    seat.interrupt().await;

    // The same log goes on with another agent, whose server counts its calls from zero again.
    let model = Model::start(vec![call("a"), call(""), words("", "Done.")]).await;
    let mut launch = launch(seat.folder.path(), &seat.run, Mode::Ask);
    launch.history = seat.transcript.entries().to_vec();
    let mut cut = launch.history.iter().find(|entry| entry.id == "call_0").unwrap().clone();
    if let Block::Tool(tool) = &mut cut.block {
        (tool.state, tool.output) = (ToolState::Running, None);
    }
    launch.history.iter_mut().filter(|entry| entry.id == "call_0").for_each(|entry| *entry = cut.clone());
    let (said, heard) = mpsc::channel(64);
    let old = std::mem::replace(
        &mut seat.agent,
        Builtin::start(launch, Endpoint::new(&model.url, "test-model"), said),
    );
    drop(old);
    (seat.heard, seat.model) = (heard, model);
    seat.say("two").await;
    assert_eq!(
        seat.page(),
        [
            "prompt one",
            "tool call_0 Read Failed",
            "stop Interrupted",
            "prompt two",
            "tool call_0~2 Read Failed",
            "tool call_0~3 Read Failed",
            "reply Done.",
        ]
    );
    let request = &seat.model.requests()[0]["messages"];
    assert_eq!(request[1]["content"], "one");
    assert_eq!(request[2]["tool_calls"][0]["id"], "call_0");
    assert!(
        request[3]["content"].as_str().unwrap().starts_with("Interrupted"),
        "an end that nobody saw is invented"
    );
    assert_eq!(request[4]["content"], "two");
    seat.finish().await;
}

#[tokio::test]
async fn a_server_without_any_ids_gets_its_results_too() {
    let call = || {
        let fields = json!({"tool_calls": [{"function": {"name": "Read", "arguments": "{\"file_path\":\"x\",\"limit\":\"2\"}"}}]});
        Act::Stream(vec![chunk("", fields, json!("tool_calls")), "data: [DONE]".to_owned()])
    };
    let mut seat = Seat::new(Mode::Ask, vec![call(), call(), words("", "Done.")]).await;
    seat.say("go").await;
    let page = seat.page();
    assert_eq!(
        page[1..3],
        ["tool answer/0/call-0 Read Failed", "tool answer~2/0/call-0 Read Failed"],
        "{page:#?}"
    );
    assert!(seat.output("answer/0/call-0").contains("does not exist"), "a number in quotes is a number");
    seat.finish().await;
}

#[tokio::test]
async fn calls_that_make_no_sense_fail_with_words_that_help() {
    let acts = vec![
        calls(
            "a",
            &[
                ("c1", "Fly", json!({})),
                ("c2", "Read", json!("{\"file_path\": ")),
                ("c3", "Read", json!({"path": "x"})),
                ("c4", "Bash", json!("[]")),
            ],
        ),
        words("b", "Sorry."),
    ];
    let mut seat = Seat::new(Mode::AllowAll, acts).await;
    assert_eq!(seat.say("go").await, (TurnEnd::Done, None));
    for (id, words) in [
        ("c1", "no tool `Fly`"),
        ("c2", "not valid JSON"),
        ("c3", "missing field `file_path`"),
        ("c4", "do not fit"),
    ] {
        assert_eq!(seat.tool(id).state, ToolState::Failed, "{id}");
        assert!(seat.output(id).contains(words), "{id}: {}", seat.output(id));
    }
    seat.finish().await;
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_ended_with_all_its_children() {
    let (one, two) = (nap(201), nap(202));
    let command = format!("echo begun; setsid {one} & {two}");
    let acts = vec![
        calls("a", &[("c", "Bash", json!({"command": command, "timeout_ms": 1_000}))]),
        words("b", "Ok."),
    ];
    let mut seat = Seat::new(Mode::AllowAll, acts).await;
    seat.say("run").await;
    assert_eq!(seat.tool("c").state, ToolState::Failed);
    assert!(seat.output("c").contains("[timed out: it was ended after 1000 ms"), "{}", seat.output("c"));
    assert_eq!((running(&one), running(&two)), (vec![], vec![]));
    seat.finish().await;
}

#[tokio::test]
async fn a_command_may_leave_something_running_until_the_agent_ends() {
    let acts = vec![bash("a", "c", &format!("{} & echo left", nap(301))), words("b", "Ok.")];
    let mut seat = Seat::new(Mode::AllowAll, acts).await;
    seat.say("run").await;
    assert_eq!((seat.tool("c").state, seat.output("c")), (ToolState::Done, "left\n".into()));
    assert_eq!(marked(&seat.run).len(), 1);
    seat.finish().await;
    assert_eq!(running(&nap(301)), Vec::<String>::new());
}

/// A web server with one page and redirects to it.
async fn web() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let Some((head, _)) = read_request(&mut stream).await else { continue };
            let page = "<title>T</title><h1>Hello</h1><p>to <b>you</b></p><script>no</script>";
            let answer = match head.split(' ').nth(1).unwrap_or_default() {
                "/moved" => {
                    "HTTP/1.1 302 X\r\nlocation: /page\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                        .to_owned()
                }
                "/loop" => {
                    "HTTP/1.1 302 X\r\nlocation: /loop\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                        .to_owned()
                }
                "/file" => {
                    "HTTP/1.1 302 X\r\nlocation: file:///etc/passwd\r\ncontent-length: 0\r\n\r\n".to_owned()
                }
                _ => format!(
                    "HTTP/1.1 200 X\r\ncontent-type: text/html\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{page}",
                    page.len()
                ),
            };
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    address
}

#[tokio::test]
async fn this_machine_is_not_fetched_from_unless_that_is_allowed() {
    let address = web().await;
    let fetch =
        |id: &'static str, path: &str| (id, "WebFetch", json!({"url": format!("http://{address}{path}")}));
    let port = address.rsplit(':').next().unwrap();
    let named = ("c2", "WebFetch", json!({"url": format!("http://localhost:{port}/page")}));
    let metadata = ("c3", "WebFetch", json!({"url": "http://169.254.169.254/latest"}));
    let file = ("c4", "WebFetch", json!({"url": "file:///etc/passwd"}));
    let acts = vec![calls("a", &[fetch("c1", "/page"), named, metadata, file]), words("b", "Ok.")];
    let mut seat = Seat::new(Mode::AllowAll, acts).await;
    seat.say("fetch").await;
    for id in ["c1", "c2", "c3"] {
        assert!(seat.output(id).contains("is refused"), "{id}: {}", seat.output(id));
    }
    assert!(seat.output("c4").contains("only http"));
    seat.finish().await;
    let redirects = [fetch("c1", "/moved"), fetch("c2", "/loop"), fetch("c3", "/file")];
    let acts = vec![calls("a", &redirects), words("b", "Ok.")];
    let mut seat = Seat::with(Mode::AllowAll, acts, |_, endpoint| endpoint.allow_private = true).await;
    seat.say("fetch").await;
    assert!(seat.output("c1").ends_with("(status 200)\n\nT\n\n# Hello\n\nto you"), "{}", seat.output("c1"));
    assert!(seat.output("c2").contains("redirects more than"));
    assert!(seat.output("c3").contains("only http"));
    seat.finish().await;
}

#[tokio::test]
async fn words_put_into_a_turn_go_with_the_next_request_and_settings_count_from_there() {
    let wait = "touch begun; until [ -e go ]; do sleep 0.02; done";
    let acts = vec![bash("a", "c", wait), words("b", "Changed."), bash("d", "e", wait), words("c", "Later.")];
    let mut seat = Seat::new(Mode::AllowAll, acts).await;
    seat.prompt("run").await;
    let begun = seat.folder.path().join("begun");
    eventually("the command runs", || begun.exists()).await;
    seat.deliver("and this too", true);
    seat.agent.steer("and this too", &[]).await;
    seat.agent.set(Some("other-model"), Some(Mode::Ask)).await;
    std::fs::write(seat.folder.path().join("go"), "").unwrap();
    assert_eq!(seat.turn().await, (TurnEnd::Done, None));
    let request = &seat.model.requests()[1];
    assert_eq!(request["model"], "other-model");
    assert_eq!(request["messages"][4], json!({"role": "user", "content": "and this too"}));
    // Words that came too late for a turn that was stopped are not lost.
    std::fs::remove_file(seat.folder.path().join("go")).unwrap();
    std::fs::remove_file(&begun).unwrap();
    seat.agent.set(None, Some(Mode::AllowAll)).await;
    seat.prompt("again").await;
    eventually("the command runs", || begun.exists()).await;
    seat.deliver("one more thing", true);
    seat.agent.steer("one more thing", &[]).await;
    seat.interrupt().await;
    // Between turns the same words begin one.
    seat.deliver("later", true);
    seat.prompts += 1;
    seat.agent.steer("later", &[]).await;
    assert_eq!(seat.turn().await, (TurnEnd::Done, None));
    let request = &seat.model.requests()[3]["messages"];
    assert_eq!(request.as_array().unwrap().last().unwrap()["content"], "one more thing\n\nlater");
    seat.finish().await;
}

#[tokio::test]
async fn a_server_that_does_not_stream_or_know_usage_is_served_too() {
    let message = json!({"role": "assistant", "content": "All\nat once."});
    let whole = json!({"id": "a", "object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
    let body = serde_json::to_string_pretty(&whole).unwrap();
    let unknown = Act::Status(400, "", r#"{"error":{"message":"unknown field stream_options"}}"#.into());
    let acts = vec![unknown, Act::Status(200, "content-type: application/json\r\n", body)];
    let mut seat = Seat::new(Mode::Ask, acts).await;
    assert_eq!(seat.say("hi").await, (TurnEnd::Done, None));
    assert_eq!(seat.page(), ["prompt hi", "reply All\nat once."]);
    assert!(seat.model.requests()[1].get("stream_options").is_none());
    seat.finish().await;
}

#[tokio::test]
async fn an_empty_answer_is_remarked_on() {
    let mut seat = Seat::new(Mode::Ask, vec![Act::Stream(vec![chunk("a", json!({}), json!("stop"))])]).await;
    assert_eq!(seat.say("hi").await, (TurnEnd::Done, None));
    assert!(seat.page()[1].starts_with("warning the model answered with nothing"), "{:?}", seat.page());
    seat.finish().await;
}

#[tokio::test]
async fn the_agent_ends_when_nobody_holds_it_or_listens() {
    let command = &format!("touch begun; {}", nap(401));
    let mut seat = Seat::new(Mode::AllowAll, vec![bash("a", "c", command)]).await;
    seat.prompt("run").await;
    let begun = seat.folder.path().join("begun");
    eventually("the command runs", || begun.exists()).await;
    let Seat { agent, mut heard, run, .. } = seat;
    drop(agent);
    let mut last = Vec::new();
    while let Some(said) = tokio::time::timeout(DEADLINE, heard.recv()).await.unwrap() {
        last.push(said);
    }
    assert!(matches!(last.last(), Some(Said::Ended)));
    let interrupted =
        |said: &Said| matches!(said, Said::Seen(Seen::Result { state: Ended::Interrupted, .. }));
    assert_eq!(last.iter().filter(|said| interrupted(said)).count(), 1);
    assert_eq!(marked(&run), Vec::<String>::new());

    let mut seat = Seat::new(Mode::AllowAll, vec![bash("a", "c", command)]).await;
    seat.prompt("run").await;
    let begun = seat.folder.path().join("begun");
    eventually("the command runs", || begun.exists()).await;
    let Seat { agent, heard, run, .. } = seat;
    drop(heard);
    eventually("the command is ended", || marked(&run).is_empty()).await;
    let stop = tokio::time::timeout(DEADLINE, agent.end()).await.unwrap();
    assert!(stop.ended);
}
