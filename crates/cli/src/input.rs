//! What was typed for a session: a path, `-`, or the start of an id. It must not read
//! records.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use parlor_dialect::Format;
use parlor_found::{Source, plain, unpack};

use crate::args::{House, Input};
use crate::data;
use crate::kept::Kept;

/// How many sessions are named when an id fits several.
const CANDIDATES: usize = 8;

/// A session that was meant.
pub(crate) enum Meant {
    /// Bytes in some format.
    Source(Source),
    /// A session of the house's own log, by its id.
    Kept(Kept, String),
}

/// The session that was meant by a name.
pub(crate) fn meant(name: &str, house: &House) -> Result<Meant> {
    if name == "-" {
        return Ok(Meant::Source(stdin()?));
    }
    let path = Path::new(name);
    let missing = matches!(path.symlink_metadata(), Err(error) if error.kind() == ErrorKind::NotFound);
    if !missing {
        return Ok(Meant::Source(Source::file(path)?));
    }
    if name.contains(['/', '\\']) || name.ends_with(".jsonl") {
        bail!("there is no file `{}`; run `parlor ls` to see the sessions on this machine", plain(name));
    }
    Ok(by_id(name, house)?.1)
}

/// The whole id of the one session whose id starts so.
pub(crate) fn id(start: &str, house: &House) -> Result<String> {
    Ok(by_id(start, house)?.0)
}

/// The one session whose id starts so, in the house's log or in a file.
fn by_id(id: &str, house: &House) -> Result<(String, Meant)> {
    let kept = Kept::look(&data::folder(house)?)?;
    let own = kept.as_ref().map(|kept| kept.starting_with(id)).transpose()?.unwrap_or_default();
    let found = parlor_found::starting_with(id);
    let all: BTreeSet<&String> = own.iter().chain(found.keys()).collect();
    // A full id is meant even when it is the start of another one.
    let full = all.iter().copied().find(|known| *known == id);
    let only = all.first().copied().filter(|_| all.len() == 1 && !id.is_empty());
    let shown = plain(id);
    let Some(one) = full.or(only) else {
        if all.is_empty() || id.is_empty() {
            bail!(
                "there is no file `{shown}`, and no session's id starts so; run `parlor ls` to see the sessions on this machine"
            );
        }
        let candidates: Vec<String> = all.iter().take(CANDIDATES).map(|id| plain(id)).collect();
        let more = if all.len() > CANDIDATES { ", …" } else { "" };
        bail!(
            "{} sessions start with `{shown}`; say more of the id: {}{more}",
            all.len(),
            candidates.join(", ")
        );
    };
    let meant = match (kept, found.get(one)) {
        (Some(kept), _) if own.contains(one) => Meant::Kept(kept, one.clone()),
        (_, Some(path)) => Meant::Source(Source::file(path)?),
        (_, None) => bail!("the session `{shown}` went away; run `parlor ls` to see those on this machine"),
    };
    Ok((one.clone(), meant))
}

/// The format that was said, or the one found by looking; else a message that says what to do.
pub(crate) fn format(source: &Source, input: Input) -> Result<Format> {
    let found = match input {
        Input::Known(format) => Some(format),
        Input::Auto => source.detect(),
    };
    found.with_context(|| {
        let formats = Format::ALL.map(Format::name).join(", ");
        format!(
            "`{}` is in no format that Parlor knows; if you know better, say `--from` and one of: {formats}",
            source.name
        )
    })
}

fn stdin() -> Result<Source> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).context("cannot read stdin")?;
    let bytes = unpack(Bytes::from(bytes)).context("cannot unpack stdin")?;
    Ok(Source { name: "stdin".into(), path: None, bytes })
}
