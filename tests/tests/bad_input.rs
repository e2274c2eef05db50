//! Every bad input has an answer in every format: nothing panics, every line has a fate, the rest is still shown.
#![allow(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

use parlor_dialect::{Agent, Format};
use parlor_model::block::Block;
use parlor_model::event::Fate;
use parlor_model::time::Time;
use parlor_tests::sessions::{file, join, lines, output, reply};
use parlor_tests::{Step, Whole};

/// Twenty megabytes: more than any picture that an agent has put into one line.
const LONG: usize = 20 << 20;

/// True when the words stand in some entry.
fn shows(whole: &Whole, words: &str) -> bool {
    whole.entries().iter().any(|entry| serde_json::to_string(entry).unwrap().contains(words))
}

/// What must hold for any input: one step per line, each line that nobody understood is an entry, ids are unique.
fn accounted(whole: &Whole, lines: usize, context: &str) {
    assert_eq!(whole.steps.len(), lines, "{context}");
    for (seq, step) in whole.steps.iter().enumerate() {
        let kept = whole.transcript.entry(&format!("unknown/{seq}"));
        match &step.reading.fate {
            Fate::Unknown(_) | Fate::Damaged(_) => {
                let Some(Block::Unknown(unknown)) = kept.map(|entry| &entry.block) else {
                    panic!("{context}: line {seq} is lost")
                };
                assert_eq!(unknown.raw.bytes(), &step.bytes, "{context}");
            }
            Fate::Shown | Fate::Nested | Fate::Hidden(_) | Fate::Blank => {
                assert!(kept.is_none(), "{context}")
            }
        }
    }
    let mut ids: Vec<_> = whole.entries().iter().map(|entry| entry.id.clone()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), whole.entries().len(), "{context}: two entries have one id");
}

/// Reads a format's session with one line more, everywhere but inside of the others, and gives that line's step.
fn among(format: Format, line: &[u8], mut check: impl FnMut(&Step, &Whole)) {
    let sound = lines(format);
    for at in 0..=sound.len() {
        let mut mixed: Vec<Vec<u8>> = sound.iter().map(|line| line.clone().into_bytes()).collect();
        mixed.insert(at, line.to_vec());
        let whole = Whole::read(Some(format), &join(&mixed));
        let context = format!("{} with {:?} at {at}", format.name(), String::from_utf8_lossy(line));
        accounted(&whole, sound.len() + 1, &context);
        assert!(shows(&whole, &reply(format)) && shows(&whole, &output(format)), "{context}");
        check(&whole.steps[at], &whole);
    }
}

#[test]
fn sound_sessions_are_shown_and_recognised() {
    for format in Format::ALL {
        let whole = Whole::read(Some(format), &file(format));
        accounted(&whole, lines(format).len(), format.name());
        assert!(shows(&whole, &reply(format)) && shows(&whole, &output(format)), "{}", format.name());
        for step in &whole.steps {
            assert!(matches!(step.reading.fate, Fate::Shown | Fate::Hidden(_)), "{} {step:?}", format.name());
            assert!(
                step.reading.fate != Fate::Shown || !step.touched.is_empty(),
                "{} {step:?}",
                format.name()
            );
        }
        let sound: Vec<_> =
            lines(format).iter().map(|line| parlor_model::line::Line::new(line.clone().into())).collect();
        assert_eq!(Format::detect(&sound), Some(format));
        // Without a format each line is read by whoever claims it.
        let unnamed = Whole::read(None, &file(format));
        assert!(shows(&unnamed, &reply(format)), "{}", format.name());
    }
}

#[test]
fn a_line_cut_anywhere_says_nothing_and_harms_nothing() {
    for format in Format::ALL {
        let sound = lines(format);
        let whole = Whole::read(Some(format), &file(format));
        for (index, line) in sound.iter().enumerate() {
            let before = join(&sound[..index]);
            for cut in 1..line.len() {
                // Every offset, so also inside of a character.
                let bytes = [&before[..], &line.as_bytes()[..cut]].concat();
                let cut_short = Whole::read(Some(format), &bytes);
                let context = format!("{} line {index} cut at {cut}", format.name());
                accounted(&cut_short, index + 1, &context);
                assert_eq!(cut_short.steps[..index], whole.steps[..index], "{context}");
                assert!(cut_short.steps[index].events.is_empty(), "{context}");
                assert_ne!(cut_short.steps[index].reading.fate, Fate::Shown, "{context}");
            }
        }
    }
}

