//! All routes, in one table that makes both the router and the OpenAPI document, so that they cannot differ.

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, get, post};
use schemars::{Schema, SchemaGenerator};
use tower_http::compression::CompressionLayer;

use crate::app::App;
use crate::error::Problem;
use crate::{asset, guard, limits, mcp, rest, socket, wire};

/// One route under `/api`.
pub(crate) struct Route {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) who: Who,
    pub(crate) query: &'static [Parameter],
    pub(crate) body: Option<MakeSchema>,
    pub(crate) answer: Answer,
    pub(crate) handler: fn() -> MethodRouter<Arc<App>>,
}

/// Who may use a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    /// Whoever has a code.
    Anyone,
    /// Whoever may look.
    Reader,
    /// Whoever may do everything.
    Owner,
}

/// A parameter behind the question mark.
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    /// The type in JSON Schema.
    pub(crate) kind: &'static str,
    pub(crate) words: &'static str,
    pub(crate) required: bool,
}

/// What an answer holds.
pub(crate) enum Answer {
    Json(MakeSchema),
    /// Something else, by its media types.
    Other(&'static [&'static str]),
}

pub(crate) type MakeSchema = fn(&mut SchemaGenerator) -> Schema;

const fn parameter(name: &'static str, kind: &'static str, words: &'static str) -> Parameter {
    Parameter { name, kind, words, required: false }
}

const fn needed(name: &'static str, kind: &'static str, words: &'static str) -> Parameter {
    Parameter { name, kind, words, required: true }
}

const FROM: Parameter = parameter("from", "integer", "the first one wanted, from 0");
const COUNT: Parameter = parameter("count", "integer", "how many, at most 1000");
const OFFSET: Parameter =
    parameter("offset_s", "integer", "seconds to add to UTC for the clocks that are shown");

/// All routes under `/api`.
pub(crate) fn table() -> Vec<Route> {
    let mut routes = session_routes();
    routes.extend(house_routes());
    routes
}

fn session_routes() -> Vec<Route> {
    vec![
        Route {
            method: "get",
            path: "/api/sessions",
            summary: "The list of sessions",
            who: Who::Reader,
            query: &[],
            body: None,
            answer: Answer::Json(SchemaGenerator::subschema_for::<wire::Sessions>),
            handler: || get(rest::sessions),
        },
        Route {
            method: "post",
            path: "/api/sessions",
            summary: "A new session",
            who: Who::Owner,
            query: &[],
            body: Some(SchemaGenerator::subschema_for::<wire::Creation>),
            answer: Answer::Json(SchemaGenerator::subschema_for::<wire::CreatedSession>),
            handler: || post(rest::create),
        },
        Route {
            method: "get",
            path: "/api/sessions/{id}",
            summary: "The state of a session",
            who: Who::Reader,
            query: &[],
            body: None,
            answer: Answer::Json(SchemaGenerator::subschema_for::<wire::State>),
            handler: || get(rest::state),
        },
        Route {
            method: "get",
            path: "/api/sessions/{id}/entries",
            summary: "Entries as JSON",
            who: Who::Reader,
            query: &[FROM, COUNT],
            body: None,
            answer: Answer::Json(SchemaGenerator::subschema_for::<wire::EntryPage>),
            handler: || get(rest::entries),
        },
        Route {
            method: "get",
            path: "/api/sessions/{id}/entries/{entry}",
            summary: "One entry as JSON",
            who: Who::Reader,
            query: &[],
            body: None,
            answer: Answer::Json(SchemaGenerator::subschema_for::<serde_json::Value>),
            handler: || get(rest::entry),
        },
        Route {
            method: "get",
            path: "/api/sessions/{id}/entries/{entry}/full",
            summary: "One entry without limits, as HTML or text; 16 MB of each part at most",
            who: Who::Reader,
            query: const { &[parameter("format", "string", "`html` (usual) or `text`"), OFFSET] },
            body: None,
            answer: Answer::Other(&["text/html", "text/plain"]),
            handler: || get(rest::full),
        },
        Route {
            method: "get",
            path: "/api/sessions/{id}/export",
            summary: "The whole session as a file",
            who: Who::Reader,
            query: const {
                &[parameter("format", "string", "`html` (usual), `markdown`, `text` or `json`"), OFFSET]
            },
            body: None,
            answer: Answer::Other(&["text/html", "text/markdown", "text/plain", "application/json"]),
            handler: || get(rest::export),
        },
        Route {
            method: "get",
            path: "/api/sessions/{id}/records",
            summary: "Raw records",
            who: Who::Reader,
            query: &[FROM, COUNT],
            body: None,
            answer: Answer::Json(SchemaGenerator::subschema_for::<wire::RecordPage>),
            handler: || get(rest::records),
        },
        Route {
            method: "get",
            path: "/api/sessions/{id}/messages",
            summary: "All messages of a profile",
            who: Who::Reader,
            query: const {
                &[
                    needed("profile", "string", "`events`, `elements`, `bridge`, `legion` or `raw`"),
                    parameter("after", "integer", "only those of records after this one"),
                    parameter("types", "string", "only messages of these types, separated by commas"),
                    parameter("tools", "string", "only messages about these tools, separated by commas"),
                ]
            },
            body: None,
            answer: Answer::Json(SchemaGenerator::subschema_for::<wire::MessagePage>),
            handler: || get(rest::messages),
        },
        Route {
            method: "post",
            path: "/api/sessions/{id}/orders",
            summary: "An order, as on the socket; the answer comes when it is safely on disk",
            who: Who::Owner,
            query: &[],
            body: Some(SchemaGenerator::subschema_for::<wire::Ordered>),
            answer: Answer::Json(SchemaGenerator::subschema_for::<wire::OrderedAt>),
            handler: || post(rest::order),
        },
    ]
}

