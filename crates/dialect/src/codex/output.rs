//! What a tool gave back, in the four encodings Codex has had for it. Errors are told by the CLI's own marks only.

use bytes::Bytes;
use memchr::memmem;
use parlor_model::block::{Attachment, Source};
use parlor_model::event::End;
use parlor_model::json::{Json, Kind};
use parlor_model::text::Text;
use parlor_model::tool::{Output, Piece, ToolState};

/// The result of a call.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) state: ToolState,
    pub(crate) output: Output,
    /// True when the call only yielded: its process or script still runs.
    pub(crate) running: bool,
}

impl Answer {
    /// A result that is nothing but its state.
    pub(crate) fn bare(state: ToolState) -> Answer {
        Answer { state, output: Output::default(), running: false }
    }

    /// The end of the call's block.
    pub(crate) fn end(self) -> End {
        End::Result { name: None, state: self.state, output: Box::new(self.output) }
    }
}

/// Reads the `output` of a call.
pub(crate) fn answer(output: &Json) -> Answer {
    match output.kind() {
        Kind::String => string_answer(output),
        Kind::Array => array_answer(output),
        Kind::Object => object_answer(output),
        _ => Answer::bare(ToolState::Done),
    }
}

/// The pieces of a content array, or of a string that stands for one.
pub(crate) fn pieces(content: &Json) -> Vec<Piece> {
    let whole = content.text().filter(|text| !text.is_empty()).map(|text| Piece::Text { text });
    whole.into_iter().chain(content.items().iter().map(piece)).collect()
}

/// Output that is one text; none when it is empty.
pub(crate) fn text_output(text: Option<Text>) -> Output {
    text.filter(|text| !text.is_empty()).map_or_else(Output::default, Output::text)
}

/// A picture by its URL, which may carry its bytes.
pub(crate) fn picture(url: &Text) -> Attachment {
    let text = url.as_str();
    let data = text.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    match data {
        Some((media_type, data)) => {
            Attachment { media_type: media_type.into(), name: None, source: Source::Base64(data.into()) }
        }
        None => Attachment { media_type: Default::default(), name: None, source: Source::Url(url.clone()) },
    }
}

fn piece(item: &Json) -> Piece {
    if let Some(text) = item.field_text("text").or_else(|| item.text()) {
        return Piece::Text { text };
    }
    if let Some(url) = item.field_text("image_url").or_else(|| item.field_text("imageUrl")) {
        return Piece::attachment(picture(&url));
    }
    match (item.field_text("data"), item.field_text("mimeType")) {
        (Some(data), Some(media_type)) => Piece::attachment(Attachment {
            media_type: media_type.as_str().into(),
            name: None,
            source: Source::Base64(data),
        }),
        _ => Piece::Other { raw: item.clone() },
    }
}

fn is_empty(piece: &Piece) -> bool {
    matches!(piece, Piece::Text { text } if text.is_empty())
}

fn string_answer(output: &Json) -> Answer {
    let raw = inside(output);
    if let Some(answer) = marked(&raw) {
        return answer;
    }
    if let Some(mut header) = Header::read(&raw) {
        let body = raw.slice(header.body..);
        header.truncated |= is_cut(&body);
        return header.answer(text_output(Some(Text::escaped(body))));
    }
    if raw.starts_with(br#"{\"output\""#) || raw.starts_with(br#"{\"metadata\""#) {
        let text = Text::escaped(raw.clone()).as_str().into_owned();
        if let Some(answer) = packed(&Json::new(Bytes::from(text))) {
            return answer;
        }
    }
    Answer { state: ToolState::Done, output: text_output(Some(Text::escaped(raw))), running: false }
}

/// Older builds wrote a string that is JSON itself: `{"output":…,"metadata":{"exit_code","duration_seconds"}}`.
fn packed(json: &Json) -> Option<Answer> {
    let text = json.field_text("output")?;
    let metadata = json.get("metadata").filter(|metadata| metadata.kind() == Kind::Object)?;
    let number = |key: &str| metadata.get(key).and_then(|value| value.number());
    let exit_code = number("exit_code").map(|code| code as i64);
    let duration_ms =
        number("duration_seconds").filter(|seconds| *seconds >= 0.0).map(|seconds| (seconds * 1e3) as u64);
    let output = Output { exit_code, duration_ms, ..text_output(Some(text)) };
    Some(Answer { state: state_of_exit(exit_code), output, running: false })
}

/// Pieces of content; a script's report of itself stands in the first one.
fn array_answer(output: &Json) -> Answer {
    let items = output.items();
    let first = items.first().and_then(|item| item.get("text")).map(|text| inside(&text));
    let Some((raw, mut header)) = first.and_then(|raw| Header::read(&raw).map(|header| (raw, header))) else {
        let output = Output { parts: pieces(output), ..Output::default() };
        return Answer { state: ToolState::Done, output, running: false };
    };
    let body = Text::escaped(raw.slice(header.body..));
    let second = items.get(1).and_then(|item| item.get("text"));
    header.truncated |= second.is_some_and(|text| is_cut(&inside(&text)));
    let mut parts: Vec<Piece> = items.iter().skip(1).map(piece).filter(|piece| !is_empty(piece)).collect();
    if !body.is_empty() {
        parts.insert(0, Piece::Text { text: body });
    }
    header.answer(Output { parts, ..Output::default() })
}

