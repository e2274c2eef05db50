//! Each real agent plays the scripts that everything else builds on. They run only where `PARLOR_TEST_AGENTS` names the
//! folder of commands that `scripts/install-agents` printed.
#![allow(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use parlor_model_server::{ModelServer, Outcome};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::{Child, Command};

/// An agent with folders of its own: nothing of the person who runs the test is read or written.
struct Agent {
    name: &'static str,
    server: ModelServer,
    commands: PathBuf,
    home: TempDir,
}

/// What an agent printed, line by line.
struct Run {
    lines: Vec<Value>,
    errors: String,
}

/// A turn takes a second or two; this is for a machine with much else to do.
const DEADLINE: Duration = Duration::from_secs(180);

impl Agent {
    /// Makes an agent ready, or says why it cannot run.
    fn prepare(name: &'static str) -> Option<Self> {
        let Some(commands) = std::env::var_os("PARLOR_TEST_AGENTS") else {
            eprintln!("skipped: set PARLOR_TEST_AGENTS to the folder that `scripts/install-agents` prints");
            return None;
        };
        let agent = Self {
            name,
            server: ModelServer::start(),
            commands: commands.into(),
            home: tempfile::tempdir().unwrap(),
        };
        for folder in ["work", "claude", "codex", "pi"] {
            std::fs::create_dir(agent.home.path().join(folder)).unwrap();
        }
        let url = &agent.server.url;
        let codex = format!(
            "model = \"gpt-5.5\"\nmodel_provider = \"scripted\"\ncheck_for_update_on_startup = false\n\
             [model_providers.scripted]\nname = \"scripted\"\nbase_url = \"{url}/v1\"\nwire_api = \"responses\"\n\
             env_key = \"SCRIPTED_KEY\"\nrequest_max_retries = 2\nstream_max_retries = 2\n\
             [analytics]\nenabled = false\n[features]\nplugins = false\n"
        );
        std::fs::write(agent.home.path().join("codex/config.toml"), codex).unwrap();
        let provider = json!({"baseUrl": format!("{url}/v1"), "api": "openai-completions", "apiKey": "test-key", "models": [{"id": "scripted", "reasoning": true}]});
        let models = json!({"providers": {"scripted": provider}});
        std::fs::write(agent.home.path().join("pi/models.json"), models.to_string()).unwrap();
        Some(agent)
    }

    fn work(&self) -> PathBuf {
        self.home.path().join("work")
    }

