//! Names of files as the system has them, in a text that JSON can hold.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A path, as bytes. Written as text, with `%` and two digits for what is no printable ASCII.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub(crate) struct Name(Vec<u8>);

impl Name {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        Self(bytes.to_owned())
    }

    pub(crate) fn of(path: &Path) -> Self {
        Self::new(path.as_os_str().as_bytes())
    }

    pub(crate) fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    pub(crate) fn to_path(&self) -> PathBuf {
        self.path().to_owned()
    }

    /// Returns what people are shown.
    pub(crate) fn shown(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }

    /// Returns the same path from a folder above.
    pub(crate) fn below(&self, folder: &Self) -> Self {
        if folder.0.is_empty() {
            return self.clone();
        }
        Self::of(&folder.path().join(self.path()))
    }
}

impl From<PathBuf> for Name {
    fn from(path: PathBuf) -> Self {
        Self(path.into_os_string().into_vec())
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
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

impl From<String> for Name {
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
    fn every_name_survives() {
        let all: Vec<u8> = (1..=255).collect();
        for bytes in [&b"src/a b.rs"[..], b"50%", b"%41", b"\xff\xfe/\n", &all] {
            let name = Name::new(bytes);
            let text = String::from(name.clone());
            assert!(text.is_ascii());
            assert_eq!(Name::from(text), name);
        }
        assert_eq!(String::from(Name::new(b"a b%\n")), "a b%25%0A");
    }
}
