//! Files that are written whole or not at all.

use std::io::{self, Write as _};
use std::path::Path;

/// Writes a file for its owner only, whole or not at all. What lies there, be it a link, is replaced
/// and not followed.
pub(crate) fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|error| error.error)
}
