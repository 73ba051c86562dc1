//! Task files, companion folders and other files in the status folders.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use adjutant_model::Status;
use adjutant_store::file::doctor::FindingCode;
use adjutant_testkit::TestProject;

use super::{
    ID, OTHER, all_files, check_in_order, check_listed, check_mended, examine, healthy_project,
    list_findings, mend,
};

fn file(status: Status, id: &str) -> String {
    format!("tasks/{status}/{id}.md")
}

#[test]
fn unreadable_task_is_left_alone_and_explained() {
    let project = healthy_project();
    let path = file(Status::Ready, OTHER);
    let good = project.read(&path);
    let check = |spoil: &dyn Fn(), expected: &str| {
        spoil();
        let finding = check_listed(&project, FindingCode::TaskUnreadable, &path);
        assert!(finding.text.contains(expected), "{}", finding.text);
        let _ = fs::remove_file(project.path(&path));
        let _ = fs::remove_dir(project.path(&path));
        project.write(&path, &good);
    };
    let write = |text: &str| project.write(&path, text);
    let replace = |old: &str, new: &str| write(&good.replace(old, new));
    check(&|| write(""), "the first line is not `---`");
    check(&|| replace("title: ", "title: \"unclosed "), "line 5, column 1: ");
    check(
        &|| replace(&format!("id: {OTHER}"), &format!("id: {ID}")),
        "id: must be TASK-2026-02-09-002",
    );
    let two = |text: &str| text.replace("priority: normal", "priority: x").replace("title", "t");
    check(&|| write(&two(&good)), "title: is required; priority: must be one of");
    let bytes = [good.as_bytes(), &[0xff]].concat();
    check(&|| fs::write(project.path(&path), &bytes).expect("a file"), "is not UTF-8 text");
    let remove = || fs::remove_file(project.path(&path)).expect("a file");
    let link = || symlink("/etc/passwd", project.path(&path)).expect("a link");
    check(
        &|| {
            remove();
            link();
        },
        "is not a plain file",
    );
    let folder = || fs::create_dir(project.path(&path)).expect("a folder");
    check(
        &|| {
            remove();
            folder();
        },
        "is not a plain file",
    );
    let grow = || {
        let file = fs::OpenOptions::new().write(true).open(project.path(&path)).expect("a file");
        file.set_len(20 << 20).expect("a large file");
    };
    check(&grow, "is larger than 16 MiB");
    check_in_order(&project);
}

#[test]
fn duplicate_task_that_moved_last_is_kept() {
    let project = healthy_project();
    let kept = project.read(&file(Status::Review, ID));
    let older = kept
        .replace("status: review", "status: blocked")
        .replace("lastTransitionAt: 2026-02-10", "lastTransitionAt: 2026-02-08");
    project.write(&file(Status::Blocked, ID), &older);
    let done = check_mended(&project, FindingCode::TaskInTwoFolders, &file(Status::Blocked, ID));
    let aside = format!("lost+found/tasks-blocked-{ID}.md.1");
    assert_eq!(
        done,
        format!("kept the copy in review, which moved last; moved the other to {aside}")
    );
    assert_eq!(project.status_folders_of(ID), [Status::Review]);
    assert_eq!(project.read(&file(Status::Review, ID)), kept);
    assert_eq!(project.read(&aside), older);
}

#[test]
fn duplicate_task_that_can_be_read_is_kept() {
    for spoil in [true, false] {
        let project = healthy_project();
        let path = project.path(&file(Status::Ready, ID));
        if spoil {
            fs::write(&path, "broken").expect("a file");
        } else {
            fs::create_dir(&path).expect("a folder");
        }
        let both = [FindingCode::TaskInTwoFolders, FindingCode::TaskUnreadable];
        let codes: Vec<FindingCode> =
            list_findings(&project).into_iter().map(|(code, _)| code).collect();
        assert_eq!(codes, both);
        assert_eq!(mend(&project).len(), 1);
        assert_eq!(project.status_folders_of(ID), [Status::Review]);
        assert!(project.exists(&format!("lost+found/tasks-ready-{ID}.md.1")));
        check_in_order(&project);
    }
}

#[test]
fn duplicate_task_in_every_folder_is_kept_once() {
    let project = healthy_project();
    let text = project.read(&file(Status::Review, ID));
    for status in Status::ALL {
        project.write(
            &file(status, ID),
            &text.replace("status: review", &format!("status: {status}")),
        );
    }
    let codes: Vec<FindingCode> = mend(&project).iter().map(|mended| mended.finding.code).collect();
    assert_eq!(codes, [FindingCode::TaskInTwoFolders, FindingCode::OrphanCompanion]);
    let [kept] = project.status_folders_of(ID)[..] else {
        panic!("not one: {:?}", project.status_folders_of(ID))
    };
    assert!(project.exists(&format!("tasks/{kept}/{ID}/outputs/summary.md")), "it went along");
    let aside = fs::read_dir(project.path("lost+found")).expect("a folder").count();
    assert_eq!(aside, Status::ALL.len() - 1);
}

#[test]
fn status_in_front_matter_follows_the_folder() {
    let project = healthy_project();
    let path = file(Status::Ready, OTHER);
    let odd =
        project.read(&path).replace("status: ready", "x: 1 # mine\nstatus:   \"done\" # here");
    project.write(&path, &odd);
    let done = check_mended(&project, FindingCode::StatusAtOdds, &path);
    assert_eq!(done, "set status to ready, the name of its folder");
    assert_eq!(project.read(&path), odd.replace("\"done\"", "ready"));
}

