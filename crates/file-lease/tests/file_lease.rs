//! Tests of `is_open_exclusively` on real files: other readers, other writers and other processes.
#![cfg(target_os = "linux")]

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::process::{Command, Stdio};

use adjutant_file_lease::is_open_exclusively;
use tempfile::TempDir;

fn file() -> (TempDir, std::path::PathBuf) {
    let home = tempfile::tempdir().expect("a folder");
    let path = home.path().join("file");
    std::fs::write(&path, "text").expect("a file");
    (home, path)
}

fn open_file(path: &std::path::Path) -> File {
    OpenOptions::new().read(true).write(true).open(path).expect("it opens")
}

#[test]
fn file_is_open_exclusively_is_true_without_other_openers() {
    let (_home, path) = file();
    let file = open_file(&path);
    assert!(is_open_exclusively(&file));
    assert!(is_open_exclusively(&file), "asking changes nothing");
}

#[test]
fn file_is_open_exclusively_is_false_while_a_reader_or_writer_has_it_open() {
    let (_home, path) = file();
    let file = open_file(&path);
    let reader = File::open(&path).expect("it opens");
    assert!(!is_open_exclusively(&file), "a reader");
    drop(reader);
    let writer = OpenOptions::new().append(true).open(&path).expect("it opens");
    assert!(!is_open_exclusively(&file), "a writer");
    drop(writer);
    assert!(is_open_exclusively(&file));
}

#[test]
fn file_is_open_exclusively_is_false_while_another_process_has_it_open() {
    let (_home, path) = file();
    let file = open_file(&path);
    let input = File::open(&path).expect("it opens");
    let mut other = Command::new("sleep").arg("600").stdin(input).stdout(Stdio::null()).spawn();
    let other = other.as_mut().expect("sleep is everywhere");
    assert!(!is_open_exclusively(&file));
    other.kill().expect("it ends");
    other.wait().expect("it ended");
    assert!(is_open_exclusively(&file));
}

#[test]
fn file_is_open_exclusively_neither_blocks_nor_kills_concurrent_openers() {
    let (_home, path) = file();
    std::thread::scope(|scope| {
        let opener = scope.spawn(|| {
            for _ in 0..2_000 {
                let mut file = OpenOptions::new().append(true).open(&path).expect("it opens");
                file.write_all(b"x").expect("room");
            }
        });
        while !opener.is_finished() {
            let _ = is_open_exclusively(&open_file(&path));
        }
    });
    assert_eq!(std::fs::metadata(&path).expect("there").len(), 2_004);
}
