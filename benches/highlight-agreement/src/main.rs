//! How far Parlor's highlighter agrees with tree-sitter's on comments, strings, numbers and keywords, and how fast it
//! is. Usage: `cargo run --release -- <folder>…`, where the folders hold source files.

/// The highlighter's own files, so that nothing of it has to be public.
#[path = "../../../crates/render/src"]
#[allow(dead_code)]
mod render {
    pub(crate) mod ansi;
    pub(crate) mod highlight;
    pub(crate) mod html;
    pub(crate) mod paint;
    pub(crate) mod visible;
}

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

#[allow(unused_imports)]
use render::{ansi, highlight, html, paint, visible};
use tree_sitter_highlight::{HighlightConfiguration, HighlightEvent, Highlighter};

/// Captures that queries use, each with what it means here.
const CAPTURES: &[(&str, Class)] = &[
    ("comment", Class::Comment),
    ("string", Class::String),
    ("escape", Class::String),
    ("number", Class::Number),
    ("keyword", Class::Keyword),
    ("operator", Class::Operator),
    ("constant.builtin", Class::Constant),
    ("variable.builtin", Class::Constant),
    ("function.builtin", Class::Constant),
    ("function", Class::Plain),
    ("constant", Class::Plain),
    ("property", Class::Plain),
    ("type", Class::Plain),
    ("variable", Class::Plain),
    ("attribute", Class::Plain),
    ("embedded", Class::Plain),
    ("label", Class::Plain),
    ("module", Class::Plain),
    ("punctuation", Class::Plain),
    ("constructor", Class::Plain),
    ("tag", Class::Plain),
    ("delimiter", Class::Plain),
];

/// Words that are keywords by the language's definition, but that a query leaves out or files elsewhere. They count
/// for neither side.
const LEFT_OUT: &[(&str, &str)] = &[
    ("c", "goto register restrict NULL true false static_assert alignas _Static_assert thread_local nullptr _Noreturn"),
    ("cpp", "goto register restrict NULL true false static_assert alignas alignof thread_local nullptr operator asm decltype static_cast const_cast dynamic_cast reinterpret_cast typeid this export volatile"),
    ("bash", "local declare readonly typeset time"),
    ("java", "super this assert"),
    ("typescript", "undefined is asserts infer unique module global accessor"),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Plain,
    Comment,
    String,
    Number,
    Keyword,
    /// A keyword when it is made of letters.
    Operator,
    /// A number when it starts with a digit, a keyword when it is one of the literals every reader knows.
    Constant,
}

struct Grammar {
    name: &'static str,
    ends: &'static [&'static str],
    configuration: HighlightConfiguration,
}

#[derive(Default)]
struct Tally {
    bytes: usize,
    files: usize,
    seconds: f64,
    counted: usize,
    agreed: usize,
    misses: BTreeMap<String, usize>,
}

fn main() {
    let folders: Vec<PathBuf> = std::env::args().skip(1).map(PathBuf::from).collect();
    let mut files = Vec::new();
    folders.iter().for_each(|folder| walk(folder, &mut files));
    files.sort();
    for grammar in grammars() {
        let tally = compare(&grammar, &files);
        if tally.files == 0 {
            continue;
        }
        let percent = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
        println!(
            "{:<11} {:>4} files {:>6} KB  agreement {:.2} % of {} tokens, {:.0} MB/s to HTML",
            grammar.name,
            tally.files,
            tally.bytes / 1000,
            percent(tally.agreed, tally.counted),
            tally.counted,
            tally.bytes as f64 / tally.seconds / 1e6,
        );
        let mut misses: Vec<(&String, &usize)> = tally.misses.iter().collect();
        misses.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        if std::env::var_os("MISSES").is_some() {
            for (what, count) in misses.iter().take(if std::env::var_os("LINES").is_some() { usize::MAX } else { 14 }) {
                println!("    {count:>6} {what}");
            }
        }
    }
}

