//! What is said on one socket: requests become work, and work becomes frames. It must not write or wait for writes.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::FuturesUnordered;
use parlor_hub::NewSession;
use parlor_model::order::{Mode, Ordered};
use parlor_profile::{Mask, Profile};
use tokio::time::Instant;

use crate::app::App;
use crate::bucket::Bucket;
use crate::door::Access;
use crate::error::{Code, Problem};
use crate::html_sub::{Place, Wanted, WindowAsk};
use crate::limits;
use crate::socket::slot::{Bell, Slot, poll_bell};
use crate::socket::work::{Done, Joined, Sub, beside, greet, join, rest};
use crate::wire::{Ask, Frame, Tell};

/// The talk on one socket.
pub(crate) struct Talk {
    app: Arc<App>,
    access: Access,
    subs: BTreeMap<u64, Slot>,
    next_sub: u64,
    /// The subscription that spoke last: the others come first then.
    turn: u64,
    /// The version of the list that the client has.
    list: Option<u64>,
    list_is_dirty: bool,
    list_rests: bool,
    list_bell: Option<Bell>,
    /// Answers that wait to be written.
    answers: VecDeque<Frame>,
    /// Orders of one socket are carried out in the order in which they came.
    orders: VecDeque<(Option<u64>, String, Ordered)>,
    ordering: bool,
    bucket: Bucket,
    /// Work under way.
    works: FuturesUnordered<BoxFuture<'static, Done>>,
    /// Work that begins once what is to be said before it has been written: it would take the processor from the writing.
    later: Vec<BoxFuture<'static, Done>>,
    /// How much of it is requests.
    requests: usize,
    /// False until the hello is there, which comes before everything else.
    greeted: bool,
}

/// The list's place among the subscriptions.
const LIST: u64 = 0;

/// After work that took a while, three times as long is rest, but never longer than this: a long reply that streams in
/// must not take a whole core.
const LONGEST_REST: Duration = Duration::from_millis(250);

/// Work that is shorter than this needs no rest.
const SHORT: Duration = Duration::from_millis(2);

impl Talk {
    pub(crate) fn new(app: Arc<App>, access: Access) -> Talk {
        let works: FuturesUnordered<BoxFuture<'static, Done>> = FuturesUnordered::new();
        works.push(greet(app.clone(), access).boxed());
        Talk {
            app,
            access,
            subs: BTreeMap::new(),
            next_sub: 1,
            turn: 0,
            list: None,
            list_is_dirty: false,
            list_rests: false,
            list_bell: None,
            answers: VecDeque::new(),
            orders: VecDeque::new(),
            ordering: false,
            bucket: Bucket::new(limits::ORDERS, limits::ORDERS),
            works,
            later: Vec::new(),
            requests: 0,
            greeted: false,
        }
    }

    /// False while the client must wait before it is heard again.
    pub(crate) fn takes_more(&self) -> bool {
        self.answers.len() < limits::REQUESTS && self.requests + self.orders.len() < limits::REQUESTS
    }

    /// A frame came.
    pub(crate) fn hear(&mut self, text: &str) {
        match serde_json::from_str::<Ask>(text) {
            Ok(ask) => self.ask(ask),
            Err(error) => {
                let reference = serde_json::from_str::<serde_json::Value>(text).ok();
                let reference = reference.and_then(|value| value.get("ref")?.as_u64());
                self.refuse(reference, Problem::bad(format!("the frame is not understood: {error}")));
            }
        }
    }

    /// A frame came that is no text.
    pub(crate) fn hear_binary(&mut self) {
        self.refuse(None, Problem::bad("frames are text that holds JSON; this one was binary"));
    }

    /// Ready when a bell has rung or some work is done, and what came of it taken in.
    pub(crate) fn poll_work(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut worked = poll_bell(&mut self.list_bell, context);
        self.list_is_dirty |= worked;
        for slot in self.subs.values_mut() {
            worked |= slot.poll_bell(context);
        }
        if let Poll::Ready(Some(done)) = self.works.poll_next_unpin(context) {
            self.done(done);
            worked = true;
        }
        if worked { Poll::Ready(()) } else { Poll::Pending }
    }

