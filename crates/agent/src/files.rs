//! What of a prompt's files an agent can be given: pictures, PDF and text. It knows no agent's wire format.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parlor_model::order::File;

use crate::AgentError;

/// A file as a model can take it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Content<'a> {
    /// A picture, in base64.
    Image { media_type: &'a str, data: &'a str },
    /// A PDF, in base64.
    Pdf { name: &'a str, data: &'a str },
    /// Text, with its name before it.
    Text(String),
}

/// What `file` is; `label` names the agent in the message when it is nothing that a model can take.
pub(crate) fn content<'a>(file: &'a File, label: &str) -> Result<Content<'a>, AgentError> {
    let File { name, media_type, data } = file;
    let media = media_type.split(';').next().unwrap_or_default().trim();
    match media {
        "image/png" | "image/jpeg" | "image/gif" | "image/webp" => {
            Ok(Content::Image { media_type: media, data })
        }
        "application/pdf" => Ok(Content::Pdf { name, data }),
        _ => {
            let bytes = STANDARD.decode(data.trim()).map_err(|error| {
                AgentError(format!("`{name}` is not in base64 ({error}): attach it again"))
            })?;
            match String::from_utf8(bytes) {
                Ok(text) if !text.contains('\0') => {
                    Ok(Content::Text(format!("<file name={name:?}>\n{text}\n</file>")))
                }
                _ => Err(unfit(file, label)),
            }
        }
    }
}

/// What is said of a file that an agent cannot be given.
pub(crate) fn unfit(File { name, media_type, .. }: &File, label: &str) -> AgentError {
    AgentError(format!(
        "`{name}` ({media_type}) cannot be given to {label}: put it into the folder where it works and name it in the prompt"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(media_type: &str, data: &str) -> File {
        File { name: "a.txt".into(), media_type: media_type.into(), data: data.into() }
    }

    #[test]
    fn text_gets_its_name_and_the_rest_is_refused() {
        let text = file("text/plain; charset=utf-8", "aGk=");
        assert_eq!(content(&text, "Pi").unwrap(), Content::Text("<file name=\"a.txt\">\nhi\n</file>".into()));
        for bad in [file("application/zip", "UEsDBP8A"), file("text/plain", "not base64!")] {
            assert!(content(&bad, "Pi").is_err());
        }
    }
}
