//! What is said on the socket and in REST answers, as types. Schemas, the OpenAPI document and the page's types are made
//! from them. It must not decide anything.

mod ask;
mod rest;
mod shape;
mod tell;

pub use ask::{Ask, MaskShape};
pub use rest::*;
pub use shape::*;
pub use tell::*;
use tokio_tungstenite::tungstenite::Utf8Bytes;

/// A message as text. Clones are the same bytes.
pub(crate) type Frame = Utf8Bytes;
