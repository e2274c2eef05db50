//! With whom a session's agent talks: all that the log's records of exchanges say of it, counted.

use parlor_model::Key;
use parlor_model::block::Prompt;
use parlor_model::event::{Event, Meta};
use parlor_model::seen::Peer;
use parlor_model::session::Tie;

use super::House;

/// How many are told; the log keeps the others.
const MOST: usize = 50;

#[derive(Default)]
pub(super) struct Ties {
    /// The last first.
    known: Vec<Tie>,
    /// What was told last.
    told: Vec<Tie>,
    /// The sessions whose messages the turn that runs works on.
    works: Vec<Key>,
}

impl Ties {
    /// The tie with a session, which is the last one now.
    pub(super) fn with(&mut self, peer: &Peer) -> &mut Tie {
        let place = self.known.iter().position(|tie| tie.session == peer.session);
        let place = place.unwrap_or_else(|| {
            let tie = Tie { session: peer.session.clone(), agent: peer.agent.clone(), ..Tie::default() };
            self.known.push(tie);
            self.known.len() - 1
        });
        self.known[..=place].rotate_right(1);
        self.known.truncate(MOST);
        &mut self.known[0]
    }

    /// A prompt is handed over; a message works as long as the turn does.
    pub(super) fn work_on(&mut self, id: &Key, prompt: &Prompt) {
        self.works.extend(message(id, prompt));
    }
}

impl House {
    /// Tells the ties where they have changed.
    pub(super) fn tell_ties(&mut self, out: &mut Vec<Event>) {
        if !self.busy {
            self.ties.works.clear();
        }
        for tie in &mut self.ties.known {
            let sent = self.exchanges.values().filter(|sent| sent.to.session == tie.session);
            let waiting = self.waiting.iter().filter_map(|(id, waiting)| message(id, &waiting.prompt));
            let received = waiting.chain(self.ties.works.iter().cloned()).filter(|from| *from == tie.session);
            tie.waits = sent.clone().any(|sent| sent.wait);
            tie.open = (sent.count() + received.count()) as u32;
        }
        if self.ties.known != self.ties.told {
            self.ties.told.clone_from(&self.ties.known);
            out.push(Event::Meta { meta: Meta::Ties { ties: self.ties.known.clone() } });
        }
    }
}

/// From which session a prompt is a message. A reply is none: it ends what this session began.
fn message(id: &Key, prompt: &Prompt) -> Option<Key> {
    prompt.exchange.as_ref().filter(|exchange| exchange.id == *id).map(|exchange| exchange.session.clone())
}
