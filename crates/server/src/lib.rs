//! The house's door: HTTP, WebSocket, who may come in, and the page. It knows no files of agents and no log; it asks the
//! hub, the profiles and the renderer.

mod app;
mod asset;
mod bucket;
mod channel;
mod config;
mod connection;
mod door;
mod error;
mod guard;
mod html_sub;
mod limits;
mod mcp;
mod message_sub;
mod openapi;
mod painter;
mod rest;
mod room;
mod routes;
mod secret;
mod server;
mod socket;
mod state;
mod told;
mod typescript;
pub mod wire;

pub use channel::Pipeline;
pub use config::{Config, PORT};
pub use door::{Access, TOKEN_FILE};
pub use error::{Code, Problem, ProblemBody, ServerError};
pub use openapi::document;
pub use server::{Server, bind};
pub use typescript::declarations;

/// The version of the protocol.
pub const VERSION: u32 = 1;