    /// All that was said has been written.
    pub(crate) fn written(&mut self) {
        if self.answers.is_empty() {
            self.works.extend(self.later.drain(..));
        }
    }

    /// What can be said now: answers first, then news, up to what one write holds.
    pub(crate) fn say(&mut self) -> Vec<Frame> {
        let mut frames = Vec::new();
        if !self.greeted {
            return frames;
        }
        let mut bytes = 0;
        while bytes < limits::BATCH_BYTES
            && let Some(answer) = self.answers.pop_front()
        {
            bytes += answer.len();
            frames.push(answer);
        }
        if self.list_is_dirty && !self.list_rests && bytes < limits::BATCH_BYTES {
            self.say_rows(&mut frames);
        }
        for _ in 0..self.subs.len() {
            let Some(sub) = self.next_speaker().filter(|_| bytes < limits::BATCH_BYTES) else { break };
            self.begin_window(sub);
            for frame in self.say_news(sub) {
                bytes += frame.len();
                frames.push(frame);
            }
            self.turn = sub;
        }
        frames
    }

    fn next_speaker(&self) -> Option<u64> {
        let mut order = self.subs.range(self.turn + 1..).chain(self.subs.range(..=self.turn));
        order.find(|(_, slot)| slot.wants_to_speak()).map(|(sub, _)| *sub)
    }

    fn ask(&mut self, ask: Ask) {
        let reference = ask.reference();
        let problem = match ask {
            Ask::Ping {} => {
                self.answer(Tell::Pong {});
                None
            }
            Ask::List { reference } => self.begin_list(reference),
            Ask::Subscribe { reference, session, profile, window, epoch, after, first, offset_s, mask } => {
                let wanted = Wanted { reference, window, epoch, after, first, offset_s };
                self.subscribe(session, &profile, mask.into(), wanted)
            }
            Ask::Unsubscribe { sub } => {
                self.subs.remove(&sub);
                None
            }
            Ask::Window { reference, sub, before, from, around, count } => {
                let place = match (before, from, around) {
                    (Some(before), None, None) => Some(Place::Before(before)),
                    (None, Some(from), None) => Some(Place::From(from)),
                    (None, None, Some(around)) => Some(Place::Around(around)),
                    _ => None,
                };
                let count = count.unwrap_or(limits::USUAL_WINDOW).clamp(1, limits::WINDOW);
                self.window(sub, place.map(|place| WindowAsk { reference, place, count }))
            }
            Ask::Order { reference, session, order } => self.order(reference, session, order),
            Ask::Create { reference, agent, cwd, model, mode } => {
                self.create(reference, agent, cwd, model, mode)
            }
            Ask::StopAll { reference } => self.stop_all(reference),
        };
        if let Some(problem) = problem {
            self.refuse(reference, problem);
        }
    }

    fn begin_list(&mut self, reference: Option<u64>) -> Option<Problem> {
        let first = self.list.is_none();
        let (version, frame) = self.app.list(reference);
        self.list = Some(version);
        self.answers.push_back(frame.into());
        if first {
            let mut bell = self.app.hub.watch_list();
            bell.mark_unchanged();
            // What came between the list and the bell is told by the next look.
            self.list_is_dirty = true;
            self.list_bell = Some(Bell::from_changes(bell));
        }
        None
    }

    fn say_rows(&mut self, frames: &mut Vec<Frame>) {
        self.list_is_dirty = false;
        let Some(since) = self.list else { return };
        let (version, frame) = self.app.rows(since);
        self.list = Some(version);
        if let Some(frame) = frame {
            frames.push(frame);
            self.list_rests = true;
            self.works.push(rest(LIST, limits::ROWS_EVERY));
        }
    }

