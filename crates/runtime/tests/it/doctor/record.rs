//! The record: whatever was changed in it is found.

use adjutant_store::file::doctor::Code;
use adjutant_testkit::Project;

use super::{check_in_order, check_listed, check_mended, found, healthy};

const FIRST: &str = "events/2026-02-09.jsonl";
const SECOND: &str = "events/2026-02-10.jsonl";

fn lines(project: &Project, file: &str) -> Vec<String> {
    project.read(file).lines().map(str::to_owned).collect()
}

fn write(project: &Project, file: &str, lines: &[String]) {
    project.write(file, &(lines.join("\n") + "\n"));
}

/// Changes the lines of a file, looks, and puts them back.
fn check(
    project: &Project,
    file: &str,
    change: impl FnOnce(&mut Vec<String>),
    at: &[(Code, &str)],
) {
    let before = lines(project, file);
    let mut changed = before.clone();
    change(&mut changed);
    assert_ne!(changed, before);
    write(project, file, &changed);
    let expected: Vec<(Code, String)> =
        at.iter().map(|(code, place)| (*code, format!("events/{place}"))).collect();
    assert_eq!(found(project), expected);
    write(project, file, &before);
    assert_eq!(found(project), []);
}

#[test]
fn the_sample_has_enough_lines_to_spoil() {
    let project = healthy();
    assert!(lines(&project, FIRST).len() > 5 && lines(&project, SECOND).len() > 3);
}

#[test]
fn a_line_that_was_changed() {
    let project = healthy();
    let broken = Code::EventChainBroken;
    let rename = |lines: &mut Vec<String>| lines[1] = lines[1].replace("Two", "Too");
    check(&project, FIRST, rename, &[(broken, "2026-02-09.jsonl:3")]);
    let actor = |lines: &mut Vec<String>| lines[3] = lines[3].replace("\"a\"", "\"b\"");
    check(&project, FIRST, actor, &[(broken, "2026-02-09.jsonl:5")]);
    let blank = |lines: &mut Vec<String>| lines[2].push(' ');
    check(&project, FIRST, blank, &[(broken, "2026-02-09.jsonl:4")]);
}

#[test]
fn a_line_that_was_changed_at_the_end_of_a_day() {
    let project = healthy();
    let last = |lines: &mut Vec<String>| {
        let line = lines.last_mut().expect("a line");
        *line = line.replace("half", "all");
    };
    check(&project, FIRST, last, &[(Code::EventChainBroken, "2026-02-10.jsonl:1")]);
}

#[test]
fn a_line_whose_chain_was_cut_out_with_it() {
    let project = healthy();
    let forge = |lines: &mut Vec<String>| {
        let line = lines[2].replace("Three", "Free");
        let (before, _) = line.split_once(",\"prev\"").expect("it is chained");
        lines[2] = format!("{before}}}");
    };
    check(&project, FIRST, forge, &[(Code::EventChainBroken, "2026-02-09.jsonl:4")]);
}

#[test]
fn a_line_that_was_removed() {
    let project = healthy();
    let gap = Code::EventGap;
    let first = |lines: &mut Vec<String>| drop(lines.remove(0));
    check(&project, FIRST, first, &[(gap, "2026-02-09.jsonl:1")]);
    let middle = |lines: &mut Vec<String>| drop(lines.remove(2));
    check(&project, FIRST, middle, &[(gap, "2026-02-09.jsonl:3")]);
    let last = |lines: &mut Vec<String>| drop(lines.pop());
    check(&project, FIRST, last, &[(gap, "2026-02-10.jsonl:1")]);
}

#[test]
fn lines_that_were_swapped() {
    let project = healthy();
    let gap = Code::EventGap;
    let swap = |lines: &mut Vec<String>| lines.swap(1, 2);
    let at =
        [(gap, "2026-02-09.jsonl:2"), (gap, "2026-02-09.jsonl:3"), (gap, "2026-02-09.jsonl:4")];
    check(&project, FIRST, swap, &at);
}

#[test]
fn a_line_that_was_doubled_or_put_in() {
    let project = healthy();
    let twice = |lines: &mut Vec<String>| lines.insert(2, lines[2].clone());
    let at = [(Code::EventGap, "2026-02-09.jsonl:4")];
    check(&project, FIRST, twice, &at);
    let forged = |lines: &mut Vec<String>| {
        let line = lines[2].replace("\"eventId\":3", "\"eventId\":4");
        lines.insert(3, line);
    };
    let at =
        [(Code::EventChainBroken, "2026-02-09.jsonl:4"), (Code::EventGap, "2026-02-09.jsonl:5")];
    check(&project, FIRST, forged, &at);
}

#[test]
fn a_line_that_is_no_event() {
    let project = healthy();
    for rubbish in ["", "not JSON", "{}", "{\"eventId\":\"3\"}", "[1]"] {
        let spoil = |lines: &mut Vec<String>| rubbish.clone_into(&mut lines[2]);
        let at =
            [(Code::EventUnreadable, "2026-02-09.jsonl:3"), (Code::EventGap, "2026-02-09.jsonl:4")];
        check(&project, FIRST, spoil, &at);
    }
}

#[test]
fn a_day_that_is_missing() {
    let project = healthy();
    let text = project.read(FIRST);
    std::fs::remove_file(project.path(FIRST)).expect("a file");
    check_listed(&project, Code::EventGap, &format!("{SECOND}:1"));
    project.write(FIRST, &text);
    check_in_order(&project);
}

#[test]
fn a_last_line_that_was_never_finished() {
    let project = healthy();
    let whole = project.read(SECOND);
    project.write(SECOND, &format!("{whole}{{\"eventId\":99,\"ty"));
    let done = check_mended(&project, Code::TornEventTail, SECOND);
    assert_eq!(done, "cut off 17 bytes, kept in lost+found/2026-02-10.jsonl.torn.1");
    assert_eq!(project.read("lost+found/2026-02-10.jsonl.torn.1"), "{\"eventId\":99,\"ty");
    assert!(project.read(SECOND).starts_with(&whole));
}

#[test]
fn a_line_that_was_never_finished_on_an_earlier_day() {
    let project = healthy();
    let whole = project.read(FIRST);
    project.write(FIRST, &format!("{whole}{{\"eventId\":9"));
    check_mended(&project, Code::TornEventTail, FIRST);
    assert_eq!(project.read(FIRST), whole);
}

#[test]
fn what_is_no_day_is_none_of_ours() {
    let project = healthy();
    project.write("events/notes.txt", "mine");
    project.write("events/2026-13-40.jsonl", "not a day");
    std::os::unix::fs::symlink("2026-02-10.jsonl", project.path("events/events.jsonl"))
        .expect("a link");
    check_in_order(&project);
}
