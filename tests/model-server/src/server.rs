//! The server: paths, answers, faults, and the handle that tests hold. It must not know wire formats or scripts.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::State;
use axum::http::{Method, StatusCode, header, request::Parts};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::answer::{self, Plan};
use crate::log::{Log, Outcome, Request, Ticket};
use crate::script::{Fault, FaultKind};
use crate::stream::{Ending, body};
use crate::wire::Wire;

/// A scripted model on loopback, which runs until it is dropped.
#[derive(Debug)]
pub struct ModelServer {
    /// Where it listens: `http://127.0.0.1:PORT`, without a path.
    pub url: String,
    log: Arc<Log>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    log: Arc<Log>,
    /// How often each fault has been played.
    faults: Mutex<HashMap<String, u64>>,
}

/// An agent sends its whole conversation with every request; images make it large.
const LARGEST_REQUEST: usize = 64 * 1024 * 1024;

/// Answers on a listener until its task is ended.
pub async fn serve(listener: TcpListener) {
    serve_logged(listener, Log::new()).await;
}

impl ModelServer {
    /// Starts a server on a free port of 127.0.0.1, on a thread of its own, so that a test may block.
    ///
    /// # Panics
    ///
    /// Where loopback or threads are not to be had: no test could go on.
    pub fn start() -> Self {
        match Self::try_start() {
            Ok(server) => server,
            Err(error) => panic!("the scripted model cannot listen on 127.0.0.1: {error}"),
        }
    }

    fn try_start() -> std::io::Result<Self> {
        let listener = std::net::TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        listener.set_nonblocking(true)?;
        let url = format!("http://{}", listener.local_addr()?);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let log = Log::new();
        let (stop, stopped) = oneshot::channel();
        let served = Arc::clone(&log);
        let thread = std::thread::Builder::new().name("model-server".into()).spawn(move || {
            runtime.block_on(async {
                if let Ok(listener) = TcpListener::from_std(listener) {
                    tokio::select! {
                        () = serve_logged(listener, served) => {}
                        _ = stopped => {}
                    }
                }
            });
        })?;
        Ok(Self { url, log, stop: Some(stop), thread: Some(thread) })
    }

    /// The requests so far, at most the latest 500.
    pub fn requests(&self) -> Vec<Request> {
        self.log.requests()
    }

    /// Waits until a condition holds for the requests; `what` says what is waited for.
    ///
    /// # Panics
    ///
    /// When it does not hold within a minute.
    pub async fn wait_until(&self, what: &str, holds: impl Fn(&[Request]) -> bool) -> Vec<Request> {
        match self.log.wait_until(holds).await {
            Some(requests) => requests,
            None => panic!("{}", self.never_came(what)),
        }
    }

    /// The same for tests without an asynchronous runtime.
    ///
    /// # Panics
    ///
    /// When it does not hold within a minute.
    pub fn wait_until_blocking(&self, what: &str, holds: impl Fn(&[Request]) -> bool) -> Vec<Request> {
        match self.log.wait_until_blocking(holds) {
            Some(requests) => requests,
            None => panic!("{}", self.never_came(what)),
        }
    }

