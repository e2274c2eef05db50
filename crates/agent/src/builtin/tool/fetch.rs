//! Gets a page from the web as text. Every address on the way, redirects too, is resolved and checked first, and then that very
//! address is called.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use bytes::BytesMut;
use reqwest::header::{ACCEPT, CONTENT_TYPE, LOCATION, USER_AGENT};
use reqwest::{Client, Response, Url};
use serde::Deserialize;

use super::{Bench, Outcome, address, html};
use crate::builtin::request;

/// How much of a page is read.
const PAGE_BYTES: usize = 1 << 20;
/// How many redirects are followed.
const REDIRECTS: usize = 5;
/// How long a page may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The input.
#[derive(Debug, Deserialize)]
pub(crate) struct WebFetch {
    pub(crate) url: String,
}

impl WebFetch {
    /// The host, for rules about it.
    pub(crate) fn host(&self) -> String {
        Url::parse(&self.url).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default()
    }

    pub(crate) async fn run(&self, bench: &Bench) -> Outcome {
        match tokio::time::timeout(PATIENCE, self.fetch(bench.allow_private)).await {
            Ok(result) => result.into(),
            Err(_) => Outcome::failed(format!("{} took longer than {} s.", self.url, PATIENCE.as_secs())),
        }
    }

    async fn fetch(&self, allow_private: bool) -> Result<Outcome, String> {
        let mut url =
            Url::parse(&self.url).map_err(|error| format!("{} is not an address: {error}.", self.url))?;
        for _ in 0..=REDIRECTS {
            let response = get(&url, allow_private).await?;
            let target = response.headers().get(LOCATION).filter(|_| response.status().is_redirection());
            match target {
                None => return page(&url, response).await,
                Some(target) => {
                    let target = target.to_str().map_err(|_| format!("{url} redirects to nowhere."))?;
                    url =
                        url.join(target).map_err(|error| format!("{url} redirects to {target}: {error}."))?;
                }
            }
        }
        Err(format!("{} redirects more than {REDIRECTS} times.", self.url))
    }
}

async fn get(url: &Url, allow_private: bool) -> Result<Response, String> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("{url} cannot be fetched: only http:// and https:// can."));
    }
    let host = url.host_str().ok_or_else(|| format!("{url} names no host."))?;
    let addresses = addresses(url, host).await?;
    if let Some(refused) =
        addresses.iter().map(SocketAddr::ip).find(|ip| !allow_private && !address::is_public(*ip))
    {
        return Err(format!(
            "{url} is refused: {host} is {refused}, which is this machine or a private network. Ask the person if you need it."
        ));
    }
    // A literal address is called as it is; a name is bound to the addresses that were checked.
    let client = request::client(|| Client::builder().no_proxy().resolve_to_addrs(host, &addresses))?;
    let request = client
        .get(url.clone())
        .header(USER_AGENT, "Parlor")
        .header(ACCEPT, "text/html, text/*, application/json, */*;q=0.5");
    request.send().await.map_err(|error| format!("{url} cannot be fetched: {}.", request::causes(&error)))
}

async fn addresses(url: &Url, host: &str) -> Result<Vec<SocketAddr>, String> {
    let port = url.port_or_known_default().unwrap_or(80);
    if let Ok(ip) = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, port)]);
    }
    let found = tokio::net::lookup_host((host, port)).await;
    let found: Vec<SocketAddr> =
        found.map_err(|error| format!("{host} cannot be found: {error}."))?.collect();
    if found.is_empty() {
        return Err(format!("{host} has no address."));
    }
    Ok(found)
}

async fn page(url: &Url, mut response: Response) -> Result<Outcome, String> {
    let status = response.status();
    let kind =
        response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("").to_lowercase();
    let (mut body, mut cut) = (BytesMut::new(), false);
    while let Some(chunk) =
        response.chunk().await.map_err(|error| format!("{url} was cut off: {}.", request::causes(&error)))?
    {
        body.extend_from_slice(&chunk);
        if body.len() > PAGE_BYTES {
            (cut, _) = (true, body.truncate(PAGE_BYTES));
            break;
        }
    }
    let is_text =
        kind.is_empty() || ["text/", "json", "xml", "javascript"].iter().any(|word| kind.contains(word));
    if !is_text || body.iter().take(8_000).any(|byte| *byte == 0) {
        return Err(format!("{url} is no text but {kind}, {} bytes.", body.len()));
    }
    let raw = String::from_utf8_lossy(&body);
    let text = match kind.contains("html") || kind.is_empty() && raw.trim_start().starts_with('<') {
        true => html::title(&raw).map(|title| format!("{title}\n\n")).unwrap_or_default() + &html::text(&raw),
        false => raw.into_owned(),
    };
    let mark = if cut { "\n[the page is longer than 1 MB; the rest is left out]" } else { "" };
    let text = format!("{url} (status {})\n\n{text}{mark}", status.as_u16());
    let outcome = if status.is_success() { Outcome::done(text) } else { Outcome::failed(text) };
    Ok(Outcome { truncated: outcome.truncated || cut, ..outcome })
}
