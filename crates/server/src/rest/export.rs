//! A session as a file, and one entry without limits: the same renderer as the live page.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use parlor_model::entry::Entry;
use parlor_model::session::Session;
use parlor_render::{Context, Html, Limits, Options, entry_html, export_markdown, page, plain};
use serde::Deserialize;

use super::session::no_entry;
use super::stream::{Made, streamed};
use super::{Answer, Query, blocking};
use crate::app::App;
use crate::error::Problem;
use crate::limits;
use crate::room::Room;

/// In which form.
#[derive(Deserialize)]
pub(crate) struct Form {
    format: Option<String>,
    #[serde(default)]
    offset_s: i32,
}

/// How many entries as JSON make one piece.
const PIECE: usize = 64;

/// The whole session as a file.
pub(crate) async fn export(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Query(form): Query<Form>,
) -> Answer<Response> {
    let (kind, ending): (&'static str, &str) = match form.format.as_deref().unwrap_or("html") {
        "html" => ("text/html; charset=utf-8", "html"),
        "markdown" => ("text/markdown; charset=utf-8", "md"),
        "text" => ("text/plain; charset=utf-8", "txt"),
        "json" => ("application/json", "json"),
        _ => return Err(Problem::bad("`format` is `html`, `markdown`, `text` or `json`")),
    };
    let room = app.rooms.enter(&app.hub, &id).await?;
    let plain_id: String = id.chars().filter(|one| one.is_ascii_alphanumeric() || *one == '-').collect();
    let name = format!("parlor-{plain_id}.{ending}");
    let options = Options { offset_s: form.offset_s, ..Options::default() };
    let ending = ending.to_owned();
    streamed(&app, kind, Some(name), move |made| {
        let (session, entries) = copy(&room);
        drop(room);
        write(&ending, &session, &entries, &options, made)
    })
    .await
}

/// The session as it is now. Texts are shared with the records, so that this is small, and nobody waits for an export.
fn copy(room: &Room) -> (Session, Vec<Entry>) {
    let view = room.open().view();
    (view.session().clone(), view.entries().to_vec())
}

fn write(ending: &str, session: &Session, entries: &[Entry], options: &Options, made: &Made) -> Option<()> {
    match ending {
        "html" => {
            let mut taken = Some(());
            page::pieces(session, entries, options, |piece| {
                taken = taken.and_then(|()| made.send(Bytes::copy_from_slice(piece.as_str().as_bytes())));
            });
            taken
        }
        "md" => made.send(export_markdown::transcript(session, entries, options).into()),
        "txt" => made.send(plain::transcript(session, entries, options).into()),
        _ => {
            let session = serde_json::to_string(session).unwrap_or_default();
            made.send(format!("{{\"session\":{session},\"entries\":[").into())?;
            for (index, part) in entries.chunks(PIECE).enumerate() {
                let part: Vec<String> =
                    part.iter().map(|entry| serde_json::to_string(entry).unwrap_or_default()).collect();
                let comma = if index == 0 { "" } else { "," };
                made.send(format!("{comma}{}", part.join(",")).into())?;
            }
            made.send("]}".into())
        }
    }
}

/// One entry without limits.
pub(crate) async fn full(
    State(app): State<Arc<App>>,
    Path((id, entry)): Path<(String, String)>,
    Query(form): Query<Form>,
) -> Answer<Response> {
    let text = match form.format.as_deref().unwrap_or("html") {
        "html" => false,
        "text" => true,
        _ => return Err(Problem::bad("`format` is `html` or `text`")),
    };
    let room = app.rooms.enter(&app.hub, &id).await?;
    let made = blocking(move || {
        let bytes = limits::FULL_BYTES;
        // No limits but one: a browser that is sent a gigabyte is no longer a browser.
        let limits = Limits { bytes, prose_bytes: bytes, image_bytes: bytes, ..Limits::none() };
        let options = Options {
            offset_s: form.offset_s,
            file_contents: true,
            unfolded: true,
            limits,
            ..Options::default()
        };
        let view = room.open().view();
        let index =
            view.entry(&entry).and_then(|entry| view.entries().iter().position(|one| one.id == entry.id))?;
        let context = Context {
            session: view.session(),
            entries: view.entries(),
            outline: view.outline(),
            options: &options,
        };
        if text {
            let mut out = String::new();
            plain::entry(&context, index, &mut out);
            return Some(out);
        }
        let mut html = Html::with_capacity(1 << 12);
        entry_html::entry(&context, index, &mut html);
        Some(html.into_string())
    });
    let made = made.await?.ok_or_else(no_entry)?;
    let kind = if text { "text/plain; charset=utf-8" } else { "text/html; charset=utf-8" };
    Ok(([(header::CONTENT_TYPE, kind)], made).into_response())
}
