//! Secrets: made, kept in files that only their owner can read, and compared in constant time. It must not know requests.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::error::ServerError;

/// Something that only those may know who are let in. It is never printed.
#[derive(Clone)]
pub(crate) struct Secret(String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

impl Secret {
    /// A new one of 256 random bits, in hexadecimal.
    pub(crate) fn random() -> Result<Secret, ServerError> {
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes).map_err(ServerError::Random)?;
        Ok(Secret(hex(&bytes)))
    }

    /// The one that `path` keeps; made the first time.
    pub(crate) fn kept(path: &Path) -> Result<Secret, ServerError> {
        let failed = |source| ServerError::Token { path: path.to_owned(), source };
        let new = Secret::random()?;
        match create(path) {
            Ok(mut file) => {
                file.write_all(new.0.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
                Ok(new)
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                close_to_others(path).map_err(failed)?;
                let text = fs::read_to_string(path).map_err(failed)?;
                let text = text.trim();
                let fits = text.len() >= 32 && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
                if fits { Ok(Secret(text.to_owned())) } else { Err(ServerError::Damaged(path.to_owned())) }
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// The secret itself.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether a guess is right. The time it takes does not tell how much of it is.
    pub(crate) fn is(&self, guess: &str) -> bool {
        same(&digest(&[self.0.as_bytes()]), &digest(&[guess.as_bytes()]))
    }

    /// A mark under `words` that only somebody who knows the secret can make. Two rounds, so that nothing can be put
    /// after the words.
    pub(crate) fn sign(&self, words: &str) -> String {
        let inner = digest(&[b"parlor inner", self.0.as_bytes(), words.as_bytes()]);
        hex(&digest(&[b"parlor outer", self.0.as_bytes(), &inner]))
    }

    /// Whether `mark` was made by [`Secret::sign`].
    pub(crate) fn signed(&self, words: &str, mark: &str) -> bool {
        same(self.sign(words).as_bytes(), mark.as_bytes())
    }
}

fn same(one: &[u8], other: &[u8]) -> bool {
    one.ct_eq(other).into()
}

fn digest(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    hash.finalize().into()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(unix)]
fn create(path: &Path) -> std::io::Result<fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

#[cfg(not(unix))]
fn create(path: &Path) -> std::io::Result<fs::File> {
    fs::OpenOptions::new().write(true).create_new(true).open(path)
}

/// A copy or a restored backup may be open to others.
#[cfg(unix)]
fn close_to_others(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let open = fs::metadata(path)?.permissions().mode() & 0o077 != 0;
    if open { fs::set_permissions(path, fs::Permissions::from_mode(0o600)) } else { Ok(()) }
}

#[cfg(not(unix))]
fn close_to_others(_path: &Path) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_secret_stays_and_is_its_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let first = Secret::kept(&path).unwrap();
        assert_eq!(first.reveal().len(), 64);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(), 0o600);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
            assert_eq!(Secret::kept(&path).unwrap().reveal(), first.reveal());
            assert_eq!(mode(), 0o600, "what was open to others is closed");
        }
        fs::write(&path, "short").unwrap();
        assert!(Secret::kept(&path).unwrap_err().to_string().contains("delete the file"));
        assert_eq!(format!("{first:?}"), "Secret(…)");
    }

    #[test]
    fn a_guess_and_a_mark_are_right_or_wrong() {
        let (one, other) = (Secret::random().unwrap(), Secret::random().unwrap());
        assert!(one.is(one.reveal()) && !one.is(other.reveal()) && !one.is(""));
        let mark = one.sign("full.1");
        assert!(one.signed("full.1", &mark));
        assert!(!one.signed("full.2", &mark) && !other.signed("full.1", &mark) && !one.signed("full.1", ""));
    }
}
