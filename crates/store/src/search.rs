//! Answers queries from the index, newest sessions first. It only reads.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension, params};

use crate::block::{Block, Unpacker};
use crate::database::Readers;
use crate::error::StoreError;
use crate::matcher::{Hit, Kind, Matcher, Query, is_unspaced, word_snippet, words};
use crate::text::{BLOCK_BITS, PIECE_BITS, places, read_block};

/// How many hits a query can have.
const HITS: usize = 1000;

/// A word in more documents than this is looked for only as it stands, and not also as the beginning of others.
const COMMON: usize = 2000;

/// Words in more documents than this are looked for session by session, newest first, until enough are found.
const EVERYWHERE: usize = 20_000;

/// Threads that scan at once.
const THREADS: usize = 8;

/// A session whose text may have hits.
struct Candidate {
    number: i64,
    session: String,
}

/// A block that may have hits.
struct Spot {
    /// Index of its session.
    candidate: usize,
    place: i64,
    raw_bytes: usize,
}

/// Answers a query.
pub(crate) fn search(readers: &Readers, query: &Query) -> Result<Vec<Hit>, StoreError> {
    let limit = query.limit.min(HITS);
    let text = query.words.trim();
    if text.is_empty() || limit == 0 {
        return Ok(Vec::new());
    }
    let list = words(text);
    match query.kind {
        Kind::Regex => scan(readers, query, &Matcher::regex(&query.words)?, limit),
        Kind::Words if list.iter().any(|word| is_unspaced(word)) => {
            scan(readers, query, &Matcher::substrings(&list)?, limit)
        }
        Kind::Words if !list.is_empty() => find_words(readers, query, &list, limit),
        // Signs alone, such as `->`, are no words.
        Kind::Words => scan(readers, query, &Matcher::substrings(&[text])?, limit),
        Kind::Substring => scan(readers, query, &Matcher::substrings(&[&query.words])?, limit),
    }
}

fn find_words(
    readers: &Readers,
    query: &Query,
    words: &[&str],
    limit: usize,
) -> Result<Vec<Hit>, StoreError> {
    // Each word is quoted, so that none is taken for an operator.
    let whole = words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" ");
    let begun = words.last().is_some_and(|word| word.chars().nth(1).is_some()).then(|| format!("{whole} *"));
    readers.read(|connection| {
        // Words, sessions and texts as of one moment.
        let moment = connection.unchecked_transaction()?;
        let found = match &query.session {
            Some(session) => in_one(connection, &whole, begun.as_deref(), session, limit)?,
            None => everywhere(connection, &whole, begun.as_deref(), limit)?,
        };
        let hits = word_hits(connection, &found, words)?;
        moment.commit()?;
        Ok(hits)
    })
}

/// The documents of one session that match, last first.
fn in_one(
    connection: &Connection,
    whole: &str,
    begun: Option<&str>,
    session: &str,
    limit: usize,
) -> rusqlite::Result<Vec<i64>> {
    let Some(candidate) = one_session(connection, session)?.pop() else { return Ok(Vec::new()) };
    let mut found = in_session(connection, begun.unwrap_or(whole), candidate.number)?;
    found.reverse();
    found.truncate(limit);
    Ok(found)
}

/// The documents that match, newest sessions first.
fn everywhere(
    connection: &Connection,
    whole: &str,
    begun: Option<&str>,
    limit: usize,
) -> rusqlite::Result<Vec<i64>> {
    let mut select = connection.prepare_cached("SELECT rowid FROM word WHERE word MATCH ?1 LIMIT ?2")?;
    let mut all = |expression: &str, limit: usize| -> rusqlite::Result<Vec<i64>> {
        select.query_map(params![expression, limit as i64], |row| row.get(0))?.collect()
    };
    let mut found = all(whole, EVERYWHERE + 1)?;
    let common = found.len() > EVERYWHERE;
    // What goes on after the last word matters only while the word itself is not found everywhere; to look for all
    // words that begin with a common one takes ten times as long.
    if let Some(begun) = begun
        && found.len() <= COMMON
    {
        found = all(begun, usize::MAX >> 1)?;
    }
    if found.len() <= limit {
        return sorted(connection, &found);
    }
    let mut chosen = Vec::new();
    let mut statement =
        connection.prepare_cached("SELECT number FROM text ORDER BY newest DESC, number DESC")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()?
        && chosen.len() < limit
    {
        let number: i64 = row.get(0)?;
        if common {
            chosen.extend(in_session(connection, whole, number)?.into_iter().rev());
        } else {
            let (first, end) = places(number);
            let from = found.partition_point(|document| *document < first << PIECE_BITS);
            let to = found.partition_point(|document| *document < end << PIECE_BITS);
            chosen.extend(found[from..to].iter().rev());
        }
    }
    chosen.truncate(limit);
    Ok(chosen)
}

