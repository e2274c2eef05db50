//! The house from within: one actor per open session, the list of all of them, and the agents that run. The only crate
//! that reads the clock. It knows no HTML, no socket and no profile.

mod actor;
mod adopt;
mod archive;
mod behind;
mod clock;
mod discovery;
mod error;
mod exchange;
mod follow;
mod glance;
mod hub;
mod index;
mod list;
mod log;
mod open;
mod row;
mod running;
mod scribe;
mod tail;
mod view;
mod watch;

pub use error::HubError;
pub use exchange::{Caller, Message, Outcome, Reached};
pub use glance::EPOCH as GLANCE;
pub use hub::{Hub, NewSession, Options};
pub use list::Changes;
pub use open::{Can, Facts, Open};
pub use parlor_agent::{Program, Settings};
pub use parlor_found::Nested;
pub use parlor_store::{Hit, Query};
pub use row::{Row, Source};
pub use scribe::Scribe;
pub use view::{Folded, View};
