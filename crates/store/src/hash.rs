//! Short hashes: of file texts, to detect changes, and of event lines, to chain the event log.

use std::fmt;

use sha2::{Digest, Sha256};

/// The first eight bytes of a SHA-256, printed as sixteen hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShortHash([u8; 8]);

impl ShortHash {
    pub fn digest(bytes: &[u8]) -> Self {
        let digest = Sha256::digest(bytes);
        let mut first = [0; 8];
        first.copy_from_slice(&digest[..8]);
        Self(first)
    }

    /// Parses exactly sixteen hex digits.
    pub fn parse(text: &str) -> Option<Self> {
        let plain = text.len() == 16 && text.bytes().all(|b| b.is_ascii_hexdigit());
        let number = u64::from_str_radix(text, 16).ok().filter(|_| plain)?;
        Some(Self(number.to_be_bytes()))
    }
}

impl fmt::Display for ShortHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", u64::from_be_bytes(self.0))
    }
}

impl fmt::Debug for ShortHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_is_the_start_of_sha_256() {
        assert_eq!(ShortHash::digest(b"abc").to_string(), "ba7816bf8f01cfea");
        assert_eq!(ShortHash::parse("ba7816bf8f01cfea"), Some(ShortHash::digest(b"abc")));
        assert_eq!(ShortHash::parse("+a7816bf8f01cfea"), None);
    }
}
