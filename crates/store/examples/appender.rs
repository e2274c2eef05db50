//! Appends to a log until it is killed, and prints each append once it is acknowledged. The crash test
//! kills it.
//!
//! `appender FOLDER RUN PRODUCERS`: a line `SESSION PRODUCER COUNTER SEQ` for each record that is safe, and
//! `error MESSAGE` for what failed, after which a producer stops.
#![allow(clippy::print_stdout, reason = "printing is what this program is for")]

use std::path::Path;

use parlor_model::record::Origin;
use parlor_model::time::Time;
use parlor_store::{Created, Draft, Safety, Store, StoreError};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, run, producers] = arguments.as_slice() else {
        return Err("usage: appender FOLDER RUN PRODUCERS".into());
    };
    run_producers(Path::new(folder), run, producers.parse()?)
}

/// Appends with so many producers until none can write any more.
pub(crate) fn run_producers(
    folder: &Path,
    run: &str,
    producers: usize,
) -> Result<(), Box<dyn std::error::Error>> {
    let store = Store::open(folder)?;
    let threads: Vec<_> = (0..producers)
        .map(|producer| {
            let (store, name) = (store.clone(), format!("{run}-{producer}"));
            std::thread::spawn(move || {
                if let Err(error) = produce(&store, &format!("s{}", producer % 2), &name) {
                    println!("error {error}");
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().map_err(|_| "a producer panicked")?;
    }
    Ok(())
}

fn produce(store: &Store, session: &str, producer: &str) -> Result<(), StoreError> {
    let created = Created { id: session.into(), agent: "demo".into(), cwd: "/".into(), at: Time(0) };
    match store.create(&created) {
        Ok(()) | Err(StoreError::SessionExists { .. }) => {}
        Err(error) => return Err(error),
    }
    let mut counter = 0_u64;
    loop {
        let count = 1 + counter % 4;
        let drafts = (counter..counter + count).map(|counter| draft(producer, counter)).collect();
        let safety = if counter.is_multiple_of(3) { Safety::Durable } else { Safety::Soon };
        let first = store.append(session, drafts, safety).wait()?;
        for offset in 0..count {
            println!("{session} {producer} {} {}", counter + offset, first + offset);
        }
        counter += count;
    }
}

/// A body that tells whose it is, and of a length that varies, so that pages are filled in every way.
fn draft(producer: &str, counter: u64) -> Draft {
    let filler = "x".repeat((counter.wrapping_mul(2_654_435_761) % 5000) as usize);
    Draft { at: Time(0), origin: Origin::Agent, body: format!("{producer} {counter} {filler}").into() }
}
