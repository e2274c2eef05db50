//! One socket: reads frames, writes frames, and asks its talk what to say. While a write waits for a slow client,
//! nothing is collected for it; the next write then holds newer state. It must not know what frames mean.

mod talk;
mod upgrade;
mod work;

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{FutureExt, SinkExt, StreamExt};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_tungstenite::tungstenite::error::CapacityError;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};

use crate::app::App;
use crate::connection::{Traffic, stopped};
use crate::door::Access;
use crate::error::Problem;
use crate::limits;
use crate::socket::talk::Talk;
use crate::socket::upgrade::{Socket, accept};

type Sink = SplitSink<Socket, Message>;

/// A write on its way. The sink comes back with it.
type Write = BoxFuture<'static, Result<Sink, Error>>;

/// A long message goes out in parts of this size, so that a socket needs no room for the whole.
const PART_BYTES: usize = 8 << 10;

/// Closed because the client took nothing and said nothing for a minute.
const STALLED: CloseCode = CloseCode::Library(4008);

/// How long a last frame may take.
const FAREWELL: Duration = Duration::from_secs(2);

/// Takes a request to the socket.
pub(crate) async fn open(
    State(app): State<Arc<App>>,
    Extension(access): Extension<Access>,
    Extension(traffic): Extension<Traffic>,
    request: Request,
) -> Result<Response, Problem> {
    accept(request, move |socket| serve(app, access, traffic, socket))
}

async fn serve(app: Arc<App>, access: Access, traffic: Traffic, socket: Socket) {
    let _here = app.sockets.enter();
    let (sink, stream) = socket.split();
    let stop = app.stop.clone();
    let talk = Talk::new(app, access);
    let mut conversation = Conversation { talk, sink: Some(sink), write: None, stream, stop, traffic };
    let Some((code, reason)) = conversation.run().await else { return };
    let Conversation { sink, write, .. } = conversation;
    let farewell = async {
        let sink = match write {
            Some(write) => write.await.ok(),
            None => sink,
        };
        let frame = CloseFrame { code, reason: Utf8Bytes::from_static(reason) };
        if let Some(mut sink) = sink {
            // Whoever does not take it is gone already.
            let _ = sink.send(Message::Close(Some(frame))).await;
        }
    };
    let _ = tokio::time::timeout(FAREWELL, farewell).await;
}

struct Conversation {
    talk: Talk,
    /// Here while nothing is being written.
    sink: Option<Sink>,
    write: Option<Write>,
    stream: SplitStream<Socket>,
    stop: watch::Receiver<bool>,
    traffic: Traffic,
}

