//! What holds for every request: where it may come from, who sent it, and what browsers are told about the answer.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::app::App;
use crate::door::Access;
use crate::error::{Code, Problem};
use crate::limits;

/// What our own page may do: nothing but talk to this house.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";

const HEADERS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Lets in only what may come in at all, and puts the headers on every answer.
pub(crate) async fn house(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let mut response = match app.door.check(request.headers(), request.uri()) {
        // What says that it is too large is not even begun to be read.
        Ok(()) if announced(request.headers()) > limits::MESSAGE_BYTES as u64 => {
            Problem::new(Code::TooLarge, "a body holds at most 8 MB").into_response()
        }
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// How long a body says that it is.
fn announced(headers: &HeaderMap) -> u64 {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    length.and_then(|length| length.parse().ok()).unwrap_or_default()
}

/// Lets in only those who may, and says what they may.
pub(crate) async fn access(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let upgrade = request.headers().contains_key(header::UPGRADE);
    match app.door.admit(request.headers(), request.method(), upgrade) {
        Ok(access) => {
            request.extensions_mut().insert(access);
            next.run(request).await
        }
        Err(problem) => problem.into_response(),
    }
}

/// Lets in only those who may do everything.
pub(crate) async fn owner(request: Request, next: Next) -> Response {
    match request.extensions().get::<Access>() {
        Some(Access::Full) => next.run(request).await,
        _ => Problem::read_only().into_response(),
    }
}
