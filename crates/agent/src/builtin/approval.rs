//! What may be done without asking, by the mode and by what a person has allowed in this session or for good. It asks
//! nobody.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use parlor_model::order::Mode;

use super::tool::{Tool, resolve};
use crate::Permits;

/// Programs whose second word says what they do.
const WITH_VERBS: [&str; 16] = [
    "git", "cargo", "npm", "pnpm", "yarn", "bun", "go", "docker", "kubectl", "make", "just", "uv", "pip",
    "gh", "dotnet", "rustup",
];

/// Programs that run whatever stands after them: only the very same command is allowed again.
const WRAPPERS: [&str; 16] = [
    "sudo", "doas", "env", "bash", "sh", "zsh", "xargs", "nohup", "time", "timeout", "exec", "eval",
    "command", "find", "ssh", "nice",
];

/// A command longer than this is no permit that a person would read.
const PERMIT_BYTES: usize = 500;

/// What a person has allowed.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    /// In this session.
    grants: Vec<Grant>,
    /// For good, in this folder.
    permits: Permits,
}

/// Something that was allowed.
#[derive(Debug, PartialEq)]
enum Grant {
    /// Changes to files in the working directory.
    Edits,
    /// Simple commands that begin with these words.
    Prefix(Vec<String>),
    /// Exactly this command.
    Command(String),
    /// Pages of this host.
    Host(String),
    /// This tool of an MCP server.
    Served(String),
}

/// As it is kept and shown: the tool, and what of it. No two say the same: a command that has a prefix is never kept whole.
impl fmt::Display for Grant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Grant::Edits => formatter.write_str("Edit(**)"),
            Grant::Prefix(words) => write!(formatter, "Bash({} *)", words.join(" ")),
            Grant::Command(command) => write!(formatter, "Bash({command})"),
            Grant::Served(name) => formatter.write_str(name),
            Grant::Host(host) => write!(formatter, "WebFetch(domain:{host})"),
        }
    }
}

/// Whether a call may be carried out.
#[derive(Debug, PartialEq)]
pub(crate) enum Verdict {
    Free,
    /// A person is asked, with these words.
    Ask(String),
}

impl Rules {
    /// Those of a house.
    pub(crate) fn of(permits: Permits) -> Rules {
        Rules { grants: Vec::new(), permits }
    }

    /// What is allowed when a call like this one is allowed for good, as it is kept and shown.
    pub(crate) fn permit(&self, tool: &Tool, cwd: &Path) -> Option<String> {
        grant(tool, cwd).map(|grant| grant.to_string()).filter(|permit| permit.len() <= PERMIT_BYTES)
    }

    /// Judges a call.
    pub(crate) fn judge(&self, tool: &Tool, mode: Mode, cwd: &Path) -> Verdict {
        if tool.only_looks() || mode == Mode::AllowAll {
            return Verdict::Free;
        }
        let granted = grant(tool, cwd).is_some_and(|grant| {
            self.grants.contains(&grant) || self.permits.allows(cwd, &grant.to_string())
        });
        let edits = mode == Mode::AcceptEdits && grant(tool, cwd) == Some(Grant::Edits);
        if granted || edits { Verdict::Free } else { Verdict::Ask(reason(tool, cwd)) }
    }

    /// Remembers that calls like this one are allowed.
    pub(crate) fn allow(&mut self, tool: &Tool, cwd: &Path) {
        self.grants.extend(grant(tool, cwd));
    }
}

/// What allowing a call allows from then on. Nothing for a file outside of the working directory: that is asked each time.
fn grant(tool: &Tool, cwd: &Path) -> Option<Grant> {
    match tool {
        Tool::Write(write) => is_inside(cwd, &write.file_path).then_some(Grant::Edits),
        Tool::Edit(edit) => is_inside(cwd, &edit.file_path).then_some(Grant::Edits),
        Tool::Bash(bash) => Some(match prefix(&bash.command) {
            Some(words) => Grant::Prefix(words),
            None => Grant::Command(bash.command.trim().to_owned()),
        }),
        Tool::WebFetch(fetch) => Some(Grant::Host(fetch.host())),
        Tool::Served(served) => Some(Grant::Served(served.name.clone())),
        Tool::Read(_) | Tool::Glob(_) | Tool::Grep(_) | Tool::TodoWrite(_) | Tool::Agents(_) => None,
    }
}

