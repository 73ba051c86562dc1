//! The configuration that the operator accepted, by the path of the data folder. The record is in
//! the operator's state folder, never in the project: what comes with a project cannot accept itself.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use adjutant_process::atomic_file::write_atomic;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The environment variable by which an operator accepts the configuration, as in CI.
const TRUST_VARIABLE: &str = "ADJUTANT_TRUST";

/// The folder of the records in the state folder.
const FOLDER: &str = "adjutant/trust";

/// Where the accepted configuration of one data folder is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustRecord {
    /// The data folder, without links.
    data: PathBuf,
    folder: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct RecordFields {
    /// The data folder, for people.
    data: String,
    sha256: String,
    text: String,
}

/// The state of a record, which changes when it is written.
pub type RecordStamp = (SystemTime, u64);

impl TrustRecord {
    /// Finds the place of the record; an error if the operator has no state folder.
    pub fn find(data: &Path) -> io::Result<Self> {
        let variable = |name| std::env::var_os(name).filter(|value: &OsString| !value.is_empty());
        // A relative path is invalid and ignored, as the XDG specification says.
        let state = variable("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let home = || Some(PathBuf::from(variable("HOME")?).join(".local/state"));
        let missing = || io::Error::other("neither XDG_STATE_HOME nor HOME is set");
        Self::at(data, &state.or_else(home).ok_or_else(missing)?)
    }

    /// Returns the place of the record in a state folder.
    pub fn at(data: &Path, state: &Path) -> io::Result<Self> {
        Ok(Self { data: fs::canonicalize(data)?, folder: state.join(FOLDER) })
    }

    /// Returns the text that was accepted last for this path. A record that another user wrote or
    /// can write to is no record.
    pub fn read(&self) -> Option<String> {
        let user = rustix::process::geteuid().as_raw();
        let is_own = |path: &Path| {
            let found = fs::symlink_metadata(path);
            found.is_ok_and(|found| found.uid() == user && found.mode() & 0o022 == 0)
        };
        let path = self.path();
        if !is_own(&self.folder) || !is_own(&path) {
            return None;
        }
        let fields: RecordFields = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        (fields.sha256 == digest(fields.text.as_bytes())).then_some(fields.text)
    }

    /// Records that a text was accepted, for the owner only. After a crash there is the old record
    /// or the new one.
    pub fn accept(&self, text: &str) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let fields = RecordFields {
            data: self.data.display().to_string(),
            sha256: digest(text.as_bytes()),
            text: text.to_owned(),
        };
        let json = serde_json::to_vec(&fields).expect("texts always make JSON");
        write_atomic(&self.path(), &json)?;
        File::open(&self.folder)?.sync_all()
    }

    /// Returns a value that differs after another acceptance; `None` if there is no record.
    pub fn stamp(&self) -> Option<RecordStamp> {
        let found = fs::symlink_metadata(self.path()).ok()?;
        Some((found.modified().ok()?, found.ino()))
    }

    fn path(&self) -> PathBuf {
        let path = self.data.as_os_str().as_encoded_bytes();
        self.folder.join(format!("{}.json", digest(path)))
    }
}

/// Returns whether the environment of the operator accepts every configuration. Inside a run the
/// variable is the agent's, and counts for nothing.
pub fn is_accepted_by_environment() -> bool {
    !is_inside_run() && std::env::var_os(TRUST_VARIABLE).is_some_and(|value| value == "accept")
}

/// Returns whether the environment of this process is the one of a run.
pub fn is_inside_run() -> bool {
    std::env::var_os("ADJUTANT_RUN_TOKEN").is_some_and(|token| !token.is_empty())
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn record() -> (tempfile::TempDir, TrustRecord) {
        let home = tempfile::tempdir().expect("a temporary folder");
        let folder = home.path().join("state/adjutant/trust");
        let data = home.path().join("p/.adjutant");
        (home, TrustRecord { data, folder })
    }

    #[test]
    fn trust_record_belongs_to_one_path_and_its_owner() {
        let (_home, record) = record();
        assert_eq!((record.read(), record.stamp()), (None, None));
        record.accept("[log]\n").expect("written");
        assert_eq!(record.read().as_deref(), Some("[log]\n"));
        let moved = TrustRecord { data: "/elsewhere/.adjutant".into(), ..record.clone() };
        assert_eq!(moved.read(), None);
        for path in [record.folder.clone(), record.path()] {
            let mode = fs::metadata(&path).expect("there").mode();
            assert_eq!(mode & 0o077, 0, "{}", path.display());
        }
    }

    #[test]
    fn trust_record_that_others_can_write_is_ignored() {
        let (_home, record) = record();
        record.accept("[log]\n").expect("written");
        fs::set_permissions(record.path(), fs::Permissions::from_mode(0o666)).expect("changed");
        assert_eq!(record.read(), None);
        record.accept("[log]\n").expect("written");
        assert!(record.read().is_some());
        fs::set_permissions(&record.folder, fs::Permissions::from_mode(0o777)).expect("changed");
        assert_eq!(record.read(), None);
    }

    #[test]
    fn trust_record_that_was_cut_short_is_ignored() {
        let (_home, record) = record();
        record.accept("[log]\n").expect("written");
        let bytes = fs::read(record.path()).expect("read");
        fs::write(record.path(), &bytes[..bytes.len() / 2]).expect("written");
        assert_eq!(record.read(), None);
    }
}
