//! Run tokens, which prove that a message comes from a run.
//!
//! A token is an HMAC over task and fence with the data folder's secret, so issued tokens need not
//! be stored. Only the owner can read the secret. Neither the secret nor a token goes into the
//! event log, the journal or a log.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use adjutant_core::input::TokenOwner;
use adjutant_model::TaskId;
use adjutant_process::atomic_file::unique_suffix;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The name of the file in the data folder.
pub const FILE: &str = "secret";

const SECRET_BYTES: usize = 32;
/// How many bytes of the HMAC are in a token: 32 hex digits.
const MAC_BYTES: usize = 16;
/// The most digits of a fence.
const FENCE_DIGITS_MAX: usize = 20;
/// How many bytes of an HMAC identify a data folder.
const FOLDER_ID_BYTES: usize = 5;

/// The key from which tokens are made.
#[derive(Clone)]
pub struct TokenSecret([u8; SECRET_BYTES]);

impl TokenSecret {
    /// Reads the secret of a data folder, or creates it.
    pub fn open(root: &Path) -> io::Result<Self> {
        match Self::read(root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::create(root),
            read => read,
        }
    }

    /// Replaces the secret by the one that the fleet agrees on. `agree` gets this secret and
    /// returns the one that counts.
    pub fn adopt_agreed(
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

    pub fn read(root: &Path) -> io::Result<Self> {
        let mut text = String::new();
        File::open(root.join(FILE))?.take(1024).read_to_string(&mut text)?;
        let bytes = from_hex(text.trim_end()).and_then(|bytes| bytes.try_into().ok());
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "the secret is damaged");
        bytes.map(Self).ok_or_else(damaged)
    }

    /// Creates a secret under a temporary name and links it. If two processes do so at once, both
    /// use the one that was linked first.
    fn create(root: &Path) -> io::Result<Self> {
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

    /// Writes the secret to a temporary file in the same folder.
    fn stage(&self, root: &Path) -> io::Result<PathBuf> {
        let staged = root.join(format!("{FILE}.{}", unique_suffix()));
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&staged)?;
        file.write_all(format!("{}\n", hex(&self.0)).as_bytes())?;
        file.sync_all()?;
        Ok(staged)
    }

    pub fn token(&self, task: &TaskId, fence: u64) -> String {
        let code = self.mac(task, fence).finalize().into_bytes();
        format!("{fence}-{}", hex(&code[..MAC_BYTES]))
    }

    /// Returns a short id of this data folder that reveals nothing about the secret.
    pub fn folder_id(&self) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("a key of any length is good");
        mac.update(b"mark");
        hex(&mac.finalize().into_bytes()[..FOLDER_ID_BYTES])
    }

    /// Checks a message's token against the runs of these tasks.
    pub fn verify(&self, token: Option<&str>, tasks: &[TaskId]) -> TokenOwner {
        let Some(token) = token else { return TokenOwner::None };
        let run = tasks.iter().find_map(|task| Some((task, self.fence(token, task)?)));
        run.map_or(TokenOwner::Unknown, |(task, fence)| TokenOwner::Run {
            task: task.clone(),
            fence,
        })
    }

    /// Returns the fence of a token that was made for this task. Compares in constant time.
    fn fence(&self, token: &str, task: &TaskId) -> Option<u64> {
        let (fence, code) = token.split_once('-')?;
        let number = fence.parse().ok().filter(|number: &u64| number.to_string() == fence)?;
        let code = from_hex(code).filter(|code| code.len() == MAC_BYTES)?;
        self.mac(task, number).verify_truncated_left(&code).ok()?;
        Some(number)
    }

    fn mac(&self, task: &TaskId, fence: u64) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("a key of any length is good");
        mac.update(format!("{task}\n{fence}").as_bytes());
        mac
    }
}

/// Returns whether a text begins with what looks like a run token. The tokens of all runs are
/// redacted by this, because they are stored nowhere.
pub(crate) fn starts_with_token(text: &[u8]) -> bool {
    let Some(rest) = token_rest(text) else { return false };
    let code = rest.iter().take_while(|byte| is_hex(**byte)).count();
    code == 2 * MAC_BYTES && rest.get(code).is_none_or(|next| !next.is_ascii_alphanumeric())
}

/// Returns whether a text that was cut off may be the beginning of a run token.
pub(crate) fn may_become_token(text: &[u8]) -> bool {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_number = digits == text.len() && digits <= FENCE_DIGITS_MAX;
    is_number
        || token_rest(text)
            .is_some_and(|rest| rest.iter().take(2 * MAC_BYTES).all(|byte| is_hex(*byte)))
}

/// Returns what follows the fence of a token.
fn token_rest(text: &[u8]) -> Option<&[u8]> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = text[digits..].strip_prefix(b"-")?;
    (1..=FENCE_DIGITS_MAX).contains(&digits).then_some(rest)
}

fn is_hex(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

impl std::fmt::Debug for TokenSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

pub fn hex(bytes: &[u8]) -> String {
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
    fn token_is_valid_for_its_run_only() {
        let secret = TokenSecret([7; SECRET_BYTES]);
        let (one, other) = (id("TASK-2026-02-09-001"), id("TASK-2026-02-09-002"));
        let token = secret.token(&one, 12);
        assert_eq!(token, "12-affa43e082c8bbf32057d45e7feafca3");
        let run = TokenOwner::Run { task: one.clone(), fence: 12 };
        assert_eq!(secret.verify(Some(&token), &[other.clone(), one.clone()]), run);
        assert_eq!(secret.verify(Some(&token), &[other]), TokenOwner::Unknown);
        assert_eq!(secret.verify(None, std::slice::from_ref(&one)), TokenOwner::None);
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
                secret.verify(Some(bad), std::slice::from_ref(&one)),
                TokenOwner::Unknown,
                "{bad:?}"
            );
        }
        assert_ne!(TokenSecret([8; SECRET_BYTES]).token(&one, 12), token);
    }

    #[test]
    fn secret_is_created_once_and_readable_by_owner_only() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let makers: Vec<_> = (0..8)
            .map(|_| {
                let root = home.path().to_owned();
                std::thread::spawn(move || TokenSecret::open(&root).expect("made").0)
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
    fn secret_that_is_damaged_is_not_replaced() {
        let home = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(home.path().join(FILE), "00ff").expect("written");
        let kind = TokenSecret::open(home.path()).map_err(|error| error.kind()).map(|_| ());
        assert_eq!(kind, Err(io::ErrorKind::InvalidData));
    }
}
