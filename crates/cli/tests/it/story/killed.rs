//! Story commands that are killed at every write, rename and sync.

use std::os::unix::process::ExitStatusExt;

use serde_json::{Value, json};

use crate::story::support::{StoryTestProject, minutes_ago, story_position_text};

/// Returns a project whose first step passed, with hand-over files that `next` must archive.
fn project() -> StoryTestProject {
    let project = StoryTestProject::with_story();
    project.json(&["next"]);
    project.hand_over("pass");
    project.write(".ai/executor-result", "status: pass\nsummary: all is well\n");
    project.json(&["hook"]);
    project
}

#[test]
fn story_next_killed_anywhere_leaves_whole_state_and_resumes() {
    let mut points = 0;
    for point in 1.. {
        let project = project();
        let before = project.state();
        let mut command = project.command(&["next"]);
        let ended = command.env("ADJUTANT_DIE_AT", point.to_string()).output().expect("it starts");
        if ended.status.signal().is_none() {
            assert!(ended.status.success(), "{ended:?}");
            break;
        }
        points += 1;
        let after: Value = project.state();
        let new = after["status"] == "running";
        if new {
            assert_eq!((&after["step"], &after["attempt"]), (&"sdd-delta".into(), &1.into()));
        } else {
            assert_eq!(after, before, "old or new, at {point}");
        }
        let next = project.json(&["next"]);
        let expected = if new { "running" } else { "dispatched" };
        assert_eq!(next["result"], expected, "at {point}");
        assert_eq!(project.state()["dispatches"]["sdd-delta"], 1, "at {point}");
        // The first executor's hand-over must not count for the second executor.
        let (_, hooked) = project.run(&["hook"]);
        assert_eq!(hooked["status"], "failing", "at {point}: {hooked}");
        assert!(project.read(".ai/history.md").contains("all is well"), "at {point}");
        let left = std::fs::read_dir(project.path(".ai")).expect("a folder");
        let left = left.filter(|entry| {
            let name = entry.as_ref().expect("an entry").file_name();
            name.to_string_lossy().starts_with(".adjutant-new-")
        });
        assert_eq!(left.count(), 0, "nothing is left behind, at {point}");
    }
    assert!(points >= 10, "{points} points are too few to be all");
}

#[test]
fn story_hook_killed_anywhere_can_be_repeated() {
    for point in 1.. {
        let project = StoryTestProject::with_story();
        project.json(&["next"]);
        project.hand_over("pass");
        let before = project.state();
        let mut command = project.command(&["hook"]);
        let ended = command.env("ADJUTANT_DIE_AT", point.to_string()).output().expect("it starts");
        if ended.status.signal().is_none() {
            assert!(point > 3, "there are points to die at");
            break;
        }
        let after = project.state();
        if after["status"] == "pass" {
            assert_eq!(project.run_refused(&["hook"]), (1, "not_running".to_owned()));
        } else {
            assert_eq!(after, before);
            assert_eq!(project.json(&["hook"])["status"], "pass");
        }
    }
}

#[test]
fn story_commands_killed_anywhere_leave_old_or_new_state() {
    let review = json!({"step": "review", "status": "needs_human", "waiting_for": "review"});
    let running = json!({"step": "impl", "status": "running"});
    let late = json!({"step": "impl", "status": "running", "dispatched_at": minutes_ago(60)});
    let done = json!({"step": "done", "status": "pass"});
    for (before, args) in [
        (&review, &["approve", "--note", "go on"][..]),
        (&review, &["reject", "scope_warning"]),
        (&running, &["report-error", "it crashed"]),
        (&review, &["rollback", "bdd"]),
        (&late, &["poll"]),
        (&done, &["reopen", "US-005"]),
        (&done, &["start", "US-005", "--force"]),
        (&done, &["start", "US-006"]),
    ] {
        let made = |fields: &Value| {
            let project = StoryTestProject::with_story();
            project.update_state(&json!({"dispatched_at": minutes_ago(0)}));
            project.update_state(fields);
            project
        };
        let place_of = |project: &StoryTestProject| story_position_text(&project.state());
        let whole = made(before);
        whole.json(args);
        let expected = [place_of(&made(before)), place_of(&whole)];
        let mut points = 0;
        for point in 1.. {
            let project = made(before);
            let mut command = project.command(args);
            let ended = command.env("ADJUTANT_DIE_AT", point.to_string()).output();
            if ended.expect("it starts").status.signal().is_none() {
                break;
            }
            points += 1;
            let after = place_of(&project);
            assert!(expected.contains(&after), "{args:?} at {point}: {after}");
            let (code, next) = project.run(&["next"]);
            assert_eq!(code, 0, "{args:?} at {point}: {next}");
        }
        assert!(points >= 3, "{args:?}: {points} points are too few to be all");
    }
}
