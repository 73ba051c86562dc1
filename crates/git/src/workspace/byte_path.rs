//! File names as bytes, in a text form that JSON can hold.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A path as bytes. In text, `%` and two hex digits stand for each byte that is
/// not printable ASCII.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub struct BytePath(Vec<u8>);

impl BytePath {
    pub fn new(bytes: &[u8]) -> Self {
        Self(bytes.to_owned())
    }

    pub fn from_path(path: &Path) -> Self {
        Self::new(path.as_os_str().as_bytes())
    }

    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    pub fn to_path(&self) -> PathBuf {
        self.as_path().to_owned()
    }

    /// Returns the path for display, with invalid UTF-8 replaced.
    pub fn to_display(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }

    /// Returns this path with `folder` before it.
    #[must_use]
    pub fn join_onto(&self, folder: &Self) -> Self {
        if folder.0.is_empty() {
            return self.clone();
        }
        Self::from_path(&folder.as_path().join(self.as_path()))
    }
}

impl From<PathBuf> for BytePath {
    fn from(path: PathBuf) -> Self {
        Self(path.into_os_string().into_vec())
    }
}

impl From<BytePath> for String {
    fn from(name: BytePath) -> Self {
        let mut text = Self::with_capacity(name.0.len());
        for byte in name.0 {
            match byte {
                b'%' | 0..=31 | 127.. => drop(write!(text, "%{byte:02X}")),
                plain => text.push(plain.into()),
            }
        }
        text
    }
}

impl From<String> for BytePath {
    fn from(text: String) -> Self {
        let mut bytes = Vec::with_capacity(text.len());
        let mut rest = text.as_bytes();
        while let Some((&first, after)) = rest.split_first() {
            let digits = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
            let code = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
            match code {
                Some(code) if first == b'%' => {
                    bytes.push(code);
                    rest = &after[2..];
                }
                _ => {
                    bytes.push(first);
                    rest = after;
                }
            }
        }
        Self(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_round_trips_every_byte() {
        let all: Vec<u8> = (1..=255).collect();
        for bytes in [&b"src/a b.rs"[..], b"50%", b"%41", b"\xff\xfe/\n", &all] {
            let name = BytePath::new(bytes);
            let text = String::from(name.clone());
            assert!(text.is_ascii());
            assert_eq!(BytePath::from(text), name);
        }
        assert_eq!(String::from(BytePath::new(b"a b%\n")), "a b%25%0A");
    }
}