/// Why a socket is closed; `None` when it is gone already.
type Close = Option<(CloseCode, &'static str)>;

impl Conversation {
    async fn run(&mut self) -> Close {
        let mut tick = interval_at(Instant::now() + limits::PING_EVERY, limits::PING_EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut pulse = Pulse { read: 0, written: 0, at: Instant::now() };
        loop {
            self.begin_write();
            let (writing, reading) = (self.write.is_some(), self.talk.takes_more());
            tokio::select! {
                written = wait(&mut self.write), if writing => match written {
                    Ok(sink) => {
                        (self.sink, self.write) = (Some(sink), None);
                        self.talk.written();
                    }
                    Err(error) => {
                        self.write = None;
                        tracing::debug!("a socket is gone: {error}");
                        return None;
                    }
                },
                frame = self.stream.next(), if reading => match frame {
                    Some(Ok(Message::Text(text))) => self.talk.hear(&text),
                    Some(Ok(Message::Binary(_))) => self.talk.hear_binary(),
                    Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                    Some(Ok(Message::Close(_))) | None => return None,
                    Some(Err(error)) => return unreadable(&error),
                },
                () = self.talk.work() => {}
                _ = tick.tick() => {
                    if pulse.is_silent(&self.traffic, writing) {
                        return Some((STALLED, "nothing was taken or said for a minute"));
                    }
                    self.ping();
                }
                () = stopped(&mut self.stop) => return Some((CloseCode::Away, "the house closes")),
            }
        }
    }

    /// Writes all that can be said now in one go, unless something is being written.
    fn begin_write(&mut self) {
        let Some(mut sink) = self.sink.take() else { return };
        let frames = self.talk.say();
        if frames.is_empty() {
            self.sink = Some(sink);
            return;
        }
        let write = async move {
            for frame in frames {
                for part in parts(frame) {
                    sink.feed(part).await?;
                }
            }
            sink.flush().await?;
            Ok(sink)
        };
        self.write = Some(write.boxed());
    }

    fn ping(&mut self) {
        let Some(mut sink) = self.sink.take() else { return };
        let write = async move {
            sink.send(Message::Ping(Bytes::new())).await?;
            Ok(sink)
        };
        self.write = Some(write.boxed());
    }
}

/// When a client last took or said something.
struct Pulse {
    read: u64,
    written: u64,
    at: Instant,
}

impl Pulse {
    /// What is written counts only while a write waits: otherwise it is our own pings, which a dead client's buffer takes.
    fn is_silent(&mut self, traffic: &Traffic, writing: bool) -> bool {
        let (read, written) = (traffic.read(), traffic.written());
        if read != self.read || (writing && written != self.written) {
            self.at = Instant::now();
        }
        (self.read, self.written) = (read, written);
        self.at.elapsed() >= limits::SILENCE
    }
}

/// A message, in parts if it is long. Parts may end within a character; the whole does not.
fn parts(text: Utf8Bytes) -> impl Iterator<Item = Message> {
    let bytes: Bytes = text.into();
    let mut start = 0;
    std::iter::from_fn(move || {
        let end = bytes.len().min(start + PART_BYTES);
        if start == bytes.len() {
            return None;
        }
        let kind = if start == 0 { Data::Text } else { Data::Continue };
        let part = Frame::message(bytes.slice(start..end), OpCode::Data(kind), end == bytes.len());
        start = end;
        Some(Message::Frame(part))
    })
}

/// A frame that is too large, or no frame at all.
fn unreadable(error: &Error) -> Close {
    tracing::debug!("a socket cannot be read: {error}");
    match error {
        Error::Capacity(CapacityError::MessageTooLong { .. }) => {
            Some((CloseCode::Size, "a frame holds at most 8 MB"))
        }
        Error::Protocol(_) | Error::Utf8(_) => Some((CloseCode::Protocol, "that was no frame")),
        _ => None,
    }
}

async fn wait(write: &mut Option<Write>) -> Result<Sink, Error> {
    match write {
        Some(write) => write.await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_goes_out_in_parts_that_are_the_whole() {
        for size in [1, PART_BYTES, PART_BYTES + 1, 5 * PART_BYTES] {
            let text = "é".repeat(size);
            let mut whole = Vec::new();
            let frames: Vec<Frame> = parts(text.clone().into())
                .map(|part| if let Message::Frame(frame) = part { frame } else { panic!("a frame") })
                .collect();
            for (index, frame) in frames.iter().enumerate() {
                assert_eq!(frame.header().is_final, index + 1 == frames.len());
                let kind = if index == 0 { Data::Text } else { Data::Continue };
                assert_eq!(frame.header().opcode, OpCode::Data(kind));
                whole.extend_from_slice(frame.payload());
            }
            assert_eq!(whole, text.as_bytes());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_and_says_nothing_for_a_minute_is_gone() {
        let traffic = Traffic::default();
        let mut pulse = Pulse { read: 0, written: 0, at: Instant::now() };
        for _ in 0..10 {
            tokio::time::advance(limits::PING_EVERY).await;
            traffic.add_written(10);
            assert!(!pulse.is_silent(&traffic, true), "a slow client takes something");
        }
        for _ in 0..2 {
            tokio::time::advance(limits::PING_EVERY).await;
            traffic.add_written(2);
            assert!(!pulse.is_silent(&traffic, false));
        }
        tokio::time::advance(limits::PING_EVERY).await;
        assert!(pulse.is_silent(&traffic, false), "our own pings are no sign of life");
        traffic.add_read(1);
        assert!(!pulse.is_silent(&traffic, false), "one byte is");
    }
}