fn house_routes() -> Vec<Route> {
    vec![
        Route {
            method: "get",
            path: "/api/search",
            summary: "Looks for words in all sessions",
            who: Who::Reader,
            query: const {
                &[
                    needed("q", "string", "what to look for"),
                    parameter("kind", "string", "`words` (usual), `substring` or `regex`"),
                    parameter("session", "string", "only in this session"),
                    parameter("limit", "integer", "how many hits, at most 1000"),
                ]
            },
            body: None,
            answer: Answer::Json(SchemaGenerator::subschema_for::<wire::Hits>),
            handler: || get(rest::search),
        },
        Route {
            method: "get",
            path: "/api/agents",
            summary: "Which agents there are",
            who: Who::Reader,
            query: &[],
            body: None,
            answer: Answer::Json(SchemaGenerator::subschema_for::<wire::Agents>),
            handler: || get(rest::agents),
        },
        Route {
            method: "get",
            path: "/api/folders",
            summary: "The folders of the newest sessions that are still there, for another session",
            who: Who::Owner,
            query: &[],
            body: None,
            answer: Answer::Json(SchemaGenerator::subschema_for::<wire::Folders>),
            handler: || get(rest::folders),
        },
        Route {
            method: "post",
            path: "/api/stop",
            summary: "Stops every agent that works",
            who: Who::Owner,
            query: &[],
            body: None,
            answer: Answer::Json(SchemaGenerator::subschema_for::<wire::StoppedAll>),
            handler: || post(rest::stop_all),
        },
        Route {
            method: "post",
            path: "/api/link",
            summary: "A one-time link that lets a browser in",
            who: Who::Owner,
            query: &[],
            body: Some(SchemaGenerator::subschema_for::<wire::LinkFor>),
            answer: Answer::Json(SchemaGenerator::subschema_for::<wire::Link>),
            handler: || post(rest::link),
        },
        Route {
            method: "post",
            path: "/api/session",
            summary: "A cookie for a one-time code",
            who: Who::Anyone,
            query: &[],
            body: Some(SchemaGenerator::subschema_for::<wire::Admission>),
            answer: Answer::Json(SchemaGenerator::subschema_for::<wire::Admitted>),
            handler: || post(rest::admit),
        },
        Route {
            method: "get",
            path: "/api/session",
            summary: "What this client may do",
            who: Who::Reader,
            query: &[],
            body: None,
            answer: Answer::Json(SchemaGenerator::subschema_for::<wire::Admitted>),
            handler: || get(rest::admitted),
        },
        Route {
            method: "get",
            path: "/api/openapi.json",
            summary: "This document",
            who: Who::Reader,
            query: &[],
            body: None,
            answer: Answer::Json(SchemaGenerator::subschema_for::<serde_json::Value>),
            handler: || get(rest::openapi),
        },
    ]
}

/// The router of a house.
pub(crate) fn router(app: &Arc<App>) -> Router {
    let door = from_fn_with_state(app.clone(), guard::access);
    let mut api = Router::new();
    for route in table() {
        let handler = (route.handler)();
        let handler = match route.who {
            Who::Anyone => handler,
            Who::Reader => handler.layer(door.clone()),
            Who::Owner => handler.layer(from_fn(guard::owner)).layer(door.clone()),
        };
        api = api.route(route.path, handler);
    }
    let files = Router::new().route("/", get(asset::page)).route("/assets/{*name}", get(asset::asset));
    let socket = Router::new().route("/ws", get(socket::open).layer(door));
    // What goes over the socket is not compressed: it is small, and it must not wait.
    api.merge(files)
        .layer(CompressionLayer::new())
        .merge(socket)
        .merge(mcp::router(app))
        .fallback(|| async {
            Problem::not_found("there is nothing here; PROTOCOL.md says what there is").into_response()
        })
        .method_not_allowed_fallback(|| async {
            Problem::bad("this address does not take that method").into_response()
        })
        .layer(DefaultBodyLimit::max(limits::MESSAGE_BYTES))
        .layer(from_fn_with_state(app.clone(), guard::house))
        .with_state(app.clone())
}
