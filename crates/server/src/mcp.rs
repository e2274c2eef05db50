//! The house's tools for its agents, over MCP: an agent messages others, lists them, reads them and waits for them. Who calls is
//! known by the run's own token alone. What may be done is the hub's to decide.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{header, request::Parts};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use parlor_hub::{Caller, Hub, HubError, Message, Outcome, Row};
use parlor_model::agents;
use parlor_model::block::{Author, Block};
use parlor_model::seen::Receipt;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, InitializeResult,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, ServerHandler};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::app::App;
use crate::connection::stopped;
use crate::error::{Code, Problem};
use crate::limits;

/// Where the tools are.
pub(crate) const PATH: &str = "/mcp";

/// How many entries are read when nothing is said, and at most.
const LAST: usize = 20;
const MOST: usize = 200;

/// How much of one entry an agent is told.
const ENTRY_BYTES: usize = 4 << 10;

/// How many sessions are listed.
const SESSIONS: usize = 50;

/// The names under which agents say which of their calls a request belongs to.
const CALL_NAMES: [&str; 3] = ["parlor/call", "claudecode/toolUseId", "callId"];

/// The routes of the tools.
pub(crate) fn router(app: &Arc<App>) -> Router<Arc<App>> {
    let (hub, stop) = (app.hub.clone(), app.stop.clone());
    // Names and pages are checked at the house's door; here no page is let in at all. Answers are streams, so that a call
    // that waits long is kept alive.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .disable_allowed_hosts()
        .enforce_origin_validation()
        .with_max_request_body_bytes(limits::MESSAGE_BYTES);
    let service = StreamableHttpService::new(
        move || Ok(Tools { hub: hub.clone(), stop: stop.clone() }),
        Arc::new(NeverSessionManager::default()),
        config,
    );
    Router::new().route_service(PATH, service).layer(from_fn_with_state(app.clone(), identify))
}

/// Lets in only runs that the house has started and that have not ended.
async fn identify(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let token = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = token.and_then(|value| value.split_once(' '));
    let token =
        token.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, token)| token.trim());
    match token.and_then(|token| app.hub.caller(token)) {
        Some(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        None => Problem::new(
            Code::Unauthorized,
            "these tools are for agents that this house runs, each with the token of its own run",
        )
        .into_response(),
    }
}

