//! The log keeps what it was given, in the order it was given, whatever it is.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::HashSet;
use std::sync::mpsc;

use bytes::Bytes;
use parlor_model::record::Origin;
use parlor_model::time::Time;
use parlor_store::{Created, Draft, Log, Safety, Store, StoreError};

fn created(id: &str) -> Created {
    Created { id: id.into(), agent: "demo".into(), cwd: "/home/x".into(), at: Time(1_761_073_142_228_000) }
}

fn draft(body: impl Into<Bytes>) -> Draft {
    Draft { at: Time(1), origin: Origin::Agent, body: body.into() }
}

fn store_with(id: &str) -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    store.create(&created(id)).unwrap();
    (folder, store)
}

#[test]
fn records_come_back_as_they_were_also_after_reopening() {
    let (folder, store) = store_with("s");
    let origins = [Origin::Agent, Origin::Stderr, Origin::User, Origin::Host];
    let bodies: [&'static [u8]; 4] = [b"", b"\0\xff\xfe\n\r", "✓ {\"a\":1}".as_bytes(), b" "];
    let drafts: Vec<Draft> = origins
        .into_iter()
        .zip(bodies)
        .map(|(origin, body)| Draft { at: Time(5), origin, body: Bytes::from_static(body) })
        .collect();
    assert_eq!(store.append("s", drafts, Safety::Durable).wait().unwrap(), 0);
    assert_eq!(store.append("s", vec![draft("five")], Safety::Soon).wait().unwrap(), 4);
    drop(store);

    let store = Store::open(folder.path()).unwrap();
    assert_eq!(store.end("s").unwrap(), 5);
    let records = store.read("s", 0, 100).unwrap();
    assert_eq!(records.iter().map(|record| record.seq).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    for (record, (origin, body)) in records.iter().zip(origins.into_iter().zip(bodies)) {
        assert_eq!((record.origin, &record.body[..], record.at), (origin, body, Some(Time(5))));
    }
    assert_eq!(store.append("s", vec![draft("six")], Safety::Soon).wait().unwrap(), 5);
    assert!(store.check().unwrap().is_empty());
}

#[test]
fn reads_page_through_and_end_only_at_the_end() {
    let (_folder, store) = store_with("s");
    store.create(&created("neighbour")).unwrap();
    for index in 0..100 {
        let _ = store.append("s", vec![draft(index.to_string())], Safety::Soon);
        let _ = store.append("neighbour", vec![draft("other")], Safety::Soon);
    }
    store.append("s", vec![draft("100")], Safety::Soon).wait().unwrap();
    let mut bodies = Vec::new();
    loop {
        let page = store.read("s", bodies.len() as u64, 7).unwrap();
        assert!(page.len() <= 7);
        if page.is_empty() {
            break;
        }
        bodies.extend(page.into_iter().map(|record| String::from_utf8(record.body.to_vec()).unwrap()));
    }
    assert_eq!(bodies, (0..=100).map(|index| index.to_string()).collect::<Vec<_>>());
    for from in [101, 1 << 39, 1 << 40, u64::MAX] {
        assert!(store.read("s", from, 7).unwrap().is_empty(), "{from}");
    }
    assert!(store.read("s", 0, 0).unwrap().is_empty());
}

#[test]
fn a_huge_record_is_kept_and_read_alone() {
    let (_folder, store) = store_with("s");
    let huge: Bytes = (0..50_000_000_u32).map(|index| (index % 251) as u8).collect();
    let drafts = vec![draft("before"), draft(huge.clone()), draft(huge.clone()), draft("after")];
    store.append("s", drafts, Safety::Durable).wait().unwrap();
    let first = store.read("s", 0, 10).unwrap();
    assert_eq!(first.len(), 2, "100 MB are more than one read returns");
    assert!(first[1].body == huge);
    let second = store.read("s", 2, 10).unwrap();
    assert!(second[0].body == huge && second[1].body == "after");
}

#[test]
fn order_is_the_position_even_when_the_clock_jumps_back() {
    let (_folder, store) = store_with("s");
    for at in [1000, 5, -7, i64::MAX, i64::MIN] {
        let draft = Draft { at: Time(at), origin: Origin::Host, body: Bytes::new() };
        let _ = store.append("s", vec![draft], Safety::Soon);
    }
    store.append("s", Vec::new(), Safety::Soon).wait().unwrap();
    let times: Vec<_> = store.read("s", 0, 10).unwrap().iter().map(|record| record.at.unwrap().0).collect();
    assert_eq!(times, [1000, 5, -7, i64::MAX, i64::MIN]);
}

#[test]
fn sixteen_producers_leave_no_gap_and_keep_their_own_order() {
    let (_folder, store) = store_with("s");
    let producers: Vec<_> = (0..16)
        .map(|producer| {
            let store = store.clone();
            std::thread::spawn(move || {
                let mut tickets = Vec::new();
                for index in 0..100 {
                    let drafts =
                        vec![draft(format!("{producer} {index} a")), draft(format!("{producer} {index} b"))];
                    let safety = if index % 10 == 0 { Safety::Durable } else { Safety::Soon };
                    tickets.push(store.append("s", drafts, safety));
                }
                tickets.into_iter().map(|ticket| ticket.wait().unwrap()).collect::<Vec<_>>()
            })
        })
        .collect();
    let mut firsts = HashSet::new();
    for (producer, thread) in producers.into_iter().enumerate() {
        let seqs = thread.join().unwrap();
        assert!(seqs.is_sorted(), "a producer's appends keep their order");
        for (index, seq) in seqs.into_iter().enumerate() {
            assert!(firsts.insert(seq));
            let pair = store.read("s", seq, 2).unwrap();
            assert_eq!(pair[0].body, format!("{producer} {index} a"));
            assert_eq!(pair[1].body, format!("{producer} {index} b"));
        }
    }
    assert_eq!(store.end("s").unwrap(), 16 * 100 * 2);
    let all = store.read("s", 0, usize::MAX).unwrap();
    assert!(all.iter().zip(0..).all(|(record, seq)| record.seq == seq));
}

#[test]
fn a_session_that_does_not_exist_or_exists_is_named() {
    let (_folder, store) = store_with("s");
    let absent = |error: StoreError| {
        assert!(matches!(&error, StoreError::NoSession { session } if session == "nobody"), "{error}");
    };
    absent(store.append("nobody", vec![draft("x")], Safety::Soon).wait().unwrap_err());
    absent(store.read("nobody", 0, 1).unwrap_err());
    absent(store.end("nobody").unwrap_err());
    let error = store.create(&created("s")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is already a session `s` in the log: append to it, or choose another id"
    );
    assert!(matches!(store.create(&created("")), Err(StoreError::BadId { .. })));
    assert!(matches!(store.create(&created(&"x".repeat(513))), Err(StoreError::BadId { .. })));
}

#[test]
fn only_one_of_many_creates_the_same_session() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let store = store.clone();
            std::thread::spawn(move || store.create(&created("same")))
        })
        .collect();
    let outcomes: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    for error in outcomes.into_iter().filter_map(Result::err) {
        assert!(matches!(error, StoreError::SessionExists { .. }), "{error}");
    }
    assert_eq!(store.sessions().unwrap(), [created("same")]);
}

