//! The tools by which the built-in agent talks to others: passed on to the house that runs it, as any other agent's are. What may
//! be done is decided there.

use reqwest::header::{ACCEPT, CONTENT_TYPE};
use serde_json::{Value, json};

use super::{Bench, Outcome};
use crate::Mcp;
use crate::builtin::request;
use parlor_model::Key;

/// How much of an answer is read.
const ANSWER_BYTES: usize = 2 << 20;

/// A call for the house.
#[derive(Debug)]
pub(crate) struct Agents {
    name: String,
    input: Value,
}

impl Agents {
    /// Reads a call; `None` when the tool is another one.
    pub(crate) fn parse(name: &str, arguments: &str) -> Option<Result<Agents, String>> {
        parlor_model::agents::definitions().iter().find(|tool| tool.name == name)?;
        Some(super::read_input(name, arguments).map(|input| Agents { name: name.to_owned(), input }))
    }

    pub(crate) async fn run(&self, call: &Key, bench: &Bench) -> Outcome {
        match &bench.mcp {
            Some(mcp) => self.pass(call, mcp).await.into(),
            None => Outcome::failed("There are no other agents here."),
        }
    }

    async fn pass(&self, call: &Key, mcp: &Mcp) -> Result<Outcome, String> {
        let unreachable =
            |error: reqwest::Error| format!("The house does not answer: {}.", request::causes(&error));
        let params = json!({ "name": self.name, "arguments": self.input, "_meta": { "parlor/call": call } });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let client = request::client(|| reqwest::Client::builder().no_proxy())?;
        let request = client
            .post(&mcp.url)
            .bearer_auth(&mcp.token)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .body(body.to_string());
        let mut answer = request.send().await.map_err(unreachable)?;
        let mut bytes = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(unreachable)? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > ANSWER_BYTES {
                return Err("The house's answer is too long.".to_owned());
            }
        }
        read(&String::from_utf8_lossy(&bytes)).ok_or_else(|| "The house's answer cannot be read.".to_owned())
    }
}

/// The result in an answer: JSON, or a stream of events with it.
fn read(answer: &str) -> Option<Outcome> {
    let data = answer.lines().filter_map(|line| line.strip_prefix("data:"));
    let answer = data.chain([answer]).find_map(|text| serde_json::from_str::<Value>(text.trim()).ok())?;
    if let Some(error) = answer["error"]["message"].as_str() {
        return Some(Outcome::failed(error));
    }
    let text = answer["result"]["content"][0]["text"].as_str()?;
    Some(match answer["result"]["isError"] == true {
        true => Outcome::failed(text),
        false => Outcome::done(text),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use parlor_model::seen::Ended;

    #[test]
    fn an_answer_is_read_from_a_stream_and_as_json() {
        let result =
            r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"hi"}],"isError":false}}"#;
        for answer in [result.to_owned(), format!("data:\nid: 0\n\ndata: {result}\n\n")] {
            assert_eq!(read(&answer), Some(Outcome::done("hi")), "{answer}");
        }
        let failed = read(r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}"#).unwrap();
        assert_eq!((failed.state, failed.text.as_str()), (Ended::Failed, "no"));
        assert_eq!(read("nonsense"), None);
    }
}
