//! One request to the model: it is sent, and the lines of the answer come back as they are. It knows HTTP and nothing of
//! what the lines say.

use std::collections::VecDeque;
use std::sync::Once;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use parlor_dialect::Splitter;
use reqwest::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Client, ClientBuilder, RequestBuilder, Response, Url};
use serde_json::Value;

use super::Endpoint;
use super::trouble::Trouble;

/// OpenAI's own address.
const OPENAI: &str = "https://api.openai.com/v1";
/// How long a server may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(20);
/// How long a server may say nothing: models that think without a word take minutes.
const SILENCE: Duration = Duration::from_secs(300);
/// How long the rest of an answer is waited for that is whole already.
const REST: Duration = Duration::from_secs(5);
/// The longest line, and the longest answer that is not streamed.
const LINE_BYTES: usize = 16 << 20;
/// The longest answer: a model that repeats itself without end is stopped by it.
const ANSWER_BYTES: usize = 128 << 20;
/// How much of an error's text is told.
const ERROR_CHARS: usize = 600;

/// The way to the model.
pub(crate) struct Wire {
    client: Result<Client, String>,
    url: String,
    key: Option<String>,
}

/// The lines of an answer.
pub(crate) struct Lines {
    response: Response,
    splitter: Splitter,
    ready: VecDeque<Bytes>,
    /// Bytes since the last line end.
    pending: usize,
    /// Bytes so far.
    total: usize,
    ended: bool,
}

impl Wire {
    pub(crate) fn new(endpoint: &Endpoint) -> Wire {
        let base = if endpoint.url.trim().is_empty() { OPENAI } else { endpoint.url.trim() };
        let base = base.trim_end_matches('/');
        let url = match base.ends_with("/chat/completions") {
            true => base.to_owned(),
            false => format!("{base}/chat/completions"),
        };
        let key = endpoint.key.clone().filter(|key| !key.is_empty());
        Wire { client: client_for(&url), url, key }
    }

    /// The address as the person knows it, without secrets in it.
    pub(crate) fn address(&self) -> String {
        let base = self.url.trim_end_matches("/chat/completions");
        match Url::parse(base) {
            Ok(mut url)
                if !url.username().is_empty() || url.password().is_some() || url.query().is_some() =>
            {
                let _ = (url.set_username(""), url.set_password(None));
                url.set_query(None);
                url.to_string()
            }
            _ => base.to_owned(),
        }
    }

    pub(crate) fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// Sends a request whose answer is streamed.
    pub(crate) async fn send(&self, body: &Value) -> Result<Lines, Trouble> {
        let client = self.client.as_ref().map_err(|why| Trouble::Invalid(why.clone()))?;
        let request = client.post(&self.url).header(ACCEPT, "text/event-stream").json(body);
        let response = self.signed(request).send().await.map_err(|error| self.unsent(&error))?;
        if !response.status().is_success() {
            return Err(self.refused(response).await);
        }
        let is_whole = response
            .headers()
            .get(CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
        let splitter = Splitter::default();
        let mut lines =
            Lines { response, splitter, ready: VecDeque::new(), pending: 0, total: 0, ended: false };
        if is_whole {
            lines.read_whole().await?;
        }
        Ok(lines)
    }

    fn signed(&self, request: RequestBuilder) -> RequestBuilder {
        match &self.key {
            Some(key) => request.bearer_auth(key),
            None => request,
        }
    }

    fn unsent(&self, error: &reqwest::Error) -> Trouble {
        let why = self.unspoken(&causes(error));
        if error.is_builder() {
            Trouble::Invalid(format!("{} is no address of a model ({why}); correct it", self.address()))
        } else if error.is_connect() {
            Trouble::Unreachable(why)
        } else {
            Trouble::Cut(why)
        }
    }

    async fn refused(&self, mut response: Response) -> Trouble {
        let status = response.status();
        let pause =
            response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let mut body = BytesMut::new();
        while let Ok(Ok(Some(chunk))) = tokio::time::timeout(REST, response.chunk()).await {
            body.extend_from_slice(&chunk);
            if body.len() > 64 << 10 {
                break;
            }
        }
        let text = self.unspoken(&error_text(&body));
        let reason = || status.canonical_reason().unwrap_or("no reason given").to_lowercase();
        let text = if text.is_empty() { reason() } else { text };
        Trouble::Refused { status, text, pause: pause.map(Duration::from_secs) }
    }

    /// Some servers repeat the key in their errors: it must not get into a log.
    fn unspoken(&self, text: &str) -> String {
        match &self.key {
            Some(key) => text.replace(key.as_str(), "…"),
            None => text.to_owned(),
        }
    }
}

impl Lines {
    /// The next line that is not blank and no heartbeat. An answer that is `finished` is not waited for any longer.
    pub(crate) async fn next(&mut self, finished: bool) -> Result<Option<Bytes>, Trouble> {
        loop {
            if let Some(line) = self.ready.pop_front() {
                return Ok(Some(line));
            }
            if self.ended {
                return Ok(None);
            }
            let patience = if finished { REST } else { SILENCE };
            match tokio::time::timeout(patience, self.response.chunk()).await {
                Ok(Ok(Some(chunk))) => self.split(&chunk)?,
                Ok(Ok(None)) => self.end(),
                Ok(Err(_)) | Err(_) if finished => self.end(),
                Ok(Err(error)) => return Err(Trouble::Cut(causes(&error))),
                Err(_) => return Err(Trouble::Cut(format!("nothing came for {} s", SILENCE.as_secs()))),
            }
        }
    }

