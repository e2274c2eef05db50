//! MCP servers of the built-in agent in a house: the person's own and the project's, over pipes and over HTTP, with a real
//! server that is a small program.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests run the program and may panic"
)]

mod common;

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use common::Home;
use common::house::{Follower, House, story, wait_until};
use parlor_model::tool::ToolState;
use parlor_model_server::ModelServer;
use serde_json::{Value, json};

/// A server with a few tools, over stdin and stdout, or over HTTP when it is told `--http`.
const DESK: &str = r#"#!/usr/bin/env python3
import http.server, json, os, sys, time

TOOLS = [{"name": name, "description": "For a test.", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}
         for name in ["echo", "fail", "long", "pause", "odd.name"]]

def call(name, text):
    if name == "pause":
        open("waiting", "w").close(); time.sleep(1000)
    if name == "long":
        text = "\n".join(str(number) for number in range(1, 20001))
    error = name == "fail"
    return {"content": [{"type": "text", "text": "it failed" if error else "%s said %s" % (name, text)}], "isError": error}

def answer(message):
    method, params = message.get("method"), message.get("params") or {}
    if "id" not in message: return None
    if method == "initialize":
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "desk", "version": "1"}}
    elif method == "tools/list": result = {"tools": TOOLS}
    elif method == "tools/call": result = call(params["name"], params.get("arguments", {}).get("text"))
    elif method == "ping": result = {}
    else: return {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no such method"}}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}

class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        reply = answer(message) if self.headers.get("x-key") == "test-key" else None
        body = json.dumps(reply).encode() if reply else b""
        self.send_response(200 if reply else 202)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_GET(self):
        self.send_response(405); self.send_header("content-length", "0"); self.end_headers()
    def log_message(self, *_): pass

if "--broken" in sys.argv:
    sys.exit("the desk is broken")
if "--http" in sys.argv:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
for line in sys.stdin:
    reply = answer(json.loads(line))
    if reply: print(json.dumps(reply), flush=True)
"#;

struct Desk {
    home: Home,
    server: ModelServer,
}

impl Desk {
    fn set() -> Desk {
        let desk = Desk { home: Home::new(), server: ModelServer::start() };
        desk.home.write("desk.py", DESK);
        fs::create_dir_all(desk.home.path("work")).unwrap();
        desk
    }

    fn house(&self) -> House {
        let url = format!("{}/v1", self.server.url);
        let model =
            [("PARLOR_MODEL_URL", url.as_str()), ("PARLOR_MODEL_NAME", "scripted"), ("DESK_KEY", "test-key")];
        House::open_with(&self.home, &model)
    }

    fn session(&self, house: &House, mode: &str) -> Follower {
        let cwd = self.home.path("work").display().to_string();
        let answer =
            house.guest().ask(json!({"type": "create", "agent": "builtin", "cwd": cwd, "mode": mode}));
        house.guest().follow(answer["session"].as_str().unwrap())
    }

    /// The tools that the model was told of last.
    fn offered(&self) -> Vec<String> {
        let requests = self.server.requests();
        let tools = requests.last().unwrap().body["tools"].clone();
        let names = tools
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["function"]["name"].as_str().unwrap().to_owned());
        names.filter(|name| name.starts_with("mcp__")).collect()
    }

    /// The servers that run for this home's agents.
    fn servers(&self) -> usize {
        let program = self.home.path("desk.py").display().to_string();
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let command = |process: &fs::DirEntry| fs::read(process.path().join("cmdline")).unwrap_or_default();
        processes.filter(|process| String::from_utf8_lossy(&command(process)).contains(&program)).count()
    }

    fn entry(&self, more: &[&str]) -> Value {
        let arguments: Vec<Value> = [json!(self.home.path("desk.py"))]
            .into_iter()
            .chain(more.iter().map(|word| json!(word)))
            .collect();
        json!({"command": "python3", "args": arguments})
    }
}

