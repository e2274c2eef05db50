//! What is asked of one session.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::response::Response;
use bytes::Bytes;
use parlor_hub::NewSession;
use parlor_model::order::{Order, Ordered};
use parlor_model::record::{Origin, Record};
use parlor_model::time::Time;
use parlor_profile::{Mask, Profile};
use serde::Deserialize;
use serde_json::Value;

use super::stream::{Made, streamed};
use super::{Answer, Body, Query, blocking};
use crate::app::App;
use crate::channel::{CHUNK, Pipeline};
use crate::error::Problem;
use crate::limits;
use crate::room::Room;
use crate::secret::Secret;
use crate::wire::{self, CreatedSession, EntryPage, OrderedAt, RecordPage, RecordShape};

/// A part of something long.
#[derive(Deserialize)]
pub(crate) struct Part {
    from: Option<usize>,
    count: Option<usize>,
}

/// Which messages are wanted.
#[derive(Deserialize)]
pub(crate) struct Wanted {
    profile: String,
    after: Option<u64>,
    types: Option<String>,
    tools: Option<String>,
}

/// A new session, and what is said to it at once.
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Body(creation): Body<wire::Creation>,
) -> Answer<Json<CreatedSession>> {
    let wire::Creation { agent, cwd, model, mode, prompt } = creation;
    let mode = match mode {
        wire::Mode::Ask => parlor_model::order::Mode::Ask,
        wire::Mode::AcceptEdits => parlor_model::order::Mode::AcceptEdits,
        wire::Mode::AllowAll => parlor_model::order::Mode::AllowAll,
    };
    let session = app.hub.create(NewSession { agent, cwd, model, mode }).await?;
    if let Some(text) = prompt {
        let id =
            Secret::random().map_err(|error| Problem::new(crate::Code::Unavailable, error.to_string()))?;
        let order = Order::Prompt { text, files: Vec::new(), steer: false };
        app.hub.order(&session, Ordered { id: id.reveal().into(), by: None, order }).await?;
    }
    Ok(Json(CreatedSession { session: session.to_string() }))
}

/// The state of a session.
pub(crate) async fn state(State(app): State<Arc<App>>, Path(id): Path<String>) -> Answer<Json<wire::State>> {
    let room = app.rooms.enter(&app.hub, &id).await?;
    Ok(Json(room.state_value()))
}

/// Entries as JSON.
pub(crate) async fn entries(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Query(part): Query<Part>,
) -> Answer<Json<EntryPage>> {
    let room = app.rooms.enter(&app.hub, &id).await?;
    let page = blocking(move || {
        let view = room.open().view();
        let total = view.entries().len();
        let from = part.from.unwrap_or(0).min(total);
        let count = part.count.unwrap_or(limits::USUAL_WINDOW).min(limits::PAGE);
        let entries = view.entries()[from..].iter().take(count);
        let entries = entries.map(|entry| serde_json::to_value(entry).unwrap_or_default()).collect();
        EntryPage { epoch: view.epoch.to_string(), total, from, entries }
    });
    Ok(Json(page.await?))
}

/// One entry as JSON.
pub(crate) async fn entry(
    State(app): State<Arc<App>>,
    Path((id, entry)): Path<(String, String)>,
) -> Answer<Json<Value>> {
    let room = app.rooms.enter(&app.hub, &id).await?;
    let value = blocking(move || {
        let view = room.open().view();
        view.entry(&entry).map(|entry| serde_json::to_value(entry).unwrap_or_default())
    });
    value.await?.map(Json).ok_or_else(no_entry)
}

pub(crate) fn no_entry() -> Problem {
    Problem::not_found("there is no such entry in this session")
}

/// Raw records.
pub(crate) async fn records(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Query(part): Query<Part>,
) -> Answer<Json<RecordPage>> {
    let room = app.rooms.enter(&app.hub, &id).await?;
    let page = blocking(move || {
        let view = room.open().view();
        let all = view.records();
        let from = part.from.unwrap_or(0).min(all.len());
        let count = part.count.unwrap_or(limits::USUAL_WINDOW).min(limits::PAGE);
        let mut bytes = 0;
        let fits = |record: &&Record| {
            let fits = bytes < limits::RECORD_BYTES;
            bytes += record.body.len();
            fits
        };
        let records = all[from..].iter().take(count).take_while(fits).map(shape).collect();
        RecordPage { epoch: view.epoch.to_string(), total: view.end(), from: from as u64, records }
    });
    Ok(Json(page.await?))
}

fn shape(record: &Record) -> RecordShape {
    let origin = match record.origin {
        Origin::Agent => "agent",
        Origin::Stderr => "stderr",
        Origin::User => "user",
        Origin::Host => "host",
    };
    RecordShape {
        seq: record.seq,
        at: record.at.map(Time::iso_millis),
        origin: origin.to_owned(),
        lossy: std::str::from_utf8(&record.body).is_err(),
        body: String::from_utf8_lossy(&record.body).into_owned(),
    }
}

/// All messages of a profile, with what can be said only at the end.
pub(crate) async fn messages(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Query(wanted): Query<Wanted>,
) -> Answer<Response> {
    let Some(profile) = Profile::named(&wanted.profile) else {
        let names = Profile::ALL.map(Profile::name).join(", ");
        return Err(Problem::bad(format!("there is no such profile; choose one of: {names}")));
    };
    let set = |names: &Option<String>| -> BTreeSet<String> {
        names.iter().flat_map(|names| names.split(',')).map(str::to_owned).collect()
    };
    let mask = Mask { types: set(&wanted.types), tools: set(&wanted.tools) };
    let room = app.rooms.enter(&app.hub, &id).await?;
    streamed(&app, "application/json", None, move |made| project(&room, profile, wanted.after, &mask, made))
        .await
}

/// Runs the whole session through a profile and hands out its messages.
fn project(room: &Room, profile: Profile, after: Option<u64>, mask: &Mask, made: &Made) -> Option<()> {
    let (epoch, end, format) = {
        let view = room.open().view();
        (view.epoch.clone(), view.version(), view.first_format())
    };
    let mut pipeline = Pipeline::new(profile, format);
    let seq = end.checked_sub(1).map_or("null".to_owned(), |seq| seq.to_string());
    let mut text = format!("{{\"epoch\":{},\"seq\":{seq},\"messages\":[", Value::from(epoch.as_str()));
    let (mut next, mut first, mut out) = (0, true, Vec::new());
    let mut tell = |out: &mut Vec<Value>, text: &mut String| {
        for message in out.drain(..).filter(|message| mask.passes(message)) {
            if !std::mem::take(&mut first) {
                text.push(',');
            }
            text.push_str(&message.to_string());
        }
    };
    while next < end {
        let steps = room.open().view().steps(next, CHUNK);
        for (seq, step) in (next..end).zip(&steps) {
            pipeline.take(step, &mut out);
            match after.is_some_and(|after| seq <= after) {
                true => out.clear(),
                false => tell(&mut out, &mut text),
            }
        }
        // A session that was replaced meanwhile may have fewer steps.
        next += steps.len().max(1) as u64;
        made.send(Bytes::from(std::mem::take(&mut text)))?;
    }
    pipeline.finish(&mut out);
    tell(&mut out, &mut text);
    text.push_str("]}");
    made.send(text.into())
}

/// An order. The answer comes when it is safely on disk.
pub(crate) async fn order(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Body(order): Body<Ordered>,
) -> Answer<Json<OrderedAt>> {
    let name = order.id.to_string();
    let seq = app.hub.order(&id, order).await?;
    Ok(Json(OrderedAt { id: name, seq }))
}
