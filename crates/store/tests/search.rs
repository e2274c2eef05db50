//! Search finds what is there, newest sessions first, and no query is an error but a bad regular expression.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use parlor_model::time::Time;
use parlor_store::{Hit, IndexRow, Kind, Piece, Query, Store, StoreError};

fn open() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    (folder, store)
}

fn piece(entry: &str, at: i64, text: &str) -> Piece {
    Piece { entry: entry.into(), at: Some(Time(at)), text: text.to_owned() }
}

fn find(store: &Store, kind: Kind, words: &str) -> Vec<Hit> {
    store.search(&Query { words: words.to_owned(), kind, session: None, limit: 50 }).unwrap()
}

fn places(hits: &[Hit]) -> Vec<String> {
    hits.iter().map(|hit| format!("{}/{}", hit.session, hit.entry)).collect()
}

#[test]
fn rows_are_put_replaced_dropped_and_survive() {
    let (folder, store) = open();
    let row =
        |key: &str, stamp: &str| IndexRow { key: key.into(), stamp: stamp.into(), body: "{\"n\":1}".into() };
    store.put_rows(vec![row("b", "1"), row("a", "1"), row("c", "1")]);
    store.put_rows(vec![row("b", "2")]);
    store.drop_rows(vec!["c".into(), "never there".into()]);
    store.settle().unwrap();
    assert_eq!(store.rows().unwrap(), [row("a", "1"), row("b", "2")]);
    drop(store);
    assert_eq!(Store::open(folder.path()).unwrap().rows().unwrap(), [row("a", "1"), row("b", "2")]);
}

#[test]
fn newest_sessions_come_first_and_the_last_entry_of_each() {
    let (_folder, store) = open();
    store.put_text("middle", "1", vec![piece("m1", 20, "Needle one"), piece("m2", 21, "the needle two")]);
    store.put_text("new", "1", vec![piece("n1", 30, "a needle")]);
    store.put_text("old", "1", vec![piece("o1", 10, "needles")]);
    store.settle().unwrap();
    let expected = ["new/n1", "middle/m2", "middle/m1", "old/o1"];
    for (kind, words) in [
        (Kind::Words, "needle"),
        (Kind::Substring, "needle"),
        (Kind::Regex, "(?i)need[l]e"),
        (Kind::Words, "NEED"),
    ] {
        assert_eq!(places(&find(&store, kind, words)), expected, "{kind:?} {words}");
    }
    assert_eq!(places(&find(&store, Kind::Words, "needle the")), ["middle/m2"]);
    assert_eq!(places(&find(&store, Kind::Substring, "Needle")), ["middle/m1"]);
    let query = |session: &str, kind| Query {
        words: "needle".into(),
        kind,
        session: Some(session.to_owned()),
        limit: 1,
    };
    for kind in [Kind::Words, Kind::Substring, Kind::Regex] {
        assert_eq!(places(&store.search(&query("middle", kind)).unwrap()), ["middle/m2"]);
        assert!(store.search(&query("nobody", kind)).unwrap().is_empty());
    }
}

#[test]
fn a_hit_shows_where_the_match_is() {
    let (_folder, store) = open();
    let long = format!("{}\nfn parse_line(text: &str)\n{}", "x ".repeat(500), "y ".repeat(500));
    store.put_text("s", "1", vec![piece("e", 1, &long)]);
    store.settle().unwrap();
    for (kind, words, expected) in [
        (Kind::Words, "line parse", vec!["parse", "line"]),
        (Kind::Words, "parse_li", vec!["parse", "li"]),
        (Kind::Substring, "E_LINE(", vec![]),
        (Kind::Substring, "e_line(", vec!["e_line("]),
        (Kind::Regex, r"^fn \w+", vec!["fn parse_line"]),
    ] {
        let hits = find(&store, kind, words);
        let found: Vec<_> =
            hits.iter().flat_map(|hit| hit.ranges.iter().map(|range| &hit.snippet[range.clone()])).collect();
        assert_eq!(found, expected, "{kind:?} {words}");
        assert!(hits.iter().all(|hit| hit.snippet.len() < 400 && hit.at == Some(Time(1))));
    }
}

