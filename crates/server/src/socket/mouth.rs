//! What goes out on a socket. Long messages are written from where they lie, short ones together, and neither is kept: a
//! socket has no buffer of its own. It must not know what is said.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::sync::Notify;
use tokio_tungstenite::tungstenite::Utf8Bytes;
use tokio_tungstenite::tungstenite::protocol::frame::FrameHeader;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{CloseCode, Control, Data, OpCode};

use crate::room::lock;

/// A long message goes out in parts of this size: between them, a ping can be answered.
const PART_BYTES: usize = 64 << 10;

/// What is shorter than this is copied, so that many short messages are one piece.
const SHORT_BYTES: usize = 4 << 10;

/// The longest header of a frame that has no mask.
const HEADER_BYTES: usize = 10;

/// Pieces that the system is given at once.
const PIECES: usize = 64;

/// The writing half of a socket.
pub(crate) struct Mouth<W> {
    stream: W,
    replies: Arc<Replies>,
}

/// What the protocol itself has to answer: pongs, and the echo of a close.
#[derive(Default)]
pub(crate) struct Replies {
    bytes: Mutex<Vec<u8>>,
    came: Notify,
}

/// The reading half of a socket. What is written to it becomes a reply.
pub(crate) struct Ear<R> {
    pub(crate) stream: R,
    pub(crate) replies: Arc<Replies>,
}

impl Replies {
    /// True when there is something to be written.
    pub(crate) fn wait(&self) -> bool {
        !lock(&self.bytes).is_empty()
    }

    /// Waits until there may be.
    pub(crate) async fn come(&self) {
        self.came.notified().await;
    }

    fn take(&self) -> Bytes {
        std::mem::take(&mut *lock(&self.bytes)).into()
    }
}

impl<W: AsyncWrite + Unpin> Mouth<W> {
    pub(crate) fn new(stream: W, replies: Arc<Replies>) -> Mouth<W> {
        Mouth { stream, replies }
    }

    /// Writes messages, and what waits to be replied.
    pub(crate) async fn say(&mut self, messages: Vec<Utf8Bytes>) -> io::Result<()> {
        let mut pieces = Pieces::default();
        for message in messages {
            for (opcode, is_final, part) in parts(message.into()) {
                pieces.put(opcode, is_final, part)?;
                if pieces.bytes >= PART_BYTES {
                    self.write(&mut pieces).await?;
                }
            }
        }
        self.write(&mut pieces).await
    }

    /// Asks whether somebody is there.
    pub(crate) async fn ping(&mut self) -> io::Result<()> {
        self.control(Control::Ping, Bytes::new()).await
    }

    /// Says that this was all.
    pub(crate) async fn close(&mut self, code: CloseCode, reason: &str) -> io::Result<()> {
        let mut payload = BytesMut::new();
        payload.put_u16(code.into());
        payload.put_slice(reason.as_bytes());
        self.control(Control::Close, payload.freeze()).await
    }

    async fn control(&mut self, control: Control, payload: Bytes) -> io::Result<()> {
        let mut pieces = Pieces::default();
        pieces.put(OpCode::Control(control), true, payload)?;
        self.write(&mut pieces).await
    }

    /// Writes all of it, after the replies: here a frame ends and another begins.
    async fn write(&mut self, pieces: &mut Pieces) -> io::Result<()> {
        pieces.settle();
        let replies = self.replies.take();
        if !replies.is_empty() {
            pieces.all.push_front(replies);
        }
        while let Some(first) = pieces.all.front() {
            // Most of the time there is one short message, and the simpler call takes less.
            let written = if pieces.all.len() == 1 {
                self.stream.write(first).await?
            } else {
                let slices: Vec<IoSlice<'_>> =
                    pieces.all.iter().take(PIECES).map(|piece| IoSlice::new(piece)).collect();
                self.stream.write_vectored(&slices).await?
            };
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            pieces.advance(written);
        }
        self.stream.flush().await
    }
}

/// Bytes that are to be written one after the other.
#[derive(Default)]
struct Pieces {
    all: VecDeque<Bytes>,
    short: BytesMut,
    bytes: usize,
}

impl Pieces {
    /// Adds a frame.
    fn put(&mut self, opcode: OpCode, is_final: bool, payload: Bytes) -> io::Result<()> {
        let header = FrameHeader { is_final, opcode, ..FrameHeader::default() };
        self.short.reserve(HEADER_BYTES + if payload.len() < SHORT_BYTES { payload.len() } else { 0 });
        let length = payload.len() as u64;
        header.format(length, &mut (&mut self.short).writer()).map_err(io::Error::other)?;
        self.bytes += payload.len();
        if payload.len() < SHORT_BYTES {
            self.short.extend_from_slice(&payload);
        } else {
            self.settle();
            self.all.push_back(payload);
        }
        Ok(())
    }

