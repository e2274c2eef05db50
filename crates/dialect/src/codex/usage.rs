//! Token counts. Codex counts the cached input into the input; here it is apart.

use parlor_model::Key;
use parlor_model::event::{Event, Meta};
use parlor_model::json::Json;
use parlor_model::usage::Usage;

/// Reads `{"input_tokens","cached_input_tokens",…}` in either spelling.
pub(crate) fn read(json: &Json) -> Usage {
    let count = |keys: [&str; 2]| {
        let value = keys.iter().find_map(|key| json.get(key)).and_then(|value| value.number());
        value.unwrap_or(0.0).max(0.0) as u64
    };
    let input = count(["input_tokens", "inputTokens"]);
    let cache_read = count(["cached_input_tokens", "cachedInputTokens"]);
    let cache_write = count(["cache_write_input_tokens", "cacheWriteInputTokens"]);
    Usage {
        input: input.saturating_sub(cache_read).saturating_sub(cache_write),
        output: count(["output_tokens", "outputTokens"]),
        cache_read,
        cache_write,
        reasoning: count(["reasoning_output_tokens", "reasoningOutputTokens"]),
    }
}

/// The events of a count for the whole thread that also tells the last call apart: what that call read and wrote is
/// what stands in the context.
pub(crate) fn totals(total: &Json, last: &Json, out: &mut Vec<Event>) {
    out.push(Event::Usage { message: Key::new_static("total"), usage: read(total) });
    out.push(Event::Meta { meta: Meta::Context { tokens: read(last).context() } });
}

/// Says the size of the context window when it is another than before.
pub(crate) fn window(tokens: Option<f64>, known: &mut Option<u64>, out: &mut Vec<Event>) {
    let Some(tokens) = tokens.filter(|tokens| *tokens > 0.0).map(|tokens| tokens as u64) else { return };
    if known.replace(tokens) != Some(tokens) {
        out.push(Event::Meta { meta: Meta::ContextWindow { tokens } });
    }
}
