//! A house in temporary folders, with a real server on a free port, and clients that know nothing but the protocol.

#![allow(dead_code, unreachable_pub, reason = "every test file uses some of it")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use parlor_dialect::Agent;
use parlor_found::Folder;
use parlor_hub::{Hub, Options, Settings};
use parlor_server::{Config, bind};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

/// How long anything may take on a loaded machine.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// A house with its folders. They go when it goes.
pub struct House {
    pub folder: TempDir,
    pub hub: Hub,
    pub port: u16,
    pub token: String,
    pub read_token: String,
    pub link: String,
    stop: Option<oneshot::Sender<()>>,
    run: Option<JoinHandle<()>>,
}

impl House {
    /// An empty house.
    pub async fn open() -> House {
        House::open_in(tempfile::tempdir().unwrap()).await
    }

    /// A house in a folder that may have been one before.
    pub async fn open_in(folder: TempDir) -> House {
        for name in ["data", "claude/project", "codex", "pi"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        let found = |agent, name: &str| Folder { agent, path: folder.path().join(name) };
        let folders =
            vec![found(Agent::Claude, "claude"), found(Agent::Codex, "codex"), found(Agent::Pi, "pi")];
        let options = options(folder.path().join("data"), folders);
        let hub = start(options).await;
        let config = Config { bind: IpAddr::V4(Ipv4Addr::LOCALHOST), port: 0, ..Config::default() };
        let server = bind(hub.clone(), config).await.unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let (port, token, link) = (server.port(), server.token().to_owned(), server.link());
        let read_token = server.read_token().to_owned();
        let run = tokio::spawn(server.run(async {
            let _ = stopped.await;
        }));
        House { folder, hub, port, token, read_token, link, stop: Some(stop), run: Some(run) }
    }

    /// Closes the house and opens it again on the same data.
    pub async fn again(mut self) -> House {
        self.close().await;
        House::open_in(self.folder).await
    }

    /// Closes the house.
    pub async fn close(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(run) = self.run.take() {
            run.await.unwrap();
        }
        self.hub.shutdown().await;
        // The house lets go of its data with the last that holds it.
        self.hub = Hub::start(options(self.folder.path().join("unused"), Vec::new())).await.unwrap();
    }

    /// The file of a Claude session.
    pub fn claude_file(&self, id: &str) -> PathBuf {
        self.folder.path().join("claude/project").join(format!("{id}.jsonl"))
    }

    /// Writes a Claude session that was not there, and waits until the house has seen it.
    pub async fn write_claude(&self, id: &str, lines: &[String]) -> PathBuf {
        let path = self.claude_file(id);
        fs::write(&path, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
        self.listed(id).await;
        path
    }

    /// Waits until a session is in the list.
    pub async fn listed(&self, id: &str) {
        let mut bell = self.hub.watch_list();
        let seen = async {
            while self.hub.row(id).is_none() {
                bell.changed().await.unwrap();
            }
        };
        tokio::time::timeout(DEADLINE, seen).await.unwrap_or_else(|_| panic!("{id} was never listed"));
    }

    /// A socket with the full token.
    pub async fn socket(&self) -> Client {
        self.socket_with(&self.token).await
    }

    /// A socket with some token, after its hello.
    pub async fn socket_with(&self, token: &str) -> Client {
        let bearer = format!("Bearer {token}");
        let mut client = Client::connect(self.port, &[("authorization", &bearer)]).await.unwrap();
        client.until_type("hello").await;
        client
    }

    /// A request with the full token.
    pub async fn get(&self, path: &str) -> Answer {
        let bearer = format!("Bearer {}", self.token);
        request(self.port, "GET", path, &[("authorization", &bearer)], "").await
    }

    /// A request with the full token and a body.
    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        let bearer = format!("Bearer {}", self.token);
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        request(self.port, "POST", path, &headers, &body.to_string()).await
    }
}

/// Opens a house. Its data folder has one user at a time, and the last one may still be on its way out.
async fn start(options: Options) -> Hub {
    let begun = tokio::time::Instant::now();
    loop {
        match Hub::start(options.clone()).await {
            Ok(hub) => return hub,
            Err(error) if error.to_string().contains("in use") && begun.elapsed() < DEADLINE => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

fn options(data: PathBuf, folders: Vec<Folder>) -> Options {
    Options {
        data,
        archive: false,
        settings: Settings::from_variables(BTreeMap::new()),
        folders: Some(folders),
    }
}

/// Appends bytes to a file.
pub fn append(path: &Path, text: &str) {
    let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

/// A record of Claude Code in the session `one`, with one block.
pub fn line(kind: &str, id: &str, block: &str) -> String {
    let message = format!(r#"{{"id":"m-{id}","role":"{kind}","content":[{block}]}}"#);
    format!(r#"{{"type":"{kind}","uuid":"{id}","sessionId":"one","message":{message}}}"#)
}

/// The lines of a corpus input.
pub fn corpus(name: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(name).join("input.jsonl");
    fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        .lines()
        .map(str::to_owned)
        .collect()
}

/// A Claude session of `turns` prompts and replies.
pub fn turns(turns: usize) -> Vec<String> {
    (0..turns)
        .flat_map(|turn| {
            let at = format!("2026-11-{:02}T10:00:00.000Z", 1 + turn / 100 % 28);
            [
                json!({"type": "user", "uuid": format!("u{turn}"), "sessionId": "s", "timestamp": at, "cwd": "/work",
                    "message": {"role": "user", "content": format!("Question {turn}")}}),
                json!({"type": "assistant", "uuid": format!("a{turn}"), "sessionId": "s", "timestamp": at,
                    "message": {"id": format!("m{turn}"), "role": "assistant", "stop_reason": "end_turn",
                        "content": [{"type": "text", "text": format!("Answer **{turn}**")}]}}),
            ]
        })
        .map(|line| line.to_string())
        .collect()
}

/// A client on a socket.
pub struct Client {
    pub stream: WebSocketStream<TcpStream>,
    next: u64,
}

impl Client {
    /// Connects with these headers beside the usual ones.
    pub async fn connect(port: u16, headers: &[(&str, &str)]) -> Result<Client, String> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await.map_err(|error| error.to_string())?;
        Client::connect_over(stream, port, headers).await
    }

    /// The same over a connection that is there already.
    pub async fn connect_over(
        stream: TcpStream,
        port: u16,
        headers: &[(&str, &str)],
    ) -> Result<Client, String> {
        let mut request = format!("ws://127.0.0.1:{port}/ws").into_client_request().unwrap();
        for (name, value) in headers {
            let name: tokio_tungstenite::tungstenite::http::HeaderName = name.parse().unwrap();
            request.headers_mut().insert(name, value.parse().unwrap());
        }
        let connecting = tokio_tungstenite::client_async(request, stream);
        match tokio::time::timeout(DEADLINE, connecting).await.expect("a handshake in time") {
            Ok((stream, _)) => Ok(Client { stream, next: 1 }),
            Err(error) => Err(error.to_string()),
        }
    }

    pub async fn send(&mut self, frame: Value) {
        self.stream.send(Message::text(frame.to_string())).await.unwrap();
    }

    /// The next frame that is JSON; `None` when the socket was closed.
    pub async fn next(&mut self) -> Option<Value> {
        // Pings come also when nothing is said, so that the whole wait has the deadline.
        tokio::time::timeout(DEADLINE, self.next_frame()).await.expect("a frame in time")
    }

    async fn next_frame(&mut self) -> Option<Value> {
        loop {
            match self.stream.next().await? {
                Ok(Message::Text(text)) => return Some(serde_json::from_str(&text).unwrap()),
                Ok(Message::Close(_)) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    /// The first frame that fits; those before it are dropped.
    pub async fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        let search = async {
            loop {
                let frame = self.next().await.expect("a frame, not the end");
                if fits(&frame) {
                    return frame;
                }
            }
        };
        tokio::time::timeout(DEADLINE, search).await.expect("that frame in time")
    }

    pub async fn until_type(&mut self, kind: &str) -> Value {
        self.until(|frame| frame["type"] == kind).await
    }

    /// Sends a request and gives its answer; what comes before is dropped.
    pub async fn ask(&mut self, mut frame: Value) -> Value {
        let reference = self.next;
        self.next += 1;
        frame["ref"] = reference.into();
        self.send(frame).await;
        self.until(|frame| frame["ref"] == reference).await
    }

    /// Subscribes to the rendered entries; gives what was said, and a page that holds them.
    pub async fn follow(&mut self, session: &str, more: Value) -> (Value, Page) {
        let mut frame = json!({"type": "subscribe", "session": session});
        frame.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let mut subscribed = self.ask(frame).await;
        assert_eq!(subscribed["type"], "subscribed", "{subscribed}");
        if subscribed["epoch"] == "end" {
            // Only the end of a large file so far: the whole replaces it.
            subscribed = self.until_type("subscribed").await;
        }
        let mut page = Page { sub: subscribed["sub"].as_u64().unwrap(), ..Page::default() };
        if subscribed["verdict"] != "resumed" {
            let window = self.until(|frame| frame["type"] == "entries").await;
            page.take(&window);
        }
        (subscribed, page)
    }
}

/// What a page holds: entries by place, as the protocol says to keep them.
#[derive(Clone, Debug, Default)]
pub struct Page {
    pub sub: u64,
    pub seq: u64,
    pub epoch: String,
    pub total: u64,
    pub state: Value,
    pub entries: BTreeMap<u64, Held>,
    /// How many patches kept something.
    pub patches: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    pub id: String,
    pub v: u64,
    pub day: Option<String>,
    pub html: String,
}

impl Page {
    /// Takes in a frame.
    pub fn take(&mut self, frame: &Value) {
        if frame["sub"] != self.sub {
            return;
        }
        match frame["type"].as_str() {
            Some("subscribed") if frame["verdict"] == "gap" => {
                self.entries.clear();
                self.epoch = frame["epoch"].as_str().unwrap().to_owned();
            }
            Some("state") => self.state = frame["session"].clone(),
            Some("entries") => {
                self.seq = frame["seq"].as_u64().unwrap();
                self.total = frame["total"].as_u64().unwrap();
                frame["entries"].as_array().unwrap().iter().for_each(|entry| self.put(entry));
            }
            _ => {}
        }
    }

    fn put(&mut self, entry: &Value) {
        let n = entry["n"].as_u64().unwrap();
        let mut html = entry["html"].as_str().unwrap().to_owned();
        let known = self.entries.get(&n);
        if let Some(keep) = entry.get("keep") {
            let known = known.expect("a patch is for what the client has");
            let units: Vec<u16> = known.html.encode_utf16().take(keep.as_u64().unwrap() as usize).collect();
            html = String::from_utf16(&units).unwrap() + &html;
            self.patches += 1;
        }
        let day =
            entry["day"].as_str().map(str::to_owned).or_else(|| known.and_then(|known| known.day.clone()));
        let held =
            Held { id: entry["id"].as_str().unwrap().to_owned(), v: entry["v"].as_u64().unwrap(), day, html };
        self.entries.insert(n, held);
    }

    /// Its entries as the page shows them.
    pub fn main(&self) -> String {
        let show = |held: &Held| {
            let day = held.day.as_ref().map(|day| format!("<div class=\"date\">{day}</div>\n"));
            day.unwrap_or_default() + &held.html
        };
        self.entries.values().map(show).collect()
    }
}

/// An answer to a request.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    pub fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }
}

/// A request, byte by byte, so that anything can be sent.
pub async fn request(port: u16, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let mut text =
        format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    if !headers.iter().any(|(name, _)| *name == "host") {
        text.push_str(&format!("host: 127.0.0.1:{port}\r\n"));
    }
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let talk = async {
        stream.write_all(format!("{text}\r\n{body}").as_bytes()).await.unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.unwrap();
        bytes
    };
    let bytes = tokio::time::timeout(DEADLINE, talk).await.expect("an answer in time");
    parse(&bytes)
}

/// A request that says how long its body is, and waits for the answer before it sends it.
pub async fn request_announcing(port: u16, token: &str, path: &str, bytes: usize) -> Answer {
    let text = format!(
        "POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {bytes}\r\n\r\n"
    );
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let talk = async {
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.unwrap();
        bytes
    };
    parse(&tokio::time::timeout(DEADLINE, talk).await.expect("an answer in time"))
}

fn parse(bytes: &[u8]) -> Answer {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("headers");
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let body = &bytes[end + 4..];
    let chunked = headers.get("transfer-encoding").is_some_and(|value| value == "chunked");
    let body = if chunked { unchunk(body) } else { body.to_vec() };
    Answer { status, headers, body: String::from_utf8_lossy(&body).into_owned() }
}

fn unchunk(mut bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let Some(end) = bytes.windows(2).position(|two| two == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&bytes[..end]).unwrap(), 16).unwrap();
        if size == 0 {
            break;
        }
        out.extend_from_slice(&bytes[end + 2..end + 2 + size]);
        bytes = &bytes[end + 4 + size..];
    }
    out
}
