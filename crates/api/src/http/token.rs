//! The operator's token: a line in a file for the owner only.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use thiserror::Error;

/// The shortest token that is taken.
const CHARS_MIN: usize = 32;
const RANDOM_BYTES: usize = 32;
/// No token is longer.
const BYTES_MAX: u64 = 4096;

/// What an operator shows. It is in no log and no message.
#[derive(Clone)]
pub struct Token(String);

/// Why there is no token to be had.
#[derive(Debug, Error)]
pub enum BadToken {
    /// The file is not there, and may not be made.
    #[error("there is no token in {}", .0.display())]
    Missing(PathBuf),
    /// Others can read the file.
    #[error("{} can be read by others than its owner", .0.display())]
    Open(PathBuf),
    /// It is no token.
    #[error("the token in {} must be one line of at least {CHARS_MIN} visible characters", .0.display())]
    Unfit(PathBuf),
    /// The file cannot be used.
    #[error("cannot use {}", .0.display())]
    Io(PathBuf, #[source] io::Error),
}

impl Token {
    /// Reads the token from a file.
    pub fn read(path: &Path) -> Result<Self, BadToken> {
        let io = |error| BadToken::Io(path.to_owned(), error);
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(BadToken::Missing(path.to_owned()));
            }
            opened => opened.map_err(io)?,
        };
        if file.metadata().map_err(io)?.mode() & 0o077 != 0 {
            return Err(BadToken::Open(path.to_owned()));
        }
        let mut text = String::new();
        file.take(BYTES_MAX).read_to_string(&mut text).map_err(io)?;
        let token = text.trim_end_matches(['\n', '\r']);
        let fits = token.len() >= CHARS_MIN && token.bytes().all(|byte| byte.is_ascii_graphic());
        fits.then(|| Self(token.to_owned())).ok_or_else(|| BadToken::Unfit(path.to_owned()))
    }

    /// Reads the token from a file, and makes it if there is none. Of two who make one at once,
    /// both use the one that got its name first.
    pub fn open(path: &Path) -> Result<Self, BadToken> {
        match Self::read(path) {
            Err(BadToken::Missing(_)) => {}
            read => return read,
        }
        make(path).map_err(|error| BadToken::Io(path.to_owned(), error))?;
        Self::read(path)
    }

    /// Says whether this is the token. Takes as long for a wrong one as for the right one.
    pub(super) fn is(&self, shown: &str) -> bool {
        Sha256::digest(self.0.as_bytes()) == Sha256::digest(shown.as_bytes())
    }

    /// Makes a code that only who knows the token can make.
    pub(super) fn code(&self, of: &str) -> String {
        hex(&self.mac(of).finalize().into_bytes())
    }

    /// Says whether a code is the one for a text. Takes as long for a wrong one as for the right
    /// one.
    pub(super) fn made(&self, code: &str, of: &str) -> bool {
        Sha256::digest(self.code(of).as_bytes()) == Sha256::digest(code.as_bytes())
    }

    fn mac(&self, of: &str) -> Hmac<Sha256> {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(self.0.as_bytes()).expect("a key of any length is good");
        mac.update(of.as_bytes());
        mac
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

/// Makes a token under another name first, so that it is whole when it is there.
fn make(path: &Path) -> io::Result<()> {
    let token = random()?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let staged = path.with_file_name(format!(".{name}.{}", &random()?[..16]));
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

/// Returns 64 hex digits that nobody can foresee.
pub(super) fn random() -> io::Result<String> {
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
    fn a_token_is_made_once_for_its_owner_only() {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join("operator-token");
        let makers: Vec<_> = (0..8)
            .map(|_| {
                let path = path.clone();
                std::thread::spawn(move || Token::open(&path).expect("made").0)
            })
            .collect();
        let tokens: Vec<_> = makers.into_iter().map(|one| one.join().expect("it ends")).collect();
        assert!(tokens.iter().all(|token| *token == tokens[0]));
        assert_eq!(tokens[0].len(), 64);
        assert_eq!(fs::metadata(&path).expect("there").mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(home.path()).expect("a list").count(), 1);
    }

    #[test]
    fn a_token_that_is_none_is_refused() {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join("token");
        let refused = |wanted: &str| {
            let error = Token::open(&path).expect_err("no token").to_string();
            assert!(error.contains(wanted), "{error}");
        };
        fs::write(&path, "x".repeat(40)).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("changed");
        refused("can be read by others");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("changed");
        assert!(Token::open(&path).is_ok());
        for bad in ["", "short", &format!("{}\nsecond line", "x".repeat(40)), &"ä".repeat(40)] {
            fs::write(&path, bad).expect("written");
            refused("at least 32 visible characters");
        }
        assert!(matches!(Token::read(&home.path().join("none")), Err(BadToken::Missing(_))));
    }
}
