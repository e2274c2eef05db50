//! A terminal's place in a house: a guest of the one that is open, or the host of one that lasts as long as the command.

use std::path::Path;

use anyhow::Result;
use parlor_hub::{Hub, Options, Settings};
use parlor_server::Config;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::client::Client;
use crate::data::{self, Door};

/// A house to talk to.
pub(crate) struct Guest {
    /// The way to it.
    pub(crate) client: Client,
    own: Option<Own>,
}

struct Own {
    hub: Hub,
    leave: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

impl Guest {
    /// Enters the house that is open in a data folder, or opens it.
    pub(crate) async fn enter(folder: &Path) -> Result<Guest> {
        if let Ok((door, token)) = data::door(folder) {
            let client = Client::new(&door, &token)?;
            if client.get("/api/agents").await.is_ok() {
                return Ok(Guest { client, own: None });
            }
        }
        let options = Options {
            data: folder.to_owned(),
            archive: false,
            settings: Settings::from_env(),
            folders: None,
        };
        let hub = Hub::start(options).await?;
        let config = Config { port: 0, ..Config::default() };
        let server = parlor_server::bind(hub.clone(), config).await?;
        let door = Door { url: server.url(), pid: std::process::id() };
        let client = Client::new(&door, server.token())?;
        let (leave, asked) = oneshot::channel();
        let serving = tokio::spawn(server.run(async move {
            let _ = asked.await;
        }));
        Ok(Guest { client, own: Some(Own { hub, leave, serving }) })
    }

    /// Leaves; a house of one's own is closed.
    pub(crate) async fn leave(self) {
        if let Some(own) = self.own {
            own.hub.shutdown().await;
            let _ = own.leave.send(());
            let _ = own.serving.await;
        }
    }
}