    fn split(&mut self, chunk: &[u8]) -> Result<(), Trouble> {
        let mut lines = Vec::new();
        self.splitter.push(chunk, &mut lines);
        self.pending = match memchr::memrchr(b'\n', chunk) {
            Some(end) => chunk.len() - end - 1,
            None => self.pending + chunk.len(),
        };
        self.total += chunk.len();
        if self.total > ANSWER_BYTES {
            let limit = ANSWER_BYTES >> 20;
            return Err(Trouble::Invalid(format!(
                "the model's answer is longer than {limit} MB; ask for less at once"
            )));
        }
        if self.pending > LINE_BYTES {
            return Err(Trouble::Cut(format!("a line is longer than {} MB", LINE_BYTES >> 20)));
        }
        self.ready.extend(lines.iter().map(|line| line.bytes().clone()).filter(|line| says_something(line)));
        Ok(())
    }

    fn end(&mut self) {
        self.ended = true;
        let last = self.splitter.finish().map(|line| line.bytes().clone());
        self.ready.extend(last.filter(|line| says_something(line)));
    }

    /// A server that does not stream gives one JSON, perhaps on many lines: outside of strings a line end is a space, and
    /// inside of them there is none.
    async fn read_whole(&mut self) -> Result<(), Trouble> {
        let mut body = BytesMut::new();
        loop {
            match tokio::time::timeout(SILENCE, self.response.chunk()).await {
                Ok(Ok(Some(chunk))) => body.extend_from_slice(&chunk),
                Ok(Ok(None)) => break,
                Ok(Err(error)) => return Err(Trouble::Cut(causes(&error))),
                Err(_) => return Err(Trouble::Cut(format!("nothing came for {} s", SILENCE.as_secs()))),
            }
            if body.len() > LINE_BYTES {
                return Err(Trouble::Cut(format!("the answer is longer than {} MB", LINE_BYTES >> 20)));
            }
        }
        for byte in body.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')) {
            *byte = b' ';
        }
        self.ready.push_back(body.freeze());
        self.ended = true;
        Ok(())
    }
}

/// A client that follows no redirect by itself. Without certificates on the machine it can still speak plain HTTP.
pub(crate) fn client(builder: impl Fn() -> ClientBuilder) -> Result<Client, String> {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        // Another part of the program may have installed it already.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    let build = |builder: ClientBuilder| {
        builder.redirect(reqwest::redirect::Policy::none()).connect_timeout(CONNECT).build()
    };
    build(builder())
        .or_else(|_| build(builder().tls_certs_only([])))
        .map_err(|error| format!("cannot set up HTTP: {}", causes(&error)))
}

/// An error with what led to it.
pub(crate) fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

/// A model on this machine is not behind a proxy.
fn client_for(url: &str) -> Result<Client, String> {
    let is_local = Url::parse(url).ok().and_then(|url| url.host_str().map(is_loopback)).unwrap_or_default();
    client(|| if is_local { Client::builder().no_proxy() } else { Client::builder() })
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// Blank lines end an event, and comments keep the connection alive: neither says anything.
fn says_something(line: &[u8]) -> bool {
    !line.trim_ascii().is_empty() && !line.starts_with(b":")
}

/// The message of an error in any of the forms servers use, else the text itself.
fn error_text(body: &[u8]) -> String {
    let json = serde_json::from_slice::<Value>(body).unwrap_or_default();
    // Some servers put it into a list.
    let json = json.get(0).cloned().unwrap_or(json);
    let error = &json["error"];
    let known = [&error["message"], error, &json["message"], &json["detail"]];
    let message = known.iter().find_map(|value| value.as_str());
    let code = error["code"].as_str().map(|code| format!(", code {code}")).unwrap_or_default();
    let text = message
        .map_or_else(|| String::from_utf8_lossy(body).trim().to_owned(), |text| text.to_owned() + &code);
    let short: String = text.chars().take(ERROR_CHARS).collect();
    if short.len() < text.len() { short + "…" } else { short }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_read_in_every_form() {
        for (body, text) in [
            (r#"{"error":{"message":"no","code":"bad"}}"#, "no, code bad"),
            (r#"{"error":"no"}"#, "no"),
            (r#"[{"error":{"message":"no","code":400}}]"#, "no"),
            (r#"{"detail":"no"}"#, "no"),
            ("plain no\n", "plain no"),
            ("", ""),
        ] {
            assert_eq!(error_text(body.as_bytes()), text, "{body}");
        }
        assert_eq!(error_text("x".repeat(5_000).as_bytes()).chars().count(), ERROR_CHARS + 1);
    }

    #[test]
    fn the_address_is_completed_and_shown_without_secrets() {
        for (url, full, shown) in [
            ("", "https://api.openai.com/v1/chat/completions", "https://api.openai.com/v1"),
            ("http://localhost:1/v1/", "http://localhost:1/v1/chat/completions", "http://localhost:1/v1"),
            ("http://h/v1/chat/completions", "http://h/v1/chat/completions", "http://h/v1"),
        ] {
            let wire = Wire::new(&Endpoint::new(url, "m"));
            assert_eq!((wire.url.as_str(), wire.address().as_str()), (full, shown));
        }
        assert!(!Wire::new(&Endpoint::new("http://u:secret@h/v1", "m")).address().contains("secret"));
    }
}
