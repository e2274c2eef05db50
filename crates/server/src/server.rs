//! The server: bound, and then run until it is told to stop. It must not know routes.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use parlor_hub::Hub;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::app::App;
use crate::config::Config;
use crate::connection;
use crate::door::{Access, Door};
use crate::error::ServerError;
use crate::{mcp, routes};

/// A house whose door is open. Requests are answered once it runs.
pub struct Server {
    app: Arc<App>,
    listener: TcpListener,
    stop: watch::Sender<bool>,
    link: String,
}

/// How long sockets may take to say goodbye.
const FAREWELL: Duration = Duration::from_secs(3);

/// Opens the door of a house.
pub async fn bind(hub: Hub, config: Config) -> Result<Server, ServerError> {
    if !config.bind.is_loopback() && !config.allow_remote {
        return Err(ServerError::Remote(config.bind));
    }
    let address = SocketAddr::new(config.bind, config.port);
    let failed = |source| ServerError::Bind { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let port = listener.local_addr().map_err(failed)?.port();
    let door = Door::open(hub.data(), &config)?;
    let (stop, stopped) = watch::channel(false);
    let app = Arc::new(App::new(hub, door, config, port, stopped));
    app.hub.listen_at(format!("{}{}", app.url(), mcp::PATH));
    let link = new_link(&app, Access::Full)?;
    Ok(Server { app, listener, stop, link })
}

/// A link that lets one browser in. The code is behind `#`, which browsers never send or log.
pub(crate) fn new_link(app: &App, access: Access) -> Result<String, ServerError> {
    Ok(format!("{}/#code={}", app.url(), app.door.new_code(access)?))
}

impl Server {
    /// The address, such as `http://127.0.0.1:7275`.
    pub fn url(&self) -> String {
        self.app.url()
    }

    /// A one-time link that lets a browser in, good for five minutes.
    pub fn link(&self) -> String {
        self.link.clone()
    }

    /// Another one-time link.
    pub fn new_link(&self, access: Access) -> Result<String, ServerError> {
        new_link(&self.app, access)
    }

    /// The token for programs that may do everything.
    pub fn token(&self) -> &str {
        self.app.door.token()
    }

    /// The token for programs that may only look.
    pub fn read_token(&self) -> &str {
        self.app.door.read_token()
    }

    /// The port, also when any was wanted.
    pub fn port(&self) -> u16 {
        self.app.port
    }

    /// Answers until `until` is done: then new connections are refused, sockets are told, and requests may end.
    pub async fn run(self, until: impl Future<Output = ()>) {
        let Server { app, listener, stop, .. } = self;
        tracing::info!("listening on {}", app.url());
        connection::serve(listener, routes::router(&app), stop, until).await;
        if tokio::time::timeout(FAREWELL, app.sockets.empty()).await.is_err() {
            tracing::info!("some sockets were cut off");
        }
    }
}
