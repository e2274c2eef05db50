//! Work beside the talk of a socket: sessions that are opened, entries that are rendered, bells that are waited for.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use parlor_hub::GLANCE;
use parlor_profile::{Mask, Profile};
use tokio::sync::watch;

use crate::app::App;
use crate::door::Access;
use crate::error::Problem;
use crate::html_sub::{self, HtmlSub, Wanted};
use crate::limits;
use crate::message_sub::MessageSub;
use crate::state::state;
use crate::wire::{Frame, Tell};

/// A subscription.
pub(crate) enum Sub {
    Html(Box<HtmlSub>),
    Messages(Box<MessageSub>),
}

/// Work that is done.
pub(crate) enum Done {
    Answer(String),
    Ordered(String),
    Agents(String),
    /// The end of a session can be shown; the work goes on to read all of it.
    Glanced(u64, Vec<Frame>, BoxFuture<'static, Done>),
    /// A subscription is open, or not.
    Joined(u64, Result<Joined, String>),
    /// A subscription comes back from its work with frames.
    Back(u64, Result<(Sub, Vec<Frame>), Problem>),
    Rested(u64),
}

pub(crate) type Joined = (Sub, Vec<Frame>, watch::Receiver<u64>);

/// How long after the first look the house begins to read the whole: whoever looks needs the processor now.
const BREATH: Duration = Duration::from_millis(20);

/// How long a hello waits for the agents to be known.
const AGENTS_TIME: Duration = Duration::from_millis(1_500);

impl Sub {
    pub(crate) fn news(&mut self) -> Vec<Frame> {
        match self {
            Sub::Html(html) => html.news(),
            Sub::Messages(messages) => messages.news(),
        }
    }

    pub(crate) fn has_more(&self) -> bool {
        match self {
            Sub::Html(html) => html.has_more(),
            Sub::Messages(messages) => messages.has_more(),
        }
    }

    /// The news, if they do not take long to make.
    pub(crate) fn short_news(&mut self) -> Option<Vec<Frame>> {
        match self {
            Sub::Html(html) => html.short_news(),
            Sub::Messages(messages) => messages.short_news(),
        }
    }
}

pub(crate) async fn greet(app: Arc<App>, access: Access) -> Done {
    let agents = tokio::time::timeout(AGENTS_TIME, app.agents()).await.unwrap_or_default();
    Done::Agents(app.hello(access, agents))
}

/// Opens a session and begins a subscription to it. Where that takes long, the newest entries are shown before.
pub(crate) async fn join(
    app: Arc<App>,
    sub: u64,
    session: String,
    profile: Option<Profile>,
    mask: Mask,
    wanted: Wanted,
) -> Done {
    if profile.is_none()
        && wanted.epoch.is_none()
        && !app.hub.is_loaded(&session)
        && let Some(frames) = glance(&app, sub, &session, &wanted).await
    {
        // From here on it is a subscription that has something, and is told that the whole replaces it.
        let wanted = Wanted { reference: None, epoch: Some(GLANCE.to_owned()), after: Some(0), ..wanted };
        let whole = async move {
            tokio::time::sleep(BREATH).await;
            join_whole(app, sub, session, profile, mask, wanted).await
        };
        return Done::Glanced(sub, frames, whole.boxed());
    }
    join_whole(app, sub, session, profile, mask, wanted).await
}

async fn glance(app: &Arc<App>, sub: u64, session: &str, wanted: &Wanted) -> Option<Vec<Frame>> {
    let (app, session, wanted) = (app.clone(), session.to_owned(), wanted.clone());
    let frames = tokio::task::spawn_blocking(move || {
        let window = wanted.window.unwrap_or(limits::USUAL_WINDOW).min(limits::WINDOW);
        let (view, facts) = app.hub.glance(&session, window)?;
        let state = state(&session, &view, &facts, app.hub.row(&session).as_deref());
        let state = serde_json::to_string(&state).unwrap_or_default();
        Some(html_sub::glance(sub, &session, &state, &view, &wanted))
    });
    frames.await.ok()?
}

async fn join_whole(
    app: Arc<App>,
    sub: u64,
    session: String,
    profile: Option<Profile>,
    mask: Mask,
    wanted: Wanted,
) -> Done {
    let reference = wanted.reference;
    let room = match app.rooms.enter(&app.hub, &session).await {
        Ok(room) => room,
        Err(error) => return Done::Joined(sub, Err(Tell::Error { reference, error: error.into() }.text())),
    };
    let mut bell = room.bell();
    bell.mark_unchanged();
    let begun = tokio::task::spawn_blocking(move || match profile {
        None => {
            let (html, frames) = HtmlSub::begin(sub, room, &wanted);
            (Sub::Html(Box::new(html)), frames)
        }
        Some(profile) => {
            let channel = room.channel(profile);
            let (messages, frames) = MessageSub::begin(sub, room, channel, mask, &wanted);
            (Sub::Messages(Box::new(messages)), frames)
        }
    });
    match begun.await {
        Ok((one, frames)) => Done::Joined(sub, Ok((one, frames, bell))),
        Err(error) => {
            Done::Joined(sub, Err(Tell::Error { reference, error: Problem::panicked(&error) }.text()))
        }
    }
}

/// Work of a subscription that takes a while.
pub(crate) fn beside(
    sub: u64,
    work: impl FnOnce() -> (Sub, Vec<Frame>) + Send + 'static,
) -> BoxFuture<'static, Done> {
    let handle = tokio::task::spawn_blocking(work);
    async move { Done::Back(sub, handle.await.map_err(|error| Problem::panicked(&error))) }.boxed()
}

pub(crate) fn rest(sub: u64, time: Duration) -> BoxFuture<'static, Done> {
    async move {
        tokio::time::sleep(time).await;
        Done::Rested(sub)
    }
    .boxed()
}
