//! Answers that are made piece by piece, so that a long one needs little memory and a slow reader holds up nobody.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::Answer;
use crate::app::App;
use crate::error::{Code, Problem};
use crate::limits;

/// Where pieces go.
pub(crate) struct Made {
    pieces: mpsc::Sender<Bytes>,
    runtime: Handle,
}

impl Made {
    /// Hands out a piece. `None` when nobody takes it any more, or not for a long time.
    pub(crate) fn send(&self, piece: Bytes) -> Option<()> {
        if piece.is_empty() {
            return Some(());
        }
        let send = tokio::time::timeout(limits::SILENCE, self.pieces.send(piece));
        self.runtime.block_on(send).ok()?.ok()
    }
}

/// Answers with what `make` makes. With a name, browsers keep it as a file.
pub(crate) async fn streamed(
    app: &Arc<App>,
    kind: &'static str,
    name: Option<String>,
    make: impl FnOnce(&Made) -> Option<()> + Send + 'static,
) -> Answer<Response> {
    let Ok(place) = app.streams.clone().try_acquire_owned() else {
        return Err(Problem::new(Code::TooMany, "other exports are under way; wait until one is done"));
    };
    let (pieces, mut taken) = mpsc::channel(4);
    let made = Made { pieces, runtime: Handle::current() };
    tokio::task::spawn_blocking(move || {
        let _place = place;
        if make(&made).is_none() {
            tracing::debug!("an export was not taken to its end");
        }
    });
    let body = futures_util::stream::poll_fn(move |context| {
        taken.poll_recv(context).map(|piece| piece.map(Ok::<Bytes, std::convert::Infallible>))
    });
    let mut response = Response::new(Body::from_stream(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    let kept = name.and_then(|name| HeaderValue::from_str(&format!("attachment; filename=\"{name}\"")).ok());
    if let Some(kept) = kept {
        headers.insert(header::CONTENT_DISPOSITION, kept);
    }
    Ok(response)
}
