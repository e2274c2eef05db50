//! Which programs the agents are, what environment they get, and where the built-in agent finds its model. It reads the
//! environment once, at the start, and starts nothing.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::builtin::Endpoint;
use crate::{AgentError, Kind};

/// How agents are run on this machine.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Programs that were named; what is not named is looked for on the `PATH` of `environment`.
    pub programs: BTreeMap<Kind, PathBuf>,
    /// The whole environment of the agents, without Parlor's own variables.
    pub environment: BTreeMap<OsString, OsString>,
    /// Where the built-in agent finds its model, or what to do so that it has one.
    pub endpoint: Result<Endpoint, AgentError>,
    /// How much faster than it was recorded the demo is played.
    pub demo_speed: Option<OsString>,
    /// The file that holds [`pi_extension`](crate::pi_extension), by which Pi gets the house's tools; none where it could not be written.
    pub pi_extension: Option<PathBuf>,
}

/// Variables by which a program named here is found.
const PROGRAMS: [(&str, Kind); 3] =
    [("PARLOR_CLAUDE", Kind::Claude), ("PARLOR_CODEX", Kind::Codex), ("PARLOR_PI", Kind::Pi)];

/// Variables that say "you run inside Claude Code": an agent that sees them thinks that it was started by one.
const NESTED: [&str; 3] = ["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID"];

impl Settings {
    /// The settings in this process's environment: `PARLOR_CLAUDE`, `PARLOR_CODEX`, `PARLOR_PI` name programs;
    /// `PARLOR_MODEL_URL`, `PARLOR_MODEL_KEY`, `PARLOR_MODEL_KEY_FILE`, `PARLOR_MODEL_NAME`, `PARLOR_MODEL_CONTEXT` (in tokens), or else `OPENAI_BASE_URL`,
    /// `OPENAI_API_KEY`, `OPENAI_MODEL`, say where the built-in agent finds its model;
    /// `PARLOR_DEMO_SPEED` makes the demo faster.
    pub fn from_env() -> Settings {
        Settings::from_variables(std::env::vars_os().collect())
    }

    /// The settings in these variables.
    pub fn from_variables(variables: BTreeMap<OsString, OsString>) -> Settings {
        let named = PROGRAMS.iter().filter_map(|(name, kind)| Some((*kind, value(&variables, name)?.into())));
        Settings {
            programs: named.collect(),
            endpoint: endpoint(&variables),
            demo_speed: value(&variables, crate::demo::SPEED),
            pi_extension: None,
            environment: variables.into_iter().filter(|(name, _)| is_for_agents(name)).collect(),
        }
    }
}

/// Where the built-in agent finds its model, or what to do so that it has one.
fn endpoint(variables: &BTreeMap<OsString, OsString>) -> Result<Endpoint, AgentError> {
    let text = |name: &str| value(variables, name).map(|text| text.to_string_lossy().into_owned());
    let url = text("PARLOR_MODEL_URL").or_else(|| text("OPENAI_BASE_URL"));
    let key = match (text("PARLOR_MODEL_KEY"), value(variables, "PARLOR_MODEL_KEY_FILE")) {
        (Some(key), _) => Some(key),
        (None, Some(path)) => Some(key_in(path.as_ref())?),
        (None, None) => text("OPENAI_API_KEY"),
    };
    if url.is_none() && key.is_none() {
        let message = "no model is set: set `OPENAI_API_KEY`, or `PARLOR_MODEL_URL` and `PARLOR_MODEL_NAME` for a \
                       model of your own, and start Parlor again";
        return Err(AgentError(message.to_owned()));
    }
    let model = text("PARLOR_MODEL_NAME").or_else(|| text("OPENAI_MODEL")).unwrap_or_default();
    let mut endpoint = Endpoint { key, ..Endpoint::new(url.unwrap_or_default(), model) };
    if let Some(context) = text("PARLOR_MODEL_CONTEXT") {
        endpoint.context = context.parse().map_err(|_| {
            AgentError(format!("`PARLOR_MODEL_CONTEXT` is a number of tokens, not `{context}`: correct it"))
        })?;
    }
    Ok(endpoint)
}

fn key_in(path: &Path) -> Result<String, AgentError> {
    let key = std::fs::read_to_string(path).map_err(|error| {
        let path = path.display();
        AgentError(format!(
            "cannot read the model's key from {path}: {error}; correct `PARLOR_MODEL_KEY_FILE` and start Parlor again"
        ))
    })?;
    Ok(key.trim().to_owned())
}

/// A variable that is set to something.
fn value(variables: &BTreeMap<OsString, OsString>, name: &str) -> Option<OsString> {
    variables.get(OsStr::new(name)).filter(|value| !value.is_empty()).cloned()
}

/// Parlor's own variables are no business of an agent: they hold keys and tokens.
fn is_for_agents(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    !name.starts_with("PARLOR_") && !NESTED.contains(&name.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> Settings {
        Settings::from_variables(variables.iter().map(|(name, value)| (name.into(), value.into())).collect())
    }

    #[test]
    fn parlors_own_variables_win_and_stay_at_home() {
        let settings = settings(&[
            ("HOME", "/home/user"),
            ("CLAUDECODE", "1"),
            ("OPENAI_API_KEY", "test-key"),
            ("OPENAI_BASE_URL", "http://127.0.0.1:1/v1"),
            ("PARLOR_MODEL_URL", "http://127.0.0.1:2/v1"),
            ("PARLOR_MODEL_KEY", "other-test-key"),
            ("PARLOR_TOKEN", "secret"),
            ("PARLOR_CODEX", "/opt/codex"),
            ("PARLOR_PI", ""),
        ]);
        let endpoint = settings.endpoint.as_ref().unwrap();
        assert_eq!(
            (endpoint.url.as_str(), endpoint.key.as_deref()),
            ("http://127.0.0.1:2/v1", Some("other-test-key"))
        );
        assert_eq!(settings.programs, BTreeMap::from([(Kind::Codex, PathBuf::from("/opt/codex"))]));
        let names: Vec<_> = settings.environment.keys().map(|name| name.to_string_lossy()).collect();
        assert_eq!(names, ["HOME", "OPENAI_API_KEY", "OPENAI_BASE_URL"]);
        assert!(!format!("{settings:?}").contains("other-test-key"));
    }

    #[test]
    fn what_is_missing_is_said() {
        let message = |variables: &[(&str, &str)]| settings(variables).endpoint.unwrap_err().0;
        assert!(message(&[]).contains("OPENAI_API_KEY"));
        assert!(message(&[("PARLOR_MODEL_KEY_FILE", "/no/such/file")]).contains("/no/such/file"));
        assert!(message(&[("OPENAI_API_KEY", "k"), ("PARLOR_MODEL_CONTEXT", "big")]).contains("`big`"));
    }
}
