//! A streamed answer: frames at their pace, and the ways in which a stream ends. It must not know wire formats.

use std::time::Duration;

use axum::body::{Body, Bytes};
use futures_util::stream;

use crate::log::{Outcome, Ticket};
use crate::wire::Frame;

/// How a stream ends.
#[derive(Debug)]
pub(crate) enum Ending {
    /// As it should.
    Done,
    /// The connection breaks in the middle.
    Cut,
    /// An error event comes in the middle.
    Broken(Frame),
    /// Nothing comes after the middle.
    Stalled,
}

struct Playing {
    frames: std::vec::IntoIter<Frame>,
    ending: Option<Ending>,
    ticket: Ticket,
}

/// The body that plays frames. When it is dropped before its end, the client went away: the ticket tells.
pub(crate) fn body(mut frames: Vec<Frame>, ending: Ending, ticket: Ticket) -> Body {
    if !matches!(ending, Ending::Done) {
        frames.truncate(frames.len() / 2);
    }
    let playing = Playing { frames: frames.into_iter(), ending: Some(ending), ticket };
    Body::from_stream(stream::unfold(playing, next))
}

async fn next(mut playing: Playing) -> Option<(Result<Bytes, std::io::Error>, Playing)> {
    if let Some(frame) = playing.frames.next() {
        if frame.pause_ms > 0 {
            tokio::time::sleep(Duration::from_millis(frame.pause_ms)).await;
        }
        // A client may hang up as soon as it has the last frame, so the answer is over with it.
        if playing.frames.len() == 0 && matches!(playing.ending, Some(Ending::Done)) {
            playing.ticket.end(Outcome::Done);
        }
        return Some((Ok(Bytes::from(frame.bytes())), playing));
    }
    match playing.ending.take()? {
        Ending::Done => None,
        Ending::Stalled => std::future::pending().await,
        Ending::Broken(frame) => {
            playing.ticket.end(Outcome::Cut);
            Some((Ok(Bytes::from(frame.bytes())), playing))
        }
        Ending::Cut => {
            // What was sent so far must reach the client: the connection flushes when the body has nothing to give.
            tokio::task::yield_now().await;
            playing.ticket.end(Outcome::Cut);
            Some((Err(std::io::Error::other("the script cut this stream")), playing))
        }
    }
}
