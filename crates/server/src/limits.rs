//! How much of anything a client may ask for or be sent. Each limit is named in PROTOCOL.md, and none is silent.

use std::time::Duration;

/// Bytes of one frame or body from a client: prompts with pictures are the largest.
pub(crate) const MESSAGE_BYTES: usize = 8 << 20;

/// Subscriptions on one socket.
pub(crate) const SUBSCRIPTIONS: usize = 64;

/// Requests of one socket that wait for their answer.
pub(crate) const REQUESTS: usize = 64;

/// Windows of one subscription that wait for their turn.
pub(crate) const WINDOWS: usize = 8;

/// Orders that may come at once, and how many a second after that.
pub(crate) const ORDERS: u32 = 60;

/// Entries in one window.
pub(crate) const WINDOW: usize = 1_000;

/// Entries in a window that does not say how many.
pub(crate) const USUAL_WINDOW: usize = 200;

/// Bytes in one window; one entry always fits. What is left out can be asked for.
pub(crate) const WINDOW_BYTES: usize = 4 << 20;

/// A frame of news grows to about this many bytes before the next one is begun.
pub(crate) const FRAME_BYTES: usize = 64 << 10;

/// Frames are collected up to this size and then written at once.
pub(crate) const BATCH_BYTES: usize = 256 << 10;

/// Bytes of rendered entries that are kept for the next viewer of a session.
pub(crate) const PAINTED_BYTES: usize = 8 << 20;

/// Versions of an entry from which a patch can start.
pub(crate) const PATCHES: usize = 32;

/// How many of the newest entries a subscription remembers the version of, to send patches.
pub(crate) const REMEMBERED: usize = 64;

/// Bytes of a profile's messages that are kept for a session.
pub(crate) const CHANNEL_BYTES: usize = 256 << 20;

/// Bytes of an entry that is asked for without limits.
pub(crate) const FULL_BYTES: usize = 16 << 20;

/// Entries, records and hits in one answer.
pub(crate) const PAGE: usize = 1_000;

/// Bytes of records in one answer; one record always fits.
pub(crate) const RECORD_BYTES: usize = 16 << 20;

/// Folders that are offered for a new session, and how many are looked at to find them.
pub(crate) const FOLDERS: usize = 12;
pub(crate) const FOLDERS_TRIED: usize = 100;

/// Exports, and other answers that are made piece by piece, at a time.
pub(crate) const STREAMS: usize = 8;

/// Connections at a time.
pub(crate) const CONNECTIONS: usize = 16_384;

/// How long the headers of a request may take.
pub(crate) const HEADER_TIME: Duration = Duration::from_secs(20);

/// How often a quiet socket is asked whether it is there.
pub(crate) const PING_EVERY: Duration = Duration::from_secs(20);

/// A client that neither takes nor sends a byte for so long is gone.
pub(crate) const SILENCE: Duration = Duration::from_secs(60);

/// How long after rows were sent the next ones wait.
pub(crate) const ROWS_EVERY: Duration = Duration::from_millis(250);

/// How long a one-time link can be used.
pub(crate) const CODE_TIME: Duration = Duration::from_secs(300);

/// One-time codes that can be open at a time; the oldest goes.
pub(crate) const CODES: usize = 16;

/// Wrong tokens that may come at once, and one more each second after that.
pub(crate) const FAILURES: u32 = 20;

/// How long a browser stays known.
pub(crate) const COOKIE_DAYS: u64 = 180;