#[test]
fn a_cut_line_in_the_middle_leaves_the_rest() {
    for format in Format::ALL {
        for line in lines(format) {
            let cut = &line.as_bytes()[..line.len() * 2 / 3];
            among(format, cut, |step, _| assert_ne!(step.reading.fate, Fate::Shown));
        }
    }
}

#[test]
fn bytes_that_are_not_utf8_read_as_replacement_characters() {
    for format in Format::ALL {
        let name = reply(format);
        let mut bytes = file(format);
        // The first letter of the words, wherever they stand.
        while let Some(at) = bytes.windows(name.len()).position(|window| window == name.as_bytes()) {
            bytes[at] = 0xff;
        }
        let whole = Whole::read(Some(format), &bytes);
        accounted(&whole, lines(format).len(), format.name());
        assert!(shows(&whole, &format!("\u{fffd}{}", &name[1..])), "{}", format.name());
        assert!(shows(&whole, &output(format)), "{}", format.name());
    }
}

#[test]
fn strange_lines_are_kept_and_the_rest_is_shown() {
    for format in Format::ALL {
        for blank in ["", "   ", "\t\r", "\0\0\0\0", "\u{feff}"] {
            among(format, blank.as_bytes(), |step, _| assert_eq!(step.reading.fate, Fate::Blank));
        }
        for strange in [
            "npm WARN deprecated",
            "null",
            "true",
            "7",
            "\"words\"",
            "[]",
            "[1,[2]]",
            "{}",
            "{\"\":0}",
            "\0{}",
            "}{",
            "{\"a\":1}}",
            "nul",
            "{\"a\" 1}",
            "\u{1}\u{2}",
            "{\"zorp\":true}",
            "[{\"type\":\"user\"}]",
        ] {
            among(format, strange.as_bytes(), |step, _| {
                assert!(
                    matches!(step.reading.fate, Fate::Unknown(_) | Fate::Damaged(_)),
                    "{} {strange:?} {step:?}",
                    format.name()
                );
            });
        }
    }
}

#[test]
fn unknown_types_are_unknown_by_their_name() {
    for format in Format::ALL {
        among(format, br#"{"type":"zorp","id":"z1","timestamp":"2026-01-02T03:04:05Z"}"#, |step, _| {
            assert!(matches!(step.reading.fate, Fate::Unknown(_)), "{} {step:?}", format.name());
        });
        // A type in place of another one loses that line's words, and no other's.
        let sound = lines(format);
        for index in 0..sound.len() {
            let mut changed = sound.clone();
            changed[index] = changed[index].replacen("\"type\":\"", "\"type\":\"zorp_", 1);
            let whole = Whole::read(Some(format), &join(&changed));
            accounted(&whole, sound.len(), format.name());
        }
    }
}

#[test]
fn byte_order_marks_and_line_ends_change_nothing() {
    for format in Format::ALL {
        let plain = Whole::read(Some(format), &file(format));
        let marked = [b"\xef\xbb\xbf".to_vec(), file(format)].concat();
        let text = String::from_utf8(file(format)).unwrap();
        for other in
            [marked, text.replace('\n', "\r\n").into_bytes(), text.trim_end().to_owned().into_bytes()]
        {
            let whole = Whole::read(Some(format), &other);
            assert_eq!(whole.steps, plain.steps, "{}", format.name());
            assert_eq!(whole.entries(), plain.entries(), "{}", format.name());
        }
    }
}

#[test]
fn an_empty_file_is_an_empty_session() {
    for format in Format::ALL {
        for bytes in [&b""[..], b"\n", b"\r\n\n \n"] {
            let whole = Whole::read(Some(format), bytes);
            assert!(whole.entries().is_empty());
            assert!(whole.steps.iter().all(|step| step.reading.fate == Fate::Blank));
        }
    }
}

/// Reads a session whose reply is `size` bytes long.
fn long_reply(format: Format, size: usize) {
    let thousand = "lorem ipsum dolor sit amet ".repeat(37).replacen("dolor", "\\n\\\"", 1);
    let long = format!("{}{}", thousand.repeat(size / 1000), reply(format));
    let bytes = String::from_utf8(file(format)).unwrap().replace(&reply(format), &long).into_bytes();
    let whole = Whole::read(Some(format), &bytes);
    assert_eq!(whole.steps.len(), lines(format).len());
    assert!(whole.steps.iter().all(|step| matches!(step.reading.fate, Fate::Shown | Fate::Hidden(_))));
    let end = format!("{} é😀", reply(format));
    let found = whole.entries().iter().any(|entry| match &entry.block {
        Block::Reply(answer) => answer.text.raw_len() > size / 2 && answer.text.as_str().ends_with(&end),
        _ => false,
    });
    assert!(found, "{}", format.name());
}