#[test]
fn whatever_is_typed_is_an_answer() {
    let (_folder, store) = open();
    let text = "AND OR NOT NEAR(a b) \"quoted\" * ^ : - { } -> x->y résumé 日本語のテスト foo-bar don't a.b.c ½ ǅ e\u{301}";
    store.put_text("s", "1", vec![piece("e", 1, text)]);
    store.settle().unwrap();
    for words in [
        "AND",
        "OR NOT",
        "NEAR(a",
        "\"",
        "\"quoted",
        "*",
        "a*",
        "->",
        "x->y",
        "resume",
        "日本",
        "テスト",
        "foo-bar",
        "don't",
        "a.b.c",
        "½",
        "text:foo",
        "-foo",
        "^AND",
        "{a}",
        "(",
        ")",
        "a AND",
        "ǆ",
        "e\u{301}",
        "\u{301}",
    ] {
        let hits = find(&store, Kind::Words, words);
        // The first has no such column, and `-foo` is the word; a lone accent is found nowhere but in its own signs.
        if words != "text:foo" {
            assert_eq!(hits.len(), 1, "{words}");
        }
        assert!(find(&store, Kind::Substring, words).len() <= 1);
        let _ = store.search(&Query { words: words.into(), kind: Kind::Regex, session: None, limit: 5 });
    }
    for words in ["", " ", "\0", "\0\0", "\u{200d}", &"word ".repeat(10_000), &"(".repeat(10_000)] {
        find(&store, Kind::Words, words);
        find(&store, Kind::Substring, words);
    }
    let bad = Query { words: "(".into(), kind: Kind::Regex, session: None, limit: 5 };
    assert!(matches!(store.search(&bad), Err(StoreError::Pattern { .. })));
}

#[test]
fn text_is_replaced_and_dropped() {
    let (folder, store) = open();
    store.put_text("s", "1", vec![piece("a", 1, "apple")]);
    store.put_text("s", "2", vec![piece("b", 2, "banana"), piece("c", 3, "cherry")]);
    store.put_text("t", "1", vec![piece("d", 4, "banana split")]);
    store.settle().unwrap();
    assert_eq!(store.text_stamps().unwrap()["s"], "2");
    assert_eq!(places(&find(&store, Kind::Words, "banana")), ["t/d", "s/b"]);
    assert_eq!(places(&find(&store, Kind::Words, "cherry")), ["s/c"]);

    store.put_text("s", "3", vec![piece("e", 5, "elderberry")]);
    store.settle().unwrap();
    for kind in [Kind::Words, Kind::Substring] {
        assert_eq!(places(&find(&store, kind, "banana")), ["t/d"]);
        assert!(find(&store, kind, "cherry").is_empty());
        assert_eq!(places(&find(&store, kind, "elder")), ["s/e"]);
    }
    store.drop_text(vec!["t".into()]);
    store.put_text("empty", "9", Vec::new());
    store.settle().unwrap();
    assert!(find(&store, Kind::Words, "banana").is_empty());
    assert_eq!(store.text_stamps().unwrap().get("t"), None);
    assert_eq!(store.text_stamps().unwrap()["empty"], "9");
    drop(store);
    let store = Store::open(folder.path()).unwrap();
    assert_eq!(places(&find(&store, Kind::Words, "elder")), ["s/e"]);
}

#[test]
fn everything_is_found_across_many_blocks() {
    let (_folder, store) = open();
    let filler = "lorem ipsum dolor sit amet ".repeat(60);
    let long = |index| piece(&format!("e{index}"), index, &format!("{filler} unique{index}x common"));
    store.put_text("s", "1", (0..300).map(long).collect());
    let large: Vec<_> =
        (0..21_000).map(|index| piece(&format!("p{index}"), 1000, &format!("word{index}y common"))).collect();
    store.put_text("t", "1", large);
    store.put_text("u", "1", vec![piece("huge", 2000, &format!("{} needle-at-end", "hay ".repeat(500_000)))]);
    store.settle().unwrap();
    for index in [0, 1, 77, 150, 299] {
        for kind in [Kind::Words, Kind::Substring, Kind::Regex] {
            assert_eq!(places(&find(&store, kind, &format!("unique{index}x"))), [format!("s/e{index}")]);
            assert_eq!(places(&find(&store, kind, &format!("word{index}y"))), [format!("t/p{index}")]);
        }
    }
    for kind in [Kind::Words, Kind::Substring, Kind::Regex] {
        assert_eq!(places(&find(&store, kind, "needle")), ["u/huge"]);
        let common = places(&find(&store, kind, "common"));
        let expected: Vec<_> = (0..50).map(|index| format!("t/p{}", 20_999 - index)).collect();
        assert_eq!(common, expected, "{kind:?}");
    }
    assert_eq!(find(&store, Kind::Regex, r"common\z").len(), 50);
    assert!(find(&store, Kind::Regex, r"common\nword").is_empty(), "a match never spans two pieces");
}
