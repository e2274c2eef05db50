//! Writes a whole file. It makes folders, and nothing else.

use std::path::Path;

use serde::Deserialize;

use super::{Outcome, patch, read, resolve};

/// The input.
#[derive(Debug, Deserialize)]
pub(crate) struct Write {
    pub(crate) file_path: String,
    content: String,
}

impl Write {
    pub(crate) fn run(&self, cwd: &Path) -> Outcome {
        self.write(cwd).into()
    }

    fn write(&self, cwd: &Path) -> Result<Outcome, String> {
        let path = resolve(cwd, &self.file_path);
        let name = path.display();
        if path.is_dir() {
            return Err(format!("{name} is a folder. Give the path of a file."));
        }
        let old = match path.exists() {
            true => Some(read::bytes(&path)?),
            false => None,
        };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|error| format!("The folder {} cannot be made: {error}.", folder.display()))?;
        }
        std::fs::write(&path, &self.content)
            .map_err(|error| format!("{name} cannot be written: {error}."))?;
        let lines = self.content.lines().count();
        let text = match &old {
            Some(_) => format!("{name} is replaced; it has {lines} lines now."),
            None => format!("{name} is written; it has {lines} lines."),
        };
        let before = old.as_deref().map(String::from_utf8_lossy);
        let diff = Some(patch::unified(cwd, &path, before.as_deref(), &self.content))
            .filter(|diff| !diff.is_empty());
        Ok(Outcome { diff, ..Outcome::done(text) })
    }
}
