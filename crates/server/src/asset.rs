//! The page's files, embedded in the program. It must not know what they do.

use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rust_embed::{EmbeddedFile, RustEmbed};
use sha2::{Digest, Sha256};

use crate::error::Problem;
use crate::secret::hex;

#[derive(RustEmbed)]
#[folder = "../../web"]
#[include = "*.html"]
#[include = "*.js"]
#[include = "*.css"]
#[include = "*.svg"]
#[include = "*.png"]
#[include = "*.ico"]
#[include = "*.woff2"]
#[include = "*.webmanifest"]
#[exclude = "tests/*"]
#[exclude = "node_modules/*"]
struct Web;

/// The page itself.
pub(crate) async fn page(headers: HeaderMap) -> Response {
    file("index.html", &headers)
}

/// One of the page's files.
pub(crate) async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Response {
    match name.as_str() {
        "page.css" => {
            let style = parlor_render::page::STYLE.as_bytes();
            answer(style.into(), "text/css", &hex(&Sha256::digest(style)), &headers)
        }
        _ => file(&name, &headers),
    }
}

fn file(name: &str, headers: &HeaderMap) -> Response {
    // In a debug build files are read from the disk: what is no plain name is not looked for.
    let plain = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.contains(['\\', ':', '\0']);
    let found = name.split('/').all(plain).then(|| Web::get(name)).flatten();
    match found {
        Some(EmbeddedFile { data, metadata }) => {
            answer(data, metadata.mimetype(), &hex(&metadata.sha256_hash()), headers)
        }
        None => Problem::not_found("there is no such file; open `/` for the page").into_response(),
    }
}

fn answer(data: std::borrow::Cow<'static, [u8]>, kind: &str, hash: &str, headers: &HeaderMap) -> Response {
    let tag = format!("\"{}\"", &hash[..32.min(hash.len())]);
    let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    // A compressed answer has the same tag, marked as weak.
    let same = |one: &str| one.trim().trim_start_matches("W/") == tag;
    let mut response = match known.is_some_and(|known| known.split(',').any(same)) {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => data.into_response(),
    };
    let kind = match kind.starts_with("text/") && !kind.contains("charset") {
        true => format!("{kind}; charset=utf-8"),
        false => kind.to_owned(),
    };
    let out = response.headers_mut();
    for (name, value) in
        [(header::CONTENT_TYPE, kind.as_str()), (header::ETAG, &tag), (header::CACHE_CONTROL, "no-cache")]
    {
        if let Ok(value) = HeaderValue::from_str(value) {
            out.insert(name, value);
        }
    }
    response
}
