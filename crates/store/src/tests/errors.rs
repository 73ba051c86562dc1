//! Golden files of the error messages of a store.

use std::fmt::Write as _;
use std::io;

use adjutant_model::EventId;
use adjutant_stories::files;
use adjutant_test_support::assert_every_variant;
use adjutant_test_support::golden::GoldenFolder;

use crate::batch::StoreVersion;
use crate::file::{FolderError, UnpackError};
use crate::format::{FormatPart, NewerFormat};
use crate::store::StoreError;

fn newer(part: FormatPart) -> NewerFormat {
    NewerFormat { part, found: 9 }
}

fn newer_formats() -> Vec<NewerFormat> {
    use FormatPart::{Archive, EventLog, Folder, Index, Journal};
    let all = [Folder, EventLog, Journal, Index, Archive];
    assert_every_variant!(&all, FormatPart { Folder, EventLog, Journal, Index, Archive });
    all.map(newer).to_vec()
}

fn store_errors() -> Vec<StoreError> {
    let full = || io::Error::from(io::ErrorKind::StorageFull);
    let all = vec![
        StoreError::Conflict { expected: StoreVersion(40), now: StoreVersion(41) },
        StoreError::Full { path: "/p/journal".into(), source: full() },
        StoreError::io("write", "/p/journal")(io::ErrorKind::PermissionDenied.into()),
        StoreError::Damaged { path: "/p/journal".into(), what: "it is cut off".into() },
        StoreError::LogBehind { log: EventId(3), store: EventId(5) },
        StoreError::FolderGone("/p/.adjutant".into()),
        StoreError::Fenced,
        StoreError::Stopped,
        StoreError::Newer(newer(FormatPart::Folder)),
    ];
    assert_every_variant!(
        &all,
        StoreError { Conflict, Full, Io, Damaged, LogBehind, FolderGone, Fenced, Stopped, Newer }
    );
    all
}

fn folder_errors() -> Vec<FolderError> {
    let path = || "/p/.adjutant".into();
    let source = io::ErrorKind::PermissionDenied.into();
    let all = vec![
        FolderError::Absent(path()),
        FolderError::NotData(path()),
        FolderError::NotFound("/p".into()),
        FolderError::Exists(path()),
        FolderError::Io { path: path(), source },
        FolderError::ForeignOwner { root: path(), path: path(), owner: 1000, user: 0 },
        FolderError::OpenToOthers { root: path(), path: path(), mode: 0o40775 },
    ];
    assert_every_variant!(
        &all,
        FolderError { Absent, NotData, NotFound, Exists, Io, ForeignOwner, OpenToOthers }
    );
    all
}

fn unpack_errors() -> Vec<UnpackError> {
    let all = vec![
        UnpackError::Occupied { root: "/p/.adjutant".into(), name: "tasks".into() },
        UnpackError::Malformed("it is cut off".into()),
        UnpackError::Newer(newer(FormatPart::Archive)),
        UnpackError::Store(StoreError::Stopped),
    ];
    assert_every_variant!(&all, UnpackError { Occupied, Malformed, Newer, Store });
    all
}

fn story_folder_errors() -> Vec<files::StoryFolderError> {
    use files::StoryFolderError;
    let path = || "/p/.ai/STATE.json".into();
    let bad = files::rules::merge_over_defaults("steps: [").expect_err("bad rules");
    let source = io::ErrorKind::PermissionDenied.into();
    let all = vec![
        StoryFolderError::NotFound("/p".into()),
        StoryFolderError::Io { attempt: "read", path: path(), source },
        StoryFolderError::BadState { path: path(), problems: vec![] },
        StoryFolderError::BadRules(bad),
    ];
    assert_every_variant!(&all, StoryFolderError { NotFound, Io, BadState, BadRules });
    all
}

fn lines<E: std::error::Error>(errors: &[E]) -> String {
    errors.iter().fold(String::new(), |mut lines, error| {
        let _ = writeln!(lines, "{error}");
        lines
    })
}

#[test]
fn store_errors_match_golden_files() {
    let mut golden = GoldenFolder::new("reasons/store");
    golden.add("store.txt", lines(&store_errors()));
    golden.add("data-folder.txt", lines(&folder_errors()));
    golden.add("newer-format.txt", lines(&newer_formats()));
    golden.add("unpack.txt", lines(&unpack_errors()));
    golden.add("story-folder.txt", lines(&story_folder_errors()));
    golden.check();
}
