//! The server as a client of each wire format sees it.
#![allow(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

use parlor_model_server::{ModelServer, Outcome};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What came back, with the frames of its stream.
struct Reply {
    status: u16,
    head: String,
    body: String,
    /// Whether the body came to its end.
    is_whole: bool,
}

impl Reply {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    fn frames(&self) -> Vec<Value> {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
    }
}

async fn send(server: &ModelServer, method: &str, path: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.url.strip_prefix("http://").unwrap()).await.unwrap();
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

async fn ask(server: &ModelServer, method: &str, path: &str, body: &Value) -> Reply {
    ask_raw(server, method, path, &body.to_string()).await
}

async fn ask_raw(server: &ModelServer, method: &str, path: &str, body: &str) -> Reply {
    let mut stream = send(server, method, path, body).await;
    let mut bytes = Vec::new();
    // A connection that the script cut may end with a reset; what came before it counts.
    let _ = stream.read_to_end(&mut bytes).await;
    let text = String::from_utf8(bytes).unwrap();
    let (head, rest) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let (body, is_whole) =
        if head.contains("transfer-encoding: chunked") { unchunked(rest) } else { (rest.to_owned(), true) };
    Reply { status, head: head.to_owned(), body, is_whole }
}

fn unchunked(mut rest: &str) -> (String, bool) {
    let mut body = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return (body, true);
        }
        body.push_str(&after[..size]);
        rest = &after[size + 2..];
    }
    (body, false)
}

const WIRES: [&str; 3] = ["/v1/messages", "/v1/responses", "/any/prefix/v1/chat/completions"];

/// A request with a prompt, which all three formats read.
fn request(prompt: &str, stream: bool) -> Value {
    let messages = json!([{"role": "user", "content": prompt}]);
    json!({"model": "scripted", "stream": stream, "messages": messages, "input": messages, "thinking": {"type": "adaptive"}})
}

/// The streamed pieces of an answer, from any of the formats, whose field has this name.
fn pieces(reply: &Reply, kinds: [&str; 3]) -> Vec<String> {
    let [anthropic, responses, chat] = kinds;
    let frames = reply.frames();
    let piece = |frame: &Value| {
        let found = if frame["type"] == responses {
            &frame["delta"]
        } else if frame["type"] == "content_block_delta" {
            &frame["delta"][anthropic]
        } else {
            &frame["choices"][0]["delta"][chat]
        };
        found.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
    };
    frames.iter().filter_map(piece).collect()
}

const TEXT: [&str; 3] = ["text", "response.output_text.delta", "content"];
const THOUGHT: [&str; 3] = ["thinking", "response.reasoning_summary_text.delta", "reasoning_content"];

#[tokio::test]
async fn every_format_streams_thoughts_and_text_in_pieces() {
    let server = ModelServer::start();
    for path in WIRES {
        let reply = ask(&server, "POST", path, &request("[[script think]]", true)).await;
        assert_eq!((reply.status, reply.is_whole), (200, true), "{path}");
        assert!(reply.head.contains("text/event-stream"), "{}", reply.head);
        assert!(pieces(&reply, TEXT).len() > 2, "{path}: {}", reply.body);
        assert_eq!(pieces(&reply, TEXT).concat(), "I thought about it: hello.", "{path}");
        assert!(
            pieces(&reply, THOUGHT).concat().starts_with("**Weighing the question**"),
            "{path}: {}",
            reply.body
        );
    }
    assert!(server.requests().iter().all(|request| request.outcome == Outcome::Done));
}

#[tokio::test]
async fn every_format_answers_in_one_piece() {
    let server = ModelServer::start();
    let places = ["/content/0/text", "/output/0/content/0/text", "/choices/0/message/content"];
    for (path, place) in WIRES.into_iter().zip(places) {
        let reply = ask(&server, "POST", path, &request("[[script hello]]", false)).await;
        let text = reply.json().pointer(place).unwrap().as_str().unwrap().to_owned();
        assert_eq!(text, "Hello from the scripted model. How can I help?", "{path}");
    }
}

#[tokio::test]
async fn long_text_streams_one_word_a_piece() {
    let server = ModelServer::start();
    for path in WIRES {
        let reply = ask(&server, "POST", path, &request("[[script long-text n=123]]", true)).await;
        assert_eq!(pieces(&reply, TEXT).len(), 123, "{path}");
    }
}

