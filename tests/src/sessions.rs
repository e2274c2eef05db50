//! One small sound session per format. Each has words of its own, so that a suite can see whether they are shown.

use parlor_dialect::Format;

/// The word in the reply of a format's session.
pub fn reply(format: Format) -> String {
    format!("marigold-{}", format.name())
}

/// The word in the tool output of a format's session.
pub fn output(format: Format) -> String {
    format!("basil-{}", format.name())
}

/// The lines of a format's session: the plain case of its corpus.
pub fn lines(format: Format) -> Vec<String> {
    let file = match format {
        Format::ClaudeSession => include_str!("../../corpus/claude-session/plain/input.jsonl"),
        Format::ClaudeStream => include_str!("../../corpus/claude-stream/plain/input.jsonl"),
        Format::CodexRollout => include_str!("../../corpus/codex-rollout/plain/input.jsonl"),
        Format::CodexExec => include_str!("../../corpus/codex-exec/plain/input.jsonl"),
        Format::CodexApp => include_str!("../../corpus/codex-app/plain/input.jsonl"),
        Format::PiSession => include_str!("../../corpus/pi-session/plain/input.jsonl"),
        Format::PiEvents => include_str!("../../corpus/pi-events/plain/input.jsonl"),
        Format::OpenaiChat => include_str!("../../corpus/openai-chat/plain/input.jsonl"),
        Format::OpenaiResponses => include_str!("../../corpus/openai-responses/plain/input.jsonl"),
        Format::Acp => include_str!("../../corpus/acp/plain/input.jsonl"),
        Format::Cdev => include_str!("../../corpus/cdev/plain/input.jsonl"),
        Format::Bridge => include_str!("../../corpus/bridge/plain/input.jsonl"),
        Format::Legion => include_str!("../../corpus/legion/plain/input.jsonl"),
    };
    file.lines().map(str::to_owned).collect()
}

/// The same as the bytes of a file.
pub fn file(format: Format) -> Vec<u8> {
    join(&lines(format))
}

/// Lines as the bytes of a file.
pub fn join<T: AsRef<[u8]>>(lines: &[T]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in lines {
        bytes.extend_from_slice(line.as_ref());
        bytes.push(b'\n');
    }
    bytes
}
