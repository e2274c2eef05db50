//! What a tool's item of a response holds: its name, its input and its result. It names no blocks.

use bytes::Bytes;
use parlor_model::Key;
use parlor_model::block::{Attachment, Source};
use parlor_model::json::{Json, Kind};
use parlor_model::tool::{Output, Piece, ToolState};

/// The name of the tool that an item calls.
pub(super) fn name(kind: &str, item: &Json) -> Key {
    let text = |key: &str| item.field_text(key).map(|text| text.as_str().into_owned()).unwrap_or_default();
    match kind {
        "mcp_call" | "mcp_approval_request" => {
            format!("mcp__{}__{}", text("server_label"), text("name")).into()
        }
        _ => Some(text("name")).filter(|name| !name.is_empty()).map_or_else(|| kind.into(), Key::from),
    }
}

/// What a call was given: arguments are JSON in a string, the rest are values of their own.
pub(super) fn input(item: &Json) -> Json {
    if let Some(arguments) = item.get("arguments") {
        return match arguments.text() {
            Some(text) if text.is_blank() => Json::new(Bytes::from_static(b"{}")),
            Some(text) => Json::new(text.as_str().into_owned().into()),
            None => arguments,
        };
    }
    if let Some(value) = item.get("input").or_else(|| item.get("operation")) {
        return value;
    }
    // A search names what it looks for inside its action; a shell's action is its input.
    let kind = item.field_text("type").unwrap_or_default();
    match item.get("action") {
        Some(action) if kind != "web_search_call" => action,
        _ => {
            let kept = ["action", "code", "queries", "prompt"];
            let fields = kept.iter().filter_map(|key| Some(format!("\"{key}\":{}", item.get(key)?.lossy())));
            Json::new(format!("{{{}}}", fields.collect::<Vec<_>>().join(",")).into())
        }
    }
}

/// What a call gave back.
pub(super) fn result(item: &Json) -> (ToolState, Output) {
    let text = |key: &str| item.field_text(key).filter(|text| !text.is_empty());
    let mut output = Output::default();
    output.parts.extend(text("output").or_else(|| text("error")).map(|text| Piece::Text { text }));
    for part in [item.get("output"), item.get("outputs")].into_iter().flatten().flat_map(|list| list.items())
    {
        let texts = ["text", "logs", "stdout", "stderr"].iter().filter_map(|key| part.field_text(key));
        output.parts.extend(texts.filter(|text| !text.is_empty()).map(|text| Piece::Text { text }));
        let code = part.get("outcome").and_then(|outcome| outcome.get("exit_code")?.number());
        output.exit_code = code.map(|code| code as i64).or(output.exit_code);
    }
    if let Some(result) = text("result") {
        let is_image = text("type").is_some_and(|kind| kind == "image_generation_call");
        let source = Source::Base64(result.clone());
        output.parts.push(match is_image {
            true => Piece::attachment(Attachment { media_type: "image/png".into(), name: None, source }),
            false => Piece::Text { text: result },
        });
    }
    let files = item.get("results").unwrap_or_default().items();
    output.files = files.iter().filter_map(|file| file.field_text("filename")).collect();
    let failed =
        text("error").is_some() || item.get("error").is_some_and(|error| error.kind() == Kind::Object);
    let state = match text("status").unwrap_or_default().as_str().as_ref() {
        "failed" => ToolState::Failed,
        "incomplete" => ToolState::Interrupted,
        _ if failed || output.exit_code.is_some_and(|code| code != 0) => ToolState::Failed,
        _ => ToolState::Done,
    };
    (state, output)
}