    fn settle(&mut self) {
        if !self.short.is_empty() {
            self.all.push_back(self.short.split().freeze());
        }
    }

    fn advance(&mut self, written: usize) {
        let mut left = written;
        while let Some(piece) = self.all.front_mut() {
            let some = left.min(piece.len());
            piece.advance(some);
            left -= some;
            if !piece.is_empty() {
                break;
            }
            self.all.pop_front();
        }
        self.bytes = self.all.iter().map(Bytes::len).sum();
    }
}

/// A message, in parts if it is long. Parts may end within a character; the whole does not.
fn parts(message: Bytes) -> impl Iterator<Item = (OpCode, bool, Bytes)> {
    let mut start = Some(0);
    std::iter::from_fn(move || {
        let from = start?;
        let to = message.len().min(from + PART_BYTES);
        start = Some(to).filter(|to| *to < message.len());
        let kind = if from == 0 { Data::Text } else { Data::Continue };
        Some((OpCode::Data(kind), start.is_none(), message.slice(from..to)))
    })
}

impl<R: AsyncRead + Unpin> AsyncRead for Ear<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<R: Unpin> AsyncWrite for Ear<R> {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        lock(&self.replies.bytes).extend_from_slice(bytes);
        self.replies.came.notify_one();
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt, StreamExt};
    use tokio_tungstenite::WebSocketStream;
    use tokio_tungstenite::tungstenite::Message;
    use tokio_tungstenite::tungstenite::protocol::Role;

    use super::*;

    fn mouth<W: AsyncWrite + Unpin>(stream: W) -> (Mouth<W>, Arc<Replies>) {
        let replies = Arc::new(Replies::default());
        (Mouth::new(stream, replies.clone()), replies)
    }

    #[tokio::test]
    async fn messages_of_any_length_arrive_as_they_were_said_over_a_stream_that_takes_little_at_a_time() {
        let (ours, theirs) = tokio::io::duplex(1_000);
        let said: Vec<String> =
            [0, 1, 125, 126, SHORT_BYTES, PART_BYTES - 1, PART_BYTES, PART_BYTES + 1, 5 * PART_BYTES]
                .into_iter()
                .chain([3; 200])
                .map(|size| "é".repeat(size))
                .collect();
        let (mut mouth, _) = mouth(ours);
        let words: Vec<Utf8Bytes> = said.iter().map(|text| text.as_str().into()).collect();
        let saying = async {
            mouth.say(words).await.unwrap();
            mouth.ping().await.unwrap();
            mouth.close(CloseCode::Away, "bye").await.unwrap();
        };
        let hearing = async {
            let mut client = WebSocketStream::from_raw_socket(theirs, Role::Client, None).await;
            for text in &said {
                assert_eq!(client.next().await.unwrap().unwrap(), Message::Text(text.as_str().into()));
            }
            assert_eq!(client.next().await.unwrap().unwrap(), Message::Ping(Bytes::new()));
            let Message::Close(Some(close)) = client.next().await.unwrap().unwrap() else {
                panic!("a close")
            };
            assert_eq!((close.code, close.reason.as_str()), (CloseCode::Away, "bye"));
        };
        tokio::join!(saying, hearing);
    }

    #[tokio::test]
    async fn a_ping_is_answered_between_the_parts_of_a_long_message() {
        let (ours, theirs) = tokio::io::duplex(1_000);
        let (mut mouth, replies) = mouth(ours);
        let long = "x".repeat(4 * PART_BYTES);
        let mut saying = std::pin::pin!(mouth.say(vec![long.as_str().into()]));
        assert!(saying.as_mut().now_or_never().is_none(), "nobody reads yet");
        let mut ear = Ear { stream: tokio::io::empty(), replies: replies.clone() };
        let pong = [0x8a, 1, b'p'];
        ear.write_all(&pong).await.unwrap();
        assert!(replies.wait());
        replies.come().await;
        let hearing = async {
            let mut client = WebSocketStream::from_raw_socket(theirs, Role::Client, None).await;
            assert_eq!(client.next().await.unwrap().unwrap(), Message::Pong(Bytes::from_static(b"p")));
            assert_eq!(client.next().await.unwrap().unwrap(), Message::Text(long.as_str().into()));
        };
        let (said, ()) = tokio::join!(saying, hearing);
        said.unwrap();
        assert!(!replies.wait());
    }
}
