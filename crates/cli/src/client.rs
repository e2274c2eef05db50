//! A guest of an open house: requests and the socket, as any other program would use them.

use anyhow::{Context, Result, bail};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use crate::data::Door;

/// A guest with a full token.
pub(crate) struct Client {
    url: String,
    token: String,
    http: reqwest::Client,
}

/// The socket of a guest.
pub(crate) struct Socket {
    stream: WebSocketStream<MaybeTlsStream<TcpStream>>,
    refs: u64,
}

impl Client {
    /// A guest of this house.
    pub(crate) fn new(door: &Door, token: &str) -> Result<Client> {
        Ok(Client { url: door.url.clone(), token: token.to_owned(), http: parlor_agent::http_client()? })
    }

    /// Asks for something, once.
    pub(crate) async fn get(&self, path: &str) -> Result<Value> {
        self.request(self.http.get(format!("{}{path}", self.url))).await
    }

    /// Asks for something to be done.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Value> {
        let request = self.http.post(format!("{}{path}", self.url));
        self.request(request.header("content-type", "application/json").body(body.to_string())).await
    }

    async fn request(&self, request: reqwest::RequestBuilder) -> Result<Value> {
        let answer = request.bearer_auth(&self.token).send().await;
        let answer =
            answer.with_context(|| format!("no house answers at {}; start one with `parlor`", self.url))?;
        let body: Value = serde_json::from_slice(&answer.bytes().await?).unwrap_or_default();
        match body["error"]["message"].as_str() {
            Some(message) => bail!("{message}"),
            None => Ok(body),
        }
    }

    /// Opens the socket.
    pub(crate) async fn socket(&self) -> Result<Socket> {
        let url = format!("{}/ws", self.url.replacen("http", "ws", 1));
        let mut request = url.into_client_request()?;
        request.headers_mut().insert("authorization", format!("Bearer {}", self.token).parse()?);
        let (stream, _) = tokio_tungstenite::connect_async(request)
            .await
            .with_context(|| format!("no house answers at {}; start one with `parlor`", self.url))?;
        Ok(Socket { stream, refs: 0 })
    }
}

impl Socket {
    /// Sends a frame; gives the number by which its answer is known.
    pub(crate) async fn send(&mut self, mut frame: Value) -> Result<u64> {
        self.refs += 1;
        frame["ref"] = self.refs.into();
        self.stream.send(Message::text(frame.to_string())).await.context("the house is gone")?;
        Ok(self.refs)
    }

    /// The next frame; `None` when the house has closed the socket.
    pub(crate) async fn next(&mut self) -> Result<Option<Value>> {
        while let Some(message) = self.stream.next().await {
            match message.context("the house is gone")? {
                Message::Text(text) => return Ok(Some(serde_json::from_str(&text)?)),
                Message::Close(_) => return Ok(None),
                _ => {}
            }
        }
        Ok(None)
    }

    /// Sends a frame and waits for its answer. Frames that come before it are given to `other`.
    pub(crate) async fn ask(&mut self, frame: Value, mut other: impl FnMut(Value)) -> Result<Value> {
        let number = self.send(frame).await?;
        while let Some(frame) = self.next().await? {
            if frame["ref"] == json!(number) {
                if let Some(message) = frame["error"]["message"].as_str() {
                    bail!("{message}");
                }
                return Ok(frame);
            }
            other(frame);
        }
        bail!("the house is gone")
    }
}

/// A value as a part of an address.
pub(crate) fn escape(text: &str) -> String {
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes()
        .map(|byte| if keep(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