#[test]
fn a_line_of_twenty_megabytes_is_read() {
    for format in Format::ALL {
        long_reply(format, LONG);
    }
}

#[test]
#[ignore = "needs some gigabytes of memory and a minute"]
fn a_line_of_two_hundred_megabytes_is_read() {
    for format in Format::ALL {
        long_reply(format, 10 * LONG);
    }
}

#[test]
fn deep_nesting_neither_overflows_nor_hides_the_rest() {
    let deep = 10_000;
    let nests = [
        format!("{}{}", "[".repeat(deep), "]".repeat(deep)),
        "[".repeat(deep),
        format!("{}0{}", "{\"content\":".repeat(deep), "}".repeat(deep)),
        format!(
            "{}{}",
            "[{\"type\":\"tool_result\",\"tool_use_id\":\"x\",\"content\":".repeat(deep),
            "}]".repeat(deep)
        ),
        format!("{}{}", "{\"type\":\"assistant\",\"message\":".repeat(deep), "}".repeat(deep)),
        format!("{}{}", "{\"messages\":[".repeat(deep), "]}".repeat(deep)),
    ];
    for format in Format::ALL {
        let sound = lines(format);
        for nest in &nests {
            let mut hostile = vec![nest.clone(), format!("{{\"type\":\"user\",\"x\":{nest}}}")];
            for line in &sound {
                for key in KEYS {
                    let quoted = format!("\"{key}\":");
                    if let Some((head, tail)) = line.split_once(&quoted) {
                        hostile.push(format!("{head}{quoted}{nest},{quoted}{tail}"));
                    }
                }
            }
            let count = hostile.len() + sound.len();
            hostile.extend(sound.iter().cloned());
            let whole = Whole::read(Some(format), &join(&hostile));
            assert_eq!(whole.steps.len(), count);
            assert!(shows(&whole, &reply(format)), "{}", format.name());
        }
    }
}

/// The keys that hold something in some format.
const KEYS: [&str; 20] = [
    "content",
    "message",
    "messages",
    "input",
    "data",
    "payload",
    "item",
    "params",
    "arguments",
    "output",
    "text",
    "result",
    "delta",
    "event",
    "update",
    "choices",
    "metadata",
    "usage",
    "tool_calls",
    "args",
];

#[test]
fn repeated_records_make_no_second_entry_with_the_same_id() {
    for format in Format::ALL {
        let sound = lines(format);
        let doubled: Vec<_> = sound.iter().flat_map(|line| [line.clone(), line.clone()]).collect();
        let whole = Whole::read(Some(format), &join(&doubled));
        accounted(&whole, doubled.len(), format.name());
        let twice = Whole::read(Some(format), &[file(format), file(format)].concat());
        accounted(&twice, doubled.len(), format.name());
        assert!(shows(&twice, &reply(format)) && shows(&twice, &output(format)), "{}", format.name());
    }
}

#[test]
fn results_before_their_calls_are_shown() {
    for format in Format::ALL {
        let mut backwards = lines(format);
        backwards.reverse();
        let whole = Whole::read(Some(format), &join(&backwards));
        accounted(&whole, backwards.len(), format.name());
        // A bare model runs no tools: it has only the pieces of a call's input, which mean nothing backwards.
        let runs_tools = format.agent() != Agent::Model;
        assert!(!runs_tools || shows(&whole, &output(format)), "{}", format.name());
        // And without their calls.
        for skipped in 0..backwards.len() {
            let mut rest = lines(format);
            let without = rest.remove(skipped);
            let whole = Whole::read(Some(format), &join(&rest));
            accounted(&whole, rest.len(), format.name());
            let needed = rest.iter().any(|line| line.contains(&output(format)));
            assert!(!needed || shows(&whole, &output(format)), "{} without {without}", format.name());
        }
    }
}

