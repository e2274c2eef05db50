//! The REST twin: what is asked once. It must not keep anything between requests.

mod export;
mod house;
mod session;
mod stream;

use axum::Json;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;

use crate::error::{Code, Problem};

pub(crate) use export::{export, full};
pub(crate) use house::{admit, admitted, agents, folders, link, openapi, search, sessions, stop_all};
pub(crate) use session::{create, entries, entry, messages, order, records, state};

/// An answer or a problem.
type Answer<T> = Result<T, Problem>;

/// A body that is JSON, and says what is wrong with it in our own words.
pub(crate) struct Body<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        match Json::<T>::from_request(request, state).await {
            Ok(Json(value)) => Ok(Body(value)),
            Err(error) => {
                let large = error.status() == axum::http::StatusCode::PAYLOAD_TOO_LARGE;
                let code = if large { Code::TooLarge } else { Code::BadRequest };
                Err(Problem::new(code, error.body_text()).into_response())
            }
        }
    }
}

/// Parameters behind the question mark.
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        match axum::extract::Query::<T>::from_request_parts(parts, state).await {
            Ok(axum::extract::Query(value)) => Ok(Query(value)),
            Err(error) => Err(Problem::bad(error.body_text()).into_response()),
        }
    }
}

/// Runs what takes a while where it may.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Answer<T> {
    tokio::task::spawn_blocking(work).await.map_err(|error| Problem::panicked(&error))
}
