//! `adjutant demo`.

use crate::support::{adjutant, document, run};

#[test]
fn the_demo_plays_to_its_end_and_keeps_nothing() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let ran = run(adjutant().arg("demo").env("TMPDIR", home.path()));
    assert_eq!((ran.code, &*ran.err), (0, ""), "{ran:?}");
    assert!(ran.out.contains("The record: one line an event"), "{}", ran.out);
    assert!(!ran.out.contains('\u{1b}'), "no colour where there is no terminal");
    assert_eq!(ran.out.matches("summary_file_not_found").count(), 1, "only where it is explained");
    let hint = ran.out.lines().last().expect("a last line");
    let called = format!("`{} demo --keep` keeps the folder", env!("CARGO_BIN_EXE_adjutant"));
    assert!(hint.starts_with(&called), "what it says can be typed: {hint}");
    let left = std::fs::read_dir(home.path()).expect("the folder can be read").count();
    assert_eq!(left, 0);
}

#[test]
fn as_json_the_demo_is_answers_and_then_the_record() {
    let ran = run(adjutant().args(["demo", "--json"]).env("ADJUTANT_RUN_TOKEN", "inside-a-run"));
    assert_eq!((ran.code, &*ran.err), (0, ""), "{ran:?}");
    let lines: Vec<_> = ran.out.lines().map(document).collect();
    let answers = lines.iter().filter(|line| line["result"].is_string()).count();
    let events = lines.iter().filter(|line| line["eventId"].is_u64()).count();
    assert_eq!((answers, answers + events), (16, lines.len()));
}

#[test]
fn the_folder_of_the_demo_can_be_kept() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let ran = run(adjutant().args(["demo", "--keep"]).env("TMPDIR", home.path()));
    let kept = ran.out.lines().find_map(|line| line.strip_prefix("The folder is kept: "));
    let kept = kept.expect("it says where");
    let look = format!("Look around: {} task list --data {kept}", env!("CARGO_BIN_EXE_adjutant"));
    assert_eq!(ran.out.lines().last(), Some(look.as_str()), "what it says can be typed");
    let list = run(adjutant().args(["task", "list", "--data", kept]));
    assert_eq!((list.code, list.out.lines().count()), (0, 4), "{list:?}");
}
