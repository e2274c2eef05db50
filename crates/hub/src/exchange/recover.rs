//! Exchanges that were open when the house was left: each is ended, or goes on, by what the two logs say.

use std::sync::{Arc, Mutex};

use parlor_model::Key;
use parlor_model::seen::{Receipt, Seen};
use tokio::sync::watch;

use super::conduct::{self, Begun, Leaving, failed};
use super::{Live, Outcome, Progress, peer};
use crate::hub::Hub;
use crate::open::Open;
use crate::view::View;

/// Takes up the exchanges that this session's agent began.
pub(super) async fn recover(hub: &Hub, sender: Open) {
    let unfinished = unfinished(&sender.view());
    for (live, call, name, text) in unfinished {
        let live = Live { from: peer(&sender), ..live };
        match hub.open(&live.to.session.clone()).await {
            Ok(target) => {
                let live = Arc::new(live);
                hub.inner.exchanges.state().open.insert(live.id.clone(), live.clone());
                let begun = Begun { call, name, text, sender: sender.clone(), target };
                tokio::spawn(go_on(hub.clone(), live, begun));
            }
            Err(error) => {
                let (exchange, text) = (live.id.clone(), error.to_string());
                let seen = Seen::Receipt { exchange, receipt: Receipt::Failed, text };
                if let Err(error) = hub.tell(&live.from.session, vec![seen]).await {
                    tracing::warn!("cannot end exchange {}: {error}", live.id);
                }
            }
        }
    }
}

async fn go_on(hub: Hub, live: Arc<Live>, begun: Begun) {
    let (carried, waits) = {
        let view = begun.target.view();
        let waits = view.session().queue.iter().any(|queued| queued.id == live.id);
        (waits || view.entry(&live.id).is_some(), waits)
    };
    let outcome = if live.wait {
        // Whoever waited went away with the house.
        if waits {
            let back = Seen::Withdrawn { prompt: live.id.clone() };
            let _ = hub.tell(&live.to.session, vec![back]).await;
        }
        let text = "Parlor was ended while the sender waited".to_owned();
        Some(Outcome { receipt: Receipt::Withdrawn, text })
    } else if carried {
        conduct::watch_over(&hub, &live, &begun, Leaving::new(&hub, &live, &begun)).await
    } else {
        Some(failed("Parlor was ended before the message was there; send it again".to_owned()))
    };
    conduct::finish(&hub, &live, &begun, outcome).await;
}

/// What was sent and has no final receipt.
fn unfinished(view: &View) -> Vec<(Live, Option<Key>, Key, String)> {
    let mut over = std::collections::BTreeSet::new();
    let mut open = Vec::new();
    for seen in super::seen_backwards(view.records()) {
        match seen {
            Seen::Receipt { exchange, receipt, .. } if receipt.is_final() => _ = over.insert(exchange),
            Seen::Sent { exchange, call, name, to, text, wait, depth } if !over.contains(&exchange) => {
                let live = Live {
                    id: exchange,
                    from: parlor_model::seen::Peer::default(),
                    to,
                    wait,
                    depth,
                    progress: watch::Sender::new(Progress::Carried),
                    waiters: Mutex::new(0),
                    leave: watch::Sender::new(None),
                };
                open.push((live, call, name, text));
            }
            _ => {}
        }
    }
    open.reverse();
    open
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use parlor_agent::Settings;
    use parlor_model::seen::Peer;

    use super::*;
    use crate::hub::{NewSession, Options};

    async fn open(data: &std::path::Path) -> Hub {
        let settings = Settings::from_variables([].into_iter().collect());
        let options = Options { data: data.to_owned(), archive: false, settings, folders: Some(Vec::new()) };
        loop {
            // The tasks of an earlier life may still hold its lock.
            match Hub::start(options.clone()).await {
                Ok(hub) => return hub,
                Err(error) => assert!(error.to_string().contains("in use"), "{error}"),
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// What goes on may start an agent, and one that is started before would have no tools for the rest of its run.
    #[tokio::test(flavor = "multi_thread")]
    async fn what_was_left_open_waits_until_the_house_listens() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let hub = open(&data).await;
        let cwd = folder.path().display().to_string();
        let session =
            hub.create(NewSession { agent: "demo".into(), cwd, ..NewSession::default() }).await.unwrap();
        let sent = Seen::Sent {
            exchange: "x".into(),
            call: None,
            name: "agents_message".into(),
            to: Peer { session: "gone".into(), agent: "pi".into() },
            text: "look".into(),
            wait: false,
            depth: 1,
        };
        hub.tell(&session, vec![sent]).await.unwrap();
        hub.shutdown().await;
        drop(hub);
        let hub = open(&data).await;
        let sender = hub.open(&session).await.unwrap();
        assert_eq!(unfinished(&sender.view()).len(), 1);
        let mut bell = sender.bell();
        hub.listen_at("http://127.0.0.1:1/mcp".to_owned());
        while !unfinished(&sender.view()).is_empty() {
            bell.changed().await.unwrap();
        }
        hub.shutdown().await;
    }
}
