//! A home in which the real agents talk to a scripted model.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use parlor_model_server::ModelServer;
use serde_json::{Value, json};

use super::Home;
use super::house::{Follower, House};

/// A home with the scripted model behind every agent.
pub(crate) struct Stage {
    pub(crate) home: Home,
    pub(crate) server: ModelServer,
    pub(crate) commands: PathBuf,
}

impl Stage {
    /// `None` where the agents are not installed.
    pub(crate) fn set() -> Option<Stage> {
        let Some(commands) = std::env::var_os("PARLOR_TEST_AGENTS").map(PathBuf::from) else {
            println!("skipped: set PARLOR_TEST_AGENTS to the folder that `scripts/install-agents` prints");
            return None;
        };
        Some(Stage::with(commands))
    }

    /// With the built-in agent alone, or with the commands of a folder.
    pub(crate) fn with(commands: PathBuf) -> Stage {
        let (home, server) = (Home::new(), ModelServer::start());
        let url = &server.url;
        home.write(
            ".codex/config.toml",
            format!(
                "model = \"gpt-5.5\"\nmodel_provider = \"scripted\"\ncheck_for_update_on_startup = false\n\
                 [model_providers.scripted]\nname = \"scripted\"\nbase_url = \"{url}/v1\"\nwire_api = \"responses\"\n\
                 env_key = \"SCRIPTED_KEY\"\nrequest_max_retries = 2\nstream_max_retries = 2\n\
                 [analytics]\nenabled = false\n[features]\nplugins = false\n"
            ),
        );
        home.write(
            ".pi/agent/models.json",
            format!(
                r#"{{"providers":{{"scripted":{{"baseUrl":"{url}/v1","api":"openai-completions","apiKey":"test-key","models":[{{"id":"scripted","reasoning":true}}]}}}}}}"#
            ),
        );
        fs::create_dir_all(home.path("work")).unwrap();
        fs::create_dir_all(home.path("tmp")).unwrap();
        Stage { home, server, commands }
    }

    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        let (url, temporary) = (&self.server.url, self.home.path("tmp").display().to_string());
        vec![
            ("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", self.commands.display())),
            ("TMPDIR", temporary),
            ("LANG", "C.UTF-8".into()),
            ("ANTHROPIC_BASE_URL", url.clone()),
            ("ANTHROPIC_API_KEY", "test-key".into()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".into()),
            ("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1".into()),
            ("CLAUDE_CODE_MAX_RETRIES", "3".into()),
            ("DISABLE_AUTOUPDATER", "1".into()),
            ("DISABLE_ERROR_REPORTING", "1".into()),
            ("DISABLE_TELEMETRY", "1".into()),
            ("SCRIPTED_KEY", "test-key".into()),
            ("PI_OFFLINE", "1".into()),
            ("PI_TELEMETRY", "0".into()),
            ("PARLOR_MODEL_URL", format!("{url}/v1")),
            ("PARLOR_MODEL_KEY", "test-key".into()),
            ("PARLOR_MODEL_NAME", "scripted".into()),
        ]
    }

    pub(crate) fn house(&self) -> House {
        self.house_without(&[])
    }

    /// A house in whose environment some variables are missing.
    pub(crate) fn house_without(&self, missing: &[&str]) -> House {
        let mut environment = self.environment();
        environment.retain(|(name, _)| !missing.contains(name));
        let environment: Vec<(&str, &str)> =
            environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
        House::open_with(&self.home, &environment)
    }

    pub(crate) fn work(&self) -> String {
        self.home.path("work").display().to_string()
    }

    /// Says something to an agent without a house, as in a terminal; gives the agent's own id of the session.
    pub(crate) fn terminal(&self, agent: &str, resume: Option<&str>, text: &str) -> String {
        let mut command = Command::new(self.commands.join(agent));
        command.env_clear().envs(self.environment()).env("HOME", self.home.path("")).env("IS_SANDBOX", "1");
        command.current_dir(self.work()).stdin(Stdio::null());
        let key = match agent {
            "claude" => {
                command.args(["-p", "--output-format", "stream-json", "--verbose"]);
                command
                    .arg("--dangerously-skip-permissions")
                    .args(resume.iter().flat_map(|id| ["--resume", id]));
                "session_id"
            }
            "codex" => {
                command.args(["exec", "--json", "--skip-git-repo-check"]);
                command.arg("--dangerously-bypass-approvals-and-sandbox");
                command.args(resume.iter().flat_map(|id| ["resume", id]));
                "thread_id"
            }
            "pi" => {
                command.args(["--mode", "json", "--model", "scripted/scripted"]);
                command.args(resume.iter().flat_map(|id| ["--session", id]));
                "id"
            }
            other => panic!("{other} has no terminal"),
        };
        let output = command.args(["--", text]).output().unwrap();
        let lines = output.stdout.split(|byte| *byte == b'\n');
        let lines = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
        let id = lines.filter_map(|line| Some(line[key].as_str()?.to_owned())).next();
        id.unwrap_or_else(|| panic!("{output:?}"))
    }

    /// Processes of the stage's agents, with their command lines: those that work in its folder, and those that carry
    /// the mark of a run of this home.
    pub(crate) fn at_work(&self) -> Vec<(u32, String)> {
        let (work, home) = (fs::canonicalize(self.home.path("work")).unwrap(), self.home.path(""));
        let home = home.to_string_lossy().trim_end_matches('/').to_owned();
        let mut found = Vec::new();
        for process in fs::read_dir("/proc").unwrap().flatten() {
            let Ok(pid) = process.file_name().to_string_lossy().parse::<u32>() else { continue };
            let read = |name: &str| {
                let bytes = fs::read(process.path().join(name)).unwrap_or_default();
                String::from_utf8_lossy(&bytes).replace('\0', " ")
            };
            let environment = read("environ");
            let is_marked = environment.contains("PARLOR_RUN=") && environment.contains(&home);
            if is_marked || fs::read_link(process.path().join("cwd")).unwrap_or_default() == work {
                found.push((pid, read("cmdline")));
            }
        }
        found
    }

    /// True while a command of an agent sleeps.
    pub(crate) fn sleeps(&self) -> bool {
        self.at_work().iter().any(|(_, command)| command.contains("sleep"))
    }

    /// A session with an agent that may do what `mode` says.
    pub(crate) fn session(&self, house: &House, agent: &str, mode: &str) -> Follower {
        let mut guest = house.guest();
        let model = (agent == "pi").then_some("scripted/scripted");
        let create =
            json!({"type": "create", "agent": agent, "cwd": self.work(), "model": model, "mode": mode});
        let answer = guest.ask(create);
        let session = answer["session"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
        guest.follow(&session)
    }
}
