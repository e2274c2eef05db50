//! The real agents against the scripted model: a turn, a tool, every way to stop, resuming, approvals. They run only
//! where `PARLOR_TEST_AGENTS` names the folder of commands that `scripts/install-agents` printed.
#![allow(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

mod talk;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use parlor_agent::{Kind, Launch, Settings};
use parlor_model::block::Block;
use parlor_model::order::{Choice, Mode};
use parlor_model::tool::ToolState;
use parlor_model_server::ModelServer;
use rustix::process::{Pid, Signal, kill_process};
use talk::{Talk, launch, marked, wait_until};
use tempfile::TempDir;

/// An agent with folders of its own: nothing of the person who runs the test is read or written.
struct Bench {
    kind: Kind,
    home: TempDir,
    settings: Settings,
    server: ModelServer,
}

impl Bench {
    /// Makes an agent ready, or says why it cannot run.
    fn prepare(kind: Kind) -> Option<Bench> {
        let Some(commands) = std::env::var_os("PARLOR_TEST_AGENTS").map(PathBuf::from) else {
            eprintln!("skipped: set PARLOR_TEST_AGENTS to the folder that `scripts/install-agents` prints");
            return None;
        };
        let (home, server) = (tempfile::tempdir().unwrap(), ModelServer::start());
        let folder = home.path().join("state");
        std::fs::create_dir_all(home.path().join("work")).unwrap();
        std::fs::create_dir_all(&folder).unwrap();
        let url = &server.url;
        let codex = format!(
            "model = \"gpt-5.5\"\nmodel_provider = \"scripted\"\ncheck_for_update_on_startup = false\n\
             [model_providers.scripted]\nname = \"scripted\"\nbase_url = \"{url}/v1\"\nwire_api = \"responses\"\n\
             env_key = \"SCRIPTED_KEY\"\nrequest_max_retries = 2\nstream_max_retries = 2\n\
             [analytics]\nenabled = false\n[features]\nplugins = false\n"
        );
        std::fs::write(folder.join("config.toml"), codex).unwrap();
        let pi = format!(
            r#"{{"providers":{{"scripted":{{"baseUrl":"{url}/v1","api":"openai-completions","apiKey":"test-key","models":[{{"id":"scripted","reasoning":true}}]}}}}}}"#
        );
        std::fs::write(folder.join("models.json"), pi).unwrap();
        let (at, folder) = (home.path().display().to_string(), folder.display().to_string());
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", commands.display());
        let variables = [
            ("PATH", path.as_str()),
            ("HOME", &at),
            ("TMPDIR", &at),
            ("LANG", "C.UTF-8"),
            ("CLAUDE_CONFIG_DIR", &folder),
            ("ANTHROPIC_BASE_URL", url),
            ("ANTHROPIC_API_KEY", "test-key"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1"),
            ("CLAUDE_CODE_MAX_RETRIES", "2"),
            ("DISABLE_AUTOUPDATER", "1"),
            ("DISABLE_ERROR_REPORTING", "1"),
            ("DISABLE_TELEMETRY", "1"),
            ("CODEX_HOME", &folder),
            ("SCRIPTED_KEY", "test-key"),
            ("PI_CODING_AGENT_DIR", &folder),
            ("PI_OFFLINE", "1"),
            ("PI_TELEMETRY", "0"),
        ];
        let variables: BTreeMap<OsString, OsString> =
            variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        Some(Bench { kind, home, settings: Settings::from_variables(variables), server })
    }

    fn work(&self) -> PathBuf {
        self.home.path().join("work")
    }

    fn launch(&self) -> Launch {
        let model = (self.kind == Kind::Pi).then(|| "scripted/scripted".to_owned());
        Launch { model, ..launch(self.kind, &self.work()) }
    }

    async fn start(&self, launch: Launch) -> Talk {
        Talk::start(launch, &self.settings).await.unwrap()
    }

    /// Everything that a session does, in one: a start of an agent is the slow part.
    async fn session(&self) {
        let mut talk = self.start(self.launch()).await;
        talk.turn("Hi. [[script hello]]").await;
        assert!(talk.replies().contains("Hello from the scripted model."), "{}", talk.dump());
        assert!(talk.session.is_some(), "{}", talk.dump());

        talk.turn("Run it. [[script tool]]").await;
        assert!(talk.replies().contains("The command printed: hello-from-tool"), "{}", talk.dump());
        assert!(talk.has_tool(&ToolState::Done), "{}", talk.dump());

        self.steer(&mut talk).await;
        self.stop_in_text(&mut talk).await;
        self.stop_in_tool(&mut talk).await;

        // What was stopped can be gone on with, in the same process or in a new one.
        if talk.ended {
            talk = self.start(Launch { resume: talk.session.clone(), ..self.launch() }).await;
        }
        talk.turn("And again. [[script say I am still here.]]").await;
        assert!(talk.replies().contains("I am still here."), "{}", talk.dump());
        let stop = talk.end().await;
        assert_eq!((stop.left, stop.ended), (0, true), "{stop:?}");
        talk.exit();
        assert_eq!(marked(&talk.name).len(), 0);
        self.resume(talk).await;
    }

    /// Words that come while a command runs reach the model in the same turn.
    async fn steer(&self, talk: &mut Talk) {
        let (begun, go) = (self.work().join("begun"), self.work().join("go"));
        let command = "touch begun; while [ ! -e go ]; do sleep 0.1; done";
        talk.prompt(&format!("Wait. [[script bash {command}]]")).await.unwrap();
        talk.until("the command", |_| begun.exists()).await;
        assert!(talk.run.can_steer());
        let answers = |talk: &Talk| talk.lines.iter().filter(|line| line.starts_with(b"{\"id\":")).count();
        let before = answers(talk);
        talk.run.steer("By the way: hurry.", &[]).await.unwrap();
        // Claude says nothing to it, and takes it also when it is late.
        talk.until("the answer", |talk| self.kind == Kind::Claude || answers(talk) > before).await;
        std::fs::write(&go, "").unwrap();
        let has_words =
            |request: &parlor_model_server::Request| request.body.to_string().contains("By the way: hurry.");
        talk.until("the words", |_| self.server.requests().iter().any(has_words)).await;
        talk.until("the end of the turn", Talk::is_idle).await;
        assert!(talk.replies().contains("It printed:"), "{}", talk.dump());
    }

    async fn stop_in_text(&self, talk: &mut Talk) {
        talk.prompt("Tell me. [[script long-text n=2000 ms=50]]").await.unwrap();
        let length = talk.replies().len();
        talk.until("some text", |talk| talk.replies().len() > length + 60).await;
        let stop = talk.interrupt().await;
        assert_eq!(stop.left, 0, "{stop:?}");
        talk.until("the end of the turn", Talk::is_idle).await;
        let is_cut = |entry: &parlor_model::entry::Entry| matches!(&entry.block, Block::Reply(reply) if reply.interrupted);
        assert!(talk.entries().iter().any(is_cut), "{stop:?}\n{}", talk.dump());
        let outcome = |request: &parlor_model_server::Request| {
            request.script.as_deref() == Some("long-text")
                && request.outcome == parlor_model_server::Outcome::Gone
        };
        self.server.wait_until("the request to be dropped", |requests| requests.iter().any(outcome)).await;
    }

    async fn stop_in_tool(&self, talk: &mut Talk) {
        if talk.ended {
            *talk = self.start(Launch { resume: talk.session.clone(), ..self.launch() }).await;
        }
        let flag = self.work().join("running");
        let _ = std::fs::remove_file(&flag);
        // One that dies with its shell, and one that has left everything behind.
        let command = "sleep 300 & setsid nohup sleep 301 >/dev/null 2>&1 & touch running; wait";
        talk.prompt(&format!("Wait. [[script bash {command}]]")).await.unwrap();
        talk.until("the command", |_| flag.exists()).await;
        let name = talk.name.clone();
        wait_until("its processes", || sleeping(&name) == 2).await;
        let stop = talk.interrupt().await;
        assert_eq!(stop.left, 0, "{stop:?}");
        assert_eq!(sleeping(&name), 0, "{stop:?}");
        talk.until("the end of the turn", Talk::is_idle).await;
        assert!(!talk.has_tool(&ToolState::Running), "{stop:?}\n{}", talk.dump());
        eprintln!("{:?}: a command was stopped by {:?} in {} ms", self.kind, stop.needed, stop.duration_ms);
    }

    async fn resume(&self, before: Talk) {
        let session = before.session.clone();
        let mut talk = self.start(Launch { resume: session.clone(), ..self.launch() }).await;
        talk.turn("Welcome back. [[script say We go on.]]").await;
        assert!(talk.replies().contains("We go on."), "{}", talk.dump());
        assert_eq!(talk.session, session, "{}", talk.dump());
        let requests = self.server.requests();
        let last = requests.last().unwrap();
        assert!(last.body.to_string().contains("I am still here."), "the agent forgot what was said before");

        // Killed from outside, in the middle of a command.
        let flag = self.work().join("killed");
        let command = "touch killed; sleep 302";
        talk.prompt(&format!("Wait. [[script bash {command}]]")).await.unwrap();
        talk.until("the command", |_| flag.exists()).await;
        kill(talk.run.pid().unwrap());
        talk.until("the end of the agent", |talk| talk.ended).await;
        assert_eq!(talk.exit(), (None, Some(9)));
        assert!(talk.is_idle() && !talk.has_tool(&ToolState::Running), "{}", talk.dump());
        assert_eq!(marked(&talk.name).len(), 0, "{}", talk.dump());
        assert!(talk.prompt("Hello? [[script hello]]").await.is_err());
    }

    async fn approvals(&self) {
        let mut talk = self.start(Launch { mode: Mode::Ask, ..self.launch() }).await;
        let file = self.work().join("made");
        for (choice, exists) in [(Choice::Deny, false), (Choice::Allow, true)] {
            talk.prompt("Make it. [[script bash touch made]]").await.unwrap();
            talk.until("the ask", |talk| !talk.asks().is_empty()).await;
            assert!(!file.exists());
            talk.answer(choice).await;
            talk.until("the end of the turn", Talk::is_idle).await;
            assert_eq!(file.exists(), exists, "{}", talk.dump());
            assert!(talk.asks().is_empty(), "{}", talk.dump());
            let state = if exists { ToolState::Done } else { ToolState::Denied };
            assert!(talk.has_tool(&state), "{state:?}\n{}", talk.dump());
        }
        // Stopped while it waits for an answer.
        talk.prompt("Make another. [[script bash touch other]]").await.unwrap();
        talk.until("the ask", |talk| !talk.asks().is_empty()).await;
        let stop = talk.interrupt().await;
        assert_eq!(stop.left, 0);
        talk.until("the end of the turn", Talk::is_idle).await;
        assert!(talk.asks().is_empty(), "{}", talk.dump());
        assert!(!self.work().join("other").exists());
        talk.end().await;
    }
}

fn kill(pid: u32) {
    kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::KILL).unwrap();
}