/// A few documents, newest sessions first: only those sessions are looked at, however many there are.
fn sorted(connection: &Connection, documents: &[i64]) -> rusqlite::Result<Vec<i64>> {
    let session = |document: &i64| document >> (PIECE_BITS + BLOCK_BITS);
    let mut newest = connection.prepare_cached("SELECT newest FROM text WHERE number = ?1")?;
    let mut sessions = Vec::new();
    for together in documents.chunk_by(|one, next| session(one) == session(next)) {
        let number = session(&together[0]);
        let at: Option<i64> = newest.query_row([number], |row| row.get(0)).optional()?;
        sessions.push((at, number, together));
    }
    sessions.sort_by_key(|(at, number, _)| Reverse((*at, *number)));
    Ok(sessions.into_iter().flat_map(|(.., together)| together.iter().rev().copied()).collect())
}

/// The documents of one session that match, in order. Asking for the last ones first would be slower.
fn in_session(connection: &Connection, expression: &str, number: i64) -> rusqlite::Result<Vec<i64>> {
    let (first, end) = places(number);
    connection
        .prepare_cached("SELECT rowid FROM word WHERE word MATCH ?1 AND rowid >= ?2 AND rowid < ?3")?
        .query_map(params![expression, first << PIECE_BITS, end << PIECE_BITS], |row| row.get(0))?
        .collect()
}

/// Reads the text of documents, each block once.
fn word_hits(connection: &Connection, documents: &[i64], words: &[&str]) -> rusqlite::Result<Vec<Hit>> {
    let mut select = connection.prepare_cached(
        "SELECT text.session, gram.raw FROM gram JOIN text ON text.number = gram.place >> 20 WHERE gram.place = ?1",
    )?;
    let mut unpacker = Unpacker::default();
    let mut hits = Vec::new();
    for together in documents.chunk_by(|one, next| one >> PIECE_BITS == next >> PIECE_BITS) {
        let place = together[0] >> PIECE_BITS;
        let row: Option<(String, i64)> =
            select.query_row([place], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        let Some((session, raw_bytes)) = row else { continue };
        let Some(block) = read_block(connection, place, raw_bytes as usize, &mut unpacker)? else { continue };
        let text = block.text();
        let parts: Vec<_> = block.parts().collect();
        for document in together {
            let Some(part) = parts.get((document & ((1 << PIECE_BITS) - 1)) as usize) else { continue };
            let (snippet, ranges) = word_snippet(words, &text[part.range.clone()]);
            let (session, entry) = (session.clone(), part.entry.into());
            hits.push(Hit { session, entry, at: part.at, snippet, ranges });
        }
        unpacker.recycle(block);
    }
    Ok(hits)
}

/// Searches all text, in as many threads as there are cores, and stops when enough of the newest is found.
fn scan(readers: &Readers, query: &Query, matcher: &Matcher, limit: usize) -> Result<Vec<Hit>, StoreError> {
    let (candidates, spots) = readers.read(|connection| {
        let candidates = match &query.session {
            Some(session) => one_session(connection, session)?,
            None => all_sessions(connection)?,
        };
        let spots = spots(connection, &candidates, &query.session, matcher)?;
        Ok((candidates, spots))
    })?;
    let next = AtomicUsize::new(0);
    let enough = AtomicBool::new(false);
    let found = Mutex::new((0, Vec::new()));
    // Blocks are taken in order and finished once taken, so what was found is complete up to the last one taken.
    let work = || {
        readers.read(|connection| {
            let mut unpacker = Unpacker::default();
            while !enough.load(Ordering::Relaxed) {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(spot) = spots.get(index) else { break };
                let read = read_block(connection, spot.place, spot.raw_bytes, &mut unpacker)?;
                let Some(block) = read else { continue };
                let hits = block_hits(&block, matcher, &candidates[spot.candidate].session, limit);
                unpacker.recycle(block);
                if !hits.is_empty() {
                    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                    found.0 += hits.len();
                    found.1.push((index, hits));
                    enough.fetch_or(found.0 >= limit, Ordering::Relaxed);
                }
            }
            Ok(())
        })
    };
    let threads =
        std::thread::available_parallelism().map_or(1, usize::from).min(THREADS).min(spots.len() / 4 + 1);
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mine = work();
        others
            .into_iter()
            .fold(mine, |result, other| result.and(other.join().unwrap_or(Err(StoreError::Closed))))
    })?;
    let (_, mut found) = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_by_key(|(index, _)| *index);
    let mut hits: Vec<Hit> = found.into_iter().flat_map(|(_, hits)| hits).collect();
    hits.truncate(limit);
    Ok(hits)
}

