//! Operations that differ by operating system: opening without leaving a folder, reserving disk
//! space, syncing everything, and watching for changes.
//!
//! Linux does each in one call. The portable version takes several steps; the tests compare
//! it with Linux.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(not(target_os = "linux"), test))]
#[cfg_attr(target_os = "linux", expect(dead_code, reason = "only some of it can be held against"))]
mod portable;
#[cfg(target_os = "linux")]
mod watch;

#[cfg(target_os = "linux")]
pub(super) use linux::{
    INSPECT_FLAGS, empty_file, exists_beneath, open_beneath, reserve_space, sync_everything,
};
#[cfg(not(target_os = "linux"))]
pub(super) use portable::{
    INSPECT_FLAGS, TaskWatch, empty_file, exists_beneath, open_beneath, reserve_space,
    sync_everything,
};
#[cfg(target_os = "linux")]
pub(super) use watch::TaskWatch;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::fd::OwnedFd;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use rustix::fs::{Mode, OFlags, open};

    use super::portable;

    /// Creates files, folders, and links that lead inside, outside, to nothing, and in a circle.
    fn tree(root: &Path) {
        fs::create_dir_all(root.join("in/a/b")).expect("a folder");
        fs::write(root.join("in/a/file"), "x").expect("a file");
        fs::write(root.join("outside"), "x").expect("a file");
        for (target, link) in [
            ("a", "to-folder"),
            ("a/file", "to-file"),
            ("../in/a", "out-and-in"),
            ("../outside", "out"),
            ("/etc", "absolute"),
            ("nothing", "dangling"),
            ("round", "round"),
            ("to-folder/b/..", "up-inside"),
            (".", "here"),
        ] {
            symlink(target, root.join("in").join(link)).expect("a link");
        }
        symlink("../..", root.join("in/a/up-two")).expect("a link");
        symlink("../a/b", root.join("in/a/to-b")).expect("a link");
    }

    fn folder(path: &Path) -> OwnedFd {
        open(path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).expect("a folder")
    }

    const PATHS: [&str; 24] = [
        "a",
        "a/b",
        "a/file",
        "a/file/x",
        "a/none",
        "none/none",
        "to-folder",
        "to-folder/file",
        "to-folder/b",
        "to-file",
        "to-file/x",
        "out-and-in",
        "out-and-in/file",
        "out",
        "absolute",
        "absolute/passwd",
        "dangling",
        "dangling/x",
        "round",
        "round/x",
        "up-inside/file",
        "here/here/a/to-b",
        "a/up-two/outside",
        "a/b/../file",
    ];

    #[test]
    fn portable_exists_beneath_agrees_with_linux() {
        let home = tempfile::tempdir().expect("a folder");
        tree(home.path());
        let inside = folder(&home.path().join("in"));
        for path in PATHS {
            let stepwise = portable::exists_beneath(&inside, path);
            assert_eq!(stepwise, super::exists_beneath(&inside, path), "{path}");
        }
    }

    #[test]
    fn portable_open_beneath_agrees_with_linux() {
        let home = tempfile::tempdir().expect("a folder");
        tree(home.path());
        let inside = folder(&home.path().join("in"));
        for path in PATHS.into_iter().filter(|path| !path.contains("..")) {
            let stepwise = portable::open_beneath(&inside, path).is_ok();
            assert_eq!(stepwise, super::open_beneath(&inside, path).is_ok(), "{path}");
        }
    }

    #[test]
    fn portable_sync_everything_handles_every_file_type() {
        let home = tempfile::tempdir().expect("a folder");
        tree(home.path());
        let socket = std::os::unix::net::UnixListener::bind(home.path().join("in/socket"));
        socket.expect("a socket");
        portable::sync_everything(&folder(home.path()), home.path()).expect("synced");
        let gone = home.path().join("none");
        portable::sync_everything(&folder(home.path()), &gone).expect("what is gone needs no sync");
    }
}