/// How many of a run's processes sleep.
fn sleeping(run: &str) -> usize {
    let name = |pid: &u32| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    marked(run).iter().filter(|pid| name(pid).trim() == "sleep").count()
}

#[tokio::test]
async fn claude_works_stops_and_goes_on() {
    if let Some(bench) = Bench::prepare(Kind::Claude) {
        bench.session().await;
    }
}

#[tokio::test]
async fn codex_works_stops_and_goes_on() {
    if let Some(bench) = Bench::prepare(Kind::Codex) {
        bench.session().await;
    }
}

#[tokio::test]
async fn pi_works_stops_and_goes_on() {
    if let Some(bench) = Bench::prepare(Kind::Pi) {
        bench.session().await;
    }
}

#[tokio::test]
async fn claude_asks_before_it_acts() {
    if let Some(bench) = Bench::prepare(Kind::Claude) {
        bench.approvals().await;
    }
}

#[tokio::test]
async fn codex_asks_before_it_acts() {
    if let Some(bench) = Bench::prepare(Kind::Codex) {
        bench.approvals().await;
    }
}

/// Listens where Parlor's own tools would be, and says with which token the first call came.
async fn first_token(listener: tokio::net::TcpListener) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        let mut buffer = [0; 4096];
        while !request.windows(4).any(|end| end == b"\r\n\r\n") {
            match stream.read(&mut buffer).await {
                Ok(count @ 1..) => request.extend_from_slice(&buffer[..count]),
                _ => break,
            }
        }
        let _ = stream.write_all(b"HTTP/1.1 500 No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await;
        let request = String::from_utf8_lossy(&request).into_owned();
        let header = request.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("authorization").then(|| value.trim().to_owned())
        });
        if let Some(header) = header {
            return header;
        }
    }
}

