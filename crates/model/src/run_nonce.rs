//! The random part of a run's identity.

use std::fmt;

use crate::text_value::serde_as_text;

/// A random number that a run gets with its lease, written as 16 hex digits. Fences are counted per
/// task and begin again if a task's history is lost; with its nonce, a run token still belongs to
/// one run only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(with = "String", extend("pattern" = "^[0-9a-f]{16}$")))]
pub struct RunNonce(u64);

impl RunNonce {
    /// The number of digits of every nonce.
    pub const DIGITS: usize = 16;

    /// The nonce of a run that a task file names and the store does not know. No token has it.
    pub const REVOKED: Self = Self(0);

    /// Makes a nonce from a random number.
    pub fn from_random(number: u64) -> Self {
        Self(number.max(1))
    }

    pub fn parse(text: &str) -> Option<Self> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let is_whole = text.len() == Self::DIGITS && text.bytes().all(is_digit);
        is_whole.then(|| u64::from_str_radix(text, 16).ok().map(Self)).flatten()
    }
}

impl fmt::Display for RunNonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for RunNonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

serde_as_text!(RunNonce, |text: &str| RunNonce::parse(text).ok_or("is not 16 hex digits"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonce_is_sixteen_hex_digits() {
        for number in [1, 0xabc, u64::MAX] {
            let nonce = RunNonce::from_random(number);
            assert_eq!(RunNonce::parse(&nonce.to_string()), Some(nonce));
            assert_eq!(nonce.to_string().len(), RunNonce::DIGITS);
        }
        assert_eq!(RunNonce::from_random(0xabc).to_string(), "0000000000000abc");
        assert_ne!(RunNonce::from_random(0), RunNonce::REVOKED);
        for bad in ["", "abc", "+000000000000abc", "0000000000000ABC", "0000000000000abc0"] {
            assert_eq!(RunNonce::parse(bad), None, "{bad:?}");
        }
    }
}
