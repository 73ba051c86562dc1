//! Who has a file open besides us, as the system sees it.
#![cfg(target_os = "linux")]

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::process::{Command, Stdio};

use adjutant_sole::is_sole;
use tempfile::TempDir;

fn file() -> (TempDir, std::path::PathBuf) {
    let home = tempfile::tempdir().expect("a folder");
    let path = home.path().join("file");
    std::fs::write(&path, "text").expect("a file");
    (home, path)
}

fn ours(path: &std::path::Path) -> File {
    OpenOptions::new().read(true).write(true).open(path).expect("it opens")
}

#[test]
fn a_file_that_nobody_else_has_open_is_ours_alone() {
    let (_home, path) = file();
    let file = ours(&path);
    assert!(is_sole(&file));
    assert!(is_sole(&file), "asking changes nothing");
}

#[test]
fn a_reader_or_a_writer_is_seen_until_it_is_gone() {
    let (_home, path) = file();
    let file = ours(&path);
    let reader = File::open(&path).expect("it opens");
    assert!(!is_sole(&file), "a reader");
    drop(reader);
    let writer = OpenOptions::new().append(true).open(&path).expect("it opens");
    assert!(!is_sole(&file), "a writer");
    drop(writer);
    assert!(is_sole(&file));
}

#[test]
fn another_process_is_seen() {
    let (_home, path) = file();
    let file = ours(&path);
    let input = File::open(&path).expect("it opens");
    let mut other = Command::new("sleep").arg("600").stdin(input).stdout(Stdio::null()).spawn();
    let other = other.as_mut().expect("sleep is everywhere");
    assert!(!is_sole(&file));
    other.kill().expect("it ends");
    other.wait().expect("it ended");
    assert!(is_sole(&file));
}

#[test]
fn who_opens_it_right_after_is_not_kept_waiting_and_nobody_is_killed() {
    let (_home, path) = file();
    std::thread::scope(|scope| {
        let opener = scope.spawn(|| {
            for _ in 0..2_000 {
                let mut file = OpenOptions::new().append(true).open(&path).expect("it opens");
                file.write_all(b"x").expect("room");
            }
        });
        while !opener.is_finished() {
            let _ = is_sole(&ours(&path));
        }
    });
    assert_eq!(std::fs::metadata(&path).expect("there").len(), 2_004);
}