fn reason(tool: &Tool, cwd: &Path) -> String {
    let file = |verb: &str, path: &str| match is_inside(cwd, path) {
        true => format!("{verb} {path}"),
        false => format!("{verb} {path}, which is outside of the working directory"),
    };
    match tool {
        Tool::Bash(bash) => format!("Run `{}`", first_line(&bash.command)),
        Tool::Write(write) => file("Write", &write.file_path),
        Tool::Edit(edit) => file("Change", &edit.file_path),
        Tool::WebFetch(fetch) => format!("Fetch {}", fetch.url),
        Tool::Served(served) => format!("Call `{}`", served.name),
        Tool::Read(_) | Tool::Glob(_) | Tool::Grep(_) | Tool::TodoWrite(_) | Tool::Agents(_) => {
            "Look".to_owned()
        }
    }
}

/// A command by which the person sees what it is about; all of it stands in the call.
fn first_line(command: &str) -> String {
    let line = command.trim().lines().next().unwrap_or_default();
    let short: String = line.chars().take(200).collect();
    if short.len() < command.trim().len() { short + "…" } else { short }
}

/// The words that say what a simple command does. A command that could do something else besides has none: it would let
/// anything through after a `;`.
fn prefix(command: &str) -> Option<Vec<String>> {
    let command = command.trim();
    let is_simple = !command
        .contains([';', '|', '&', '<', '>', '$', '`', '(', ')', '{', '}', '\n', '\r', '\\', '\'', '"']);
    let words: Vec<&str> = command.split_whitespace().collect();
    let first = *words.first()?;
    // An assignment before a command changes what it is.
    if !is_simple || first.contains('=') || WRAPPERS.contains(&first) {
        return None;
    }
    let count = if WITH_VERBS.contains(&first) { 2 } else { 1 };
    let chosen = words.get(..count)?;
    let is_option = chosen.iter().any(|word| word.starts_with('-'));
    (!is_option).then(|| chosen.iter().map(|word| (*word).to_owned()).collect())
}

/// True for a file in the working directory, wherever links lead, and not among git's own: a hook is a command.
fn is_inside(cwd: &Path, path: &str) -> bool {
    let (Ok(root), Some(path)) = (cwd.canonicalize(), real(&resolve(cwd, path))) else { return false };
    path.strip_prefix(&root).is_ok_and(|below| !below.components().any(|part| part.as_os_str() == ".git"))
}

