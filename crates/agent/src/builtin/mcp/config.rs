//! Which MCP servers there are: in the person's own file, and in the project's `.mcp.json`, both in the shape that Claude Code
//! reads. It starts nothing.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

/// The project's file.
pub(crate) const PROJECT: &str = ".mcp.json";
/// A longer file is no list of servers.
const FILE_BYTES: u64 = 1 << 20;

/// A server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Server {
    pub(crate) name: String,
    pub(crate) way: Way,
    /// True when the project names it: whoever wrote the project is not the person who works in it.
    pub(crate) is_project: bool,
}

/// How it is reached, as it was written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Way {
    Program { command: String, arguments: Vec<String>, environment: BTreeMap<String, String> },
    Http { url: String, headers: BTreeMap<String, String> },
}

#[derive(Deserialize)]
struct File {
    #[serde(default, rename = "mcpServers")]
    servers: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct Written {
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

/// All servers by their names, and what is wrong with the files. The person's own win over the project's.
pub(crate) fn servers(own: Option<&Path>, cwd: &Path) -> (Vec<Server>, Vec<String>) {
    let mut problems = Vec::new();
    let mut all = BTreeMap::new();
    let project = cwd.join(PROJECT);
    for (path, is_project) in [(Some(project.as_path()), true), (own, false)] {
        for server in path.into_iter().flat_map(|path| read(path, is_project, &mut problems)) {
            all.insert(server.name.clone(), server);
        }
    }
    (all.into_values().collect(), problems)
}

fn read(path: &Path, is_project: bool, problems: &mut Vec<String>) -> Vec<Server> {
    let shown = path.display();
    let Ok(metadata) = std::fs::metadata(path) else { return Vec::new() };
    if metadata.len() > FILE_BYTES {
        problems.push(format!("{shown} is too large for a list of MCP servers, and was not read"));
        return Vec::new();
    }
    let file = std::fs::read(path).map_err(|error| error.to_string());
    let file =
        file.and_then(|bytes| serde_json::from_slice::<File>(&bytes).map_err(|error| error.to_string()));
    let servers = match file {
        Ok(file) => file.servers,
        Err(error) => {
            problems.push(format!("cannot read the MCP servers in {shown}: {error}; correct the file"));
            return Vec::new();
        }
    };
    let mut read = Vec::new();
    for (name, written) in servers {
        match way(written) {
            Ok(way) => read.push(Server { name, way, is_project }),
            Err(why) => problems.push(format!("the MCP server `{name}` in {shown} {why}")),
        }
    }
    read
}

fn way(written: Value) -> Result<Way, String> {
    let Written { kind, command, args, env, url, headers } = serde_json::from_value(written)
        .map_err(|error| format!("cannot be read: {error}; correct the file"))?;
    match (kind.as_deref(), command, url) {
        (None | Some("stdio"), Some(command), _) => {
            Ok(Way::Program { command, arguments: args, environment: env })
        }
        (None | Some("http" | "streamable-http"), None, Some(url)) => Ok(Way::Http { url, headers }),
        (Some("http" | "streamable-http"), Some(_), Some(url)) => Ok(Way::Http { url, headers }),
        (Some("sse"), ..) => {
            Err("speaks in a way that MCP has given up: use its address for `http`, if it has one".to_owned())
        }
        _ => Err("has neither a `command` nor a `url`; correct the file".to_owned()),
    }
}

impl Server {
    /// What a person allows who lets the project start it: everything that the file says, so that another command, or another
    /// variable, is asked about again.
    pub(crate) fn permit(&self) -> String {
        let words: Vec<String> = match &self.way {
            Way::Program { command, arguments, environment } => {
                let variables = environment.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
                variables.chain([command].into_iter().chain(arguments).map(|word| quoted(word))).collect()
            }
            Way::Http { url, headers } => {
                let headers = headers.iter().map(|(name, value)| quoted(&format!("{name}: {value}")));
                [quoted(url)].into_iter().chain(headers).collect()
            }
        };
        format!("Mcp({}: {})", self.name, words.join(" "))
    }
}

/// A word as it is; with quotes where it could be taken for several.
fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_@%+=:,./-".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) { word.to_owned() } else { format!("{word:?}") }
}

/// Puts the values of variables where `${NAME}` or `${NAME:-otherwise}` stand. The error names one that is not set.
pub(crate) fn expand(text: &str, variable: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let (mut expanded, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        let Some((inside, after)) = after.split_once('}') else { break };
        let (name, otherwise) = match inside.split_once(":-") {
            Some((name, otherwise)) => (name, Some(otherwise.to_owned())),
            None => (inside, None),
        };
        expanded.push_str(before);
        let value = variable(name).filter(|value| otherwise.is_none() || !value.is_empty()).or(otherwise);
        expanded.push_str(&value.ok_or_else(|| format!("wants the variable `{name}`, which is not set"))?);
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_files_are_read_and_the_persons_own_wins() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("own.json");
        std::fs::write(&own, r#"{"mcpServers":{"both":{"command":"mine"}}}"#).unwrap();
        let project = r#"{"mcpServers":{
            "both":{"command":"theirs"},
            "docs":{"type":"http","url":"https://docs.example/mcp","headers":{"X-Key":"${KEY}"}},
            "shell":{"command":"sh","args":["-c","echo a b"],"env":{"A":"1"}},
            "old":{"type":"sse","url":"https://old.example"},
            "odd":{"args":[]}}}"#;
        std::fs::write(folder.path().join(PROJECT), project).unwrap();
        let (servers, problems) = servers(Some(&own), folder.path());
        let permits: Vec<String> = servers.iter().map(Server::permit).collect();
        assert_eq!(
            permits,
            [
                "Mcp(both: mine)",
                r#"Mcp(docs: https://docs.example/mcp "X-Key: ${KEY}")"#,
                r#"Mcp(shell: A=1 sh -c "echo a b")"#
            ]
        );
        assert_eq!(servers.iter().map(|server| server.is_project).collect::<Vec<_>>(), [false, true, true]);
        assert_eq!(problems.len(), 2, "{problems:?}");
    }

    #[test]
    fn no_files_are_no_servers_and_a_broken_one_is_told() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(servers(Some(&folder.path().join("none.json")), folder.path()), (Vec::new(), Vec::new()));
        std::fs::write(folder.path().join(PROJECT), "{").unwrap();
        let (_, problems) = servers(None, folder.path());
        assert!(problems[0].contains(PROJECT) && problems[0].contains("correct the file"), "{problems:?}");
    }

    #[test]
    fn variables_are_put_in_and_a_missing_one_is_named() {
        let variable = |name: &str| (name == "A").then(|| "1".to_owned());
        assert_eq!(expand("x${A}y${B:-2}${", variable).as_deref(), Ok("x1y2${"));
        assert!(expand("${B}", variable).unwrap_err().contains("`B`"));
    }
}
