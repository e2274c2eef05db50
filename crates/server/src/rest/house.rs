//! What is asked of the house as a whole.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{AppendHeaders, IntoResponse};
use axum::{Extension, Json};
use parlor_hub::{Changes, Hit, Row};
use parlor_model::time::Time;
use parlor_store::{Kind, Query as SearchQuery};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Answer, Body, Query, blocking};
use crate::app::App;
use crate::door::Access;
use crate::error::{Code, Problem};
use crate::limits;
use crate::painter::units;
use crate::server::new_link;
use crate::wire::{Admission, Admitted, Agents, Folders, HitShape, Hits, Link, LinkFor, StoppedAll};

/// What is looked for.
#[derive(Deserialize)]
pub(crate) struct Searched {
    q: String,
    kind: Option<String>,
    session: Option<String>,
    limit: Option<usize>,
}

/// The list as it is written; [`crate::wire::Sessions`] describes it.
#[derive(Serialize)]
pub(crate) struct Listed {
    complete: bool,
    sessions: Vec<Arc<Row>>,
}

/// The list of sessions.
pub(crate) async fn sessions(State(app): State<Arc<App>>) -> Json<Listed> {
    let Changes { complete, rows, .. } = app.hub.changes(0);
    Json(Listed { complete, sessions: rows })
}

/// Looks for words in all sessions.
pub(crate) async fn search(
    State(app): State<Arc<App>>,
    Query(searched): Query<Searched>,
) -> Answer<Json<Hits>> {
    let kind = match searched.kind.as_deref().unwrap_or("words") {
        "words" => Kind::Words,
        "substring" => Kind::Substring,
        "regex" => Kind::Regex,
        _ => return Err(Problem::bad("`kind` is `words`, `substring` or `regex`")),
    };
    let limit = searched.limit.unwrap_or(50).clamp(1, limits::PAGE);
    let query = SearchQuery { words: searched.q, kind, session: searched.session, limit };
    let hub = app.hub.clone();
    let hits = tokio::task::block_in_place(move || hub.search(&query))?;
    Ok(Json(Hits { hits: hits.into_iter().map(|hit| shape(&app, hit)).collect() }))
}

fn shape(app: &App, hit: Hit) -> HitShape {
    let unit = |byte: usize| hit.snippet.get(..byte).map_or(0, units);
    HitShape {
        title: app.hub.row(&hit.session).and_then(|row| row.title.clone()),
        marks: hit.ranges.iter().map(|range| (unit(range.start), unit(range.end))).collect(),
        entry: hit.entry.to_string(),
        at: hit.at.map(Time::iso_millis),
        session: hit.session,
        snippet: hit.snippet,
    }
}

/// Which agents there are.
pub(crate) async fn agents(State(app): State<Arc<App>>) -> Json<Agents> {
    Json(Agents { agents: app.agents().await })
}

/// Folders that sessions were in and that are still there.
pub(crate) async fn folders(State(app): State<Arc<App>>) -> Answer<Json<Folders>> {
    let rows = app.hub.changes(0).rows;
    let folders = blocking(move || {
        let mut seen = HashSet::new();
        let folders = rows.iter().filter_map(|row| row.cwd.clone()).filter(|cwd| seen.insert(cwd.clone()));
        // A worktree that was cleaned up, a disk that is not there: nobody can start anything in it.
        folders
            .take(limits::FOLDERS_TRIED)
            .filter(|cwd| Path::new(cwd).is_dir())
            .take(limits::FOLDERS)
            .collect()
    });
    Ok(Json(Folders { folders: folders.await? }))
}

/// Stops every agent that works.
pub(crate) async fn stop_all(State(app): State<Arc<App>>) -> Json<StoppedAll> {
    Json(StoppedAll { sessions: app.hub.stop_all().await })
}

/// A one-time link.
pub(crate) async fn link(State(app): State<Arc<App>>, body: bytes::Bytes) -> Answer<Json<Link>> {
    let wanted: LinkFor = match body.is_empty() {
        true => LinkFor::default(),
        false => serde_json::from_slice(&body).map_err(|error| Problem::bad(error.to_string()))?,
    };
    let url =
        new_link(&app, wanted.access).map_err(|error| Problem::new(Code::Unavailable, error.to_string()))?;
    Ok(Json(Link { url }))
}

/// A cookie for a one-time code.
pub(crate) async fn admit(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    Body(admission): Body<Admission>,
) -> Answer<impl IntoResponse> {
    let access = app.door.redeem(&admission.code)?;
    let cookie = app.door.cookie(access, &headers);
    Ok((AppendHeaders([(header::SET_COOKIE, cookie)]), Json(Admitted { access })))
}

/// What this client may do.
pub(crate) async fn admitted(Extension(access): Extension<Access>) -> Json<Admitted> {
    Json(Admitted { access })
}

/// All of this as OpenAPI.
pub(crate) async fn openapi() -> Json<Value> {
    Json(crate::openapi::document())
}
