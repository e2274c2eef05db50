//! What a command prints, for two readers: all of it, a few times a second and up to a limit, for the log; its two ends
//! for the model.

use std::sync::{Arc, Mutex, PoisonError};

use parlor_model::Key;
use parlor_model::seen::Seen;
use tokio::sync::mpsc;

use super::RESULT_BYTES;
use crate::Said;

/// How much of a command's output is kept.
const KEPT_BYTES: usize = 4 << 20;
/// So much is sent at once.
const PIECE_BYTES: usize = 64 << 10;
/// What stands where no more is kept.
const MARK: &str = "\n[output beyond 4 MB is not kept]\n";

/// The output of one command.
pub(crate) struct Output {
    call: Key,
    said: mpsc::Sender<Said>,
    /// What was not sent yet, perhaps with half a character at its end.
    unsent: Vec<u8>,
    kept: usize,
    ends: Arc<Mutex<Ends>>,
}

/// The beginning and the end of what was printed: they outlive a command that is cut off.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    head: Vec<u8>,
    tail: Vec<u8>,
    /// Bytes that are in neither end.
    between: usize,
}

impl Output {
    pub(crate) fn new(call: Key, said: mpsc::Sender<Said>, ends: Arc<Mutex<Ends>>) -> Output {
        Output { call, said, unsent: Vec::new(), kept: 0, ends }
    }

    /// Takes what was printed. True when so much has come together that it should be sent.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> bool {
        let room = KEPT_BYTES.saturating_sub(self.kept);
        if room > 0 {
            self.unsent.extend_from_slice(&bytes[..bytes.len().min(room)]);
            self.kept += bytes.len();
            if bytes.len() > room {
                self.unsent.extend_from_slice(MARK.as_bytes());
            }
        }
        self.ends.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
        self.unsent.len() >= PIECE_BYTES
    }

    /// Adds a line of Parlor's own after what was printed, for both readers, also where no more is kept.
    pub(crate) fn remark(&mut self, words: &str) {
        let mut ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        let line = if ends.is_mid_line() { format!("\n{words}") } else { words.to_owned() };
        ends.push(line.as_bytes());
        self.unsent.extend_from_slice(line.as_bytes());
    }

    /// True when something waits to be sent.
    pub(crate) fn waits(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Sends what has come together, but for half a character at its end.
    pub(crate) async fn flush(&mut self, ended: bool) {
        let half = if ended { 0 } else { half_character(&self.unsent) };
        let rest = self.unsent.split_off(self.unsent.len() - half);
        let whole = std::mem::replace(&mut self.unsent, rest);
        if !whole.is_empty() {
            let text = String::from_utf8_lossy(&whole).into_owned();
            // Nobody listens only when the agent is being ended.
            let _ = self.said.send(Said::Seen(Seen::Output { call: self.call.clone(), text })).await;
        }
    }
}

impl Ends {
    fn push(&mut self, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(bytes.len().min(RESULT_BYTES / 2 - self.head.len()));
        self.head.extend_from_slice(head);
        self.tail.extend_from_slice(rest);
        if self.tail.len() > RESULT_BYTES {
            self.shorten();
        }
    }

    /// True when the last line that was printed has no end.
    fn is_mid_line(&self) -> bool {
        self.tail.last().or(self.head.last()).is_some_and(|byte| *byte != b'\n')
    }

    fn shorten(&mut self) {
        let over = self.tail.len().saturating_sub(RESULT_BYTES / 2);
        self.tail.drain(..over);
        self.between += over;
    }

    /// What the model is told, and whether that is less than there was.
    pub(crate) fn told(&mut self) -> (String, bool) {
        if self.between > 0 {
            self.shorten();
        }
        let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(&self.tail));
        match self.between {
            0 => {
                let whole = [self.head.as_slice(), &self.tail].concat();
                (String::from_utf8_lossy(&whole).into_owned(), false)
            }
            between => (super::join(&head, between, &tail), true),
        }
    }
}

/// How many bytes at the end are the beginning of a character.
fn half_character(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let byte = bytes[bytes.len() - back];
        let length = match byte {
            0xf0.. => 4,
            0xe0.. => 3,
            0xc0.. => 2,
            0x80.. => continue,
            _ => 1,
        };
        return if length > back { back } else { 0 };
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn everything_is_sent_up_to_the_limit_and_the_model_gets_both_ends() {
        let (said, mut heard) = mpsc::channel(1_000);
        let ends = Arc::<Mutex<Ends>>::default();
        let mut output = Output::new("c".into(), said, ends.clone());
        let line = "0123456789 äöü\n".repeat(100);
        let mut pushed = 0;
        while pushed < KEPT_BYTES + 100_000 {
            // Odd pieces cut characters in two.
            for piece in line.as_bytes().chunks(7) {
                if output.push(piece) {
                    output.flush(false).await;
                }
                pushed += piece.len();
            }
        }
        output.push(b"the end");
        output.flush(true).await;
        let (told, cut) = ends.lock().unwrap().told();
        assert!(cut && told.starts_with("0123456789 äöü\n") && told.ends_with("the end"));
        assert!(told.len() < RESULT_BYTES + 100, "{}", told.len());
        drop(output);
        let mut sent = String::new();
        while let Some(Said::Seen(Seen::Output { text, .. })) = heard.recv().await {
            sent.push_str(&text);
        }
        let kept = sent.strip_suffix(MARK).unwrap();
        assert!(kept.len() >= KEPT_BYTES && kept.len() < KEPT_BYTES + 4);
        assert!(kept[..kept.len() - 8].split('\n').all(|text| "0123456789 äöü".starts_with(text)));
    }

    #[test]
    fn half_a_character_waits_for_its_other_half() {
        for (text, half) in [("a", 0), ("ä", 0), ("€", 0), ("😀", 0), ("", 0)] {
            assert_eq!(half_character(text.as_bytes()), half, "{text}");
        }
        assert_eq!(half_character(&"ä".as_bytes()[..1]), 1);
        assert_eq!(half_character(&"€".as_bytes()[..2]), 2);
        assert_eq!(half_character(&"😀".as_bytes()[..3]), 3);
        assert_eq!(half_character(&[0x80, 0x80, 0x80, 0x80]), 0, "what is no text does not wait");
    }
}
