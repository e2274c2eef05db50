//! What goes out on a socket. Long messages are written from where they lie, short ones together, and neither is kept: a
//! socket has no buffer of its own. It must not know what is said, and never waits.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;
use tokio_tungstenite::tungstenite::Utf8Bytes;
use tokio_tungstenite::tungstenite::protocol::frame::FrameHeader;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{CloseCode, Control, Data, OpCode};

use crate::room::lock;

/// A long message goes out in parts of this size: between them, a ping can be answered.
const PART_BYTES: usize = 64 << 10;

/// What is shorter than this is copied, so that many short messages are one piece.
const SHORT_BYTES: usize = 4 << 10;

/// Pieces that the system is given at once.
const PIECES: usize = 64;

/// Room for so many messages is kept.
const KEPT: usize = 4;

/// The writing half of a socket.
pub(crate) struct Mouth<W> {
    stream: W,
    replies: Arc<Replies>,
    /// What is to be said, and how much of the first is among the pieces.
    said: VecDeque<(OpCode, Bytes)>,
    begun: usize,
    pieces: Pieces,
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
    fn wait(&self) -> bool {
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
        Mouth { stream, replies, said: VecDeque::new(), begun: 0, pieces: Pieces::default() }
    }

    /// Says messages, once they are written.
    pub(crate) fn say(&mut self, messages: impl IntoIterator<Item = Utf8Bytes>) {
        let text = |message: Utf8Bytes| (OpCode::Data(Data::Text), message.into());
        self.said.extend(messages.into_iter().map(text));
    }

    /// Asks whether somebody is there.
    pub(crate) fn ping(&mut self) {
        self.said.push_back((OpCode::Control(Control::Ping), Bytes::new()));
    }

    /// Says that this was all.
    pub(crate) fn close(&mut self, code: CloseCode, reason: &str) {
        let mut payload = BytesMut::new();
        payload.put_u16(code.into());
        payload.put_slice(reason.as_bytes());
        self.said.push_back((OpCode::Control(Control::Close), payload.freeze()));
    }

    /// True while something that was said is not yet written.
    pub(crate) fn speaks(&self) -> bool {
        !(self.said.is_empty() && self.pieces.all.is_empty())
    }

    /// True when there is something to write.
    pub(crate) fn is_full(&self) -> bool {
        self.speaks() || self.replies.wait()
    }

    /// Writes all that was said, and what waits to be replied.
    pub(crate) fn poll_write(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            if self.pieces.all.is_empty() {
                self.fill()?;
            }
            let Some(first) = self.pieces.all.front() else {
                self.said.shrink_to(KEPT);
                self.pieces = Pieces::default();
                return Pin::new(&mut self.stream).poll_flush(context);
            };
            // Most of the time there is one short message, and the simpler call takes less.
            let written = if self.pieces.all.len() == 1 {
                ready!(Pin::new(&mut self.stream).poll_write(context, first))?
            } else {
                let pieces = self.pieces.all.iter().take(PIECES);
                let slices: Vec<IoSlice<'_>> = pieces.map(|piece| IoSlice::new(piece)).collect();
                ready!(Pin::new(&mut self.stream).poll_write_vectored(context, &slices))?
            };
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.pieces.advance(written);
        }
    }

    /// Takes some of what was said, after the replies: here a frame ends and another begins.
    fn fill(&mut self) -> io::Result<()> {
        self.pieces.bytes = 0;
        self.pieces.all.extend(Some(self.replies.take()).filter(|replies| !replies.is_empty()));
        while self.pieces.bytes < PART_BYTES
            && let Some((opcode, message)) = self.said.front()
        {
            let opcode = if self.begun == 0 { *opcode } else { OpCode::Data(Data::Continue) };
            let end = message.len().min(self.begun + PART_BYTES);
            let (part, is_final) = (message.slice(self.begun..end), end == message.len());
            self.begun = end;
            if is_final {
                self.said.pop_front();
                self.begun = 0;
            }
            self.pieces.put(opcode, is_final, part)?;
        }
        self.pieces.settle();
        Ok(())
    }
}

/// Bytes that are to be written one after the other.
#[derive(Default)]
struct Pieces {
    all: VecDeque<Bytes>,
    /// Short messages that become the next piece.
    short: BytesMut,
    /// How much was put here since the last was written.
    bytes: usize,
}

impl Pieces {
    /// Adds a frame.
    fn put(&mut self, opcode: OpCode, is_final: bool, payload: Bytes) -> io::Result<()> {
        let header = FrameHeader { is_final, opcode, ..FrameHeader::default() };
        let length = payload.len() as u64;
        self.short.reserve(header.len(length) + if payload.len() < SHORT_BYTES { payload.len() } else { 0 });
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
            self.all.push_back(std::mem::take(&mut self.short).freeze());
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
    }
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
    use std::future::poll_fn;

    use futures_util::{FutureExt, StreamExt};
    use tokio::io::AsyncWriteExt;
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
        mouth.say(words);
        mouth.ping();
        mouth.close(CloseCode::Away, "bye");
        let saying = async { poll_fn(|context| mouth.poll_write(context)).await.unwrap() };
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
        mouth.say([long.as_str().into()]);
        let mut saying = poll_fn(|context| mouth.poll_write(context));
        assert!((&mut saying).now_or_never().is_none(), "nobody reads yet");
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
