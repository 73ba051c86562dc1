//! Golden files of the worktree notes, port reservations and paths.

use std::fs;
use std::path::Path;

use adjutant_test_support::golden::GoldenFolder;

use super::super::worktree_note::WorktreeNote;
use super::super::worktree_paths::WorktreePaths;
use super::reserve;

fn notes() -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("note.json");
    let note = |ready, kept| WorktreeNote { base: "main".into(), ready, kept };
    let each = [note(false, false), note(true, false), note(true, true)].map(|note| {
        note.write(&path).expect("it is written");
        assert_eq!(WorktreeNote::read(&path), Some(note));
        fs::read_to_string(&path).expect("its text") + "\n"
    });
    each.concat()
}

/// The free port differs between machines, so it is masked.
fn ports() -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("ports.json");
    fs::write(&path, r#"{"20000":"TASK-2026-02-09-001-1"}"#).expect("it is written");
    let earlier = reserve(folder.path(), "TASK-2026-02-09-001-1", |_| true).expect("a port");
    assert_eq!(earlier, 20_000, "an earlier file is read");
    let port = reserve(folder.path(), "TASK-2026-02-09-002-1", |_| true).expect("a port");
    let text = fs::read_to_string(&path).expect("its text") + "\n";
    text.replace(&port.to_string(), "<port>")
}

/// The files, branches and references of a task's worktree.
fn places() -> String {
    let task = adjutant_model::TaskId::parse("TASK-2026-02-09-001").expect("a task id");
    let place = WorktreePaths::for_task(Path::new("/p/.adjutant"), Path::new("/p/.git"), &task);
    let paths =
        [&place.tree, &place.note, &place.temporary, &place.admin_dir, &place.private_git_dir];
    let paths = paths.map(|path| path.display().to_string());
    let references = [
        place.branch.clone(),
        place.reference(),
        place.salvage_reference(2, 1),
        place.salvage_reference(2, 3),
        place.merging_reference(),
        place.merged_reference(),
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
