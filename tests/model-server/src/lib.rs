//! A scripted model: real agents run against it on loopback, without accounts. It knows wire formats and scripts, and
//! must not know Parlor.
//!
//! It speaks Anthropic's messages, OpenAI's responses and OpenAI's chat completions; anything may stand before `/v1`.
//! It keeps no conversation. The last prompt with a marker chooses the script, and the number of answers after it is the step:
//!
//! ```text
//! [[script NAME key=value …]]
//! ```
//!
//! `cargo run -p parlor-model-server -- --scripts` lists the scripts with their keys. Each understands `ms=` (the pause
//! between two pieces of streamed text) and `size=` (characters in a piece).

mod answer;
mod conversation;
mod log;
mod marker;
mod offer;
mod script;
mod scripts;
mod server;
mod stream;
mod tools;
mod wire;

pub use log::{Outcome, Request};
pub use scripts::{SCRIPTS, Script};
pub use server::{ModelServer, serve};