#[derive(Clone)]
struct Tools {
    hub: Hub,
    /// True once the house closes.
    stop: watch::Receiver<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MessageInput {
    to: String,
    message: String,
    #[serde(default = "yes")]
    wait: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadInput {
    session: String,
    last: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WaitInput {
    exchange: String,
}

fn yes() -> bool {
    true
}

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        InitializeResult::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("parlor", env!("CARGO_PKG_VERSION")))
            .with_instructions(agents::INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(agents::definitions().map(definition).into()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let caller =
            context.extensions.get::<Parts>().and_then(|parts| parts.extensions.get::<Caller>()).cloned();
        let Some(caller) = caller else {
            return Err(ErrorData::invalid_request("the request has no token of a run", None));
        };
        let call = CALL_NAMES.iter().find_map(|name| Some(context.meta.get(*name)?.as_str()?.to_owned()));
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let mut stop = self.stop.clone();
        let outcome = tokio::select! {
            outcome = self.carry_out(&caller, &request.name, arguments, call) => outcome,
            () = context.ct.cancelled() => Err("the call was cancelled".to_owned()),
            () = stopped(&mut stop) => Err("Parlor is shutting down".to_owned()),
        };
        let result = match outcome {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Err(text) => CallToolResult::error(vec![ContentBlock::text(text)]),
        };
        Ok(result.into())
    }
}

impl Tools {
    /// Carries out a call. Both the outcome and the error are what the model is told.
    async fn carry_out(
        &self,
        caller: &Caller,
        name: &str,
        arguments: Value,
        call: Option<String>,
    ) -> Result<String, String> {
        let told = |error: HubError| error.to_string();
        match name {
            "agents_message" => {
                let MessageInput { to, message, wait } = input(arguments)?;
                let message = Message { to, text: message, wait, call };
                let reached = self.hub.message(caller, message).await.map_err(told)?;
                match reached.outcome {
                    Some(outcome) => end(outcome),
                    None => Ok(format!(
                        "Sent to {} in session {} as exchange {}. Its reply comes to you as a message; `agents_wait` waits for it.",
                        reached.peer.agent, reached.peer.session, reached.exchange
                    )),
                }
            }
            "agents_wait" => {
                let WaitInput { exchange } = input(arguments)?;
                end(self.hub.wait_for_reply(caller, &exchange).await.map_err(told)?)
            }
            "agents_list" => Ok(self.list(caller).await),
            "agents_read" => {
                let ReadInput { session, last } = input(arguments)?;
                self.read(caller, &session, last.unwrap_or(LAST).clamp(1, MOST)).await
            }
            _ => Err(format!("there is no tool `{}`", name.escape_default())),
        }
    }

    async fn list(&self, caller: &Caller) -> String {
        let programs = self.hub.programs().await;
        let agents: Vec<&str> = programs
            .iter()
            .filter(|program| program.problem.is_none())
            .map(|program| program.kind.name())
            .collect();
        let rows = self.hub.peers_of(caller);
        let left_out = rows.len().saturating_sub(SESSIONS);
        let sessions: Vec<Value> = rows.iter().take(SESSIONS).map(|row| line(row)).collect();
        json!({ "you": caller.session, "agents": agents, "sessions": sessions, "left_out": left_out })
            .to_string()
    }

    /// The last entries of a session that the caller may talk to.
    async fn read(&self, caller: &Caller, session: &str, last: usize) -> Result<String, String> {
        if !self.hub.peers_of(caller).iter().any(|row| row.id == session) {
            let session = session.escape_default();
            return Err(format!(
                "there is no session `{session}` in this folder; `agents_list` shows those there are"
            ));
        }
        let open = self.hub.open(session).await.map_err(|error| error.to_string())?;
        let view = open.view();
        let roots = view.roots();
        let shown = &roots[roots.len().saturating_sub(last)..];
        let lines: Vec<String> =
            shown.iter().filter_map(|index| words(&view.entries()[*index].block)).collect();
        Ok(lines.join("\n\n"))
    }
}

fn input<T: DeserializeOwned>(arguments: Value) -> Result<T, String> {
    serde_json::from_value(arguments).map_err(|error| format!("the input does not fit: {error}"))
}

fn end(outcome: Outcome) -> Result<String, String> {
    match outcome.receipt {
        Receipt::Answered => Ok(outcome.text),
        Receipt::Withdrawn => Err(format!("The message was taken back: {}", outcome.text)),
        Receipt::Queued | Receipt::Taken | Receipt::Failed => {
            Err(format!("There is no answer: {}", outcome.text))
        }
    }
}

fn line(row: &Row) -> Value {
    json!({ "session": row.id, "agent": row.agent, "title": row.title, "state": row.phase, "updated": row.updated })
}

/// An entry in words, for an agent.
fn words(block: &Block) -> Option<String> {
    let (who, text) = match block {
        Block::Prompt(prompt) => match &prompt.author {
            Author::Person => ("User".to_owned(), prompt.text.to_string()),
            Author::Peer { name } => (format!("Agent {name}"), prompt.text.to_string()),
            Author::Caller | Author::Machine => return None,
        },
        Block::Reply(reply) => ("Assistant".to_owned(), reply.text.to_string()),
        Block::Tool(tool) => {
            (format!("Tool {} ({:?})", tool.name, tool.state), tool.input.lossy().to_string())
        }
        Block::Notice(notice) => ("Notice".to_owned(), notice.text.to_string()),
        Block::Thought(_) | Block::Unknown(_) => return None,
    };
    let cut = text.floor_char_boundary(ENTRY_BYTES);
    let more = if cut < text.len() { " […]" } else { "" };
    Some(format!("{who}: {}{more}", &text[..cut]))
}

fn definition(tool: agents::Definition) -> Tool {
    let schema = match tool.input {
        Value::Object(schema) => schema,
        _ => serde_json::Map::new(),
    };
    Tool::new(tool.name, tool.words, schema)
}
