//! Why the hub could not do something, in words for the person who asked.

/// Why something could not be done. The message says what to do next.
#[derive(Clone, Debug, thiserror::Error)]
pub enum HubError {
    /// There is no such thing.
    #[error("{0}")]
    NotFound(String),
    /// It cannot be done now, or not any more.
    #[error("{0}")]
    Conflict(String),
    /// What was asked makes no sense.
    #[error("{0}")]
    BadRequest(String),
    /// An agent, a disk or a file is not there.
    #[error("{0}")]
    Unavailable(String),
}

impl From<parlor_store::StoreError> for HubError {
    fn from(error: parlor_store::StoreError) -> Self {
        HubError::Unavailable(error.to_string())
    }
}

impl From<parlor_agent::AgentError> for HubError {
    fn from(error: parlor_agent::AgentError) -> Self {
        HubError::Unavailable(error.to_string())
    }
}

impl From<parlor_found::FoundError> for HubError {
    fn from(error: parlor_found::FoundError) -> Self {
        HubError::Unavailable(error.to_string())
    }
}
