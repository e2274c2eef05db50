//! What is read of whole, cut and broken lines.

use super::*;

fn json(text: &str) -> Json {
    Json::new(Bytes::copy_from_slice(text.as_bytes()))
}

#[test]
fn fields_are_found_by_key_and_the_last_duplicate_wins() {
    let value = json(r#"{"a":1,"b":{"a":"x\n"},"a":2, "c":[1,"two",null]}"#);
    assert_eq!(value.get("a").unwrap().number(), Some(2.0));
    assert_eq!(value.get("b").unwrap().field_text("a").unwrap(), "x\n");
    assert_eq!(value.get("c").unwrap().items().len(), 3);
    assert!(value.get("d").is_none());
}

#[test]
fn a_cut_line_keeps_what_was_read_and_is_damaged() {
    let line = br#"{"type":"user","message":{"content":"half a wor"#;
    let mut reader = Reader::new(line);
    let mut seen = Vec::new();
    reader.object(|reader, key| {
        seen.push(String::from_utf8_lossy(key).into_owned());
        reader.skip();
    });
    assert_eq!(seen, ["type", "message"]);
    assert!(reader.finish().is_some());
}

#[test]
fn nesting_of_any_depth_is_skipped_without_recursion() {
    let deep = format!("{{\"x\":{}{},\"y\":7}}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(json(&deep).get("y").unwrap().number(), Some(7.0));
}

#[test]
fn trailing_bytes_and_garbage_are_damage() {
    for bad in ["{} x", "", "nonsense", "{\"a\" 1}", "{\"a\":1,}", "[1 2]", "\u{feff}"] {
        let mut reader = Reader::new(bad.as_bytes());
        if reader.kind() == Kind::Array {
            reader.array(|reader| reader.skip());
        } else {
            reader.object(|reader, _| reader.skip());
        }
        assert!(reader.finish().is_some(), "{bad:?}");
    }
}

#[test]
fn numbers_may_be_strings() {
    assert_eq!(json("\"12\"").number(), Some(12.0));
    assert_eq!(json("12.5").number(), Some(12.5));
    assert_eq!(json("true").number(), None);
}