    fn subscribe(&mut self, session: String, profile: &str, mask: Mask, wanted: Wanted) -> Option<Problem> {
        let profile = match Profile::named(profile) {
            Some(profile) => Some(profile),
            None if profile == "html" => None,
            None => {
                let names = Profile::ALL.map(Profile::name).join(", ");
                return Some(Problem::bad(format!("there is no such profile; choose one of: html, {names}")));
            }
        };
        if self.subs.len() >= limits::SUBSCRIPTIONS {
            let message =
                format!("a socket follows at most {} sessions; unsubscribe first", limits::SUBSCRIPTIONS);
            return Some(Problem::new(Code::TooMany, message));
        }
        let sub = self.next_sub;
        self.next_sub += 1;
        let is_html = profile.is_none();
        self.subs.insert(sub, Slot::new(is_html));
        self.request(join(self.app.clone(), sub, session, profile, mask, wanted).boxed());
        None
    }

    fn window(&mut self, sub: u64, ask: Option<WindowAsk>) -> Option<Problem> {
        let Some(ask) = ask else {
            return Some(Problem::bad("a window needs exactly one of `before`, `from` and `around`"));
        };
        let Some(slot) = self.subs.get_mut(&sub).filter(|slot| slot.is_html) else {
            return Some(Problem::not_found("there is no such subscription to `html` on this socket"));
        };
        if slot.windows.len() >= limits::WINDOWS {
            return Some(Problem::new(Code::TooMany, "wait for the windows that were asked for"));
        }
        slot.windows.push_back(ask);
        None
    }

    fn order(&mut self, reference: Option<u64>, session: String, order: Ordered) -> Option<Problem> {
        if let Some(problem) = self.may_order() {
            return Some(problem);
        }
        self.orders.push_back((reference, session, order));
        self.next_order();
        None
    }

    fn create(
        &mut self,
        reference: Option<u64>,
        agent: String,
        cwd: String,
        model: Option<String>,
        mode: Mode,
    ) -> Option<Problem> {
        if let Some(problem) = self.may_order() {
            return Some(problem);
        }
        let app = self.app.clone();
        let create = async move {
            let tell = match app.hub.create(NewSession { agent, cwd, model, mode }).await {
                Ok(session) => Tell::Created { reference, session: session.to_string() },
                Err(error) => Tell::Error { reference, error: error.into() },
            };
            Done::Answer(tell.text())
        };
        self.request(create.boxed());
        None
    }

    fn stop_all(&mut self, reference: Option<u64>) -> Option<Problem> {
        if let Some(problem) = self.may_order() {
            return Some(problem);
        }
        let app = self.app.clone();
        let stop = async move {
            Done::Answer(Tell::StoppedAll { reference, sessions: app.hub.stop_all().await }.text())
        };
        self.request(stop.boxed());
        None
    }

    fn may_order(&mut self) -> Option<Problem> {
        if self.access != Access::Full {
            return Some(Problem::read_only());
        }
        let message = format!("at most {} orders a second; wait a moment and send it again", limits::ORDERS);
        (!self.bucket.take()).then(|| Problem::new(Code::TooMany, message))
    }

    fn next_order(&mut self) {
        if self.ordering {
            return;
        }
        let Some((reference, session, order)) = self.orders.pop_front() else { return };
        self.ordering = true;
        let app = self.app.clone();
        let work = async move {
            let id = order.id.to_string();
            let tell = match app.hub.order(&session, order).await {
                Ok(seq) => Tell::Ordered { reference, id, seq },
                Err(error) => Tell::Error { reference, error: error.into() },
            };
            Done::Ordered(tell.text())
        };
        self.works.push(work.boxed());
    }

    fn request(&mut self, work: BoxFuture<'static, Done>) {
        self.requests += 1;
        self.works.push(work);
    }

    fn done(&mut self, done: Done) {
        match done {
            Done::Answer(frame) => {
                self.requests -= 1;
                self.answers.push_back(frame.into());
            }
            Done::Ordered(frame) => {
                self.answers.push_back(frame.into());
                self.ordering = false;
                self.next_order();
            }
            Done::Agents(frame) => self.greeted(frame),
            Done::Glanced(sub, frames, next) => {
                let Some(slot) = self.subs.get_mut(&sub) else {
                    self.requests -= 1;
                    return;
                };
                slot.glanced = true;
                self.answers.extend(frames);
                self.later.push(next);
            }
            Done::Joined(sub, joined) => {
                self.requests -= 1;
                self.joined(sub, joined);
            }
            Done::Back(sub, back) => self.back(sub, back),
            Done::Rested(LIST) => self.list_rests = false,
            Done::Rested(sub) => {
                if let Some(slot) = self.subs.get_mut(&sub) {
                    slot.rests = false;
                }
            }
        }
    }

