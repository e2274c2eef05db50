//! What can go wrong between us and the model, whether it is worth another try, and what to tell the person. It sends
//! nothing and waits for nothing.

use std::time::Duration;

use reqwest::StatusCode;

/// How often a request is sent.
const ATTEMPTS: u32 = 6;
/// How often a server is called that does not answer at all.
const CALLS: u32 = 3;
/// The pause before the second try; each further one is twice as long.
const PAUSE: Duration = Duration::from_millis(500);
/// A server that wants a longer pause than this is not waited for.
const LONGEST_PAUSE: Duration = Duration::from_secs(120);

/// Why a request has failed.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// Nobody answers at the address.
    Unreachable(String),
    /// The server said no.
    Refused { status: StatusCode, text: String, pause: Option<Duration> },
    /// The answer holds an error.
    Failed { text: String, code: Option<u16> },
    /// The answer ended before it was whole.
    Cut(String),
    /// The request cannot even be written.
    Invalid(String),
}

/// Where and with what it went wrong.
pub(crate) struct Place<'a> {
    pub(crate) url: &'a str,
    pub(crate) model: &'a str,
    pub(crate) has_key: bool,
}

/// What to do now.
pub(crate) enum Next {
    /// Try again after a pause; tell the person this.
    Again { pause: Duration, note: String },
    /// The conversation is too long for the model.
    Shorten,
    /// Give up; tell the person this.
    GiveUp(String),
}

impl Trouble {
    /// What to do after the `attempt`-th try, counted from 1.
    pub(crate) fn next(&self, attempt: u32, place: &Place<'_>) -> Next {
        if self.is_overflow() {
            return Next::Shorten;
        }
        let text = self.text(place);
        let limit = if matches!(self, Trouble::Unreachable(_)) { CALLS } else { ATTEMPTS };
        let pause = match self {
            Trouble::Refused { pause: Some(pause), .. } => *pause,
            _ => PAUSE * 2_u32.saturating_pow(attempt.saturating_sub(1)),
        };
        if !self.is_passing() {
            return Next::GiveUp(text);
        }
        if pause > LONGEST_PAUSE {
            let seconds = pause.as_secs();
            return Next::GiveUp(format!("{text}; the server wants {seconds} s of patience: try again then"));
        }
        if attempt >= limit {
            return Next::GiveUp(format!("{text}; tried {attempt} times"));
        }
        let note =
            format!("{text}; trying again in {:.1} s (try {} of {limit})", pause.as_secs_f32(), attempt + 1);
        Next::Again { pause, note }
    }

    /// True when the same request may succeed later.
    fn is_passing(&self) -> bool {
        match self {
            Trouble::Unreachable(_) | Trouble::Cut(_) => true,
            Trouble::Invalid(_) => false,
            Trouble::Refused { status, text, .. } => is_passing(status.as_u16(), text),
            Trouble::Failed { text, code } => code.is_none_or(|code| is_passing(code, text)),
        }
    }

    /// Servers have no common code for a conversation that is too long, only words.
    fn is_overflow(&self) -> bool {
        let text = match self {
            Trouble::Refused { status, text, .. } if matches!(status.as_u16(), 400 | 413 | 422 | 500) => text,
            Trouble::Failed { text, .. } => text,
            _ => return false,
        };
        let text = text.to_lowercase();
        let words = ["context_length", "context length", "maximum context", "context window", "context size"];
        words.iter().any(|word| text.contains(word)) || text.contains("prompt is too long")
    }

    /// True when the server does not know the option by which it is asked for usage.
    pub(crate) fn is_about(&self, option: &str) -> bool {
        match self {
            Trouble::Refused { status, text, .. } => {
                matches!(status.as_u16(), 400 | 422) && text.contains(option)
            }
            _ => false,
        }
    }

    fn text(&self, place: &Place<'_>) -> String {
        let Place { url, model, has_key } = place;
        match self {
            Trouble::Unreachable(why) => {
                format!("no model server answers at {url} ({why}); start it, or correct the address")
            }
            Trouble::Refused { status, text, .. } => match status.as_u16() {
                401 | 403 if *has_key => format!("{url} refuses the key ({text}); set another one"),
                401 | 403 => format!("{url} wants a key ({text}); set one"),
                404 => format!(
                    "{url} does not know the model `{model}`, or has no chat completions there ({text}); \
correct the model's name, or the address, which mostly ends in `/v1`"
                ),
                400 if text.contains("support tools") || text.contains("support function") => {
                    format!("the model `{model}` cannot call tools ({text}); choose another one")
                }
                402 => format!("{url} wants to be paid ({text})"),
                429 => format!("{url} gets too many requests ({text})"),
                status if status >= 500 => {
                    format!("{url} has a problem of its own: status {status} ({text})")
                }
                status => format!("{url} answered with status {status} ({text})"),
            },
            Trouble::Failed { text, .. } => format!("the model's server reports an error: {text}"),
            Trouble::Cut(why) => format!("the model's answer was cut off ({why})"),
            Trouble::Invalid(why) => why.clone(),
        }
    }
}

/// What to say when not even a shorter conversation fits.
pub(crate) fn too_long(place: &Place<'_>) -> String {
    let Place { model, .. } = place;
    format!(
        "the conversation is too long for the model `{model}`; begin a new session, or use a larger model"
    )
}

fn is_passing(code: u16, text: &str) -> bool {
    // Who has no money left has none in a minute either.
    let broke = text.contains("insufficient_quota") || text.contains("billing");
    matches!(code, 408 | 409 | 425 | 429) && !broke || code >= 500
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(status: u16, text: &str, pause: Option<u64>, attempt: u32) -> Next {
        let status = StatusCode::from_u16(status).unwrap();
        let trouble = Trouble::Refused { status, text: text.into(), pause: pause.map(Duration::from_secs) };
        trouble.next(attempt, &Place { url: "http://x/v1", model: "m", has_key: true })
    }

    #[test]
    fn only_what_may_pass_is_tried_again_and_not_for_ever() {
        for status in [408, 429, 500, 502, 503, 529] {
            assert!(matches!(next(status, "busy", None, 1), Next::Again { .. }), "{status}");
            assert!(matches!(next(status, "busy", None, ATTEMPTS), Next::GiveUp(_)), "{status}");
        }
        for status in [400, 401, 402, 403, 404, 422] {
            assert!(matches!(next(status, "no", None, 1), Next::GiveUp(_)), "{status}");
        }
        assert!(matches!(next(429, "insufficient_quota", None, 1), Next::GiveUp(_)));
        assert!(matches!(next(400, "This model's maximum context length is 10", None, 1), Next::Shorten));
    }

    #[test]
    fn the_server_s_pause_is_honoured_and_else_it_doubles() {
        let pause = |next: Next| match next {
            Next::Again { pause, .. } => pause.as_millis(),
            Next::Shorten | Next::GiveUp(_) => panic!(),
        };
        assert_eq!(pause(next(429, "", Some(7), 1)), 7_000);
        assert_eq!(pause(next(500, "", None, 1)), 500);
        assert_eq!(pause(next(500, "", None, 4)), 4_000);
        assert!(matches!(next(429, "", Some(3_600), 1), Next::GiveUp(text) if text.contains("3600 s")));
    }
}
