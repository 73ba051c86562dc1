//! One-time codes of sign-in links.
//!
//! A code is signed with the operator's token, so that a command which can read the token makes one
//! without asking the daemon. It is made for one daemon, which accepts it once, until it expires.

use std::collections::BTreeMap;
use std::io;

use adjutant_model::Time;
use parking_lot::Mutex;

use super::token::{OperatorToken, is_same_secret, random_hex};

/// How long a code is valid.
const VALID_SECS: i64 = 15 * 60;

const EXPIRY_DIGITS: usize = 10;
const NONCE_DIGITS: usize = 24;
const SIGNATURE_DIGITS: usize = 32;

/// Makes a code for the daemon with this identity.
pub fn new_sign_in_code(token: &OperatorToken, daemon: &str, now: Time) -> io::Result<String> {
    let expiry = now.as_millis() / 1000 + VALID_SECS;
    let text = format!("{expiry:0EXPIRY_DIGITS$x}{}", &random_hex()?[..NONCE_DIGITS]);
    let signature = sign(token, daemon, &text);
    Ok(text + &signature)
}

fn sign(token: &OperatorToken, daemon: &str, text: &str) -> String {
    let mut signature = token.authentication_code(&format!("sign-in code\n{daemon}\n{text}"));
    signature.truncate(SIGNATURE_DIGITS);
    signature
}

/// The codes that a daemon has accepted and that have not expired.
pub(super) struct RedeemedCodes {
    /// The identity of the daemon. The codes of another one, such as the one before, are invalid.
    daemon: String,
    expiry_by_code: Mutex<BTreeMap<String, i64>>,
}

impl RedeemedCodes {
    pub(super) fn new(daemon: String) -> Self {
        Self { daemon, expiry_by_code: Mutex::default() }
    }

    /// Returns whether the code is valid, and makes it invalid.
    pub(super) fn redeem(&self, token: &OperatorToken, code: &str, now: Time) -> bool {
        let now = now.as_millis() / 1000;
        let Some(expiry) = self.verify(token, code).filter(|expiry| *expiry > now) else {
            return false;
        };
        let mut redeemed = self.expiry_by_code.lock();
        redeemed.retain(|_, expiry| *expiry > now);
        redeemed.insert(code.to_owned(), expiry).is_none()
    }

    /// Returns when the code expires, if it was made for this daemon.
    fn verify(&self, token: &OperatorToken, code: &str) -> Option<i64> {
        let is_code = code.len() == EXPIRY_DIGITS + NONCE_DIGITS + SIGNATURE_DIGITS
            && code.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let (text, signature) = is_code.then(|| code.split_at(EXPIRY_DIGITS + NONCE_DIGITS))?;
        let is_signed = is_same_secret(&sign(token, &self.daemon, text), signature);
        is_signed.then(|| i64::from_str_radix(&text[..EXPIRY_DIGITS], 16).ok()).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token() -> OperatorToken {
        OperatorToken::from_text(&"t".repeat(40)).expect("a token")
    }

    fn at(secs: i64) -> Time {
        Time::from_millis(secs * 1000)
    }

    #[test]
    fn sign_in_code_works_once() {
        let codes = RedeemedCodes::new("one".to_owned());
        let code = new_sign_in_code(&token(), "one", at(1000)).expect("a code");
        let other = new_sign_in_code(&token(), "one", at(1000)).expect("a code");
        assert_ne!(code, other);
        assert!(codes.redeem(&token(), &code, at(1000)));
        assert!(!codes.redeem(&token(), &code, at(1000)), "it was used");
        assert!(codes.redeem(&token(), &other, at(1001)), "each code is its own");
    }

    #[test]
    fn sign_in_code_expires() {
        let codes = RedeemedCodes::new("one".to_owned());
        let code = new_sign_in_code(&token(), "one", at(1000)).expect("a code");
        assert!(!codes.redeem(&token(), &code, at(1000 + VALID_SECS)));
        assert!(codes.redeem(&token(), &code, at(999 + VALID_SECS)));
    }

    #[test]
    fn sign_in_code_of_another_daemon_or_token_is_invalid() {
        let codes = RedeemedCodes::new("one".to_owned());
        let code = new_sign_in_code(&token(), "two", at(1000)).expect("a code");
        assert!(!codes.redeem(&token(), &code, at(1000)));
        let other = OperatorToken::from_text(&"o".repeat(40)).expect("a token");
        let code = new_sign_in_code(&other, "one", at(1000)).expect("a code");
        assert!(!codes.redeem(&token(), &code, at(1000)));
        let code = new_sign_in_code(&token(), "one", at(1000)).expect("a code");
        let later = format!("f{}", &code[1..]);
        for bad in ["", "0", &later, &code.to_uppercase(), &format!("{code}0"), &"ä".repeat(33)] {
            assert!(!codes.redeem(&token(), bad, at(1000)), "{bad}");
        }
    }
}
