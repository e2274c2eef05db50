//! Whether one session may talk to another: in the same folder, to one that may do no more by itself, it may. Otherwise a
//! person is asked, on the very call.

use parlor_model::Key;
use parlor_model::block::Block;
use parlor_model::order::Choice;
use parlor_model::seen::Seen;

use super::Live;
use super::conduct::{Begun, Leaving};
use super::target::{may, place};
use crate::hub::Hub;

/// How the asks of exchanges are named, so that their answers are not handed to an agent.
const PREFIX: &str = "exchange/";

/// Whether this ask is one of an exchange.
pub(crate) fn is_ask(ask: &str) -> bool {
    ask.starts_with(PREFIX)
}

/// Waits until the message may be carried. The error is why it may not.
pub(super) async fn allowed(
    hub: &Hub,
    live: &Live,
    begun: &Begun,
    leaving: &mut Leaving<'_>,
) -> Result<(), String> {
    let ((from, can), (to, could)) = (place(&begun.sender), place(&begun.target));
    let pair = (live.from.session.clone(), live.to.session.clone());
    let reason = match () {
        () if hub.inner.exchanges.state().allowed.contains(&pair) => return Ok(()),
        () if from != to => format!("Send this to {} in the folder {to}?", live.to.agent),
        () if may(could) > may(can) => {
            format!("Send this to {}, which may do more without asking?", live.to.agent)
        }
        () => return Ok(()),
    };
    let (card, ask) = (begun.card(live), Key::from(format!("{PREFIX}{}", live.id)));
    let asked = Seen::Asked { call: card.clone(), ask: ask.clone(), reason: Some(reason), permit: None };
    hub.tell(&live.from.session, vec![asked]).await.map_err(|error| error.to_string())?;
    let mut bell = begun.sender.bell();
    let answer = loop {
        bell.mark_unchanged();
        let decision = match begun.sender.view().entry(&card).map(|entry| &entry.block) {
            Some(Block::Tool(tool)) => tool.decision.clone(),
            _ => None,
        };
        if let Some(decision) = decision {
            break decision;
        }
        if let Some(outcome) = leaving.reason() {
            let _ = hub.tell(&live.from.session, vec![Seen::Settled { ask }]).await;
            return Err(outcome.text);
        }
        leaving.wait(&mut [&mut bell]).await;
    };
    let _ = hub.tell(&live.from.session, vec![Seen::Settled { ask }]).await;
    match answer.choice {
        Choice::Allow => Ok(()),
        Choice::AllowSession | Choice::AllowAlways => {
            hub.inner.exchanges.state().allowed.insert(pair);
            Ok(())
        }
        Choice::Deny | Choice::Reply => Err(match answer.reason {
            Some(reason) => format!("a person said no: {reason}"),
            None => "a person said no".to_owned(),
        }),
    }
}
