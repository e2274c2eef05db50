//! What a person said, told from what Codex put into the person's mouth.

use parlor_model::block::{Attachment, Author, Prompt, Source};
use parlor_model::json::Json;
use parlor_model::text::Text;

use super::output::picture;

/// How the texts begin that Codex itself sends in the person's name.
const INJECTED: [&str; 24] = [
    "# AGENTS.md instructions for ",
    "<INSTRUCTIONS>",
    "<app-context>",
    "<apps_instructions>",
    "<codex_internal_context",
    "<collaboration_mode>",
    "<environment_context>",
    "<goal_context>",
    "<hook_prompt",
    "<legacy_",
    "<model_switch>",
    "<permissions instructions>",
    "<personality_spec>",
    "<plugins_instructions>",
    "<realtime_conversation>",
    "<recommended_plugins>",
    "<skill>",
    "<skills_instructions>",
    "<subagent_notification>",
    "<turn_aborted>",
    "<user_action>",
    "<user_instructions>",
    "<user_shell_command>",
    "<user_verification",
];

/// Whether Codex wrote this text, not a person.
pub(crate) fn is_injected(text: &str) -> bool {
    let text = text.trim_start();
    INJECTED.iter().any(|start| text.starts_with(start))
}

/// What a person asked, where their editor has put a page about itself before it.
pub(crate) fn asked_in_editor(text: &str) -> Option<&str> {
    let page = text.trim_start().strip_prefix("# Context from my IDE setup:")?;
    let (_, asked) = page.split_once("\n## My request for Codex:")?;
    Some(asked.trim()).filter(|asked| !asked.is_empty())
}

/// Reads a content array (or a string) as a prompt. `None` when all of it is injected or empty.
pub(crate) fn read(content: &Json, author: Author) -> Option<Prompt> {
    let mut texts: Vec<Text> = content.text().into_iter().collect();
    let mut attachments = Vec::new();
    for item in content.items() {
        if let Some(attachment) = attachment(&item) {
            attachments.push(attachment);
        } else if let Some(text) = item.field_text("text").or_else(|| item.text()) {
            texts.push(text);
        }
    }
    texts.retain(|text| !is_injected(&text.as_str()) && !is_frame(text, &attachments) && !text.is_blank());
    (!texts.is_empty() || !attachments.is_empty()).then(|| Prompt {
        text: join(texts),
        author,
        attachments,
        ..Prompt::default()
    })
}

/// Pictures named beside the text, as in an event.
pub(crate) fn pictures(urls: &Json, paths: &Json) -> Vec<Attachment> {
    let paths = paths.items();
    let urls = urls.items();
    let url = urls.iter().filter_map(|url| url.text()).map(|url| picture(&url));
    url.chain(paths.iter().filter_map(|path| path.text()).map(file)).collect()
}

/// Several texts as one: a single one stays the record's own bytes.
pub(crate) fn join(mut texts: Vec<Text>) -> Text {
    if texts.len() == 1 {
        return texts.remove(0);
    }
    let texts: Vec<String> = texts.iter().map(|text| text.as_str().into_owned()).collect();
    texts.join("\n\n").into()
}

fn attachment(item: &Json) -> Option<Attachment> {
    let kind = item.field_text("type")?;
    match &*kind.as_str() {
        "input_image" => item.field_text("image_url").map(|url| picture(&url)),
        "image" => item.field_text("url").or_else(|| item.field_text("image_url")).map(|url| picture(&url)),
        "localImage" | "local_image" | "localAudio" | "local_audio" => item.field_text("path").map(file),
        "audio" | "input_audio" => {
            Some(Attachment { media_type: "audio".into(), name: None, source: Source::Missing })
        }
        "skill" | "mention" => {
            let name = item.field_text("name").or_else(|| item.field_text("path"));
            Some(Attachment { media_type: Default::default(), name, source: Source::Missing })
        }
        _ => None,
    }
}

fn file(path: Text) -> Attachment {
    Attachment { media_type: Default::default(), name: Some(path), source: Source::Missing }
}

/// The tags that Codex puts around a picture for the model.
fn is_frame(text: &Text, attachments: &[Attachment]) -> bool {
    !attachments.is_empty() && (text.starts_with("<image") || *text == "</image>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_person_s_own_words_are_a_prompt() {
        let text = |text: &str| serde_json::json!([{"type": "input_text", "text": text}]);
        for injected in
            ["<environment_context>\n", "# AGENTS.md instructions for /x", " <turn_aborted>", "", "  "]
        {
            assert!(read(&text(injected).into(), Author::Person).is_none(), "{injected}");
        }
        let mixed = serde_json::json!([{"text": "<skill>x</skill>"}, {"text": "do it"}]);
        assert_eq!(read(&mixed.into(), Author::Person).unwrap().text, "do it");
        assert_eq!(read(&serde_json::json!("bare").into(), Author::Person).unwrap().text, "bare");
    }

    #[test]
    fn what_is_asked_in_an_editor_stands_below_what_the_editor_says() {
        let page =
            "# Context from my IDE setup:\n\n## Active file: a.rs\n\n## My request for Codex:\nWhy twice?\n";
        assert_eq!(asked_in_editor(page), Some("Why twice?"));
        for other in ["Why twice?", "# Context from my IDE setup:\n", "## My request for Codex:\nx", ""] {
            assert_eq!(asked_in_editor(other), None, "{other}");
        }
        assert_eq!(asked_in_editor("# Context from my IDE setup:\n## My request for Codex:\n \n"), None);
    }

    #[test]
    fn a_picture_comes_without_the_tags_around_it() {
        let content = serde_json::json!([
            {"type": "input_text", "text": "see"},
            {"type": "input_text", "text": "<image name=[Image #1]>"},
            {"type": "input_image", "image_url": "data:image/png;base64,QUJD"},
            {"type": "input_text", "text": "</image>"},
        ]);
        let prompt = read(&content.into(), Author::Person).unwrap();
        assert_eq!(prompt.text, "see");
        assert_eq!(prompt.attachments[0].media_type, "image/png");
        assert_eq!(prompt.attachments[0].source, Source::Base64("QUJD".into()));
    }
}