#[test]
fn a_projects_server_is_started_when_it_is_allowed_and_ends_with_a_stop() {
    let desk = Desk::set();
    let file = json!({"mcpServers": {"desk": desk.entry(&[])}});
    desk.home.write("work/.mcp.json", file.to_string());
    let house = desk.house();
    let mut talk = desk.session(&house, "ask");
    let told = talk.turn("hello", "Hi [[script hello]]");
    let program = desk.home.path("desk.py");
    let permit = format!("Mcp(desk: python3 {})", program.display());
    assert!(told.contains(&format!("parlor permits --allow '{permit}'")), "{told}");
    assert_eq!((desk.offered().len(), desk.servers()), (0, 0), "nothing of the project is started");

    let work = desk.home.path("work").display().to_string();
    desk.home.run(&["permits", "--allow", &permit, "--folder", &work]).exits(0);
    let text = r#"Call it [[script mcp tool=echo json={"text":"hello"}]]"#;
    talk.prompt("echo", text);
    talk.until("the ask", |view| !view.asks().is_empty());
    let ask = talk.last_tool().ask.clone().unwrap();
    assert_eq!(
        ask.reason.unwrap().as_str(),
        "Call `mcp__desk__echo`; always: `mcp__desk__echo` in this folder"
    );
    talk.order("yes", json!({"order": "answer", "ask": ask.id, "choice": "allow_always"}));
    talk.rest("echo");
    let told = talk.story_since(text);
    assert!(
        told.contains("mcp__desk__echo Done") && told.contains("reply: The tool said: echo said hello"),
        "{told}"
    );
    assert_eq!(desk.offered().len(), 5);
    assert_eq!(desk.servers(), 1);

    // Another session of the folder needs to ask for neither.
    let mut talk = desk.session(&house, "ask");
    talk.turn("again", r#"Call it [[script mcp tool=echo json={"text":"again"}]]"#);
    assert_eq!(talk.last_tool().state, ToolState::Done, "{}", talk.story());
    talk.order("mode", json!({"order": "set", "mode": "allow_all"}));
    talk.turn("fail", "Fail [[script mcp tool=fail]]");
    assert_eq!(talk.last_tool().state, ToolState::Failed, "{}", talk.story());
    talk.turn("odd", "Odd [[script mcp tool=odd_name]]");
    assert_eq!(talk.last_tool().state, ToolState::Done, "{}", talk.story());
    talk.turn("long", "Long [[script mcp tool=long]]");
    let output = talk.last_tool().output.clone().unwrap();
    assert!(output.truncated && output.joined().contains("\n10000\n"), "a person keeps all of it");

    // A stop ends the call and the server; the next turn has it again.
    assert_eq!(desk.servers(), 2);
    talk.prompt("wait", "Wait [[script mcp tool=pause]]");
    wait_until("the call", || desk.home.path("work/waiting").exists());
    talk.stop("stop");
    assert_eq!(talk.last_tool().state, ToolState::Interrupted, "{}", talk.story());
    assert_eq!(desk.servers(), 1, "the other session's is left");
    let told = talk.turn("back", r#"Call it [[script mcp tool=echo json={"text":"back"}]]"#);
    assert!(told.contains("reply: The tool said: echo said back"), "{told}");
    house.kill();
    let house = desk.house();
    wait_until("nothing left", || desk.servers() == 0);

    // Another command of the same name is another matter.
    let file = json!({"mcpServers": {"desk": desk.entry(&["--other"])}});
    desk.home.write("work/.mcp.json", file.to_string());
    let told = desk.session(&house, "allow_all").turn("changed", "Hi [[script hello]]");
    assert!(told.contains("is not started before you allow it"), "{told}");
    assert_eq!(desk.servers(), 0);
    assert_eq!(house.close(), 0);
}

/// A server that is there without the house, and ends with the test.
struct Web(Child);

impl Drop for Web {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_persons_own_servers_are_there_and_one_that_fails_is_told_of() {
    let desk = Desk::set();
    let mut web = Command::new("python3");
    web.arg(desk.home.path("desk.py")).arg("--http").stdout(Stdio::piped()).current_dir(desk.home.path(""));
    let mut web = Web(web.spawn().unwrap());
    let mut port = String::new();
    BufReader::new(web.0.stdout.take().unwrap()).read_line(&mut port).unwrap();
    let url = format!("http://127.0.0.1:{}/mcp", port.trim());
    let servers = json!({
        "web": {"type": "http", "url": url, "headers": {"x-key": "${DESK_KEY}"}},
        "broken": desk.entry(&["--broken"]),
        "absent": {"command": "no-such-program"},
        "unset": {"command": "python3", "args": ["${NO_SUCH_VARIABLE}"]},
    });
    desk.home.write(".local/share/parlor/mcp.json", json!({"mcpServers": servers}).to_string());
    let house = desk.house();
    let mut talk = desk.session(&house, "allow_all");
    let told = talk.turn("call", r#"Call it [[script mcp tool=echo json={"text":"web"}]]"#);
    assert!(told.contains("reply: The tool said: echo said web"), "{told}");
    for words in [
        "`broken` ",
        "(it says: the desk is broken)",
        "`no-such-program`",
        "variable `NO_SUCH_VARIABLE`, which is not set",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let told = talk.turn("again", "Hi [[script hello]]");
    assert!(!told.contains("notice"), "said once: {told}");
    // A server that goes away fails its calls; the session goes on.
    drop(web);
    talk.turn("gone", r#"Call it [[script mcp tool=echo json={"text":"gone"}]]"#);
    assert_eq!(talk.last_tool().state, ToolState::Failed, "{}", talk.story());
    assert!(story(&talk.view).contains("reply: The tool said:"), "{}", talk.story());
}
