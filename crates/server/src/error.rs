//! Why a request could not be answered, in the one form that clients know, and why the house could not open its door.

use std::path::PathBuf;

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use parlor_hub::HubError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why the door could not be opened. The message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Somebody else listens there, or the address is not this machine's.
    #[error("cannot listen on {address}: {source}; choose another port with `--port`, or `--port 0` for any")]
    Bind {
        /// The address.
        address: std::net::SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// The address can be reached from other machines, and nobody allowed that.
    #[error(
        "{0} can be reached from other machines, and whoever holds the token can run commands on this one; if that is \
         wanted, say `--allow-remote`, and put a proxy with TLS in front of it"
    )]
    Remote(std::net::IpAddr),
    /// A token could not be read or kept.
    #[error(
        "cannot keep the token in {path}: {source}; make the folder writable, or name another data folder"
    )]
    Token {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A token's file does not hold a token.
    #[error("{0} does not hold a token; delete the file, and a new one is made")]
    Damaged(PathBuf),
    /// The system has no randomness to give.
    #[error("the system gives no random numbers: {0}")]
    Random(getrandom::Error),
}

/// What went wrong, in one word that programs can tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// What was asked makes no sense.
    BadRequest,
    /// Nobody said who asks, or it is not known here.
    Unauthorized,
    /// Whoever asks may not.
    Forbidden,
    /// There is no such thing.
    NotFound,
    /// It cannot be done now, or not any more.
    Conflict,
    /// More than a request may hold.
    TooLarge,
    /// More than is allowed at a time.
    TooMany,
    /// An agent, a disk or a file is not there.
    Unavailable,
    /// A fault of Parlor's.
    Internal,
}

/// A problem, as every answer and every frame tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// What went wrong.
    pub code: Code,
    /// The same in words, with what to do.
    pub message: String,
}

/// The body of an answer that is a problem.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ProblemBody {
    /// The problem.
    pub error: Problem,
}

impl Problem {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Problem {
        Problem { code, message: message.into() }
    }

    pub(crate) fn bad(message: impl Into<String>) -> Problem {
        Problem::new(Code::BadRequest, message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Problem {
        Problem::new(Code::NotFound, message)
    }

    /// A task of ours panicked. Its message is in the log, and none of the client's business.
    pub(crate) fn panicked(error: &tokio::task::JoinError) -> Problem {
        tracing::error!("a task failed: {error}");
        Problem::new(Code::Internal, "that failed within Parlor; its log says more")
    }

    /// What a person asked for that only full access may.
    pub(crate) fn read_only() -> Problem {
        Problem::new(
            Code::Forbidden,
            "this access is read-only; use the full token to order, create or stop anything",
        )
    }
}

impl Code {
    fn status(self) -> StatusCode {
        match self {
            Code::BadRequest => StatusCode::BAD_REQUEST,
            Code::Unauthorized => StatusCode::UNAUTHORIZED,
            Code::Forbidden => StatusCode::FORBIDDEN,
            Code::NotFound => StatusCode::NOT_FOUND,
            Code::Conflict => StatusCode::CONFLICT,
            Code::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Code::TooMany => StatusCode::TOO_MANY_REQUESTS,
            Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Code::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl From<HubError> for Problem {
    fn from(error: HubError) -> Self {
        let code = match &error {
            HubError::NotFound(_) => Code::NotFound,
            HubError::Conflict(_) => Code::Conflict,
            HubError::BadRequest(_) => Code::BadRequest,
            HubError::Unavailable(_) => Code::Unavailable,
        };
        Problem::new(code, error.to_string())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.code.status();
        let mut response = (status, Json(ProblemBody { error: self })).into_response();
        if status == StatusCode::UNAUTHORIZED {
            let bearer = axum::http::HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, bearer);
        }
        response
    }
}
