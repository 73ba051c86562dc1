//! Golden files of what is noted about work trees and ports.

use std::fs;
use std::path::Path;

use adjutant_test_support::golden::GoldenFolder;

use super::super::note::Note;
use super::super::place::Place;
use super::give;

fn notes() -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("note.json");
    let note = |ready, kept| Note { base: "main".into(), ready, kept };
    let each = [note(false, false), note(true, false), note(true, true)].map(|note| {
        note.write(&path).expect("it is written");
        assert_eq!(Note::read(&path), Some(note));
        fs::read_to_string(&path).expect("its text") + "\n"
    });
    each.concat()
}

/// Which port is free differs from machine to machine, so that it is masked.
fn ports() -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("ports.json");
    fs::write(&path, r#"{"20000":"TASK-2026-02-09-001-1"}"#).expect("it is written");
    let earlier = give(folder.path(), "TASK-2026-02-09-001-1", |_| true).expect("a port");
    assert_eq!(earlier, 20_000, "an earlier file is read");
    let port = give(folder.path(), "TASK-2026-02-09-002-1", |_| true).expect("a port");
    let text = fs::read_to_string(&path).expect("its text") + "\n";
    text.replace(&port.to_string(), "<port>")
}

/// The files, branches and references of a task's work tree.
fn places() -> String {
    let task = adjutant_core::TaskId::parse("TASK-2026-02-09-001").expect("a task id");
    let place = Place::of(Path::new("/p/.adjutant"), Path::new("/p/.git"), &task);
    let paths = [&place.tree, &place.note, &place.temporary, &place.admin, &place.own];
    let paths = paths.map(|path| path.display().to_string());
    let references = [
        place.branch.clone(),
        place.reference(),
        place.saved(2, 1),
        place.saved(2, 3),
        place.merging(),
        place.merged(),
    ];
    format!("{}\n{}\n", paths.join("\n"), references.join("\n"))
}

#[test]
fn worktree_files_match_golden_files() {
    let mut golden = GoldenFolder::new("worktree-files");
    golden.add("note.jsonl", notes());
    golden.add("ports.json", ports());
    golden.add("places.txt", places());
    golden.check();
}