#[test]
fn companion_folder_is_moved_to_its_task() {
    let project = healthy_project();
    let stray = format!("tasks/done/{OTHER}");
    fs::rename(project.path(&format!("tasks/ready/{OTHER}")), project.path(&stray)).expect("moved");
    let done = check_mended(&project, FindingCode::OrphanCompanion, &stray);
    assert_eq!(done, format!("moved it to tasks/ready/{OTHER}, next to its task"));
    assert!(project.exists(&format!("tasks/ready/{OTHER}/inputs/handoff.json")));
    assert!(!project.exists(&stray));
}

#[test]
fn companion_folder_whose_place_is_taken_goes_to_lost_found() {
    let project = healthy_project();
    let stray = format!("tasks/done/{OTHER}");
    project.write(&format!("{stray}/work/notes.md"), "Notes.\n");
    let done = check_mended(&project, FindingCode::OrphanCompanion, &stray);
    assert_eq!(done, format!("moved it to lost+found/tasks-done-{OTHER}.1"));
    let kept = format!("lost+found/tasks-done-{OTHER}.1/work/notes.md");
    assert_eq!(project.read(&kept), "Notes.\n");
    assert!(project.exists(&format!("tasks/ready/{OTHER}/inputs/handoff.json")));
}

#[test]
fn companion_folder_without_task_goes_to_lost_found() {
    let project = healthy_project();
    let stray = "tasks/backlog/TASK-2026-01-01-001";
    project.write(&format!("{stray}/outputs/summary.md"), "Done.\n");
    check_mended(&project, FindingCode::OrphanCompanion, stray);
    let kept = "lost+found/tasks-backlog-TASK-2026-01-01-001.1/outputs/summary.md";
    assert_eq!(project.read(kept), "Done.\n");
}

#[test]
fn temporary_files_of_dead_writers_are_cleared_away() {
    let project = healthy_project();
    project.write("journal/tmp/123-1", "ours");
    assert_eq!(
        check_mended(&project, FindingCode::LeftoverTemporary, "journal/tmp/123-1"),
        "removed it"
    );
    for name in [".md.tmp", ".md.1234567", ".md~"] {
        let path = format!("tasks/ready/{OTHER}{name}");
        project.write(&path, "theirs");
        let done = check_mended(&project, FindingCode::LeftoverTemporary, &path);
        let aside = format!("lost+found/tasks-ready-{OTHER}{name}.1");
        assert_eq!(done, format!("moved it to {aside}"));
        assert_eq!(project.read(&aside), "theirs", "it might be all there is");
    }
}

#[test]
fn temporary_folder_goes_to_lost_found_and_blocks_nothing() {
    let project = healthy_project();
    project.write("journal/tmp/odd/notes.md", "mine");
    let done = check_mended(&project, FindingCode::LeftoverTemporary, "journal/tmp/odd");
    assert_eq!(done, "moved it to lost+found/journal-tmp-odd.1");
    assert_eq!(project.read("lost+found/journal-tmp-odd.1/notes.md"), "mine");
    project.write("journal/tmp/odd/notes.md", "mine too");
    drop(project.open_engine());
    check_in_order(&project);
    assert_eq!(project.read("lost+found/journal-tmp-odd.2/notes.md"), "mine too");
}

#[test]
fn editor_files_are_not_touched() {
    let project = healthy_project();
    for name in
        [format!(".{OTHER}.md.swp"), ".gitkeep".into(), ".DS_Store".into(), "README.md".into()]
    {
        project.write(&format!("tasks/ready/{name}"), "x");
    }
    symlink("me@here.1:2", project.path(&format!("tasks/ready/.#{OTHER}.md"))).expect("a link");
    let before = all_files(&project);
    assert_eq!(examine(&project), []);
    assert_eq!(mend(&project), []);
    assert_eq!(all_files(&project), before);
}

#[test]
fn stray_file_is_listed_and_left() {
    let project = healthy_project();
    for name in ["notes.md", "TASK-1.md", "TASK-2026-02-09-057", "x.txt"] {
        let path = format!("tasks/ready/{name}");
        project.write(&path, "mine");
        check_listed(&project, FindingCode::StrayFile, &path);
        fs::remove_file(project.path(&path)).expect("a file");
    }
    check_in_order(&project);
}

#[test]
fn lost_found_files_never_overwrite_each_other() {
    let project = TestProject::new();
    project.write_task(ID, Status::Ready, "");
    drop(project.open_engine());
    for text in ["one", "two", "three"] {
        project.write(&format!("tasks/ready/{ID}.md.tmp"), text);
        assert_eq!(mend(&project).len(), 1);
    }
    let kept = |n: u32| project.read(&format!("lost+found/tasks-ready-{ID}.md.tmp.{n}"));
    assert_eq!([kept(1), kept(2), kept(3)], ["one", "two", "three"]);
}

#[test]
fn file_name_that_is_not_utf_8_is_listed() {
    let project = healthy_project();
    let name = OsStr::from_bytes(b"TASK-2026-02-09-004\xff.md");
    fs::write(project.path("tasks/ready").join(name), "x").expect("a file");
    let path = "tasks/ready/TASK-2026-02-09-004\u{fffd}.md";
    let finding = check_listed(&project, FindingCode::StrayFile, path);
    assert_eq!(finding.text, "has a name that is not UTF-8");
}

#[test]
fn run_that_could_not_be_imported_is_listed() {
    let project = healthy_project();
    project.write(&format!("state/runs/{ID}/run_result.json"), "{}\n");
    project.write(&format!("state/runs/{OTHER}/run_result.json"), "{}\n");
    drop(project.open_engine());
    assert!(project.exists(&format!("runs/{OTHER}/run_result.json")), "nothing was in its way");
    check_listed(&project, FindingCode::RunInTwoFolders, &format!("state/runs/{ID}"));
}
