//! Runs the scripted model by itself: prints its URL as one line and answers until it is ended.

use std::io::Write;
use std::process::ExitCode;

const USAGE: &str = "usage: parlor-model-server [--port N] [--scripts]";

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(std::env::args().skip(1).collect()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            let _ = writeln!(std::io::stderr(), "parlor-model-server: {message}");
            ExitCode::from(2)
        }
    }
}

async fn run(arguments: Vec<String>) -> Result<(), String> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let port: u16 = match arguments[..] {
        [] => 0,
        ["--scripts"] => return list_scripts(),
        ["--port", port] => {
            port.parse().map_err(|_| format!("`{port}` is no port: give a number up to 65535"))?
        }
        _ => return Err(USAGE.to_owned()),
    };
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port))
        .await
        .map_err(|error| format!("cannot listen on 127.0.0.1:{port} ({error}): choose another --port"))?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    say(&format!("http://{address}\n"))?;
    parlor_model_server::serve(listener).await;
    Ok(())
}

fn list_scripts() -> Result<(), String> {
    let lines: String = parlor_model_server::SCRIPTS
        .iter()
        .map(|script| format!("[[script {}]]  {}\n", script.name, script.about))
        .collect();
    say(&lines)
}

fn say(text: &str) -> Result<(), String> {
    let mut output = std::io::stdout();
    output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
        .map_err(|error| format!("cannot write: {error}"))
}
