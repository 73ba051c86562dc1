//! The operator's token: one line in a file that only its owner can read.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use adjutant_process::regular_file::{open_regular, read_up_to};
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use thiserror::Error;

/// The shortest token that is accepted.
const CHARS_MIN: usize = 32;
const RANDOM_BYTES: usize = 32;
/// The longest token.
const BYTES_MAX: u64 = 4096;

/// The operator's token. It must never appear in a log or a message.
#[derive(Clone)]
pub struct OperatorToken(String);

#[derive(Debug, Error)]
pub enum TokenFileError {
    /// The file does not exist, and must not be created.
    #[error("the token file {} does not exist", .0.display())]
    Missing(PathBuf),
    /// Other users can read the file.
    #[error("users other than the owner can read {}", .0.display())]
    ReadableByOthers(PathBuf),
    #[error("the token in {} must be one line of at least {CHARS_MIN} visible characters", .0.display())]
    Malformed(PathBuf),
    #[error("cannot read or create {}", .0.display())]
    Io(PathBuf, #[source] io::Error),
}

impl OperatorToken {
    pub fn read(path: &Path) -> Result<Self, TokenFileError> {
        let io = |error| TokenFileError::Io(path.to_owned(), error);
        let file = match open_regular(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(TokenFileError::Missing(path.to_owned()));
            }
            opened => opened.map_err(io)?,
        };
        if file.metadata().map_err(io)?.mode() & 0o077 != 0 {
            return Err(TokenFileError::ReadableByOthers(path.to_owned()));
        }
        let text = read_up_to(file, BYTES_MAX).map_err(io)?;
        Self::from_text(&String::from_utf8_lossy(&text))
            .ok_or_else(|| TokenFileError::Malformed(path.to_owned()))
    }

    /// Returns the token in the text of its file.
    pub(super) fn from_text(text: &str) -> Option<Self> {
        let token = text.trim_end_matches(['\n', '\r']);
        let fits = token.len() >= CHARS_MIN && token.bytes().all(|byte| byte.is_ascii_graphic());
        fits.then(|| Self(token.to_owned()))
    }

    /// Reads the token from a file, or creates it. If two processes create it at once, both use the
    /// token that was linked first.
    pub fn read_or_create(path: &Path) -> Result<Self, TokenFileError> {
        match Self::read(path) {
            Err(TokenFileError::Missing(_)) => {}
            read => return read,
        }
        create_token_file(path).map_err(|error| TokenFileError::Io(path.to_owned(), error))?;
        Self::read(path)
    }

    /// Whether this is the token.
    pub(super) fn matches(&self, shown: &str) -> bool {
        is_same_secret(&self.0, shown)
    }

    /// Returns an authentication code (HMAC) of a text, keyed with the token.
    pub(super) fn authentication_code(&self, of: &str) -> String {
        hex(&self.mac(of).finalize().into_bytes())
    }

    fn mac(&self, of: &str) -> Hmac<Sha256> {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(self.0.as_bytes()).expect("a key of any length is good");
        mac.update(of.as_bytes());
        mac
    }
}

impl std::fmt::Debug for OperatorToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

/// Compares hashes, so that the time does not depend on where the texts differ.
pub(super) fn is_same_secret(secret: &str, shown: &str) -> bool {
    Sha256::digest(secret.as_bytes()) == Sha256::digest(shown.as_bytes())
}

/// Writes the token to a temporary file and links it, so that readers never see half a token.
fn create_token_file(path: &Path) -> io::Result<()> {
    let token = random_hex()?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let staged = path.with_file_name(format!(".{name}.{}", &random_hex()?[..16]));
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&staged)?;
    file.write_all(format!("{token}\n").as_bytes())?;
    file.sync_all()?;
    let linked = fs::hard_link(&staged, path);
    fs::remove_file(&staged)?;
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all()),
    }
}

/// Returns 64 random hex digits, suitable for secrets.
pub(super) fn random_hex() -> io::Result<String> {
    let mut bytes = [0; RANDOM_BYTES];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(hex(&bytes))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn token_is_created_once_and_readable_by_owner_only() {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join("operator-token");
        let makers: Vec<_> = (0..8)
            .map(|_| {
                let path = path.clone();
                std::thread::spawn(move || OperatorToken::read_or_create(&path).expect("made").0)
            })
            .collect();
        let tokens: Vec<_> = makers.into_iter().map(|one| one.join().expect("it ends")).collect();
        assert!(tokens.iter().all(|token| *token == tokens[0]));
        assert_eq!(tokens[0].len(), 64);
        assert_eq!(fs::metadata(&path).expect("there").mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(home.path()).expect("a list").count(), 1);
    }

    #[test]
    fn token_file_that_is_a_pipe_is_refused_at_once() {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join("token");
        let made = std::process::Command::new("mkfifo").args(["-m", "600"]).arg(&path).status();
        assert!(made.expect("mkfifo").success());
        let error = OperatorToken::read_or_create(&path).expect_err("no token");
        assert!(matches!(error, TokenFileError::Io(..)), "{error:?}");
    }

    #[test]
    fn token_file_that_is_open_or_unfit_is_refused() {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join("token");
        let refused = |wanted: &str| {
            let error = OperatorToken::read_or_create(&path).expect_err("no token").to_string();
            assert!(error.contains(wanted), "{error}");
        };
        fs::write(&path, "x".repeat(40)).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("changed");
        refused("users other than the owner can read");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("changed");
        assert!(OperatorToken::read_or_create(&path).is_ok());
        for bad in ["", "short", &format!("{}\nsecond line", "x".repeat(40)), &"ä".repeat(40)] {
            fs::write(&path, bad).expect("written");
            refused("at least 32 visible characters");
        }
        assert!(matches!(
            OperatorToken::read(&home.path().join("none")),
            Err(TokenFileError::Missing(_))
        ));
    }
}