fn walk(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_file() {
        files.push(path.to_owned());
    }
    let Ok(entries) = std::fs::read_dir(path) else { return };
    entries.flatten().filter(|entry| !entry.path().is_symlink()).for_each(|entry| walk(&entry.path(), files));
}

fn compare(grammar: &Grammar, files: &[PathBuf]) -> Tally {
    let mut tally = Tally::default();
    let wanted = |path: &&PathBuf| grammar.ends.iter().any(|end| path.to_string_lossy().ends_with(end));
    let mine: Vec<&PathBuf> = files.iter().filter(wanted).collect();
    // Every n-th file, so that no one project decides.
    let step = mine.len().div_ceil(150).max(1);
    let mut highlighter = Highlighter::new();
    for path in mine.iter().step_by(step) {
        let Ok(code) = std::fs::read_to_string(path) else { continue };
        // Our HTML has no carriage returns, so places in it would be off.
        if code.len() > 200_000 || code.len() < 500 || code.contains('\r') {
            continue;
        }
        let Some(theirs) = theirs(grammar, &mut highlighter, &code) else { continue };
        let mut html = html::Html::with_capacity(code.len() * 4);
        highlight::to_html(grammar.name, &code, &mut html);
        // The best of some runs: other programs on the machine are not what is measured.
        let best = (0..20).map(|_| {
            let mut html = html::Html::with_capacity(code.len() * 4);
            let start = Instant::now();
            highlight::to_html(grammar.name, &code, &mut html);
            start.elapsed().as_secs_f64()
        });
        tally.seconds += best.fold(f64::MAX, f64::min);
        tally.bytes += code.len();
        tally.files += 1;
        if std::env::var_os("LINES").is_some() {
            println!("{} {}", tally.files, path.display());
        }
        count(grammar.name, &code, &theirs, &ours(html.as_str(), code.len()), &mut tally);
    }
    tally
}

/// Compares atom by atom: a word or a sign that either side puts into one of the four classes.
fn count(name: &str, code: &str, theirs: &[Class], ours: &[Class], tally: &mut Tally) {
    let neutral = LEFT_OUT.iter().find(|(language, _)| *language == name).map_or("", |(_, words)| words);
    let mut at = 0;
    let bytes = code.as_bytes();
    while at < bytes.len() {
        let start = at;
        let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80;
        while at < bytes.len() && word(bytes[at]) {
            at += 1;
        }
        at = at.max(start + 1);
        if bytes[start].is_ascii_whitespace() {
            continue;
        }
        let atom = &code[start..at];
        let mut their = match theirs[start] {
            Class::Operator if atom.bytes().all(|byte| byte.is_ascii_alphabetic()) => Class::Keyword,
            Class::Constant if atom.starts_with(|c: char| c.is_ascii_digit() || c == '.') => Class::Number,
            Class::Constant if ["true", "false", "null", "nil", "None", "True", "False", "undefined", "this", "self", "super", "iota"].contains(&atom) => {
                Class::Keyword
            }
            Class::Operator | Class::Constant => Class::Plain,
            class => class,
        };
        // A character literal is a number to some queries; a float's parts are one token to all.
        if their == Class::Number && ours[start] == Class::String {
            their = Class::String;
        }
        if their == Class::Number && atom == "-" {
            // A sign is part of the number to some grammars.
            continue;
        }
        if (their, ours[start]) == (Class::Plain, Class::Plain) || neutral.split(' ').any(|word| word == atom) {
            continue;
        }
        tally.counted += 1;
        if their == ours[start] {
            tally.agreed += 1;
        } else {
            let line = code[start..].lines().next().unwrap_or_default();
            let shown: String = line.chars().take(30).collect();
            let key = match std::env::var_os("LINES") {
                Some(_) => format!("{}:{} {shown}", tally.files, 1 + code[..start].matches('\n').count()),
                None => atom.to_owned(),
            };
            *tally.misses.entry(format!("{key:?} theirs {their:?}, ours {:?}", ours[start])).or_default() += 1;
        }
    }
}

