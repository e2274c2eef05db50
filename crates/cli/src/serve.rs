//! `parlor serve`, and bare `parlor`: opens the house and says where. What happens in it is the hub's and the server's.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use parlor_hub::{Hub, Options, Settings};
use parlor_server::{Config, PORT, Server, ServerError};
use serde_json::json;

use crate::args::Serve;
use crate::data::{self, Door};
use crate::output::{Output, remark};

/// How long a thread without work is kept. The allocator gives memory back when it is next asked for some, if it was freed
/// a second before, or when a thread ends: better then than while somebody waits.
const KEEP_THREAD: Duration = Duration::from_millis(1_100);

/// Opens the house and stays until it is told to leave.
pub(crate) fn run(args: &Serve) -> Result<ExitCode> {
    log_to_stderr();
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.enable_all().thread_keep_alive(KEEP_THREAD).build()?;
    // On a worker: what it accepts is then served where it was accepted, without waking another thread.
    let house = runtime.spawn(serve(args.clone()));
    let code = runtime.block_on(house)?;
    // What still blocks, such as a look over slow disks, is not waited for.
    runtime.shutdown_background();
    code
}

async fn serve(args: Serve) -> Result<ExitCode> {
    let folder = data::folder(&args.house)?;
    let options = Options {
        data: folder.clone(),
        archive: !args.no_archive,
        settings: Settings::from_env(),
        folders: None,
    };
    let mut leave = Leave::new()?;
    let hub = Hub::start(options).await.map_err(|error| match data::door(&folder) {
        Ok((door, _)) => {
            anyhow::anyhow!("{error}; it is open at {}, and `parlor link` prints a link to it", door.url)
        }
        Err(_) => error.into(),
    })?;
    let server = bind(&hub, &args).await?;
    data::put_door(&folder, &Door { url: server.url(), pid: std::process::id() })?;
    announce(&args, &server, &folder)?;
    server.run(async move { leave.asked().await }).await;
    hub.shutdown().await;
    data::remove_door(&folder);
    Ok(ExitCode::SUCCESS)
}

/// Listens on the port that was asked for, or on the usual one, or on any.
async fn bind(hub: &Hub, args: &Serve) -> Result<Server> {
    let config =
        |port| Config { bind: args.bind, port, allow_remote: args.allow_remote, ..Config::default() };
    if let Some(port) = args.port {
        return Ok(parlor_server::bind(hub.clone(), config(port)).await?);
    }
    match parlor_server::bind(hub.clone(), config(PORT)).await {
        Ok(server) => Ok(server),
        Err(ServerError::Bind { source, .. }) if source.kind() == std::io::ErrorKind::AddrInUse => {
            Ok(parlor_server::bind(hub.clone(), config(0)).await?)
        }
        Err(error) => Err(error.into()),
    }
}

fn announce(args: &Serve, server: &Server, folder: &std::path::Path) -> Result<()> {
    let link = server.link();
    let mut output = Output::stdout();
    if args.json {
        let ready = json!({
            "url": server.url(),
            "link": link,
            "token": server.token(),
            "port": server.port(),
            "data": folder.to_string_lossy(),
        });
        writeln!(output, "{ready}")?;
        return Ok(output.finish()?);
    }
    writeln!(output, "Parlor is open at {link}")?;
    output.finish()?;
    remark("The link works once, for five minutes; `parlor link` prints another. Ctrl-C closes the house.");
    if !args.no_open {
        open_browser(&link);
    }
    Ok(())
}

/// Opens the page where there is a screen to open it on.
#[allow(clippy::disallowed_methods, reason = "a browser is the person's, not an agent")]
fn open_browser(link: &str) {
    let screen = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    let program = match () {
        () if cfg!(target_os = "macos") => "open",
        () if screen => "xdg-open",
        () => return,
    };
    let nothing = std::process::Stdio::null;
    let started = std::process::Command::new(program)
        .arg(link)
        .stdin(nothing())
        .stdout(nothing())
        .stderr(nothing())
        .spawn();
    if let Err(error) = started {
        tracing::debug!("cannot open a browser with `{program}`: {error}");
    }
}

fn log_to_stderr() {
    let filter = std::env::var("PARLOR_LOG")
        // The MCP library calls it an error when an agent hangs up.
        .unwrap_or_else(|_| "warn,rmcp=off".to_owned());
    let filter = tracing_subscriber::EnvFilter::try_new(filter).unwrap_or_else(|_| "warn".into());
    // A second subscriber is nobody's concern.
    let _ = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).try_init();
}

/// Ctrl-C and SIGTERM.
struct Leave {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

impl Leave {
    fn new() -> Result<Leave> {
        use tokio::signal::unix::{SignalKind, signal};
        let context = "cannot listen for signals";
        Ok(Leave {
            interrupt: signal(SignalKind::interrupt()).context(context)?,
            terminate: signal(SignalKind::terminate()).context(context)?,
        })
    }

    async fn asked(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
