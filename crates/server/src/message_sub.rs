//! A subscription to a profile's messages: where the client is, and what it is told next. It must not know sockets, and
//! it never waits.

use std::sync::Arc;

use parlor_model::Key;
use parlor_profile::Mask;

use crate::channel::{Channel, Message, Next};
use crate::html_sub::Wanted;
use crate::limits;
use crate::room::Room;
use crate::wire::{Frame, Kind, Tell, Verdict, Why};

/// A client that listens to messages.
pub(crate) struct MessageSub {
    sub: u64,
    room: Arc<Room>,
    channel: Arc<Channel>,
    mask: Mask,
    epoch: Key,
    /// The next message.
    next: usize,
    /// Steps before this one are history to the client.
    history: u64,
    more: bool,
}

impl MessageSub {
    /// Begins: the verdict, and the first of what the client lacks.
    pub(crate) fn begin(
        sub: u64,
        room: Arc<Room>,
        channel: Arc<Channel>,
        mask: Mask,
        wanted: &Wanted,
    ) -> (MessageSub, Vec<Frame>) {
        let start = channel.place(room.open(), None);
        let (verdict, why) = match (&wanted.epoch, wanted.after) {
            (Some(epoch), _) if start.epoch != *epoch => (Verdict::Gap, Some(room.why(epoch))),
            (Some(_), Some(after)) if after >= start.end => (Verdict::Gap, Some(Why::Ahead)),
            (Some(_), Some(after)) if channel.place(room.open(), Some(after)).cut => {
                (Verdict::Gap, Some(Why::Behind))
            }
            (Some(_), Some(_)) => (Verdict::Resumed, None),
            _ => (Verdict::Fresh, None),
        };
        let from = channel.place(room.open(), wanted.after.filter(|_| verdict == Verdict::Resumed));
        let mut messages = MessageSub {
            sub,
            room,
            channel,
            mask,
            epoch: from.epoch,
            next: from.next,
            history: from.end,
            more: true,
        };
        messages.room.note_epoch(&messages.epoch);
        let after = wanted.after.filter(|_| verdict == Verdict::Resumed);
        let mut frames = vec![messages.subscribed(wanted.reference, verdict, why, after).into()];
        frames.extend(messages.news());
        (messages, frames)
    }

    /// What was said since the last time, up to what one write holds.
    pub(crate) fn news(&mut self) -> Vec<Frame> {
        let (mut frames, mut bytes) = (Vec::new(), 0);
        while bytes < limits::BATCH_BYTES {
            let next = self.channel.next(self.room.open(), &self.epoch, self.next, limits::FRAME_BYTES);
            let messages = match next {
                Next::Messages(messages) => messages,
                Next::Lost => {
                    frames.push(self.again().into());
                    break;
                }
            };
            // More may have come meanwhile; the next round says so.
            self.more = !messages.is_empty();
            bytes += messages.iter().map(|message| message.json.len()).sum::<usize>();
            frames.extend(self.frame(&messages));
            if !self.more {
                break;
            }
        }
        frames
    }

    /// True when the last news did not fit.
    pub(crate) fn has_more(&self) -> bool {
        self.more
    }

    /// The same, if they do not take long to make.
    pub(crate) fn short_news(&mut self) -> Option<Vec<Frame>> {
        self.channel.is_near(self.room.open()).then(|| self.news())
    }

    /// Begins from the beginning, because what the client has is no longer true or what comes next no longer there.
    fn again(&mut self) -> String {
        let place = self.channel.place(self.room.open(), None);
        let why = if place.epoch == self.epoch { Why::Behind } else { Why::Replaced };
        (self.epoch, self.next, self.history, self.more) = (place.epoch, place.next, place.end, true);
        self.room.note_epoch(&self.epoch);
        self.subscribed(None, Verdict::Gap, Some(why), None)
    }

    /// The messages that the client wants, if there are any.
    fn frame(&mut self, messages: &[Message]) -> Option<Frame> {
        let (first, last) = (messages.first()?, messages.last()?);
        let kind = if first.seq < self.history { Kind::Window } else { Kind::Live };
        self.next += messages.len();
        let wanted: Vec<&str> =
            messages.iter().map(|message| &*message.json).filter(|json| self.passes(json)).collect();
        (!wanted.is_empty()).then(|| {
            format!(
                "{{\"type\":\"messages\",\"sub\":{},\"seq\":{},\"kind\":\"{}\",\"messages\":[{}]}}",
                self.sub,
                last.seq,
                kind.name(),
                wanted.join(",")
            )
            .into()
        })
    }

    fn passes(&self, json: &str) -> bool {
        self.mask == Mask::default()
            || serde_json::from_str(json).is_ok_and(|message| self.mask.passes(&message))
    }

    fn subscribed(
        &self,
        reference: Option<u64>,
        verdict: Verdict,
        why: Option<Why>,
        seq: Option<u64>,
    ) -> String {
        let (session, epoch) = (self.room.open().id().to_string(), self.epoch.to_string());
        Tell::Subscribed { reference, session, sub: self.sub, epoch, verdict, why, seq }.text()
    }
}
