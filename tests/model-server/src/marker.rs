//! The marker in a prompt that names a script. It must not know which scripts exist.

const OPENING: &str = "[[script ";

/// A script's name and what was asked of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Marker {
    pub(crate) name: String,
    pub(crate) parameters: Parameters,
}

/// The words after a script's name: as they stand, and as `key=value` pairs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Parameters {
    /// Everything after the name, untouched.
    pub(crate) rest: String,
    pairs: Vec<(String, String)>,
}

/// These keys take everything that follows them, blanks included.
const GREEDY: [&str; 3] = ["cmd", "json", "text"];

impl Marker {
    /// Finds the last marker of a text.
    pub(crate) fn last_in(text: &str) -> Option<Self> {
        let mut found = None;
        let mut remaining = text;
        while let Some(start) = remaining.find(OPENING) {
            let inside = &remaining[start + OPENING.len()..];
            let Some(end) = end_of_marker(inside) else { break };
            found = Self::read(&inside[..end]).or(found);
            remaining = &inside[end..];
        }
        found
    }

    fn read(inside: &str) -> Option<Self> {
        let inside = inside.trim();
        let (name, rest) = inside.split_once(char::is_whitespace).unwrap_or((inside, ""));
        if name.is_empty() {
            return None;
        }
        Some(Self { name: name.to_owned(), parameters: Parameters::read(rest.trim()) })
    }

    /// The marker as one text, to tell markers apart.
    pub(crate) fn text(&self) -> String {
        format!("{} {}", self.name, self.parameters.rest)
    }
}

impl Parameters {
    /// Reads `key=value` and `key="value with blanks"`; other words are left to `rest`.
    pub(crate) fn read(rest: &str) -> Self {
        let mut pairs = Vec::new();
        let mut remaining = rest;
        while let Some((key, after)) = next_key(remaining) {
            let (value, left) = if GREEDY.contains(&key) { (after, "") } else { value(after) };
            pairs.push((key.to_owned(), value.to_owned()));
            remaining = left;
        }
        Self { rest: rest.to_owned(), pairs }
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.pairs.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// The value of a key, or what stands for it.
    pub(crate) fn text<'a>(&'a self, key: &str, otherwise: &'a str) -> &'a str {
        self.get(key).unwrap_or(otherwise)
    }

    /// A number, at most `limit`; what is no number counts as absent.
    pub(crate) fn number(&self, key: &str, otherwise: u64, limit: u64) -> u64 {
        self.optional_number(key).unwrap_or(otherwise).min(limit)
    }

    /// A number that need not be there.
    pub(crate) fn optional_number(&self, key: &str) -> Option<u64> {
        self.get(key).and_then(|value| value.parse().ok())
    }

    /// Whether a key says yes.
    pub(crate) fn flag(&self, key: &str) -> bool {
        matches!(self.get(key), Some("yes" | "true" | "1"))
    }
}

/// A marker ends at the last `]]` of the first run of brackets, so that its text may end with a list.
fn end_of_marker(inside: &str) -> Option<usize> {
    let first = inside.find("]]")?;
    let run = inside[first..].bytes().take_while(|byte| *byte == b']').count();
    Some(first + run - 2)
}

/// Finds the next word of the form `key=` and what follows it.
fn next_key(text: &str) -> Option<(&str, &str)> {
    let mut remaining = text.trim_start();
    while !remaining.is_empty() {
        let word_end = remaining.find(char::is_whitespace).unwrap_or(remaining.len());
        if let Some((key, _)) = remaining[..word_end].split_once('=')
            && !key.is_empty()
            && key
                .chars()
                .all(|character| character.is_ascii_alphanumeric() || matches!(character, '_' | '-'))
        {
            return Some((key, &remaining[key.len() + 1..]));
        }
        remaining = remaining[word_end..].trim_start();
    }
    None
}

fn value(text: &str) -> (&str, &str) {
    if let Some(quoted) = text.strip_prefix('"')
        && let Some((value, left)) = quoted.split_once('"')
    {
        return (value, left);
    }
    text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::Marker;

    #[test]
    fn the_last_marker_counts_with_its_parameters() {
        let marker =
            Marker::last_in("a [[script one]] b [[script long-text n=30 note=\"two words\" ms=5]] c")
                .unwrap();
        assert_eq!(marker.name, "long-text");
        assert_eq!(marker.parameters.number("n", 0, 100), 30);
        assert_eq!(marker.parameters.number("n", 0, 10), 10);
        assert_eq!(marker.parameters.get("note"), Some("two words"));
        assert_eq!(marker.parameters.get("absent"), None);
    }

    #[test]
    fn a_greedy_key_takes_blanks_and_brackets() {
        let marker = Marker::last_in(r#"[[script mcp tool=note json={"a b": [1, 2]}]]"#).unwrap();
        assert_eq!(marker.parameters.get("json"), Some(r#"{"a b": [1, 2]}"#));
        let marker = Marker::last_in("[[script mcp json=[1]]] end").unwrap();
        assert_eq!(marker.parameters.get("json"), Some("[1]"));
    }

    #[test]
    fn what_is_no_marker_is_left_alone() {
        assert_eq!(Marker::last_in("[[script ]] [[script open"), None);
        assert_eq!(Marker::last_in("[[other tool]]"), None);
    }
}