#[test]
fn callbacks_are_told_and_may_hold_the_last_handle() {
    let (folder, store) = store_with("s");
    let (sender, receiver) = mpsc::channel();
    let (handle, path) = (store.clone(), folder.path().to_owned());
    let ticket = store.append("s", vec![draft("x")], Safety::Durable);
    ticket.on_done(Box::new(move |outcome| {
        sender.send((outcome.unwrap(), handle.end("s").unwrap())).unwrap();
    }));
    drop(store);
    assert_eq!(receiver.recv().unwrap(), (0, 1));
    // The callback is dropped on the writer's thread, which then ends by itself: the folder becomes free.
    assert!(receiver.recv().is_err());
    let store = loop {
        match Store::open(&path) {
            Ok(store) => break store,
            Err(StoreError::Locked { .. }) => std::thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(store.read("s", 0, 1).unwrap()[0].body, "x");
}

#[test]
fn what_nobody_waits_for_is_written_before_the_store_closes() {
    let (folder, store) = store_with("s");
    for index in 0..1000 {
        let _ = store.append("s", vec![draft(index.to_string())], Safety::Soon);
    }
    drop(store);
    assert_eq!(Store::open(folder.path()).unwrap().end("s").unwrap(), 1000);
}

#[test]
fn the_trait_serves_as_well_and_sessions_travel_as_json() {
    let (_folder, store) = store_with("s");
    let log: Box<dyn Log> = Box::new(store);
    log.create(&created("t")).unwrap();
    assert_eq!(log.append("t", vec![draft("x")], Safety::Soon).wait().unwrap(), 0);
    assert_eq!((log.end("t").unwrap(), log.read("t", 0, 9).unwrap().len()), (1, 1));
    let sessions = log.sessions().unwrap();
    let json = serde_json::to_string(&sessions).unwrap();
    assert!(json.contains("\"at\":\"2025-10-21T18:59:02.228Z\""), "{json}");
    assert_eq!(serde_json::from_str::<Vec<Created>>(&json).unwrap(), sessions);
}
