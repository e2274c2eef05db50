//! Where a house keeps everything, and how to find one that is open. It must not open one.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use etcetera::BaseStrategy;
use serde::{Deserialize, Serialize};

use crate::args::House;

/// The house that is open in a data folder, as it says itself.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Door {
    /// Its address.
    pub(crate) url: String,
    /// Its process.
    pub(crate) pid: u32,
}

/// The data folder: what was typed, `PARLOR_DATA`, or the usual place.
pub(crate) fn folder(house: &House) -> Result<PathBuf> {
    if let Some(data) = &house.data {
        return Ok(data.clone());
    }
    if let Some(data) = std::env::var_os("PARLOR_DATA").filter(|data| !data.is_empty()) {
        return Ok(PathBuf::from(data));
    }
    let base =
        etcetera::choose_base_strategy().context("cannot tell where your home is; say `--data DIR`")?;
    Ok(base.data_dir().join("parlor"))
}

/// Says that a house is open here.
pub(crate) fn put_door(folder: &Path, door: &Door) -> Result<()> {
    let path = door_path(folder);
    fs::write(&path, serde_json::to_vec(door)?).with_context(|| format!("cannot write `{}`", path.display()))
}

/// Says that it is open no more.
pub(crate) fn remove_door(folder: &Path) {
    let _ = fs::remove_file(door_path(folder));
}

/// The open house and its token.
pub(crate) fn door(folder: &Path) -> Result<(Door, String)> {
    let path = door_path(folder);
    let Ok(content) = fs::read(&path) else {
        bail!("no house is open in `{}`; start one with `parlor`", folder.display());
    };
    let door: Door =
        serde_json::from_slice(&content).with_context(|| format!("cannot read `{}`", path.display()))?;
    let token = fs::read_to_string(folder.join(parlor_server::TOKEN_FILE))
        .with_context(|| format!("cannot read the token in `{}`; are you its owner?", folder.display()))?;
    Ok((door, token.trim().to_owned()))
}

fn door_path(folder: &Path) -> PathBuf {
    folder.join("door.json")
}
