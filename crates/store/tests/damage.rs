//! Damaged, foreign, locked and unwritable folders are answered with what to do, and nothing is overwritten.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test may panic and print"
)]

use std::fs;
use std::path::Path;

use parlor_model::record::Origin;
use parlor_model::time::Time;
use parlor_store::{Created, Draft, IndexRow, Kind, Piece, Query, Safety, Store, StoreError};

fn fill(folder: &Path) {
    let store = Store::open(folder).unwrap();
    store.create(&Created { id: "s".into(), agent: "a".into(), cwd: "/".into(), at: Time(0) }).unwrap();
    let drafts = (0..200).map(|_| Draft { at: Time(0), origin: Origin::User, body: vec![b'x'; 1000].into() });
    store.append("s", drafts.collect(), Safety::Durable).wait().unwrap();
    index(&store);
}

fn index(store: &Store) {
    store.put_rows(vec![IndexRow { key: "s".into(), stamp: "1".into(), body: "{}".into() }]);
    store.put_text("s", "1", vec![Piece { entry: "e".into(), at: None, text: "needle in hay".into() }]);
    store.settle().unwrap();
}

fn found(store: &Store) -> usize {
    let query = Query { words: "needle".into(), kind: Kind::Words, session: None, limit: 10 };
    store.search(&query).unwrap().len()
}

#[test]
fn a_second_store_in_the_same_folder_is_refused_and_told_who_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let error = Store::open(folder.path()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains(&format!("process {}", std::process::id())) && text.contains("stop"), "{text}");
    drop(store);
    Store::open(folder.path()).unwrap();
}

#[test]
fn a_damaged_log_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let path = folder.path().join("log.db");
    let whole = fs::read(&path).unwrap();
    let mut scribbled = whole.clone();
    scribbled[..64].fill(b'?');
    let mut rootless = whole.clone();
    rootless[100..300].fill(0xaa);
    for (name, bytes) in [
        ("not a database", b"this was a shopping list, and it is longer than a header".repeat(20)),
        ("scribbled header", scribbled),
        ("scribbled schema", rootless),
        ("cut off", whole[..whole.len() / 2].to_vec()),
    ] {
        fs::write(&path, &bytes).unwrap();
        let error = Store::open(folder.path()).expect_err(name);
        assert!(matches!(error, StoreError::Damaged { .. }), "{name}: {error}");
        assert!(error.to_string().contains("log.db is damaged"), "{error}");
        assert!(fs::read(&path).unwrap() == bytes, "{name}: the file was changed");
    }
    fs::write(&path, &whole).unwrap();
    assert_eq!(Store::open(folder.path()).unwrap().end("s").unwrap(), 200);
}

#[test]
fn a_log_that_was_written_over_is_left_alone_although_its_write_ahead_log_is_whole() {
    let (folder, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = Store::open(folder.path()).unwrap();
    store.create(&Created { id: "s".into(), agent: "a".into(), cwd: "/".into(), at: Time(0) }).unwrap();
    // As a crash would leave it: the write-ahead log is not yet copied into the database.
    fs::copy(folder.path().join("log.db-wal"), copy.path().join("log.db-wal")).unwrap();
    let precious = b"somebody moved a letter here by mistake".repeat(1000);
    fs::write(copy.path().join("log.db"), &precious).unwrap();
    let error = Store::open(copy.path()).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert!(fs::read(copy.path().join("log.db")).unwrap() == precious);
}

#[test]
fn damage_in_the_middle_of_the_log_is_said_when_it_is_met() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let path = folder.path().join("log.db");
    let mut bytes = fs::read(&path).unwrap();
    let pages = bytes.len() / 16384;
    for page in 5..pages {
        bytes[page * 16384..page * 16384 + 200].fill(0xff);
    }
    fs::write(&path, &bytes).unwrap();
    let store = Store::open(folder.path()).unwrap();
    let error = store.read("s", 0, usize::MAX).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert!(!store.check().unwrap().is_empty());
}

#[test]
fn a_newer_log_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    for name in ["log.db", "archive.db"] {
        let connection = rusqlite::Connection::open(folder.path().join(name)).unwrap();
        connection.pragma_update(None, "user_version", 99).unwrap();
        drop(connection);
        let error = Store::open(folder.path()).unwrap_err();
        assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error}");
        assert!(error.to_string().contains(name) && error.to_string().contains("newer Parlor"), "{error}");
        let connection = rusqlite::Connection::open(folder.path().join(name)).unwrap();
        connection.pragma_update(None, "user_version", 1).unwrap();
    }
    Store::open(folder.path()).unwrap();
}

#[test]
fn a_damaged_newer_or_missing_index_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let path = folder.path().join("index.db");
    let whole = fs::read(&path).unwrap();
    let mut scribbled = whole.clone();
    scribbled[100..400].fill(0xaa);
    let newer = folder.path().join("newer.db");
    fs::write(&newer, &whole).unwrap();
    rusqlite::Connection::open(&newer).unwrap().pragma_update(None, "user_version", 99).unwrap();
    for (name, bytes) in [
        ("nonsense", Some(b"nonsense".repeat(1000))),
        ("empty", Some(Vec::new())),
        ("scribbled", Some(scribbled)),
        ("cut off", Some(whole[..whole.len() / 3].to_vec())),
        ("newer", Some(fs::read(&newer).unwrap())),
        ("missing", None),
    ] {
        match bytes {
            Some(bytes) => fs::write(&path, bytes).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        let store = Store::open(folder.path()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!((store.rows().unwrap().len(), store.text_stamps().unwrap().len()), (0, 0), "{name}");
        index(&store);
        assert_eq!((store.rows().unwrap().len(), found(&store)), (1, 1), "{name}");
        assert_eq!(store.end("s").unwrap(), 200, "{name}");
    }
}

#[test]
fn an_index_that_breaks_while_it_is_used_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let path = folder.path().join("index.db");
    // Broken below the schema, so that it is noticed only when it is read.
    let mut bytes = fs::read(&path).unwrap();
    let pages = bytes.len() / 16384;
    for page in 1..pages {
        bytes[page * 16384..(page + 1) * 16384].fill(0xee);
    }
    fs::write(&path, bytes).unwrap();
    let store = Store::open(folder.path()).unwrap();
    assert_eq!(store.rows().unwrap().len(), 0);
    index(&store);
    assert_eq!((store.rows().unwrap().len(), found(&store)), (1, 1));

    // Deleted under the feet of a running store.
    fs::remove_file(&path).unwrap();
    assert_eq!(found(&store), 0);
    index(&store);
    assert_eq!((store.rows().unwrap().len(), found(&store)), (1, 1));
    fs::remove_file(&path).unwrap();
    index(&store);
    assert_eq!((store.rows().unwrap().len(), found(&store)), (1, 1));
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "not a folder").unwrap();
    for path in [file.as_path(), Path::new("/proc/parlor-cannot-write-here")] {
        let error = Store::open(path).unwrap_err();
        assert!(matches!(error, StoreError::Unwritable { .. }), "{error}");
        assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
    }
}

#[test]
fn a_read_only_folder_is_named() {
    use std::os::unix::fs::PermissionsExt;
    if rustix::process::geteuid().is_root() {
        println!("skipped: permissions do not bind root");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    fs::set_permissions(folder.path().join("lock"), fs::Permissions::from_mode(0o400)).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o500)).unwrap();
    let error = Store::open(folder.path()).unwrap_err();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
    assert!(matches!(error, StoreError::Unwritable { .. }), "{error}");
    assert!(error.to_string().contains("permissions"), "{error}");
}
