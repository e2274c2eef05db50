//! The MCP servers of a run: those that the person has set up, and those of the project that the person has allowed. They are
//! there from the first turn on; a stop ends them with everything else, and the next turn starts them again.

pub(crate) mod config;
mod start;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use futures_util::future::join_all;
use parlor_model::seen::Level;
use rmcp::RoleClient;
use rmcp::service::Peer;
use serde_json::{Value, json};

use super::tool::definitions;
use super::worker::Worker;
use crate::Permits;
use config::Server;
use start::Served;

/// Models take no more tools than about this many.
const TOOLS: usize = 100;
/// The longest name that OpenAI's API takes.
const NAME_BYTES: usize = 64;

/// A tool of a server, by which it is called.
#[derive(Clone)]
pub(crate) struct ServedTool {
    pub(crate) peer: Peer<RoleClient>,
    /// Its name there.
    pub(crate) name: String,
}

/// The servers of a run.
pub(crate) struct Servers {
    own: Option<PathBuf>,
    permits: Permits,
    running: Vec<Served>,
    /// Those that could not be started: they are not tried again as they are.
    failed: Vec<Server>,
    /// What was said already.
    told: BTreeSet<String>,
}

impl Servers {
    /// Those in the person's own file, and in the project's where they are allowed.
    pub(crate) fn new(own: Option<PathBuf>, permits: Permits) -> Servers {
        Servers { own, permits, running: Vec::new(), failed: Vec::new(), told: BTreeSet::new() }
    }
}

impl Worker {
    /// Makes sure that every server runs that should, and that the model knows its tools. What is wrong is said once.
    pub(crate) async fn connect(&mut self) {
        let cwd = self.bench.cwd.clone();
        let (mut wanted, mut remarks) = config::servers(self.servers.own.as_deref(), &cwd);
        let permits = self.servers.permits.clone();
        wanted.retain(|server| {
            let allowed = !server.is_project || permits.allows(&cwd, &server.permit());
            if !allowed {
                remarks.push(refusal(server));
            }
            allowed
        });
        self.servers.running.retain_mut(|served| served.is_there() && wanted.contains(&served.server));
        self.servers.failed.retain(|server| wanted.contains(server));
        let known = |server: &Server| {
            self.servers.failed.contains(server)
                || self.servers.running.iter().any(|served| served.server == *server)
        };
        wanted.retain(|server| !known(server));
        let bench = self.bench.clone();
        let started = join_all(wanted.iter().cloned().map(|server| start::start(server, &bench))).await;
        for (server, started) in wanted.into_iter().zip(started) {
            match started {
                Ok(served) => self.servers.running.push(served),
                Err(problem) => {
                    self.servers.failed.push(server);
                    remarks.push(problem);
                }
            }
        }
        remarks.extend(self.offer());
        for remark in remarks {
            if self.servers.told.insert(remark.clone()) {
                self.note(Level::Warning, &remark).await;
            }
        }
    }

    /// Tells the model all tools, and the bench how they are called. What is left out is said.
    fn offer(&mut self) -> Option<String> {
        let mut served = BTreeMap::new();
        let mut all = definitions(self.bench.mcp.is_some());
        let mut left_out = 0;
        for one in &self.servers.running {
            for tool in &one.tools {
                let name = exposed(&one.server.name, &tool.name);
                if served.len() == TOOLS || served.contains_key(&name) {
                    left_out += 1;
                    continue;
                }
                let description = tool.description.as_deref().unwrap_or_default();
                let function =
                    json!({"name": name, "description": description, "parameters": *tool.input_schema});
                if let Value::Array(all) = &mut all {
                    all.push(json!({"type": "function", "function": function}));
                }
                let peer = one.client.peer().clone();
                served.insert(name, ServedTool { peer, name: tool.name.to_string() });
            }
        }
        self.tools = all;
        let groups = self.servers.running.iter().filter_map(Served::group).collect();
        self.bench.serve(served, groups);
        (left_out > 0).then(|| {
            format!(
                "{left_out} tools of MCP servers are left out: there are more than {TOOLS}, or names alike"
            )
        })
    }
}

fn refusal(server: &Server) -> String {
    let permit = server.permit().replace('\'', r"'\''");
    format!(
        "{} of this folder names the MCP server `{}`, which is not started before you allow it: `parlor permits --allow '{permit}'` in this folder",
        config::PROJECT,
        server.name
    )
}

/// The name by which the model knows a tool: letters, digits, `_` and `-` are all that every API takes.
fn exposed(server: &str, tool: &str) -> String {
    let name = format!("mcp__{server}__{tool}");
    let plain = |character: char| {
        if character.is_ascii_alphanumeric() || "_-".contains(character) { character } else { '_' }
    };
    name.chars().map(plain).take(NAME_BYTES).collect()
}
