//! The file by which Pi gets the house's tools: an extension that passes every call on to the house. Pi takes no MCP server on
//! its command line; an extension it does. The file holds no secret: the run's token is in Pi's environment.

use std::ffi::OsStr;
use std::path::Path;

use parlor_model::agents;
use serde_json::json;

use crate::Settings;
use crate::program::takes;

/// The extension's text, for whoever keeps files.
pub(crate) fn text() -> String {
    let tools = agents::definitions().map(|tool| {
        let guidelines = if tool.name == "agents_message" { vec![agents::INSTRUCTIONS] } else { Vec::new() };
        json!({ "name": tool.name, "words": tool.words, "input": tool.input, "guidelines": guidelines })
    });
    format!("const tools = {};\n\n{}", json!(tools), include_str!("extension.js"))
}

/// Whether this Pi can load the extension. One that cannot does not start with it at all, so it is tried once, without a session
/// and without the person's own extensions.
pub(crate) async fn loads(extension: &Path, program: &Path, settings: &Settings) -> bool {
    let options = ["--mode", "rpc", "--no-session", "--no-extensions", "--extension"].map(OsStr::new);
    let arguments = [&options[..], &[extension.as_os_str()]].concat();
    let loads = takes(program, &arguments, settings).await.unwrap_or(false);
    if !loads {
        tracing::warn!(
            "{} cannot load extensions: it gets no tools to message other agents",
            program.display()
        );
    }
    loads
}
