//! What the machine can do without a house: frames that were made before, written to sockets in a loop.

use std::io::{self, Write};
use std::net::{TcpListener, TcpStream as StdStream};
use std::time::{Duration, Instant};

use parlor_bench::socket::{Socket, frame};

/// A listener, and that many connections to it: what is written here is read there.
pub(crate) async fn pairs(count: usize) -> io::Result<(Vec<StdStream>, Vec<Socket>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let (mut writers, mut readers) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let stream = tokio::net::TcpStream::connect(address).await?;
        let (writer, _) = listener.accept()?;
        writer.set_nodelay(true)?;
        writers.push(writer);
        readers.push(Socket::over(stream));
    }
    Ok((writers, readers))
}

/// Writes `messages` frames of `bytes` bytes to every stream, 64 of them at a time. The last says `"seq":0`.
pub(crate) fn write_batches(writers: &mut [StdStream], messages: usize, bytes: usize) -> io::Result<()> {
    let one = |seq: usize| {
        let mut text = format!("{{\"seq\":{seq},\"text\":\"").into_bytes();
        text.resize(bytes.saturating_sub(2), b'x');
        text.extend_from_slice(b"\"}");
        frame(&text)
    };
    let (batch, last) = (one(1).repeat(64), one(0));
    for _ in 0..messages / 64 {
        for writer in &mut *writers {
            writer.write_all(&batch)?;
        }
    }
    for writer in writers {
        writer.write_all(&last)?;
    }
    Ok(())
}

/// Writes a numbered frame of `bytes` bytes to every stream, once every `pace`. Says when each was begun.
pub(crate) fn write_paced(
    writers: &mut [StdStream],
    messages: u64,
    pace: Duration,
    bytes: usize,
) -> io::Result<Vec<Instant>> {
    let begun = Instant::now();
    let mut at = Vec::new();
    for number in 1..=messages {
        std::thread::sleep((begun + pace * number as u32).saturating_duration_since(Instant::now()));
        let mut text = format!("{{\"total\":{number},\"text\":\"").into_bytes();
        text.resize(bytes.saturating_sub(2), b'x');
        text.extend_from_slice(b"\"}");
        let frame = frame(&text);
        at.push(Instant::now());
        for writer in &mut *writers {
            writer.write_all(&frame)?;
        }
    }
    Ok(at)
}