    fn start(&self, prompt: &str) -> Child {
        let arguments: &[&str] = match self.name {
            "claude" => &[
                "-p",
                "--output-format",
                "stream-json",
                "--verbose",
                "--include-partial-messages",
                "--dangerously-skip-permissions",
                "--",
            ],
            "codex" => {
                &["exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
            }
            _ => &["--mode", "json", "--model", "scripted/scripted", "--"],
        };
        let home = self.home.path();
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", self.commands.display());
        let mut command = Command::new(self.commands.join(self.name));
        command
            .args(arguments)
            .arg(prompt)
            .current_dir(self.work())
            .env_clear()
            .env("PATH", path)
            .env("HOME", home)
            .env("TMPDIR", home)
            .env("LANG", "C.UTF-8")
            .envs(self.environment(home))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command.spawn().unwrap_or_else(|error| {
            panic!(
                "cannot start `{}` in {}: {error}; run `scripts/install-agents`",
                self.name,
                self.commands.display()
            )
        })
    }

    fn environment(&self, home: &Path) -> Vec<(&'static str, String)> {
        let folder = home.join(self.name).display().to_string();
        match self.name {
            "claude" => [
                ("IS_SANDBOX", "1"),
                ("CLAUDE_CONFIG_DIR", &folder),
                ("ANTHROPIC_BASE_URL", &self.server.url),
                ("ANTHROPIC_API_KEY", "test-key"),
                ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
                ("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1"),
                ("CLAUDE_CODE_MAX_RETRIES", "2"),
                ("DISABLE_AUTOUPDATER", "1"),
                ("DISABLE_ERROR_REPORTING", "1"),
                ("DISABLE_TELEMETRY", "1"),
            ]
            .map(|(key, value)| (key, value.to_owned()))
            .to_vec(),
            "codex" => vec![("CODEX_HOME", folder), ("SCRIPTED_KEY", "test-key".into())],
            _ => vec![
                ("PI_CODING_AGENT_DIR", folder),
                ("PI_OFFLINE", "1".into()),
                ("PI_TELEMETRY", "0".into()),
            ],
        }
    }

    async fn run(&self, script: &str) -> Run {
        let child = self.start(&format!("Please go on. [[script {script}]]"));
        let output = tokio::time::timeout(DEADLINE, child.wait_with_output())
            .await
            .unwrap_or_else(|_| panic!("{} did not end within {DEADLINE:?} with `{script}`", self.name))
            .unwrap();
        let lines = String::from_utf8(output.stdout).unwrap();
        Run {
            lines: lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect(),
            errors: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Plays a script and looks at the agent's last words.
    async fn check(&self, script: &str, expected: &str) {
        let run = self.run(script).await;
        let text = self.last_words(&run.lines);
        assert!(
            text.as_deref().is_some_and(|text| text.contains(expected)),
            "{} with `{script}` said {text:?} instead of {expected:?}\n{:#?}\n{}",
            self.name,
            run.lines.last(),
            run.errors
        );
    }

    fn last_words(&self, lines: &[Value]) -> Option<String> {
        lines.iter().rev().find_map(|line| {
            let text = match self.name {
                "claude" if line["type"] == "result" => line["result"].as_str()?,
                "codex" if line["item"]["type"] == "agent_message" => line["item"]["text"].as_str()?,
                "pi" if line["type"] == "message_end" && line["message"]["role"] == "assistant" => {
                    line["message"]["content"].as_array()?.last()?["text"].as_str()?
                }
                _ => return None,
            };
            Some(text.to_owned())
        })
    }

    /// How often a script was answered so, by its own count.
    fn count(&self, script: &str, outcome: Outcome) -> usize {
        let requests = self.server.requests();
        requests
            .iter()
            .filter(|request| request.script.as_deref() == Some(script) && request.outcome == outcome)
            .count()
    }

    async fn play_all(&self) {
        self.check("hello", "Hello from the scripted model.").await;
        self.check("tool", "The command printed: hello-from-tool").await;

        let run = self.run("multi-tool").await;
        let text = self.last_words(&run.lines).unwrap_or_default();
        let mut printed: Vec<&str> = text.trim_start_matches("They printed: ").lines().collect();
        printed.sort_unstable();
        assert_eq!(printed, ["one", "three", "two"], "{text}\n{}", run.errors);

        self.check("edit", "The file is written and changed.").await;
        assert_eq!(std::fs::read_to_string(self.work().join("notes.txt")).unwrap(), "alpha\ndelta\ngamma\n");

        self.check("error status=529 times=1", "This answer came through").await;
        assert_eq!(self.count("error", Outcome::Refused(529)), 1);
        self.check("cut", "This answer came through").await;
        assert_eq!(self.count("cut", Outcome::Cut), 1);
        self.go_away().await;
    }

    /// An agent that is killed while it waits for the model drops its request.
    async fn go_away(&self) {
        let mut child = self.start("[[script hang]]");
        let is = |request: &parlor_model_server::Request, outcome| {
            request.script.as_deref() == Some("hang") && request.outcome == outcome
        };
        self.server
            .wait_until("a request that hangs", |requests| {
                requests.iter().any(|request| is(request, Outcome::Open))
            })
            .await;
        child.kill().await.unwrap();
        self.server
            .wait_until("the request to be dropped", |requests| {
                requests.iter().any(|request| is(request, Outcome::Gone))
            })
            .await;
    }
}

#[tokio::test]
async fn claude_plays_the_scripts() {
    if let Some(agent) = Agent::prepare("claude") {
        agent.play_all().await;
    }
}

#[tokio::test]
async fn codex_plays_the_scripts() {
    if let Some(agent) = Agent::prepare("codex") {
        agent.play_all().await;
    }
}

#[tokio::test]
async fn pi_plays_the_scripts() {
    if let Some(agent) = Agent::prepare("pi") {
        agent.play_all().await;
    }
}