#[tokio::test]
async fn a_chat_calls_tools_by_index_and_quotes_their_results() {
    let server = ModelServer::start();
    let tools = json!([{"type": "function", "function": {"name": "Bash", "parameters": {"properties": {"command": {"type": "string"}}}}}]);
    let mut body = request("[[script multi-tool]]", true);
    body["tools"] = tools;
    body["stream_options"] = json!({"include_usage": true});
    let reply = ask(&server, "POST", "/v1/chat/completions", &body).await;
    let mut arguments = [const { String::new() }; 3];
    for frame in reply.frames() {
        for call in frame["choices"][0]["delta"]["tool_calls"].as_array().into_iter().flatten() {
            let index = usize::try_from(call["index"].as_u64().unwrap()).unwrap();
            arguments[index].push_str(call["function"]["arguments"].as_str().unwrap());
        }
    }
    assert_eq!(arguments[1], r#"{"command":"echo two"}"#);
    assert!(
        reply.frames().last().unwrap()["usage"]["total_tokens"].is_u64(),
        "no usage at the end: {}",
        reply.body
    );
    assert!(reply.body.ends_with("data: [DONE]\n\n"));

    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(json!({"role": "assistant", "content": null, "tool_calls": [{"id": "1", "function": {"name": "Bash"}}]}));
    messages.push(json!({"role": "tool", "tool_call_id": "1", "content": "one"}));
    let reply = ask(&server, "POST", "/v1/chat/completions", &body).await;
    assert_eq!(pieces(&reply, TEXT).concat(), "They printed: one");
    let requests = server.requests();
    assert_eq!((requests[1].script.as_deref(), requests[1].step), (Some("multi-tool"), 1));
}

#[tokio::test]
async fn an_error_comes_as_often_as_asked() {
    let server = ModelServer::start();
    let places = ["/error/type", "/error/code", "/error/code"];
    let kinds = ["rate_limit_error", "rate_limit_exceeded", "rate_limit_exceeded"];
    for ((path, place), kind) in WIRES.into_iter().zip(places).zip(kinds) {
        let prompt = format!("[[script error status=429 times=2 retry-after=7 id={path}]]");
        for _ in 0..2 {
            let reply = ask(&server, "POST", path, &request(&prompt, true)).await;
            assert_eq!(reply.status, 429, "{path}");
            assert!(reply.head.contains("retry-after: 7"), "{}", reply.head);
            assert_eq!(reply.json().pointer(place).unwrap(), kind, "{path}");
        }
        assert_eq!(ask(&server, "POST", path, &request(&prompt, true)).await.status, 200, "{path}");
    }
    assert_eq!(server.requests()[0].outcome, Outcome::Refused(429));
}

#[tokio::test]
async fn a_cut_stream_shows_its_beginning_and_no_end() {
    let server = ModelServer::start();
    for path in WIRES {
        // Without a pause nothing but the server's own care brings the beginning to the client.
        let prompt = format!("[[script cut ms=0 id={path}]]");
        let reply = ask(&server, "POST", path, &request(&prompt, true)).await;
        assert!(!reply.is_whole, "{path}: {}", reply.body);
        assert!(!pieces(&reply, TEXT).is_empty(), "{path}: {}", reply.body);
        let again = ask(&server, "POST", path, &request(&prompt, true)).await;
        assert!(
            again.is_whole && pieces(&again, TEXT).concat().starts_with("This answer came through"),
            "{path}"
        );
    }
    assert_eq!(server.requests()[0].outcome, Outcome::Cut);
}

#[tokio::test]
async fn a_client_that_goes_away_is_noticed() {
    let server = ModelServer::start();
    for (number, script) in ["hang", "stall", "long-text n=1000 ms=60000"].into_iter().enumerate() {
        let body = request(&format!("[[script {script}]]"), true).to_string();
        let stream = send(&server, "POST", "/v1/messages", &body).await;
        let is_open = |outcome| outcome == Outcome::Open;
        server
            .wait_until("the request", |requests| {
                requests
                    .get(number)
                    .is_some_and(|request| request.script.is_some() && is_open(request.outcome))
            })
            .await;
        drop(stream);
        server
            .wait_until("the client to be gone", |requests| requests[number].outcome == Outcome::Gone)
            .await;
    }
}

#[tokio::test]
async fn the_other_paths_answer() {
    let server = ModelServer::start();
    let none = Value::Null;
    assert_eq!(ask(&server, "HEAD", "/api/hello", &none).await.status, 200);
    assert_eq!(ask(&server, "GET", "/api/hello", &none).await.status, 200);
    assert_eq!(ask(&server, "GET", "/run/1/v1/models", &none).await.json()["data"][0]["id"], "scripted");
    let counted = ask(&server, "POST", "/v1/messages/count_tokens", &request("some words", false)).await;
    assert!(counted.json()["input_tokens"].as_u64().unwrap() > 10);
    let log = ask(&server, "GET", "/requests", &none).await.json();
    assert_eq!(log.as_array().unwrap().len(), 4);
    assert_eq!(log[3]["path"], "/v1/messages/count_tokens");
    assert!(log[3]["body"].is_null());
}

#[tokio::test]
async fn bad_requests_are_told_what_to_do() {
    let server = ModelServer::start();
    let unknown = ask(&server, "POST", "/v1/responses", &request("[[script absent]]", true)).await;
    assert_eq!(unknown.status, 400);
    assert!(unknown.body.contains("`absent`") && unknown.body.contains("hello"), "{}", unknown.body);
    let no_json = ask_raw(&server, "POST", "/v1/messages", "{").await;
    assert_eq!(
        (no_json.status, no_json.json()["error"]["type"].as_str()),
        (400, Some("invalid_request_error"))
    );
    let nowhere = ask(&server, "POST", "/v1/nothing", &Value::Null).await;
    assert!(nowhere.status == 404 && nowhere.body.contains("/v1/messages"), "{}", nowhere.body);
    let bad_steps = ask(&server, "POST", "/v1/messages", &request("[[script play json={}]]", true)).await;
    assert!(bad_steps.status == 400 && bad_steps.body.contains("list of steps"), "{}", bad_steps.body);
}

#[tokio::test]
async fn without_a_marker_the_prompt_is_quoted() {
    let server = ModelServer::start();
    for path in WIRES {
        let reply = ask(&server, "POST", path, &request("Is anybody there?", true)).await;
        assert!(pieces(&reply, TEXT).concat().contains("“Is anybody there?”"), "{path}");
    }
}