/// The line with every number outside of strings written as a string.
fn quoted_numbers(line: &str) -> String {
    let (mut quoted, mut inside, mut escaped, mut number) = (String::new(), false, false, false);
    for c in line.chars() {
        let digit = !inside && (c.is_ascii_digit() || c == '-' || (number && matches!(c, '.' | 'e' | '+')));
        if digit != number {
            quoted.push('"');
        }
        number = digit;
        if c == '"' && !escaped {
            inside = !inside;
        }
        escaped = c == '\\' && !escaped;
        quoted.push(c);
    }
    quoted
}

#[test]
fn numbers_may_be_strings() {
    assert_eq!(
        quoted_numbers(r#"{"a":-1.5e3,"b":"2","c":[3,4]}"#),
        r#"{"a":"-1.5e3","b":"2","c":["3","4"]}"#
    );
    for format in Format::ALL {
        let changed: Vec<_> = lines(format).iter().map(|line| quoted_numbers(line)).collect();
        let whole = Whole::read(Some(format), &join(&changed));
        accounted(&whole, changed.len(), format.name());
        assert!(shows(&whole, &reply(format)) && shows(&whole, &output(format)), "{}", format.name());
    }
}

#[test]
fn wrong_types_in_any_field_panic_nobody() {
    for format in Format::ALL {
        let sound = lines(format);
        for (index, line) in sound.iter().enumerate() {
            for (at, _) in line.match_indices("\":") {
                for wrong in ["null", "7", "true", "\"\"", "[]", "{}", "[null]", "[[\"x\"]]", "-1e999", "\"é"]
                {
                    let mut changed = sound.clone();
                    // The value comes first and wrong; the sound one follows under a key nobody knows.
                    changed[index] = format!("{}{wrong},\"zorp\":{}", &line[..at + 2], &line[at + 2..]);
                    let whole = Whole::read(Some(format), &join(&changed));
                    accounted(&whole, sound.len(), &changed[index]);
                }
            }
        }
    }
}

#[test]
fn every_form_of_timestamp_is_the_same_instant() {
    let forms = [
        "\"2026-01-02T03:04:05.006Z\"",
        "\"2026-01-02T03:04:05.006000+00:00\"",
        "\"2026-01-02T05:04:05.006+02:00\"",
        "\"2026-01-02 03:04:05.006Z\"",
        "1767323045.006",
        "1767323045006",
        "1767323045006000",
        "\"1767323045.006\"",
        "\"1767323045006\"",
    ];
    for format in Format::ALL {
        for line in lines(format) {
            let sound = Whole::read(Some(format), &join(&[&line]));
            if sound.steps[0].reading.at.is_none() || !line.contains("\"timestamp\":") {
                continue;
            }
            for form in forms {
                let changed = stamped(&line, form);
                let whole = Whole::read(Some(format), &join(&[&changed]));
                assert_eq!(whole.steps[0].reading.at, Some(Time(1_767_323_045_006_000)), "{changed}");
                assert_eq!(whole.steps[0].reading.fate, sound.steps[0].reading.fate, "{changed}");
            }
            for bad in ["null", "{}", "\"soon\"", "-1", "1e300", "[1]"] {
                let changed = stamped(&line, bad);
                let whole = Whole::read(Some(format), &join(&[&changed]));
                assert_eq!(whole.steps[0].reading.fate, sound.steps[0].reading.fate, "{changed}");
            }
        }
    }
}

/// The line with another value for each of its timestamps.
fn stamped(line: &str, value: &str) -> String {
    let mut parts = line.split("\"timestamp\":");
    let mut changed = parts.next().unwrap().to_owned();
    for part in parts {
        let rest = &part[part.find([',', '}']).unwrap()..];
        changed.push_str(&format!("\"timestamp\":{value}{rest}"));
    }
    changed
}

#[test]
fn two_agents_in_one_file_are_both_shown() {
    let mut lost = Vec::new();
    for first in Format::ALL {
        for second in Format::ALL {
            let (one, two) = (lines(first), lines(second));
            let mut mixed = Vec::new();
            for index in 0..one.len().max(two.len()) {
                mixed.extend(one.get(index).cloned());
                mixed.extend(two.get(index).cloned());
            }
            for format in [Some(first), Some(second), None] {
                let whole = Whole::read(format, &join(&mixed));
                let context = format!("{} and {} as {format:?}", first.name(), second.name());
                accounted(&whole, mixed.len(), &context);
                if !shows(&whole, &reply(first)) || !shows(&whole, &reply(second)) {
                    lost.push(context);
                }
            }
        }
    }
    assert!(lost.is_empty(), "{}", lost.join("\n"));
}