    fn never_came(&self, what: &str) -> String {
        let mut text = format!("waited a minute for {what}; the requests were:");
        for request in self.requests() {
            let script = request.script.as_deref().unwrap_or("-");
            text.push_str(&format!("\n  {} {script}/{} {:?}", request.path, request.step, request.outcome));
        }
        text
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn serve_logged(listener: TcpListener, log: Arc<Log>) {
    let shared = Arc::new(Shared { log, faults: Mutex::default() });
    let router = Router::new().fallback(answer_request).with_state(shared);
    // It ends only when its listener fails, and then there is nobody to tell.
    let _ = axum::serve(listener, router).await;
}

async fn answer_request(State(shared): State<Arc<Shared>>, request: axum::extract::Request) -> Response {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path().to_owned();
    if parts.method == Method::GET && path == "/requests" {
        return log_page(&shared, parts.uri.query() == Some("bodies=yes"));
    }
    let bytes = to_bytes(body, LARGEST_REQUEST).await;
    let read = bytes.as_ref().ok().and_then(|bytes| serde_json::from_slice::<Value>(bytes).ok());
    let mut ticket = shared.log.open(logged(&parts, &path, read.clone().unwrap_or_default()));
    match (parts.method.as_str(), Wire::of(&path)) {
        ("HEAD" | "GET", _) if path.ends_with("/api/hello") => done(&mut ticket, json!({"message": "hello"})),
        ("GET", _) if path.ends_with("/models") => done(&mut ticket, models()),
        ("POST", _) if path.ends_with("/messages/count_tokens") => {
            let tokens = bytes.map_or(0, |bytes| bytes.len() / 4) + 1;
            done(&mut ticket, json!({"input_tokens": tokens}))
        }
        ("POST", Some(wire)) => match read {
            Some(body) => play(&shared, ticket, wire, &body).await,
            None => refuse(
                &mut ticket,
                wire,
                400,
                &format!(
                    "the body is no JSON, or larger than {LARGEST_REQUEST} bytes: send one JSON object without compression"
                ),
            ),
        },
        _ => {
            let message = "nothing is here: POST …/v1/messages, …/v1/responses or …/v1/chat/completions, or GET …/v1/models";
            refuse(&mut ticket, Wire::Anthropic, 404, message)
        }
    }
}

async fn play(shared: &Shared, mut ticket: Ticket, wire: Wire, body: &Value) -> Response {
    let asked = wire.read(body);
    let plan = match answer::plan(&asked) {
        Ok(plan) => plan,
        Err(message) => return refuse(&mut ticket, wire, 400, &message),
    };
    ticket.play(plan.script.clone(), plan.step);
    let ending = match shared.fault(&plan) {
        None => Ending::Done,
        Some(FaultKind::Hang) => std::future::pending().await,
        Some(FaultKind::Refuse { status, retry_after_s }) => {
            let response = refuse(&mut ticket, wire, status, "the script asked for this error");
            let retry_after = retry_after_s.map(|seconds| [(header::RETRY_AFTER, seconds.to_string())]);
            return (retry_after, response).into_response();
        }
        Some(FaultKind::Cut) => Ending::Cut,
        Some(FaultKind::Stall) => Ending::Stalled,
        Some(FaultKind::Break) => Ending::Broken(wire.broken("the script broke this answer off")),
    };
    if asked.wants_stream {
        let content_type = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
        return (content_type, body_of(wire, &plan, &asked, ending, ticket)).into_response();
    }
    match ending {
        Ending::Done => done(&mut ticket, wire.whole(&plan.answer, &asked)),
        Ending::Stalled => std::future::pending().await,
        // What is not streamed has no middle: it fails as a whole.
        Ending::Cut | Ending::Broken(_) => refuse(&mut ticket, wire, 502, "the script broke this answer off"),
    }
}

fn body_of(wire: Wire, plan: &Plan, asked: &answer::Asked, ending: Ending, ticket: Ticket) -> Body {
    body(wire.frames(&plan.answer, asked), ending, ticket)
}

impl Shared {
    /// Whether the answer goes wrong this time.
    fn fault(&self, plan: &Plan) -> Option<FaultKind> {
        let Fault { kind, times } = plan.fault.as_ref()?;
        let Some(times) = times else { return Some(kind.clone()) };
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        let played = faults.entry(plan.fault_key.clone()).or_default();
        if *played >= *times {
            return None;
        }
        *played += 1;
        Some(kind.clone())
    }
}

fn logged(parts: &Parts, path: &str, body: Value) -> Request {
    let headers = parts.headers.iter();
    Request {
        number: 0,
        method: parts.method.to_string(),
        path: path.to_owned(),
        headers: headers
            .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
            .collect(),
        body,
        script: None,
        step: 0,
        outcome: Outcome::Open,
    }
}

fn done(ticket: &mut Ticket, value: Value) -> Response {
    ticket.end(Outcome::Done);
    json_response(StatusCode::OK, &value)
}

fn refuse(ticket: &mut Ticket, wire: Wire, status: u16, message: &str) -> Response {
    ticket.end(Outcome::Refused(status));
    let code = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    json_response(code, &wire.refusal(status, message))
}

fn json_response(status: StatusCode, value: &Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], Bytes::from(value.to_string())).into_response()
}

/// The list of models in a shape that both providers' clients read.
fn models() -> Value {
    let model = |id: &str| json!({"id": id, "object": "model", "type": "model", "display_name": id, "created": 0, "created_at": "2026-01-01T00:00:00Z", "owned_by": "scripts"});
    json!({"object": "list", "data": [model("scripted"), model("scripted-small")], "has_more": false, "first_id": "scripted", "last_id": "scripted-small"})
}

/// The log for tests in other processes; bodies are large and come on request.
fn log_page(shared: &Shared, with_bodies: bool) -> Response {
    let mut requests = shared.log.requests();
    if !with_bodies {
        requests.iter_mut().for_each(|request| request.body = Value::Null);
    }
    json_response(StatusCode::OK, &json!(requests))
}