fn theirs(grammar: &Grammar, highlighter: &mut Highlighter, code: &str) -> Option<Vec<Class>> {
    let mut classes = vec![Class::Plain; code.len()];
    let mut stack = Vec::new();
    let events = highlighter.highlight(&grammar.configuration, code.as_bytes(), None, |_| None).ok()?;
    for event in events {
        match event.ok()? {
            HighlightEvent::HighlightStart(highlight) => stack.push(CAPTURES[highlight.0].1),
            HighlightEvent::HighlightEnd => {
                stack.pop();
            }
            HighlightEvent::Source { start, end } => {
                let class = stack.last().copied().unwrap_or(Class::Plain);
                classes[start..end].fill(class);
            }
        }
    }
    Some(classes)
}

/// Reads the classes back from our HTML.
fn ours(html: &str, length: usize) -> Vec<Class> {
    let mut classes = Vec::with_capacity(length);
    let mut class = Class::Plain;
    let mut rest = html;
    while let Some(c) = rest.chars().next() {
        let (taken, width) = match c {
            '<' => {
                let end = rest.find('>').map_or(rest.len(), |end| end + 1);
                class = match &rest[..end] {
                    "<span class=\"t-c\">" => Class::Comment,
                    "<span class=\"t-s\">" => Class::String,
                    "<span class=\"t-n\">" => Class::Number,
                    "<span class=\"t-k\">" => Class::Keyword,
                    // A key in quotes is a string that we show as a key.
                    "<span class=\"t-a\">" if rest[end..].starts_with("&quot;") => Class::String,
                    _ => Class::Plain,
                };
                (end, 0)
            }
            '&' => (rest.find(';').map_or(rest.len(), |end| end + 1), 1),
            c => (c.len_utf8(), c.len_utf8()),
        };
        classes.extend(std::iter::repeat_n(class, width));
        rest = &rest[taken..];
    }
    classes.resize(length, Class::Plain);
    classes
}

fn grammars() -> Vec<Grammar> {
    let names: Vec<&str> = CAPTURES.iter().map(|(name, _)| *name).collect();
    let grammar = |name: &'static str, ends, language: tree_sitter::Language, query: &str| {
        let mut configuration = HighlightConfiguration::new(language, name, query, "", "").expect("a query that fits");
        configuration.configure(&names);
        Grammar { name, ends, configuration }
    };
    let typescript = format!("{}\n{}", tree_sitter_javascript::HIGHLIGHT_QUERY, tree_sitter_typescript::HIGHLIGHTS_QUERY);
    let cpp = format!("{}\n{}", tree_sitter_c::HIGHLIGHT_QUERY, tree_sitter_cpp::HIGHLIGHT_QUERY);
    vec![
        grammar("rust", &[".rs"], tree_sitter_rust::LANGUAGE.into(), tree_sitter_rust::HIGHLIGHTS_QUERY),
        grammar("python", &[".py"], tree_sitter_python::LANGUAGE.into(), tree_sitter_python::HIGHLIGHTS_QUERY),
        grammar("javascript", &[".js", ".mjs"], tree_sitter_javascript::LANGUAGE.into(), tree_sitter_javascript::HIGHLIGHT_QUERY),
        grammar("typescript", &[".ts"], tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(), &typescript),
        grammar("go", &[".go"], tree_sitter_go::LANGUAGE.into(), tree_sitter_go::HIGHLIGHTS_QUERY),
        grammar("java", &[".java"], tree_sitter_java::LANGUAGE.into(), tree_sitter_java::HIGHLIGHTS_QUERY),
        grammar("c", &[".c", ".h"], tree_sitter_c::LANGUAGE.into(), tree_sitter_c::HIGHLIGHT_QUERY),
        grammar("cpp", &[".cpp", ".hpp", ".cc"], tree_sitter_cpp::LANGUAGE.into(), &cpp),
        grammar("bash", &[".sh"], tree_sitter_bash::LANGUAGE.into(), tree_sitter_bash::HIGHLIGHT_QUERY),
        grammar("json", &[".json"], tree_sitter_json::LANGUAGE.into(), tree_sitter_json::HIGHLIGHTS_QUERY),
    ]
}