#[tokio::test]
async fn parlors_own_tools_are_called_with_the_runs_token() {
    for kind in [Kind::Claude, Kind::Codex] {
        let Some(bench) = Bench::prepare(kind) else { return };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let mcp = Some(parlor_agent::Mcp { url, token: "test-token".into() });
        let mut talk = bench.start(Launch { mcp, ..bench.launch() }).await;
        let token = tokio::spawn(first_token(listener));
        talk.turn("Hi. [[script hello]]").await;
        let token = tokio::time::timeout(talk::DEADLINE, token).await.unwrap().unwrap();
        assert_eq!(token, "Bearer test-token", "{kind:?}");
        talk.end().await;
    }
}

/// A stop that comes before the agent has even begun the turn holds all the same.
#[tokio::test]
async fn a_stop_right_after_the_prompt_holds() {
    for kind in [Kind::Claude, Kind::Codex, Kind::Pi] {
        let Some(bench) = Bench::prepare(kind) else { return };
        let mut talk = bench.start(bench.launch()).await;
        talk.prompt("Tell me. [[script long-text n=2000 ms=50]]").await.unwrap();
        let stop = talk.interrupt().await;
        assert_eq!(stop.left, 0, "{kind:?} {stop:?}");
        assert!(talk.is_idle(), "{kind:?} {stop:?}\n{}", talk.dump());
        eprintln!("{kind:?}: stopped by {:?} in {} ms", stop.needed, stop.duration_ms);
        if !stop.ended {
            talk.turn("Never mind. [[script say All right.]]").await;
            assert!(talk.replies().contains("All right."), "{kind:?} {stop:?}\n{}", talk.dump());
        }
        talk.end().await;
        let is_open =
            |request: &parlor_model_server::Request| request.outcome == parlor_model_server::Outcome::Open;
        let over = |requests: &[parlor_model_server::Request]| !requests.iter().any(is_open);
        bench.server.wait_until("all requests to be over", over).await;
    }
}
