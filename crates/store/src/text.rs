//! Puts text into the index, block by block, and takes it out again. It does not search.

use parlor_model::time::Time;
use rusqlite::{Connection, OptionalExtension, params};

use crate::block::{BLOCK_BYTES, BLOCK_PIECES, Block, Grams, PIECE_BYTES, Piece, Unpacker, cut};

/// A block's place is its session's number and its index in one integer.
pub(crate) const BLOCK_BITS: u32 = 20;

/// A document's number is its block's place and its index in the block in one integer.
pub(crate) const PIECE_BITS: u32 = 12;

/// Text on its way into a block.
type Waiting = (String, Option<Time>, String);

/// The places of a session's blocks, from the first to the one after the last.
pub(crate) fn places(number: i64) -> (i64, i64) {
    (number << BLOCK_BITS, (number + 1) << BLOCK_BITS)
}

/// Takes all text of a session out.
pub(crate) fn drop_session(connection: &Connection, session: &str) -> rusqlite::Result<()> {
    let number: Option<i64> = connection
        .prepare_cached("SELECT number FROM text WHERE session = ?1")?
        .query_row([session], |row| row.get(0))
        .optional()?;
    let Some(number) = number else { return Ok(()) };
    let (first, end) = places(number);
    let blocks: Vec<(i64, i64)> = connection
        .prepare_cached("SELECT place, pieces FROM gram WHERE place >= ?1 AND place < ?2")?
        .query_map([first, end], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    for (place, pieces) in blocks {
        drop_block(connection, place, pieces)?;
    }
    connection.prepare_cached("DELETE FROM text WHERE number = ?1")?.execute([number])?;
    Ok(())
}

/// Adds text at the end of a session, which begins to exist if it did not.
pub(crate) fn add(
    connection: &Connection,
    session: &str,
    stamp: &str,
    pieces: &[Piece],
) -> rusqlite::Result<()> {
    let newest = pieces.iter().filter_map(|piece| piece.at).max().map_or(i64::MIN, |at| at.0);
    let number: i64 = connection
        .prepare_cached(
            "INSERT INTO text (session, stamp, newest) VALUES (?1, ?2, ?3) ON CONFLICT (session) DO UPDATE
             SET stamp = excluded.stamp, newest = max(newest, excluded.newest) RETURNING number",
        )?
        .query_row(params![session, stamp, newest], |row| row.get(0))?;
    if pieces.is_empty() {
        return Ok(());
    }
    let (mut place, mut waiting) = reopen_last(connection, number)?;
    let kept = waiting.len();
    let mut bytes: usize = waiting.iter().map(|(_, _, text)| text.len()).sum();
    let mut first_new = kept;
    for piece in pieces {
        let text = cut(&piece.text, PIECE_BYTES);
        if !waiting.is_empty() && (bytes + text.len() > BLOCK_BYTES || waiting.len() == BLOCK_PIECES) {
            put_block(connection, place, &waiting, first_new)?;
            (place, first_new, bytes) = (place + 1, 0, 0);
            waiting.clear();
        }
        bytes += text.len();
        waiting.push((piece.entry.to_string(), piece.at, text.to_owned()));
    }
    put_block(connection, place, &waiting, first_new)
}

/// The place to go on at, and what a last block that has room holds already.
fn reopen_last(connection: &Connection, number: i64) -> rusqlite::Result<(i64, Vec<Waiting>)> {
    let (first, end) = places(number);
    let last: Option<(i64, usize)> = connection
        .prepare_cached(
            "SELECT place, raw FROM gram WHERE place >= ?1 AND place < ?2 ORDER BY place DESC LIMIT 1",
        )?
        .query_row([first, end], |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as usize)))
        .optional()?;
    match last {
        None => Ok((first, Vec::new())),
        Some((place, raw_bytes)) if raw_bytes >= BLOCK_BYTES => Ok((place + 1, Vec::new())),
        Some((place, raw_bytes)) => {
            let Some(block) = read_block(connection, place, raw_bytes, &mut Unpacker::default())? else {
                return Ok((place + 1, Vec::new()));
            };
            let waiting = block
                .parts()
                .map(|part| (part.entry.to_owned(), part.at, block.text()[part.range.clone()].to_owned()))
                .collect();
            Ok((place, waiting))
        }
    }
}

/// Reads a block; `None` if it is gone or damaged.
pub(crate) fn read_block(
    connection: &Connection,
    place: i64,
    raw_bytes: usize,
    unpacker: &mut Unpacker,
) -> rusqlite::Result<Option<Block>> {
    let mut statement = connection.prepare_cached("SELECT body FROM block WHERE place = ?1")?;
    let mut rows = statement.query([place])?;
    match rows.next()? {
        Some(row) => Ok(unpacker.unpack(row.get_ref(0)?.as_blob()?, raw_bytes)),
        None => Ok(None),
    }
}

/// Writes a block; pieces before `first_new` have their words in the index already.
fn put_block(
    connection: &Connection,
    place: i64,
    parts: &[Waiting],
    first_new: usize,
) -> rusqlite::Result<()> {
    let block = Block::join(parts.iter().map(|(entry, at, text)| (entry.as_str(), *at, text.as_str())));
    let body = block.pack().map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    let grams = Grams::of(block.text());
    connection
        .prepare_cached("INSERT OR REPLACE INTO block (place, body) VALUES (?1, ?2)")?
        .execute(params![place, body])?;
    connection
        .prepare_cached("INSERT OR REPLACE INTO gram (place, pieces, raw, bits) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![place, parts.len() as i64, block.raw_bytes() as i64, grams.bytes()])?;
    let mut insert = connection.prepare_cached("INSERT INTO word (rowid, text) VALUES (?1, ?2)")?;
    for (index, (_, _, text)) in parts.iter().enumerate().skip(first_new) {
        insert.execute(params![(place << PIECE_BITS) + index as i64, text])?;
    }
    Ok(())
}

fn drop_block(connection: &Connection, place: i64, pieces: i64) -> rusqlite::Result<()> {
    let mut delete = connection.prepare_cached("DELETE FROM word WHERE rowid = ?1")?;
    for index in 0..pieces {
        delete.execute([(place << PIECE_BITS) + index])?;
    }
    connection.prepare_cached("DELETE FROM block WHERE place = ?1")?.execute([place])?;
    connection.prepare_cached("DELETE FROM gram WHERE place = ?1")?.execute([place])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaced_and_dropped_text_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let connection = crate::index::open_for_test(&folder.path().join("index.db"));
        let pieces = |count: usize| -> Vec<Piece> {
            let piece = Piece { entry: "e".into(), at: None, text: "some words ".repeat(500) };
            vec![piece; count]
        };
        let count = |table: &str| -> i64 {
            connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
        };
        add(&connection, "s", "1", &pieces(100)).unwrap();
        add(&connection, "s", "2", &pieces(1)).unwrap();
        assert_eq!((count("word_docsize"), count("text")), (101, 1));
        assert_eq!(count("block"), count("gram"));
        drop_session(&connection, "s").unwrap();
        add(&connection, "s", "3", &pieces(3)).unwrap();
        assert_eq!((count("word_docsize"), count("block"), count("gram"), count("text")), (3, 1, 1, 1));
        drop_session(&connection, "s").unwrap();
        drop_session(&connection, "never there").unwrap();
        assert_eq!((count("word_docsize"), count("block"), count("gram"), count("text")), (0, 0, 0, 0));
    }
}