/// The hits in a block, last first.
fn block_hits(block: &Block, matcher: &Matcher, session: &str, limit: usize) -> Vec<Hit> {
    let text = block.text();
    if matcher.whole_block && !matcher.is_match(text) {
        return Vec::new();
    }
    let mut parts: Vec<_> =
        block.parts().filter(|part| matcher.is_match(&text[part.range.clone()])).collect();
    parts.reverse();
    parts.truncate(limit);
    let hit = |part: crate::block::Part<'_>| {
        let (snippet, ranges) = matcher.snippet(&text[part.range]);
        Hit { session: session.to_owned(), entry: part.entry.into(), at: part.at, snippet, ranges }
    };
    parts.into_iter().map(hit).collect()
}

/// The blocks that may have hits: newest sessions first, and in a session the last block first.
fn spots(
    connection: &Connection,
    candidates: &[Candidate],
    session: &Option<String>,
    matcher: &Matcher,
) -> rusqlite::Result<Vec<Spot>> {
    let ranks: HashMap<i64, usize> =
        candidates.iter().enumerate().map(|(rank, candidate)| (candidate.number, rank)).collect();
    let (first, end) = match (session, candidates.first()) {
        (Some(_), Some(candidate)) => places(candidate.number),
        (Some(_), None) => return Ok(Vec::new()),
        (None, _) => (i64::MIN, i64::MAX),
    };
    let mut statement =
        connection.prepare_cached("SELECT place, raw, bits FROM gram WHERE place >= ?1 AND place < ?2")?;
    let mut rows = statement.query([first, end])?;
    let mut spots = Vec::new();
    while let Some(row) = rows.next()? {
        let place: i64 = row.get(0)?;
        let Some(candidate) = ranks.get(&(place >> BLOCK_BITS)).copied() else { continue };
        let bits = row.get_ref(2)?.as_blob()?;
        if matcher.may_match(bits) {
            spots.push(Spot { candidate, place, raw_bytes: row.get::<_, i64>(1)? as usize });
        }
    }
    spots.sort_by_key(|spot| (spot.candidate, Reverse(spot.place)));
    Ok(spots)
}

fn one_session(connection: &Connection, session: &str) -> rusqlite::Result<Vec<Candidate>> {
    connection
        .prepare_cached("SELECT number, session FROM text WHERE session = ?1")?
        .query_map([session], candidate)?
        .collect()
}

fn all_sessions(connection: &Connection) -> rusqlite::Result<Vec<Candidate>> {
    connection
        .prepare_cached("SELECT number, session FROM text ORDER BY newest DESC, number DESC")?
        .query_map([], candidate)?
        .collect()
}

fn candidate(row: &rusqlite::Row<'_>) -> rusqlite::Result<Candidate> {
    Ok(Candidate { number: row.get(0)?, session: row.get(1)? })
}
