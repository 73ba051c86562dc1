//! The event log: every change in it is found.

use adjutant_store::file::doctor::FindingCode;
use adjutant_testkit::TestProject;

use super::{check_in_order, check_listed, check_mended, healthy_project, list_findings};

const FIRST: &str = "events/2026-02-09.jsonl";
const SECOND: &str = "events/2026-02-10.jsonl";

fn lines(project: &TestProject, file: &str) -> Vec<String> {
    project.read(file).lines().map(str::to_owned).collect()
}

fn write(project: &TestProject, file: &str, lines: &[String]) {
    project.write(file, &(lines.join("\n") + "\n"));
}

/// Changes the lines of a file, compares the findings, and restores the lines.
fn check(
    project: &TestProject,
    file: &str,
    change: impl FnOnce(&mut Vec<String>),
    at: &[(FindingCode, &str)],
) {
    let before = lines(project, file);
    let mut changed = before.clone();
    change(&mut changed);
    assert_ne!(changed, before);
    write(project, file, &changed);
    let expected: Vec<(FindingCode, String)> =
        at.iter().map(|(code, place)| (*code, format!("events/{place}"))).collect();
    assert_eq!(list_findings(project), expected);
    write(project, file, &before);
    assert_eq!(list_findings(project), []);
}

#[test]
fn event_log_sample_has_enough_lines() {
    let project = healthy_project();
    assert!(lines(&project, FIRST).len() > 5 && lines(&project, SECOND).len() > 3);
}

#[test]
fn event_log_changed_line_is_found() {
    let project = healthy_project();
    let broken = FindingCode::EventChainBroken;
    let rename = |lines: &mut Vec<String>| lines[1] = lines[1].replace("Two", "Too");
    check(&project, FIRST, rename, &[(broken, "2026-02-09.jsonl:3")]);
    let actor = |lines: &mut Vec<String>| lines[3] = lines[3].replace("\"a\"", "\"b\"");
    check(&project, FIRST, actor, &[(broken, "2026-02-09.jsonl:5")]);
    let blank = |lines: &mut Vec<String>| lines[2].push(' ');
    check(&project, FIRST, blank, &[(broken, "2026-02-09.jsonl:4")]);
}

#[test]
fn event_log_changed_last_line_of_a_day_is_found() {
    let project = healthy_project();
    let last = |lines: &mut Vec<String>| {
        let line = lines.last_mut().expect("a line");
        *line = line.replace("half", "all");
    };
    check(&project, FIRST, last, &[(FindingCode::EventChainBroken, "2026-02-10.jsonl:1")]);
}

#[test]
fn event_log_changed_line_without_hash_is_found() {
    let project = healthy_project();
    let forge = |lines: &mut Vec<String>| {
        let line = lines[2].replace("Three", "Free");
        let (before, _) = line.split_once(",\"prev\"").expect("it is chained");
        lines[2] = format!("{before}}}");
    };
    check(&project, FIRST, forge, &[(FindingCode::EventChainBroken, "2026-02-09.jsonl:4")]);
}

#[test]
fn event_log_removed_line_is_found() {
    let project = healthy_project();
    let gap = FindingCode::EventGap;
    let first = |lines: &mut Vec<String>| drop(lines.remove(0));
    check(&project, FIRST, first, &[(gap, "2026-02-09.jsonl:1")]);
    let middle = |lines: &mut Vec<String>| drop(lines.remove(2));
    check(&project, FIRST, middle, &[(gap, "2026-02-09.jsonl:3")]);
    let last = |lines: &mut Vec<String>| drop(lines.pop());
    check(&project, FIRST, last, &[(gap, "2026-02-10.jsonl:1")]);
}

#[test]
fn event_log_swapped_lines_are_found() {
    let project = healthy_project();
    let gap = FindingCode::EventGap;
    let swap = |lines: &mut Vec<String>| lines.swap(1, 2);
    let at =
        [(gap, "2026-02-09.jsonl:2"), (gap, "2026-02-09.jsonl:3"), (gap, "2026-02-09.jsonl:4")];
    check(&project, FIRST, swap, &at);
}

#[test]
fn event_log_repeated_or_inserted_line_is_found() {
    let project = healthy_project();
    let twice = |lines: &mut Vec<String>| lines.insert(2, lines[2].clone());
    let at = [(FindingCode::EventGap, "2026-02-09.jsonl:4")];
    check(&project, FIRST, twice, &at);
    let forged = |lines: &mut Vec<String>| {
        let line = lines[2].replace("\"eventId\":3", "\"eventId\":4");
        lines.insert(3, line);
    };
    let at = [
        (FindingCode::EventChainBroken, "2026-02-09.jsonl:4"),
        (FindingCode::EventGap, "2026-02-09.jsonl:5"),
    ];
    check(&project, FIRST, forged, &at);
}

#[test]
fn event_log_line_that_is_no_event_is_found() {
    let project = healthy_project();
    for rubbish in ["", "not JSON", "{}", "{\"eventId\":\"3\"}", "[1]"] {
        let spoil = |lines: &mut Vec<String>| rubbish.clone_into(&mut lines[2]);
        let at = [
            (FindingCode::EventUnreadable, "2026-02-09.jsonl:3"),
            (FindingCode::EventGap, "2026-02-09.jsonl:4"),
        ];
        check(&project, FIRST, spoil, &at);
    }
}

#[test]
fn event_log_missing_day_is_found() {
    let project = healthy_project();
    let text = project.read(FIRST);
    std::fs::remove_file(project.path(FIRST)).expect("a file");
    check_listed(&project, FindingCode::EventGap, &format!("{SECOND}:1"));
    project.write(FIRST, &text);
    check_in_order(&project);
}

#[test]
fn event_log_torn_last_line_is_cut_off() {
    let project = healthy_project();
    let whole = project.read(SECOND);
    project.write(SECOND, &format!("{whole}{{\"eventId\":99,\"ty"));
    let done = check_mended(&project, FindingCode::TornEventTail, SECOND);
    assert_eq!(done, "cut off 17 bytes and kept them in lost+found/2026-02-10.jsonl.torn.1");
    assert_eq!(project.read("lost+found/2026-02-10.jsonl.torn.1"), "{\"eventId\":99,\"ty");
    assert!(project.read(SECOND).starts_with(&whole));
}

#[test]
fn event_log_torn_line_of_earlier_day_is_cut_off() {
    let project = healthy_project();
    let whole = project.read(FIRST);
    project.write(FIRST, &format!("{whole}{{\"eventId\":9"));
    check_mended(&project, FindingCode::TornEventTail, FIRST);
    assert_eq!(project.read(FIRST), whole);
}

#[test]
fn event_log_ignores_files_that_are_no_day() {
    let project = healthy_project();
    project.write("events/notes.txt", "mine");
    project.write("events/2026-13-40.jsonl", "not a day");
    std::os::unix::fs::symlink("2026-02-10.jsonl", project.path("events/events.jsonl"))
        .expect("a link");
    check_in_order(&project);
}
