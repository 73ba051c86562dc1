//! Run tokens: what a run shows to prove that a message is its own.
//!
//! A token is made from the secret of the data folder, the task and the fence, so that nothing has
//! to be kept of those that were given out. The secret is for the owner only, and neither it nor a
//! token goes into the record, the journal or a log.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use adjutant_core::TaskId;
use adjutant_core::input::Token;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::shim::files::unique;

/// The name of the file in the data folder.
pub const FILE: &str = "secret";

const SECRET_BYTES: usize = 32;
/// How much of the code is in a token: 32 hex digits.
const CODE_BYTES: usize = 16;
/// How much of the code tells folders apart.
const MARK_BYTES: usize = 5;

/// What tokens are made from.
#[derive(Clone)]
pub struct Secret([u8; SECRET_BYTES]);

impl Secret {
    /// Reads the secret of a data folder, and makes it if there is none.
    pub fn open(root: &Path) -> io::Result<Self> {
        match Self::read(root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::make(root),
            read => read,
        }
    }

    /// Makes the secret of the folder what is agreed on with others: `agree` is told the one that is
    /// there and returns the one that counts.
    pub fn share(
        &self,
        root: &Path,
        agree: impl FnOnce(&str) -> io::Result<String>,
    ) -> io::Result<Self> {
        let agreed = agree(&hex(&self.0))?;
        let bytes = from_hex(agreed.trim()).and_then(|bytes| bytes.try_into().ok());
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "the secret is damaged");
        let agreed = Self(bytes.ok_or_else(damaged)?);
        if agreed.0 != self.0 {
            let staged = agreed.stage(root)?;
            std::fs::rename(&staged, root.join(FILE))?;
            File::open(root)?.sync_all()?;
        }
        Ok(agreed)
    }

    /// Reads the secret of a data folder.
    pub fn read(root: &Path) -> io::Result<Self> {
        let mut text = String::new();
        File::open(root.join(FILE))?.take(1024).read_to_string(&mut text)?;
        let bytes = from_hex(text.trim_end()).and_then(|bytes| bytes.try_into().ok());
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "the secret is damaged");
        bytes.map(Self).ok_or_else(damaged)
    }

    /// Makes a secret under another name first: of two who make one at once, both use the one that
    /// got its name first.
    fn make(root: &Path) -> io::Result<Self> {
        let mut bytes = [0; SECRET_BYTES];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let staged = Self(bytes).stage(root)?;
        let linked = std::fs::hard_link(&staged, root.join(FILE));
        std::fs::remove_file(&staged)?;
        match linked {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => {
                File::open(root)?.sync_all()?;
                Self::read(root)
            }
        }
    }

    /// Writes the secret beside its place.
    fn stage(&self, root: &Path) -> io::Result<PathBuf> {
        let staged = root.join(format!("{FILE}.{}", unique()));
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&staged)?;
        file.write_all(format!("{}\n", hex(&self.0)).as_bytes())?;
        file.sync_all()?;
        Ok(staged)
    }

    /// Makes the token of a run.
    pub fn token(&self, task: &TaskId, fence: u64) -> String {
        let code = self.code(task, fence).finalize().into_bytes();
        format!("{fence}-{}", hex(&code[..CODE_BYTES]))
    }

    /// Returns what tells this folder from others, and says nothing of the secret.
    pub fn mark(&self) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("a key of any length is good");
        mac.update(b"mark");
        hex(&mac.finalize().into_bytes()[..MARK_BYTES])
    }

    /// Says what the token in a message is worth, if it is that of a run of one of these tasks.
    pub fn judge(&self, token: Option<&str>, tasks: &[TaskId]) -> Token {
        let Some(token) = token else { return Token::None };
        let run = tasks.iter().find_map(|task| Some((task, self.fence(token, task)?)));
        run.map_or(Token::Unknown, |(task, fence)| Token::Run { task: task.clone(), fence })
    }

    /// Returns the fence of a token, if it was made for this task. Takes as long for a wrong code
    /// as for the right one.
    fn fence(&self, token: &str, task: &TaskId) -> Option<u64> {
        let (fence, code) = token.split_once('-')?;
        let number = fence.parse().ok().filter(|number: &u64| number.to_string() == fence)?;
        let code = from_hex(code).filter(|code| code.len() == CODE_BYTES)?;
        self.code(task, number).verify_truncated_left(&code).ok()?;
        Some(number)
    }

    fn code(&self, task: &TaskId, fence: u64) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("a key of any length is good");
        mac.update(format!("{task}\n{fence}").as_bytes());
        mac
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

/// Writes bytes as hex digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| Some(digit(pair[0])? << 4 | digit(*pair.get(1)?)?)).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn id(text: &str) -> TaskId {
        TaskId::parse(text).expect("a good id")
    }

    #[test]
    fn a_token_speaks_for_its_run_only() {
        let secret = Secret([7; SECRET_BYTES]);
        let (one, other) = (id("TASK-2026-02-09-001"), id("TASK-2026-02-09-002"));
        let token = secret.token(&one, 12);
        assert_eq!(token, "12-affa43e082c8bbf32057d45e7feafca3");
        let run = Token::Run { task: one.clone(), fence: 12 };
        assert_eq!(secret.judge(Some(&token), &[other.clone(), one.clone()]), run);
        assert_eq!(secret.judge(Some(&token), &[other]), Token::Unknown);
        assert_eq!(secret.judge(None, std::slice::from_ref(&one)), Token::None);
        let forged = token.replacen("12", "13", 1);
        for bad in [
            "",
            "12",
            "12-",
            "x-y",
            &forged,
            &token[..20],
            &format!("0{token}"),
            &token.to_uppercase(),
        ] {
            assert_eq!(
                secret.judge(Some(bad), std::slice::from_ref(&one)),
                Token::Unknown,
                "{bad:?}"
            );
        }
        assert_ne!(Secret([8; SECRET_BYTES]).token(&one, 12), token);
    }

    #[test]
    fn a_folder_has_one_secret_for_its_owner_only() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let makers: Vec<_> = (0..8)
            .map(|_| {
                let root = home.path().to_owned();
                std::thread::spawn(move || Secret::open(&root).expect("made").0)
            })
            .collect();
        let secrets: Vec<_> =
            makers.into_iter().map(|maker| maker.join().expect("it ends")).collect();
        assert!(secrets.iter().all(|secret| *secret == secrets[0]));
        let mode = std::fs::metadata(home.path().join(FILE)).expect("it is there").permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(home.path()).expect("it reads").count(), 1);
    }

    #[test]
    fn a_damaged_secret_is_not_made_anew() {
        let home = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(home.path().join(FILE), "00ff").expect("written");
        let kind = Secret::open(home.path()).map_err(|error| error.kind()).map(|_| ());
        assert_eq!(kind, Err(io::ErrorKind::InvalidData));
    }
}
