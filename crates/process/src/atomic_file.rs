//! Atomic file writes, and files for the owner only.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes a file readable only by its owner, completely or not at all. An existing file or symlink
/// is replaced, not followed.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// Writes a file for its owner only, with the folders above it that are missing.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    create_private_folder(path.parent().unwrap_or(Path::new(".")))?;
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(bytes)
}

/// Creates a folder for its owner only, with the folders above it that are missing.
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Returns a file suffix that no other thread or process uses at this time.
pub fn unique_suffix() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{count}.tmp", std::process::id())
}
