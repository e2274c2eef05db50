//! Command lines as Codex prints them: words joined with shell quoting. It only takes them apart.

use parlor_model::json::Json;

use super::object;

/// The input of a command whose line is `command`. A line such as `/bin/bash -lc 'ls'` is given as its three words, so
/// that the script in it is what a reader sees, as in the formats that carry words.
pub(crate) fn input(command: &Json) -> Json {
    let words = command.text().and_then(|line| script(&line.as_str()));
    match words {
        Some(words) => {
            let words = serde_json::Value::from(words.to_vec());
            object(&[("command", &words.into())])
        }
        None => object(&[("command", command)]),
    }
}

/// The shell, its flag and the script, when the line is exactly that.
fn script(line: &str) -> Option<[String; 3]> {
    let words = split(line)?;
    let is_script = |words: &[String; 3]| {
        words[0].ends_with("sh") && words[1].starts_with('-') && words[1].ends_with('c')
    };
    <[String; 3]>::try_from(words).ok().filter(is_script)
}

/// The words of a line with shell quoting; `None` when a quote is left open.
fn split(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        '\'' => break,
                        letter => word.push(letter),
                    }
                }
            }
            '"' => quoted(&mut letters, word.get_or_insert_default())?,
            '\\' => word.get_or_insert_default().push(letters.next()?),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    Some(words)
}

/// Reads up to the closing double quote. Inside, a backslash escapes only what is special there.
fn quoted(letters: &mut std::str::Chars<'_>, word: &mut String) -> Option<()> {
    loop {
        match letters.next()? {
            '"' => return Some(()),
            '\\' => match letters.next()? {
                letter @ ('"' | '\\' | '$' | '`') => word.push(letter),
                '\n' => {}
                letter => word.extend(['\\', letter]),
            },
            letter => word.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codex::string;
    use parlor_model::action::Action;

    #[test]
    fn the_script_of_a_shell_line_is_what_runs() {
        for (line, script) in [
            ("/bin/bash -lc 'echo hi'", "echo hi"),
            ("/bin/zsh -lc ls", "ls"),
            (r#"/bin/bash -lc "cat '/a b.txt'""#, "cat '/a b.txt'"),
            (r#"bash -lc "echo \"\$HOME\" \\d \n""#, r#"echo "$HOME" \d \n"#),
            (r#"bash -c 'it'"'"'s'"#, "it's"),
            ("ls -la", "ls -la"),
            ("bash -lc 'left open", "bash -lc 'left open"),
            ("bash -lc a b", "bash -lc a b"),
            ("", ""),
        ] {
            let Action::Run { command, .. } = Action::of("shell", &input(&string(line))) else {
                panic!("{line}")
            };
            assert_eq!(command, script, "{line}");
        }
    }
}