/// Where a path leads that may not be there yet: links are followed as far as it exists.
fn real(path: &Path) -> Option<PathBuf> {
    let mut missing = Vec::new();
    let mut there = path.to_owned();
    loop {
        if let Ok(real) = there.canonicalize() {
            return Some(missing.iter().rev().fold(real, |path, part| path.join(part)));
        }
        // A link that leads nowhere may lead anywhere, and `..` after what is missing too.
        let is_plain = matches!(there.components().next_back(), Some(Component::Normal(_)));
        if !is_plain || there.is_symlink() {
            return None;
        }
        missing.push(there.file_name()?.to_owned());
        there = there.parent()?.to_owned();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, arguments: serde_json::Value) -> Tool {
        Tool::parse(name, &arguments.to_string()).unwrap()
    }

    fn bash(command: &str) -> Tool {
        tool("Bash", serde_json::json!({"command": command}))
    }

    fn write(path: &str) -> Tool {
        tool("Write", serde_json::json!({"file_path": path, "content": ""}))
    }

    fn is_free(rules: &Rules, tool: &Tool, mode: Mode, cwd: &Path) -> bool {
        rules.judge(tool, mode, cwd) == Verdict::Free
    }

    #[test]
    fn each_mode_lets_through_what_it_says() {
        let folder = tempfile::tempdir().unwrap();
        let cwd = folder.path();
        std::fs::create_dir(cwd.join(".git")).unwrap();
        let outside = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(outside.path(), cwd.join("link")).unwrap();
        std::os::unix::fs::symlink("/nowhere/at/all", cwd.join("dangling")).unwrap();
        let rules = Rules::default();
        let read = tool("Read", serde_json::json!({"file_path": "/etc/hosts"}));
        let fetch = tool("WebFetch", serde_json::json!({"url": "http://example.org/"}));
        let cases = [
            (&read, [true, true, true]),
            (&write("new/deep/a"), [false, true, true]),
            (&write("../a"), [false, false, true]),
            (&write("x/../../a"), [false, false, true]),
            (&write("link/a"), [false, false, true]),
            (&write("dangling"), [false, false, true]),
            (&write(".git/hooks/pre-commit"), [false, false, true]),
            (&write(outside.path().join("a").to_str().unwrap()), [false, false, true]),
            (&bash("ls"), [false, false, true]),
            (&fetch, [false, false, true]),
        ];
        for (tool, free) in cases {
            let modes = [Mode::Ask, Mode::AcceptEdits, Mode::AllowAll];
            assert_eq!(modes.map(|mode| is_free(&rules, tool, mode, cwd)), free, "{tool:?}");
        }
    }

    #[test]
    fn what_is_allowed_for_the_session_covers_the_same_kind_of_call_only() {
        let folder = tempfile::tempdir().unwrap();
        let cwd = folder.path();
        let mut rules = Rules::default();
        rules.allow(&bash("git status -s"), cwd);
        rules.allow(&bash("ls -l src"), cwd);
        rules.allow(&bash("echo a | wc"), cwd);
        rules.allow(&bash("sudo ls"), cwd);
        for (command, free) in [
            ("git status", true),
            ("git push", false),
            ("git", false),
            ("git -c x=y status", false),
            ("ls", true),
            ("ls; rm -rf x", false),
            ("ls $(rm x)", false),
            ("ls > x", false),
            ("lsof", false),
            ("X=1 ls", false),
            ("sudo ls", true),
            ("sudo rm", false),
            ("echo a | wc", true),
            ("echo b | wc", false),
        ] {
            assert_eq!(is_free(&rules, &bash(command), Mode::Ask, cwd), free, "{command}");
        }
        rules.allow(&write("a"), cwd);
        assert!(is_free(&rules, &write("b"), Mode::Ask, cwd));
        rules.allow(&write("/elsewhere/a"), cwd);
        assert!(!is_free(&rules, &write("/elsewhere/a"), Mode::Ask, cwd), "outside is asked each time");
        let fetch = |url: &str| tool("WebFetch", serde_json::json!({"url": url}));
        assert_eq!(
            rules.permit(&fetch("http://a.example/x"), cwd).as_deref(),
            Some("WebFetch(domain:a.example)")
        );
        rules.allow(&fetch("http://a.example/x"), cwd);
        assert!(is_free(&rules, &fetch("https://a.example/y"), Mode::Ask, cwd));
        assert!(!is_free(&rules, &fetch("https://b.example/y"), Mode::Ask, cwd));
    }

    #[test]
    fn what_is_allowed_for_good_holds_in_its_folder_until_it_is_taken_back() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let permits = Permits::default();
        let rules = Rules::of(permits.clone());
        for (call, permit) in [
            (bash("cargo test -p x"), Some("Bash(cargo test *)")),
            (bash("echo a | wc"), Some("Bash(echo a | wc)")),
            (bash(&format!("echo {}; ls", "a".repeat(600))), None),
            (write("a"), Some("Edit(**)")),
            (write("/elsewhere/a"), None),
        ] {
            let offered = rules.permit(&call, one.path());
            assert_eq!(offered.as_deref(), permit);
            assert!(!is_free(&rules, &call, Mode::Ask, one.path()));
            let Some(permit) = offered else { continue };
            permits.set(&"session".into(), one.path().to_owned(), [permit].into());
            assert!(is_free(&rules, &call, Mode::Ask, one.path()), "{call:?}");
            assert!(!is_free(&rules, &call, Mode::Ask, two.path()), "another folder: {call:?}");
            permits.set(&"session".into(), one.path().to_owned(), Default::default());
            assert!(!is_free(&rules, &call, Mode::Ask, one.path()), "taken back: {call:?}");
        }
        permits.set(&"session".into(), one.path().to_owned(), ["Bash(cargo test *)".to_owned()].into());
        assert!(!is_free(&rules, &bash("cargo publish"), Mode::Ask, one.path()));
        assert!(!is_free(&rules, &bash("cargo test; rm -rf x"), Mode::Ask, one.path()));
    }
}
