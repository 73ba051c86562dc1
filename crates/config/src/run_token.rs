//! Run tokens, which prove that a message comes from a run.
//!
//! A token is `FENCE-NONCE-CODE`: the code is an HMAC over task, fence and nonce with the data
//! folder's secret, so issued tokens need not be stored. Runs that an earlier version started have
//! no nonce, and tokens of the form `FENCE-CODE`. Only the owner can read the secret. Neither the secret nor a token goes into the
//! event log, the journal or a log.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use adjutant_core::input::TokenOwner;
use adjutant_model::TaskId;
use adjutant_model::run_nonce::RunNonce;
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

    pub fn token(&self, task: &TaskId, fence: u64, nonce: Option<RunNonce>) -> String {
        let code = self.mac(task, fence, nonce).finalize().into_bytes();
        let code = hex(&code[..MAC_BYTES]);
        match nonce {
            Some(nonce) => format!("{fence}-{nonce}-{code}"),
            None => format!("{fence}-{code}"),
        }
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
        let owner = tasks.iter().find_map(|task| self.find_owner(token, task));
        owner.unwrap_or(TokenOwner::Unknown)
    }

    /// Returns the run of this task that a token was made for. Compares in constant time.
    fn find_owner(&self, token: &str, task: &TaskId) -> Option<TokenOwner> {
        let (number, rest) = token.split_once('-')?;
        let fence = number.parse().ok().filter(|fence: &u64| fence.to_string() == number)?;
        let (nonce, code) = match rest.split_once('-') {
            Some((nonce, code)) => (Some(RunNonce::parse(nonce)?), code),
            None => (None, rest),
        };
        let code = from_hex(code).filter(|code| code.len() == MAC_BYTES)?;
        self.mac(task, fence, nonce).verify_truncated_left(&code).ok()?;
        Some(TokenOwner::Run { task: task.clone(), fence, nonce })
    }

    fn mac(&self, task: &TaskId, fence: u64, nonce: Option<RunNonce>) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("a key of any length is good");
        mac.update(format!("{task}\n{fence}").as_bytes());
        if let Some(nonce) = nonce {
            mac.update(format!("\n{nonce}").as_bytes());
        }
        mac
    }
}

/// Returns whether a text begins with what looks like a run token. The tokens of all runs are
/// redacted by this, because they are stored nowhere.
pub(crate) fn starts_with_token(text: &[u8]) -> bool {
    let Some(rest) = token_rest(text) else { return false };
    let rest = without_nonce(rest);
    let code = rest.iter().take_while(|byte| is_hex(**byte)).count();
    code == 2 * MAC_BYTES && rest.get(code).is_none_or(|next| !next.is_ascii_alphanumeric())
}

/// Returns whether a text that was cut off may be the beginning of a run token.
pub(crate) fn may_become_token(text: &[u8]) -> bool {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_number = digits == text.len() && digits <= FENCE_DIGITS_MAX;
    let has_code = |rest: &[u8]| rest.iter().take(2 * MAC_BYTES).all(|byte| is_hex(*byte));
    is_number || token_rest(text).is_some_and(|rest| has_code(without_nonce(rest)))
}

/// Returns what follows the nonce of a token, if it has one.
fn without_nonce(rest: &[u8]) -> &[u8] {
    match rest.split_at_checked(RunNonce::DIGITS) {
        Some((nonce, [b'-', code @ ..])) if nonce.iter().all(|byte| is_hex(*byte)) => code,
        _ => rest,
    }
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
        let nonce = Some(RunNonce::from_random(0xabc));
        let token = secret.token(&one, 12, nonce);
        assert_eq!(token, "12-0000000000000abc-d7b08158b640551a4e267376013e66ee");
        let run = TokenOwner::Run { task: one.clone(), fence: 12, nonce };
        assert_eq!(secret.verify(Some(&token), &[other.clone(), one.clone()]), run);
        assert_eq!(secret.verify(Some(&token), &[other]), TokenOwner::Unknown);
        assert_eq!(secret.verify(None, std::slice::from_ref(&one)), TokenOwner::None);
        let (other_fence, other_nonce) =
            (token.replacen("12", "13", 1), token.replacen("abc", "abd", 1));
        let without_nonce = token.replacen("0000000000000abc-", "", 1);
        for bad in [
            "",
            "12",
            "12-",
            "x-y",
            &other_fence,
            &other_nonce,
            &without_nonce,
            &token[..20],
            &token[..40],
            &format!("0{token}"),
            &token.to_uppercase(),
        ] {
            assert_eq!(
                secret.verify(Some(bad), std::slice::from_ref(&one)),
                TokenOwner::Unknown,
                "{bad:?}"
            );
        }
        assert_ne!(TokenSecret([8; SECRET_BYTES]).token(&one, 12, nonce), token);
    }

    #[test]
    fn token_of_earlier_version_is_valid() {
        let secret = TokenSecret([7; SECRET_BYTES]);
        let task = id("TASK-2026-02-09-001");
        let token = secret.token(&task, 12, None);
        assert_eq!(token, "12-affa43e082c8bbf32057d45e7feafca3");
        let run = TokenOwner::Run { task: task.clone(), fence: 12, nonce: None };
        assert_eq!(secret.verify(Some(&token), &[task]), run);
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
