//! What the store does for itself: opening, resting, cutting the journal, going into a new day.

use std::fs;
use std::path::Path;

use super::Deed;
use super::given::{AGENT, UNREVIEWED, WORKING};
use crate::audit::Record;
use crate::hand::Hand;
use crate::message::{completion, progress};
use crate::project::{Project, send};

pub(super) const ALL: &[Deed] = &[
    Deed::new("open", |_| {}, &[]),
    Deed::new("open_without_an_index", |_| {}, &[]).after(forget_the_index),
    Deed::new("migrate_format_1", |_| {}, &[]).after(take_back_to_format_1),
    Deed::new("rest", log_and_rest, &["applied", "rested", "applied", "rested"]),
    Deed::new("cut_the_journal", log_and_rest, &["applied", "rested", "applied", "rested"])
        .cutting_the_journal_at(1),
    Deed::new("cut_the_journal_only", log_thrice, &["applied", "applied", "applied"])
        .cutting_the_journal_at(1),
    Deed::new("cross_midnight_and_back", cross_midnight, &["applied", "applied", "applied"]),
    Deed { given: None, ..Deed::new("first_open", |_| {}, &[]) },
    Deed { given: None, ..Deed::new("first_commit", add, &["applied"]) },
    Deed {
        given: Some(folder_of_the_original),
        record: Record::SinceAdopted,
        ..Deed::new("adopt", |_| {}, &[])
    },
];

fn forget_the_index(root: &Path) {
    fs::remove_file(root.join("journal/index")).expect("an index");
}

/// Format 1 has no file that says the format.
fn take_back_to_format_1(root: &Path) {
    fs::remove_file(root.join("format.json")).expect("a format");
}

fn log(hand: &mut Hand, text: &str) {
    hand.submit(&[send(&progress(WORKING, AGENT, text))]);
}

fn log_and_rest(hand: &mut Hand) {
    log(hand, "One");
    hand.rest();
    hand.submit(&[send(&completion(UNREVIEWED, AGENT, "done"))]);
    hand.rest();
}

fn log_thrice(hand: &mut Hand) {
    log(hand, "One");
    hand.submit(&[send(&completion(UNREVIEWED, AGENT, "done"))]);
    log(hand, "Three");
}

fn cross_midnight(hand: &mut Hand) {
    log(hand, "One");
    hand.clock.set("2026-02-10T00:00:00.000Z");
    log(hand, "Two");
    hand.clock.set("2026-02-09T23:59:59.000Z");
    log(hand, "Three");
}

fn add(hand: &mut Hand) {
    use adjutant_core::command::Start;
    hand.submit(&[crate::project::add("The first", Start::Ready)]);
}

/// What the original AOF leaves: tasks, a record and runs, and nothing of ours.
fn folder_of_the_original(project: &Project) {
    let id = "TASK-2026-02-09-00112abc";
    project.task("TASK-2026-02-09-001", adjutant_core::Status::Ready, "");
    project.write(&format!("state/runs/{id}/run_result.json"), "{}\n");
    project.write("state/runs/TASK-2026-02-09-001/run_result.json", "{}\n");
    fs::remove_dir_all(project.path("journal")).expect("a journal");
    fs::remove_dir_all(project.path("events")).expect("events");
    fs::remove_dir_all(project.path("runs")).expect("runs");
}
