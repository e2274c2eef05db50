//! One socket: reads frames, writes frames, and asks its talk what to say. While a write waits for a slow client,
//! nothing is collected for it; the next write then holds newer state. It must not know what frames mean.

mod mouth;
mod slot;
mod talk;
mod upgrade;
mod work;

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::error::CapacityError;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::app::App;
use crate::connection::{Traffic, stopped};
use crate::door::Access;
use crate::error::Problem;
use crate::limits;
use crate::socket::mouth::Replies;
use crate::socket::talk::Talk;
use crate::socket::upgrade::{Out, Socket, Stream, accept};

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
    let Socket { stream, mouth, replies } = socket;
    let rare = [hear(Box::new(stream)), tick(), reply(replies.clone()), leave(app.stop.clone())]
        .into_iter()
        .collect();
    let talk = Talk::new(app, access);
    let mut conversation = Conversation {
        talk,
        mouth,
        deaf: None,
        replies,
        rare,
        rare_first: true,
        pulse: Pulse { read: 0, written: 0, at: Instant::now() },
        traffic,
    };
    let Some((code, reason)) = conversation.run().await else { return };
    conversation.mouth.close(code, reason);
    let farewell = poll_fn(|context| conversation.mouth.poll_write(context));
    let _ = tokio::time::timeout(FAREWELL, farewell).await;
}

/// A socket and the talk on it. What is said is written while the client is heard: who reads slowly, or not at all, can
/// still give orders.
struct Conversation {
    talk: Talk,
    mouth: Out,
    /// Here while the client must wait before it is heard again.
    deaf: Option<Box<Stream>>,
    replies: Arc<Replies>,
    /// Apart from the work, so that it is looked at only when it has come: thousands of sockets may wake at once.
    rare: FuturesUnordered<BoxFuture<'static, Rare>>,
    /// A client that talks without end and a session that does take turns.
    rare_first: bool,
    pulse: Pulse,
    traffic: Traffic,
}

/// What happens next on a socket.
enum Next {
    Written(io::Result<()>),
    /// There is something to say.
    Worked,
    Rare(Rare),
}

/// What happens on a socket now and then.
enum Rare {
    /// A frame, or the end.
    Heard(Option<Result<Message, Error>>, Box<Stream>),
    /// It is time to see whether the client is still there.
    Tick,
    /// The protocol has something to answer.
    Reply,
    /// The house closes.
    Leave,
}

/// Why a socket is closed; `None` when it is gone already.
type Close = Option<(CloseCode, &'static str)>;

impl Conversation {
    async fn run(&mut self) -> Close {
        loop {
            self.listen();
            match poll_fn(|context| self.poll(context)).await {
                Next::Written(Ok(())) => self.talk.written(),
                Next::Written(Err(error)) => {
                    tracing::debug!("a socket is gone: {error}");
                    return None;
                }
                Next::Worked => {}
                Next::Rare(Rare::Heard(frame, stream)) => {
                    self.deaf = Some(stream);
                    match frame {
                        Some(Ok(Message::Text(text))) => self.talk.hear(&text),
                        Some(Ok(Message::Binary(_))) => self.talk.hear_binary(),
                        Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                        // It wants to hear the same.
                        Some(Ok(Message::Close(_))) => return Some((CloseCode::Normal, "")),
                        None => return None,
                        Some(Err(error)) => return unreadable(&error),
                    }
                }
                Next::Rare(Rare::Tick) => {
                    if self.pulse.is_silent(&self.traffic, self.mouth.speaks()) {
                        return Some((STALLED, "nothing was taken or said for a minute"));
                    }
                    if !self.mouth.speaks() {
                        self.mouth.ping();
                    }
                    self.rare.push(tick());
                }
                Next::Rare(Rare::Reply) => self.rare.push(reply(self.replies.clone())),
                Next::Rare(Rare::Leave) => return Some((CloseCode::Away, "the house closes")),
            }
        }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Next> {
        self.rare_first = !self.rare_first;
        if self.rare_first
            && let Poll::Ready(rare) = self.poll_rare(context)
        {
            return Poll::Ready(rare);
        }
        // Speaking may begin work, which has to be looked at after it.
        if let Poll::Ready(written) = self.poll_speak(context) {
            return Poll::Ready(Next::Written(written));
        }
        if self.talk.poll_work(context).is_ready() {
            return Poll::Ready(match self.poll_speak(context) {
                Poll::Ready(written) => Next::Written(written),
                Poll::Pending => Next::Worked,
            });
        }
        if self.rare_first { Poll::Pending } else { self.poll_rare(context) }
    }

    /// Ready when all that can be said now is written, and was something.
    fn poll_speak(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.mouth.speaks() {
            self.mouth.say(self.talk.say());
        }
        if self.mouth.is_full() { self.mouth.poll_write(context) } else { Poll::Pending }
    }

    fn poll_rare(&mut self, context: &mut Context<'_>) -> Poll<Next> {
        match self.rare.poll_next_unpin(context) {
            Poll::Ready(Some(rare)) => Poll::Ready(Next::Rare(rare)),
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }

    /// Hears the client again, unless it must wait.
    fn listen(&mut self) {
        if self.talk.takes_more() {
            self.rare.extend(self.deaf.take().map(hear));
        }
    }
}

fn hear(stream: Box<Stream>) -> BoxFuture<'static, Rare> {
    stream.into_future().map(|(frame, stream)| Rare::Heard(frame, stream)).boxed()
}

fn tick() -> BoxFuture<'static, Rare> {
    tokio::time::sleep(limits::PING_EVERY).map(|()| Rare::Tick).boxed()
}

fn reply(replies: Arc<Replies>) -> BoxFuture<'static, Rare> {
    async move {
        replies.come().await;
        Rare::Reply
    }
    .boxed()
}

fn leave(mut stop: watch::Receiver<bool>) -> BoxFuture<'static, Rare> {
    async move {
        stopped(&mut stop).await;
        Rare::Leave
    }
    .boxed()
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

#[cfg(test)]
mod tests {
    use super::*;

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
