//! What a file is known by, so that it can be told whether it is the same later.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// How many bytes of content are read for one baseline. What is beyond is known by its size and
/// times.
const READ_BYTES_MAX: u64 = 512 << 20;

/// What a file is known by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Fingerprint {
    /// There is no file.
    Absent,
    /// A file, by its content.
    Content {
        /// Its length.
        size: u64,
        /// Whether it can be run.
        run: bool,
        /// The SHA-256 of what is in it.
        sha: String,
    },
    /// A link, by where it leads.
    Link(String),
    /// Something else, or a file too large to read, by what the system says of it.
    Times {
        /// Its length.
        size: u64,
        /// Its kind and rights.
        mode: u32,
        /// When it was last written, and when anything about it last changed, in nanoseconds.
        times: (i128, i128),
    },
}

/// How much may still be read.
pub(super) struct Budget(u64);

impl Default for Budget {
    fn default() -> Self {
        Self(READ_BYTES_MAX)
    }
}

impl Fingerprint {
    /// Takes the fingerprint of a file. A link is not followed.
    pub(super) fn take(path: &Path, budget: &mut Budget) -> io::Result<Self> {
        let metadata = match path.symlink_metadata() {
            Ok(metadata) => metadata,
            Err(error) if is_absent(&error) => return Ok(Self::Absent),
            Err(error) => return Err(error),
        };
        if metadata.is_symlink() {
            let target = std::fs::read_link(path)?;
            return Ok(Self::Link(hex(&Sha256::digest(target.as_os_str().as_bytes()))));
        }
        if !metadata.is_file() || metadata.len() > budget.0 {
            return Ok(Self::times(&metadata));
        }
        budget.0 -= metadata.len();
        match Self::content(path) {
            // Whoever must not read it can still see whether it was written.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Ok(Self::times(&metadata))
            }
            taken => taken,
        }
    }

    /// Says whether a file is still the one this was taken of.
    pub(super) fn is_of(&self, path: &Path) -> io::Result<bool> {
        let metadata = match path.symlink_metadata() {
            Ok(metadata) => metadata,
            Err(error) if is_absent(&error) => return Ok(*self == Self::Absent),
            Err(error) => return Err(error),
        };
        Ok(match self {
            Self::Absent => false,
            Self::Times { .. } => *self == Self::times(&metadata),
            Self::Content { size, .. } if !metadata.is_file() || metadata.len() != *size => false,
            Self::Content { .. } => match Self::content(path) {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => false,
                now => *self == now?,
            },
            Self::Link(_) => *self == Self::take(path, &mut Budget(0))?,
        })
    }

    fn times(metadata: &Metadata) -> Self {
        let at = |seconds: i64, nanos: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
        let written = at(metadata.mtime(), metadata.mtime_nsec());
        let changed = at(metadata.ctime(), metadata.ctime_nsec());
        Self::Times { size: metadata.len(), mode: metadata.mode(), times: (written, changed) }
    }

    /// Reads a file that was one a moment ago. Should it be a pipe by now, nobody waits for it.
    fn content(path: &Path) -> io::Result<Self> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let flags = i32::try_from(flags.bits()).unwrap_or_default();
        let mut file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Ok(Self::times(&metadata));
        }
        let run = metadata.mode() & 0o100 != 0;
        let (size, sha) = digest(&mut file, metadata.len())?;
        Ok(Self::Content { size, run, sha })
    }
}

/// Reads no more than there was, of a file that somebody goes on writing.
fn digest(file: &mut File, size: u64) -> io::Result<(u64, String)> {
    let mut hasher = Sha256::new();
    let mut chunk = vec![0; 64 << 10];
    let mut from = file.take(size);
    let mut read = 0;
    loop {
        match from.read(&mut chunk)? {
            0 => return Ok((read, hex(&hasher.finalize()))),
            more => {
                hasher.update(&chunk[..more]);
                read += more as u64;
            }
        }
    }
}

/// Nothing is there, or something that is no folder is on the way.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn taken(path: &Path) -> Fingerprint {
        Fingerprint::take(path, &mut Budget::default()).expect("it can be looked at")
    }

    fn is_same(fingerprint: &Fingerprint, path: &Path) -> bool {
        fingerprint.is_of(path).expect("it can be looked at")
    }

    #[test]
    fn a_file_is_known_by_its_content_and_not_by_its_times() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        fs::write(&path, "one").expect("written");
        let before = taken(&path);
        fs::remove_file(&path).expect("removed");
        assert!(!is_same(&before, &path));
        fs::write(&path, "one").expect("written");
        assert!(is_same(&before, &path));
        fs::write(&path, "two").expect("written");
        assert!(!is_same(&before, &path));
        fs::write(&path, "one").expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("set");
        assert!(!is_same(&before, &path));
    }

    #[test]
    fn what_is_no_file_is_not_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let (link, door) = (folder.path().join("link"), folder.path().join("door"));
        symlink("/dev/zero", &link).expect("linked");
        let before = taken(&link);
        assert!(matches!(before, Fingerprint::Link(_)));
        assert!(is_same(&before, &link));
        fs::remove_file(&link).expect("removed");
        symlink("/dev/null", &link).expect("linked");
        assert!(!is_same(&before, &link));
        let _listener = std::os::unix::net::UnixListener::bind(&door).expect("a socket");
        let before = taken(&door);
        assert!(matches!(before, Fingerprint::Times { .. }));
        assert!(is_same(&before, &door));
        assert_eq!(taken(&folder.path().join("none")), Fingerprint::Absent);
        assert_eq!(taken(&link.join("below")), Fingerprint::Absent);
    }

    #[test]
    fn what_is_too_large_to_read_is_known_by_its_times() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        fs::write(&path, "one").expect("written");
        let before = Fingerprint::take(&path, &mut Budget(2)).expect("taken");
        assert!(matches!(before, Fingerprint::Times { .. }));
        assert!(is_same(&before, &path));
        fs::write(&path, "longer").expect("written");
        assert!(!is_same(&before, &path));
    }
}
