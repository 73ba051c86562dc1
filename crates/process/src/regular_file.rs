//! Reads files whose paths are in the configuration. Only regular files: opening a pipe waits for its
//! other end, and reading a device may never end.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a regular file, and never waits for it. Links are followed.
pub fn open_regular(path: &Path) -> io::Result<File> {
    require_regular(&fs::metadata(path)?)?;
    // The file may have been replaced since, so it is opened without waiting and checked again.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    require_regular(&file.metadata()?)?;
    Ok(file)
}

/// Reads a regular file of at most this size.
pub fn read_regular(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    read_up_to(open_regular(path)?, bytes_max)
}

/// Reads an open file of at most this size.
pub fn read_up_to(file: File, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("it is larger than {bytes_max} bytes"),
        ));
    }
    Ok(bytes)
}

fn require_regular(metadata: &fs::Metadata) -> io::Result<()> {
    if metadata.is_file() {
        return Ok(());
    }
    let text = "it is not a regular file, but a folder, a pipe or a device";
    Err(io::Error::new(io::ErrorKind::InvalidInput, text))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn regular_file_is_read_and_other_kinds_are_refused_at_once() {
        let home = tempfile::tempdir().expect("a folder");
        let path = |name: &str| home.path().join(name);
        fs::write(path("file"), "text").expect("written");
        std::os::unix::fs::symlink("file", path("link")).expect("linked");
        let made = Command::new("mkfifo").arg(path("pipe")).status().expect("mkfifo");
        assert!(made.success());
        std::os::unix::fs::symlink("pipe", path("link-to-pipe")).expect("linked");
        for good in ["file", "link"] {
            assert_eq!(read_regular(&path(good), 4).expect("read"), b"text");
        }
        for bad in [path("pipe"), path("link-to-pipe"), path(""), "/dev/zero".into()] {
            let error = read_regular(&bad, 4).expect_err("refused");
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{}", bad.display());
        }
        assert_eq!(
            read_regular(&path("file"), 3).expect_err("too large").kind(),
            io::ErrorKind::InvalidData
        );
        assert_eq!(
            read_regular(&path("none"), 3).expect_err("missing").kind(),
            io::ErrorKind::NotFound
        );
    }
}