/// `{"content","success"}`, in which some builds wrapped it.
fn object_answer(output: &Json) -> Answer {
    let content = output.get("content").or_else(|| output.get("content_items")).unwrap_or_default();
    let failed = output.get("success").and_then(|success| success.bool()) == Some(false);
    let mut answer = answer_of_content(&content, output);
    if failed && answer.state == ToolState::Done {
        answer.state = ToolState::Failed;
    }
    answer
}

fn answer_of_content(content: &Json, whole: &Json) -> Answer {
    match content.kind() {
        Kind::String => string_answer(content),
        Kind::Array => array_answer(content),
        _ => {
            let parts = vec![Piece::Other { raw: whole.clone() }];
            Answer { state: ToolState::Done, output: Output { parts, ..Output::default() }, running: false }
        }
    }
}

/// What the CLI itself says instead of an output, word for word.
fn marked(raw: &Bytes) -> Option<Answer> {
    const MARKS: [(&[u8], ToolState); 10] = [
        (b"aborted by user after ", ToolState::Interrupted),
        (b"apply_patch verification failed: ", ToolState::Failed),
        (b"collab spawn failed: ", ToolState::Failed),
        (b"exec command rejected by user", ToolState::Denied),
        (b"exec_command failed", ToolState::Failed),
        (b"failed in sandbox ", ToolState::Failed),
        (b"failed to parse function arguments: ", ToolState::Failed),
        (b"patch rejected", ToolState::Denied),
        (b"unsupported call: ", ToolState::Failed),
        (b"unsupported custom tool call: ", ToolState::Failed),
    ];
    let aborted_at = raw.starts_with(b"Wall time: ") && raw.ends_with(br" seconds\naborted by user");
    if raw[..] == *b"aborted" || aborted_at {
        return Some(Answer::bare(ToolState::Interrupted));
    }
    let (start, mut state) = *MARKS.iter().find(|(start, _)| raw.starts_with(start))?;
    let mut wordless = state == ToolState::Interrupted;
    if start == b"exec_command failed" && memmem::find(raw, br#"{ message: \"Rejected("#).is_some() {
        state = ToolState::Denied;
        wordless = memmem::find(raw, br#"Rejected(\\\"rejected by user"#).is_some();
    }
    // That a person said no is all there is to say; a rule that said no has its reason.
    wordless |= raw.ends_with(b"rejected by user");
    let text = (!wordless).then(|| Text::escaped(raw.clone()));
    Some(Answer { state, output: text_output(text), running: false })
}

/// The lines that Codex writes above a command's or a script's output.
#[derive(Debug, Default)]
struct Header {
    body: usize,
    exit_code: Option<i64>,
    duration_ms: Option<u64>,
    truncated: bool,
    running: bool,
    failed: bool,
}

impl Header {
    /// Reads the header of a text whose escapes are untouched. Every line of it must be one that Codex writes: the
    /// output of a command may look like the beginning of one.
    fn read(raw: &[u8]) -> Option<Header> {
        let mut header = Header::default();
        let mut at = 0;
        if raw.starts_with(b"Command: ") {
            at = memmem::find(raw, br"\nChunk ID: ")? + 2;
        }
        loop {
            let rest = &raw[at..];
            let end = memmem::find(rest, br"\n");
            let line = std::str::from_utf8(&rest[..end.unwrap_or(rest.len())]).ok()?;
            at += end.map_or(rest.len(), |end| end + 2);
            if line == "Output:" {
                header.body = at;
                // `Output:` alone is anybody's.
                return (at > b"Output:\\n".len()).then_some(header);
            }
            header.line(line)?;
            end?;
        }
    }

    fn line(&mut self, line: &str) -> Option<()> {
        if let Some(code) =
            line.strip_prefix("Process exited with code ").or_else(|| line.strip_prefix("Exit code: "))
        {
            self.exit_code = Some(code.parse().ok()?);
        } else if let Some(time) = line.strip_prefix("Wall time") {
            let seconds: f64 = time.trim_start_matches(':').strip_suffix(" seconds")?.trim().parse().ok()?;
            self.duration_ms = Some((seconds * 1e3).max(0.0) as u64);
        } else if line.starts_with("Process running with session ID ")
            || line.starts_with("Script running with cell ID ")
        {
            self.running = true;
        } else if line.starts_with("Total output lines: ") {
            self.truncated = true;
        } else if line == "Script failed" {
            self.failed = true;
        } else if line != "Script completed"
            && !line.starts_with("Chunk ID: ")
            && !line.starts_with("Original token count: ")
        {
            return None;
        }
        Some(())
    }

    fn answer(self, output: Output) -> Answer {
        let state = if self.failed { ToolState::Failed } else { state_of_exit(self.exit_code) };
        let Header { exit_code, duration_ms, truncated, .. } = self;
        Answer {
            state,
            output: Output { exit_code, duration_ms, truncated, ..output },
            running: self.running,
        }
    }
}

/// Whether a text says of itself that it was cut.
fn is_cut(raw: &[u8]) -> bool {
    raw.starts_with(b"Warning: truncated output (") || raw.starts_with(b"Total output lines: ")
}

/// A command that ends with another code than 0 has failed: `codex exec` says the same of it.
pub(crate) fn state_of_exit(exit_code: Option<i64>) -> ToolState {
    match exit_code {
        None | Some(0) => ToolState::Done,
        Some(_) => ToolState::Failed,
    }
}

/// The inside of a JSON string, escapes untouched.
fn inside(json: &Json) -> Bytes {
    let bytes = json.bytes();
    let end = bytes.len().saturating_sub(1).max(1).min(bytes.len());
    bytes.slice(1.min(end)..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(output: serde_json::Value) -> Answer {
        answer(&output.into())
    }

    #[test]
    fn an_output_gives_its_text_exit_code_and_state_in_every_encoding() {
        let cases = [
            ("plain\n", "plain\n", None, ToolState::Done),
            (
                "Chunk ID: 5a\nWall time: 0.5 seconds\nProcess exited with code 0\nOriginal token count: 2\nOutput:\nhi\n",
                "hi\n",
                Some(0),
                ToolState::Done,
            ),
            (
                "Command: /bin/zsh -lc 'a\nb'\nChunk ID: 5a\nWall time: 0.5 seconds\nProcess exited with code 2\nOutput:\n",
                "",
                Some(2),
                ToolState::Failed,
            ),
            (
                "Exit code: 1\nWall time: 0 seconds\nTotal output lines: 9\nOutput:\nx",
                "x",
                Some(1),
                ToolState::Failed,
            ),
            (
                "Exit code: 1\nsomebody's own words\nOutput:\nx",
                "Exit code: 1\nsomebody's own words\nOutput:\nx",
                None,
                ToolState::Done,
            ),
            ("Exit code: many\nOutput:\nx", "Exit code: many\nOutput:\nx", None, ToolState::Done),
            ("Output:\nx", "Output:\nx", None, ToolState::Done),
            (
                r#"{"output":"a\nb","metadata":{"exit_code":3,"duration_seconds":0.2}}"#,
                "a\nb",
                Some(3),
                ToolState::Failed,
            ),
            (r#"{"output":"a"}"#, r#"{"output":"a"}"#, None, ToolState::Done),
            ("aborted by user after 1.2s", "", None, ToolState::Interrupted),
            ("Wall time: 1.7 seconds\naborted by user", "", None, ToolState::Interrupted),
            ("aborted the mission", "aborted the mission", None, ToolState::Done),
            ("patch rejected by user", "", None, ToolState::Denied),
            (
                "exec_command failed: CreateProcess { message: \"Rejected(\\\"rejected by user\\\")\" }",
                "",
                None,
                ToolState::Denied,
            ),
            (
                "patch rejected: blocked by a rule",
                "patch rejected: blocked by a rule",
                None,
                ToolState::Denied,
            ),
            ("unsupported call: nope", "unsupported call: nope", None, ToolState::Failed),
            ("Error: words of a command", "Error: words of a command", None, ToolState::Done),
        ];
        for (output, text, exit_code, state) in cases {
            let answer = read(output.into());
            assert_eq!(answer.output.joined(), text, "{output}");
            assert_eq!((answer.output.exit_code, answer.state), (exit_code, state), "{output}");
        }
    }

    #[test]
    fn a_yielded_command_still_runs() {
        let answer = read(
            "Chunk ID: b\nWall time: 0.2 seconds\nProcess running with session ID 7\nOutput:\nstarted\n"
                .into(),
        );
        assert!(answer.running);
        assert_eq!(answer.output.joined(), "started\n");
        assert_eq!(answer.output.duration_ms, Some(200));
    }

    #[test]
    fn arrays_objects_and_nonsense_are_read_too() {
        let script = serde_json::json!([
            {"type": "input_text", "text": "Script completed\nWall time 0.2 seconds\nOutput:\n"},
            {"type": "input_text", "text": "hi"},
            {"type": "input_image", "image_url": "data:image/png;base64,QUJD"},
            {"type": "odd"},
        ]);
        let answer = read(script);
        assert_eq!(answer.output.parts.len(), 3);
        assert_eq!(answer.output.joined(), "hi");
        assert_eq!(read(serde_json::json!({"content": "no", "success": false})).state, ToolState::Failed);
        for odd in
            [serde_json::json!(null), serde_json::json!(7), serde_json::json!({}), serde_json::json!("")]
        {
            assert_eq!(read(odd).state, ToolState::Done);
        }
        assert_eq!(answer_of_cut(b"\"").output.parts.len(), 0);
        assert_eq!(answer_of_cut(b"").output.parts.len(), 0);
    }

    fn answer_of_cut(bytes: &'static [u8]) -> Answer {
        answer(&Json::new(Bytes::from_static(bytes)))
    }
}
