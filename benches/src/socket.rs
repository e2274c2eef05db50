//! A WebSocket client that costs next to nothing, so that what is measured is the house: it reads frames into one buffer
//! and hands them out whole. It trusts the house and must not be used for anything else.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

/// A socket to a house.
pub struct Socket {
    stream: TcpStream,
    buffer: Vec<u8>,
    start: usize,
    message: Vec<u8>,
}

impl Socket {
    /// Connects, and takes the hello.
    pub async fn open(port: u16, token: &str) -> io::Result<Socket> {
        Socket::open_with(port, token, None).await
    }

    /// The same, with a receive buffer of that many bytes.
    pub async fn open_with(port: u16, token: &str, receive_bytes: Option<u32>) -> io::Result<Socket> {
        let socket = TcpSocket::new_v4()?;
        if let Some(bytes) = receive_bytes {
            socket.set_recv_buffer_size(bytes)?;
        }
        let mut stream = socket.connect(([127, 0, 0, 1], port).into()).await?;
        stream.set_nodelay(true)?;
        let request = format!(
            "GET /ws HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: Bearer {token}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await?;
        let mut socket = Socket::over(stream);
        let end = loop {
            if let Some(end) = memchr::memmem::find(&socket.buffer, b"\r\n\r\n") {
                break end;
            }
            socket.fill().await?;
        };
        if !socket.buffer.starts_with(b"HTTP/1.1 101") {
            return Err(io::Error::other("the house let no socket in"));
        }
        socket.start = end + 4;
        socket.next().await?;
        Ok(socket)
    }

    /// A socket over a stream on which frames are sent already.
    pub fn over(stream: TcpStream) -> Socket {
        Socket { stream, buffer: Vec::new(), start: 0, message: Vec::new() }
    }

    /// Sends a text frame.
    pub async fn send(&mut self, text: &str) -> io::Result<()> {
        let mut frame = vec![0x81];
        match text.len() {
            length @ 0..=125 => frame.push(0x80 | length as u8),
            length => {
                frame.push(0x80 | 126);
                frame.extend_from_slice(&(length as u16).to_be_bytes());
            }
        }
        // A mask of zeros leaves the text as it is.
        frame.extend_from_slice(&[0; 4]);
        frame.extend_from_slice(text.as_bytes());
        self.stream.write_all(&frame).await
    }

    /// The next message, whole.
    pub async fn next(&mut self) -> io::Result<&[u8]> {
        self.message.clear();
        loop {
            let (first, length, header) = loop {
                match header(&self.buffer[self.start..]) {
                    Some(header) => break header,
                    None => self.fill().await?,
                }
            };
            while self.buffer.len() - self.start < header + length {
                self.fill().await?;
            }
            let payload = self.start + header..self.start + header + length;
            self.start = payload.end;
            match first & 0x0f {
                0x0 | 0x1 if first & 0x80 != 0 && self.message.is_empty() => {
                    return Ok(&self.buffer[payload]);
                }
                0x0 | 0x1 => {
                    self.message.extend_from_slice(&self.buffer[payload]);
                    if first & 0x80 != 0 {
                        return Ok(&self.message);
                    }
                }
                0x8 => return Err(io::Error::other("the house closed the socket")),
                0x9 => self.stream.write_all(&[0x8a, 0x80, 0, 0, 0, 0]).await?,
                _ => {}
            }
        }
    }

    async fn fill(&mut self) -> io::Result<()> {
        if self.start == self.buffer.len() {
            self.buffer.clear();
            self.start = 0;
        } else if self.start > 64 << 10 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        // Sockets that wait have no buffer: there are thousands of them.
        self.stream.readable().await?;
        self.buffer.reserve(if self.buffer.is_empty() { 4 << 10 } else { 64 << 10 });
        match self.stream.read_buf(&mut self.buffer).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

/// A frame's first byte, its length and that of its header, once they are there.
fn header(bytes: &[u8]) -> Option<(u8, usize, usize)> {
    match *bytes {
        [first, length @ 0..=125, ..] => Some((first, length as usize, 2)),
        [first, 126, a, b, ..] => Some((first, u16::from_be_bytes([a, b]) as usize, 4)),
        [first, 127, a, b, c, d, e, f, g, h, ..] => {
            Some((first, u64::from_be_bytes([a, b, c, d, e, f, g, h]) as usize, 10))
        }
        _ => None,
    }
}

/// A text frame as a server sends it.
pub fn frame(text: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x81];
    match text.len() {
        length @ 0..=125 => frame.push(length as u8),
        length @ 126..=0xffff => {
            frame.push(126);
            frame.extend_from_slice(&(length as u16).to_be_bytes());
        }
        length => {
            frame.push(127);
            frame.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    frame.extend_from_slice(text);
    frame
}

/// The number after `"name":` in a frame. The frames of the house have such fields near their start.
pub fn number(frame: &[u8], name: &str) -> Option<u64> {
    let head = &frame[..frame.len().min(512)];
    let at = memchr::memmem::find(head, format!("\"{name}\":").as_bytes())? + name.len() + 3;
    let digits = head[at..].iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(None, |number, digit| Some(number.unwrap_or(0) * 10 + u64::from(digit - b'0')))
}
