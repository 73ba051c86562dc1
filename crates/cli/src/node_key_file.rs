//! The file with the key of this node, which only its owner can read.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use adjutant_process::atomic_file::unique_suffix;
use adjutant_process::regular_file::read_regular;
use adjutant_replication::nats::NodeKey;

use crate::output::error::CommandFailure;

/// A seed has 58 characters; the rest is for line breaks.
const FILE_BYTES_MAX: u64 = 256;

/// Reads a key. A file that other users can read is refused.
pub(crate) fn read_key(path: &Path) -> Result<NodeKey, CommandFailure> {
    let failed = |source: io::Error| file_failure("cannot read", path, &source);
    let mode = fs::metadata(path).map_err(failed)?.permissions().mode();
    if mode & 0o077 != 0 {
        let why = format!("other users can read the key in {}", path.display());
        return Err(CommandFailure::report_usage_error(why)
            .with_hint(format!("chmod 600 {}", path.display())));
    }
    let bytes = read_regular(path, FILE_BYTES_MAX).map_err(failed)?;
    NodeKey::parse(&String::from_utf8_lossy(&bytes)).map_err(|bad| {
        CommandFailure::report_usage_error(format!("the content of {} {bad}", path.display()))
            .with_hint("`adjutant fleet key` makes a key where there is no file")
    })
}

/// Reads a key, or makes it if there is no file.
pub(crate) fn open_key(path: &Path) -> Result<NodeKey, CommandFailure> {
    let failed = |source: io::Error| file_failure("cannot write", path, &source);
    if !path.try_exists().map_err(failed)? {
        create_key(path).map_err(failed)?;
    }
    read_key(path)
}

/// Makes a key under a temporary name and links it, so that two processes use the same one and a
/// power cut leaves a whole file or none.
fn create_key(path: &Path) -> io::Result<()> {
    let staged = path.with_extension(unique_suffix());
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&staged)?;
    writeln!(file, "{}", NodeKey::generate().seed())?;
    file.sync_all()?;
    let linked = fs::hard_link(&staged, path);
    fs::remove_file(&staged)?;
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => fs::File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all(),
    }
}

fn file_failure(attempt: &str, path: &Path, source: &io::Error) -> CommandFailure {
    CommandFailure::report_usage_error(format!("{attempt} {}: {source}", path.display()))
}
