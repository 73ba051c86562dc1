//! Fingerprints of files, to detect whether a file changed.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// How many bytes of content are read for one baseline. The remaining files are compared by
/// size and times.
const READ_BYTES_MAX: u64 = 512 << 20;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum ContentFingerprint {
    /// There is no such file.
    Absent,
    /// A regular file, by its content.
    Content {
        size: u64,
        /// Whether the owner may execute it.
        run: bool,
        /// The SHA-256 of the content.
        sha: String,
    },
    /// A link, by the SHA-256 of its target.
    Link(String),
    /// A special file, or one that is too large or unreadable, by its metadata.
    Times {
        size: u64,
        mode: u32,
        /// The modification and status change times, in nanoseconds.
        times: (i128, i128),
    },
}

/// The number of bytes that may still be read.
pub(super) struct ReadBudget(u64);

impl Default for ReadBudget {
    fn default() -> Self {
        Self(READ_BYTES_MAX)
    }
}

impl ContentFingerprint {
    /// Takes the fingerprint of a file. A link is not followed.
    pub(super) fn take(path: &Path, budget: &mut ReadBudget) -> io::Result<Self> {
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
            // Even if the content is unreadable, the times tell whether the file was written.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Ok(Self::times(&metadata))
            }
            taken => taken,
        }
    }

    /// Returns whether a file still has this fingerprint.
    pub(super) fn matches_file(&self, path: &Path) -> io::Result<bool> {
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
            Self::Link(_) => *self == Self::take(path, &mut ReadBudget(0))?,
        })
    }

    fn times(metadata: &Metadata) -> Self {
        let at = |seconds: i64, nanos: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
        let written = at(metadata.mtime(), metadata.mtime_nsec());
        let changed = at(metadata.ctime(), metadata.ctime_nsec());
        Self::Times { size: metadata.len(), mode: metadata.mode(), times: (written, changed) }
    }

    /// Reads a file that was a regular one a moment ago. If it is a pipe by now, this
    /// does not block.
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

/// Reads at most `size` bytes, because another process may still append to the file.
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

/// The file does not exist, or a parent in its path is not a folder.
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

    fn taken(path: &Path) -> ContentFingerprint {
        ContentFingerprint::take(path, &mut ReadBudget::default()).expect("it can be looked at")
    }

    fn is_same(fingerprint: &ContentFingerprint, path: &Path) -> bool {
        fingerprint.matches_file(path).expect("it can be looked at")
    }

    #[test]
    fn fingerprint_of_file_is_its_content_not_its_times() {
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
    fn fingerprint_of_special_file_reads_no_content() {
        let folder = tempfile::tempdir().expect("a folder");
        let (link, door) = (folder.path().join("link"), folder.path().join("door"));
        symlink("/dev/zero", &link).expect("linked");
        let before = taken(&link);
        assert!(matches!(before, ContentFingerprint::Link(_)));
        assert!(is_same(&before, &link));
        fs::remove_file(&link).expect("removed");
        symlink("/dev/null", &link).expect("linked");
        assert!(!is_same(&before, &link));
        let _listener = std::os::unix::net::UnixListener::bind(&door).expect("a socket");
        let before = taken(&door);
        assert!(matches!(before, ContentFingerprint::Times { .. }));
        assert!(is_same(&before, &door));
        assert_eq!(taken(&folder.path().join("none")), ContentFingerprint::Absent);
        assert_eq!(taken(&link.join("below")), ContentFingerprint::Absent);
    }

    #[test]
    fn fingerprint_of_large_file_is_its_times() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        fs::write(&path, "one").expect("written");
        let before = ContentFingerprint::take(&path, &mut ReadBudget(2)).expect("taken");
        assert!(matches!(before, ContentFingerprint::Times { .. }));
        assert!(is_same(&before, &path));
        fs::write(&path, "longer").expect("written");
        assert!(!is_same(&before, &path));
    }
}
