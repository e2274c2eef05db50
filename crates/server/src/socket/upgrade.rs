//! How a request becomes a socket. It must not know what is said on it.

use std::future::Future;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use hyper::upgrade::Parts;
use hyper_util::rt::TokioIo;
use tokio::io::{ReadHalf, WriteHalf};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use crate::connection::Counted;
use crate::error::Problem;
use crate::limits;
use crate::socket::mouth::{Ear, Mouth, Replies};

/// A socket: what comes in, what goes out, and what the one has for the other.
pub(crate) struct Socket {
    pub(crate) stream: Stream,
    pub(crate) mouth: Out,
    pub(crate) replies: Arc<Replies>,
}

pub(crate) type Stream = WebSocketStream<Ear<ReadHalf<Counted>>>;
pub(crate) type Out = Mouth<WriteHalf<Counted>>;

/// Answers a request that wants to become a socket, and serves the socket.
pub(crate) fn accept<F: Future<Output = ()> + Send>(
    mut request: Request,
    serve: impl FnOnce(Socket) -> F + Send + 'static,
) -> Result<Response, Problem> {
    let headers = request.headers();
    let has = |name: HeaderName, word: &str| words(headers, name).any(|one| one.eq_ignore_ascii_case(word));
    let fits = has(header::CONNECTION, "upgrade")
        && has(header::UPGRADE, "websocket")
        && has(header::SEC_WEBSOCKET_VERSION, "13");
    let key = headers.get(header::SEC_WEBSOCKET_KEY).map(|key| derive_accept_key(key.as_bytes()));
    let key = key.filter(|_| fits).and_then(|key| HeaderValue::from_str(&key).ok());
    let Some(key) = key else {
        return Err(Problem::bad("this is a WebSocket of version 13; connect to it with `ws://`"));
    };
    let upgrading = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        match upgrading.await.map(|upgraded| upgraded.downcast::<TokioIo<Counted>>()) {
            Ok(Ok(Parts { io, read_buf, .. })) => {
                let (stream, out) = tokio::io::split(io.into_inner());
                let replies = Arc::new(Replies::default());
                let ear = Ear { stream, replies: replies.clone() };
                let (early, config) = (read_buf.to_vec(), Some(config()));
                // It holds all that the headers took.
                drop(read_buf);
                let stream = WebSocketStream::from_partially_read(ear, early, Role::Server, config).await;
                serve(Socket { stream, mouth: Mouth::new(out, replies.clone()), replies }).await;
            }
            Ok(Err(_)) => tracing::error!("a socket was opened on a connection that is not ours"),
            Err(error) => tracing::debug!("a socket was not opened: {error}"),
        }
    });
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(header::SEC_WEBSOCKET_ACCEPT, key);
    Ok(response)
}

/// Buffers are as large as what is usual, not as what is possible: most sockets are idle.
fn config() -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(2 << 10)
        // Only replies are written here, and at once.
        .write_buffer_size(0)
        .max_message_size(Some(limits::MESSAGE_BYTES))
        .max_frame_size(Some(limits::MESSAGE_BYTES))
}

/// The words of a header that may come in several lines.
fn words(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim)
}