    /// The hello went out; where the agents were not known yet, they follow.
    fn greeted(&mut self, frame: String) {
        let late = frame.contains("\"agents\":[]") && frame.starts_with("{\"type\":\"hello\"");
        match self.greeted {
            true => self.answers.push_back(frame.into()),
            false => self.answers.push_front(frame.into()),
        }
        self.greeted = true;
        if late {
            let app = self.app.clone();
            let work = async move { Done::Agents(Tell::Agents { agents: app.agents().await }.text()) };
            self.works.push(work.boxed());
        }
    }

    fn joined(&mut self, sub: u64, joined: Result<Joined, String>) {
        match joined {
            Ok((one, frames, bell)) => {
                // Who unsubscribed meanwhile wants to hear nothing more.
                let Some(slot) = self.subs.get_mut(&sub) else { return };
                (slot.sub, slot.dirty, slot.bell) = (Some(one), true, Some(Bell::from_changes(bell)));
                self.answers.extend(frames);
                if std::mem::take(&mut slot.glanced) {
                    self.refuse_windows(sub);
                }
            }
            Err(frame) => {
                self.subs.remove(&sub);
                self.answers.push_back(frame.into());
            }
        }
    }

    fn back(&mut self, sub: u64, back: Result<(Sub, Vec<Frame>), Problem>) {
        match back {
            Ok((one, frames)) => {
                let Some(slot) = self.subs.get_mut(&sub) else { return };
                slot.sub = Some(one);
                slot.dirty = true;
                self.answers.extend(frames);
            }
            Err(error) => {
                self.subs.remove(&sub);
                self.refuse(None, error);
            }
        }
    }

    /// Places that were asked for in the end of a session mean others in the whole; an entry is the same in both.
    fn refuse_windows(&mut self, sub: u64) {
        let Some(slot) = self.subs.get_mut(&sub) else { return };
        let (kept, refused): (VecDeque<_>, VecDeque<_>) =
            slot.windows.drain(..).partition(|ask| matches!(ask.place, Place::Around(_)));
        slot.windows = kept;
        for ask in refused {
            let message = "all of the session is read now, and places have changed; ask again";
            self.refuse(ask.reference, Problem::new(Code::Conflict, message));
        }
    }

    /// Renders the next window that was asked for, beside the talk; but not while the client has not taken the last.
    fn begin_window(&mut self, sub: u64) {
        if !self.answers.is_empty() {
            return;
        }
        let Some(slot) = self.subs.get_mut(&sub) else { return };
        if slot.windows.is_empty() {
            return;
        }
        match slot.sub.take() {
            Some(Sub::Html(mut html)) => {
                let Some(ask) = slot.windows.pop_front() else { return };
                self.works.push(beside(sub, move || {
                    let frames = html.window(&ask);
                    (Sub::Html(html), frames)
                }));
            }
            other => slot.sub = other,
        }
    }

    /// The news of one subscription. Short ones are made here, long ones beside the talk.
    fn say_news(&mut self, sub: u64) -> Vec<Frame> {
        let Some(slot) = self.subs.get_mut(&sub).filter(|slot| slot.dirty && !slot.rests) else {
            return Vec::new();
        };
        let Some(mut one) = slot.sub.take() else { return Vec::new() };
        let begun = Instant::now();
        let Some(frames) = one.short_news() else {
            slot.dirty = false;
            self.works.push(beside(sub, move || {
                let frames = one.news();
                (one, frames)
            }));
            return Vec::new();
        };
        let took = begun.elapsed();
        slot.dirty = one.has_more();
        slot.sub = Some(one);
        if took > SHORT {
            slot.rests = true;
            self.works.push(rest(sub, (took * 3).min(LONGEST_REST)));
        }
        frames
    }

    fn answer(&mut self, tell: Tell) {
        self.answers.push_back(tell.text().into());
    }

    fn refuse(&mut self, reference: Option<u64>, error: Problem) {
        self.answer(Tell::Error { reference, error });
    }
}
