//! Property tests: a task file reads as it was written, and a patch changes only what it names.

use adjutant_model::work_log::WorkLogEntry;
use adjutant_model::{Task, Timestamp};
use adjutant_store::frontmatter::FrontMatterParts;
use adjutant_store::taskfile::{BodyChange, ParsedTask, TaskFilePatch, body_text, parse, render};
use adjutant_test_support::soak::cases;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value};

use crate::laws::generate::{task, text};

/// Adjutant's fields as people write them; all but the first three are optional.
const OURS: [&str; 12] = [
    "id: 'TASK-2026-02-09-001'",
    "\"title\": >-\n  A title that is\n  folded",
    "status:   STATUS # the folder decides",
    "schemaVersion: 2",
    "priority: \"high\"",
    "createdAt: 2026-02-09T20:00:00.000Z",
    "updatedAt:  '2026-02-09T20:00:00.000Z'   # ours",
    "lastTransitionAt: 2026-02-09T21:00:00+01:00",
    "createdBy: human:alice",
    "dependsOn: [TASK-2026-02-09-002, 'TASK-2026-02-09-003']",
    "resource: |-\n  staging",
    "dueBy: 2026-02-10T12:00:00Z",
];

/// Adjutant's mappings that contain fields of other programs.
const SHARED: [&str; 8] = [
    "routing:\n    team: core # theirs\n    agent: swe\n    tags: [a, 'b']",
    "routing: {agent: swe, team: core}",
    "routing: {}",
    "metadata: {}",
    "metadata:\n  owner: \"bob\"   # theirs\n  reviewRequired: false\n\n  # deep\n  deep: {a: [1]}",
    "metadata:\n  lastRun: {agent: old, attempt: 1, fence: 6}\n  reportedBy: old",
    "lease: {agent: swe, acquiredAt: 2026-02-09T20:00:00Z, expiresAt: 2026-02-09T20:05:00Z, x: 1}",
    "lease: ~",
];

/// Fields of other programs; `N` becomes a number.
const THEIRS: [&str; 14] = [
    "xN: 1",
    "xN: # empty",
    "'xN': [a, 'b: c'] # c",
    "xN: {a: 1,\n  b: [2, 3]}",
    "xN:\n- one\n-   two # c",
    "xN: |\n  status: done\n  # no comment\n\n  ---x",
    "xN: >-\n  folded\n  text",
    "xN:\n  a: 1\n  # c\n  b:\n    c: 2",
    "xN: yes",
    "xN: 0o17",
    "xN: 1.50",
    "xN: 2026-02-09",
    "xN: &anchor k",
    "? xN\n: behind a question mark",
];

const GAPS: [&str; 5] = ["", "", "\n", "# a comment: yes\n", "\n# status: done\n\n"];

/// A task file in parts, so that a test can check which of them stay.
#[derive(Debug, Clone)]
struct TaskFileSample {
    bom: &'static str,
    eol: &'static str,
    /// Entries of the front matter with their line breaks, each with the gap after it.
    entries: Vec<(String, &'static str)>,
    body: String,
}

impl TaskFileSample {
    fn text(&self) -> String {
        let yaml: String =
            self.entries.iter().flat_map(|(entry, gap)| [entry.as_str(), gap]).collect();
        let front = format!("---\n{yaml}---\n").replace('\n', self.eol);
        format!("{}{front}{}", self.bom, self.body)
    }

    fn parsed(&self) -> ParsedTask {
        let text = self.text();
        parse(&text, None, None).unwrap_or_else(|problems| panic!("{problems:?}\n{text}"))
    }
}

/// Picks a random subset.
fn random_subset(of: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
    vec(any::<bool>(), of.len()).prop_map(|taken| {
        let taken = of.iter().zip(taken).filter(|(_, taken)| *taken);
        taken.map(|(entry, _)| (*entry).to_owned()).collect()
    })
}

/// Picks at most one variant of each field.
fn shared() -> impl Strategy<Value = Vec<String>> {
    let pick = |range: std::ops::Range<usize>| prop::option::of(select(&SHARED[range]));
    (pick(0..3), pick(3..6), pick(6..8)).prop_map(|(routing, metadata, lease)| {
        [routing, metadata, lease].into_iter().flatten().map(str::to_owned).collect()
    })
}

fn theirs() -> impl Strategy<Value = Vec<String>> {
    vec(select(&THEIRS[..]), 0..6).prop_map(|entries| {
        let number = |(n, entry): (usize, &str)| entry.replace("xN", &format!("x{n}"));
        entries.into_iter().enumerate().map(number).collect()
    })
}

fn body() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        vec(
            select(&["text\n", "\r\n", "\n", "---\n", "## Work Log\n", "- by hand\n", "```\n"][..]),
            0..8
        )
        .prop_map(|lines| lines.concat()),
    ]
}

fn sample() -> impl Strategy<Value = TaskFileSample> {
    let status = select(&adjutant_model::Status::ALL);
    let entries =
        (random_subset(&OURS[3..]), shared(), theirs()).prop_map(|(ours, shared, theirs)| {
            let always = OURS[..3].iter().map(|entry| (*entry).to_owned());
            always.chain(ours).chain(shared).chain(theirs).collect::<Vec<_>>()
        });
    let entries = entries.prop_shuffle();
    let gaps = vec(select(&GAPS[..]), 40);
    let look = (select(&["", "\u{feff}"][..]), select(&["\n", "\r\n"][..]));
    (entries, gaps, status, look, body()).prop_map(|(entries, gaps, status, (bom, eol), body)| {
        let entries = entries
            .into_iter()
            .zip(gaps)
            .map(|(entry, gap)| (entry.replace("STATUS", status.as_str()) + "\n", gap));
        TaskFileSample { bom, eol, entries: entries.collect(), body }
    })
}

/// Returns a mapping without the fields at these paths, which a patch may change.
fn without(fields: &Map<String, Value>, ours: &[&[&str]]) -> Map<String, Value> {
    let mut rest = fields.clone();
    for path in ours {
        match path {
            [key] => drop(rest.remove(*key)),
            [key, inner] => {
                if let Some(Value::Object(nested)) = rest.get_mut(*key) {
                    nested.remove(*inner);
                }
            }
            _ => {}
        }
    }
    // An empty `routing` or `metadata` mapping means the same as an absent one.
    rest.retain(|key, value| {
        !(["routing", "metadata"].contains(&key.as_str())
            && (value.is_null() || value.as_object().is_some_and(Map::is_empty)))
    });
    rest
}

/// Every field that Adjutant writes.
const WRITTEN: [&[&str]; 45] = [
    &["id"],
    &["title"],
    &["status"],
    &["priority"],
    &["createdAt"],
    &["updatedAt"],
    &["lastTransitionAt"],
    &["createdBy"],
    &["routing", "agent"],
    &["routing", "role"],
    &["routing", "tags"],
    &["parentId"],
    &["dependsOn"],
    &["resource"],
    &["dueBy"],
    &["lease"],
    &["metadata", "reviewRequired"],
    &["metadata", "delegationDepth"],
    &["metadata", "lastRun"],
    &["metadata", "reportedBy"],
    &["metadata", "reportedFence"],
    &["metadata", "feedback"],
    &["metadata", "openRun"],
    &["metadata", "node"],
    &["metadata", "failures"],
    &["metadata", "notBefore"],
    &["metadata", "expiredAt"],
    &["metadata", "expiredReason"],
    &["metadata", "blockedBy"],
    &["metadata", "statusReason"],
    &["metadata", "answer"],
    &["metadata", "question"],
    &["metadata", "permission"],
    &["metadata", "mission"],
    &["metadata", "delegation"],
    &["metadata", "story"],
    &["routing", "mode"],
    &["metadata", "session"],
    &["metadata", "parked"],
    &["metadata", "usage"],
    &["metadata", "budgetUsd"],
    &["metadata", "budgetTokens"],
    &["metadata", "checks"],
    &["metadata", "acceptedChecks"],
    &["metadata", "work"],
];

/// Copies one field from another task, and returns its path.
fn copy_field(task: &mut Task, other: &Task, nth: usize) -> &'static [&'static str] {
    match nth {
        0 => task.title.clone_from(&other.title),
        1 => task.priority = other.priority,
        2 => task.created_at = other.created_at,
        3 => task.updated_at = other.updated_at,
        4 => task.last_transition_at = other.last_transition_at,
        5 => task.created_by.clone_from(&other.created_by),
        6 => task.routing.agent.clone_from(&other.routing.agent),
        7 => task.routing.role.clone_from(&other.routing.role),
        8 => task.routing.tags.clone_from(&other.routing.tags),
        9 => task.parent.clone_from(&other.parent),
        10 => task.depends_on.clone_from(&other.depends_on),
        11 => task.resource.clone_from(&other.resource),
        12 => task.due_by = other.due_by,
        13 => task.review = other.review,
        14 => task.depth = other.depth,
        15 => task.last_run.clone_from(&other.last_run),
        16 => task.reported_by.clone_from(&other.reported_by),
        17 => task.reported_fence = other.reported_fence,
        18 => task.feedback.clone_from(&other.feedback),
        19 => task.history.open.clone_from(&other.history.open),
        20 => task.history.failures.clone_from(&other.history.failures),
        21 => task.history.not_before = other.history.not_before,
        22 => task.history.blocked_by = other.history.blocked_by,
        23 => task.history.reason.clone_from(&other.history.reason),
        24 => task.history.answer.clone_from(&other.history.answer),
        _ => unreachable!("there are no more fields"),
    }
    let named = [
        1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 18, 19, 20, 21, 22, 23, 24, 27, 28, 29,
    ];
    WRITTEN[named[nth]]
}

/// Returns the key of an entry, without quotes.
fn key(entry: &str) -> &str {
    let entry = entry.trim_start_matches(['\'', '"', '?', ' ']);
    &entry[..entry.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(entry.len())]
}

fn entry() -> impl Strategy<Value = WorkLogEntry> {
    (text(), prop::option::of(text())).prop_map(|(progress, notes)| WorkLogEntry {
        at: Timestamp::parse("2026-02-09T21:10:00Z").expect("a good time"),
        progress: Some(progress),
        notes,
        blockers: vec![],
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(250)))]

    #[test]
    fn new_task_file_reads_as_its_task(task in task(), body in body()) {
        let text = render(&task, &body);
        let parsed = parse(&text, Some(&task.id), Some(task.status()));
        let parsed = parsed.unwrap_or_else(|problems| panic!("{problems:?}\n{text}"));
        prop_assert_eq!(&parsed.task, &task);
        prop_assert_eq!(parsed.stated_status, Some(task.status()));
        let parts = FrontMatterParts::split(&text).expect("a task file");
        let breaks = ['\r', '\n'];
        let kept = body_text(parts.body()).trim_end_matches(breaks);
        prop_assert_eq!(kept, body.trim_end_matches(breaks));
        prop_assert!(TaskFilePatch::new(&parsed, &task, vec![]).is_empty());
    }

    #[test]
    fn patch_without_changes_keeps_the_file_byte_for_byte(sample in sample()) {
        let (text, parsed) = (sample.text(), sample.parsed());
        let patch = TaskFilePatch::new(&parsed, &parsed.task, vec![]);
        let over = parsed.task.lease().is_none() && parsed.fields.get("lease").is_some_and(|l| !l.is_null());
        prop_assert_eq!(patch.is_empty(), !over, "only a lease that is over is taken away");
        if patch.is_empty() {
            prop_assert_eq!(patch.apply(&text), Ok(text));
        }
    }

    #[test]
    fn patch_turns_any_file_into_any_task(sample in sample(), after in task()) {
        let (text, before) = (sample.text(), sample.parsed());
        let after = Task { id: before.task.id.clone(), ..after };
        let patched = TaskFilePatch::new(&before, &after, vec![]).apply(&text).expect("a task file");
        let read = parse(&patched, Some(&after.id), Some(after.status()));
        let read = read.unwrap_or_else(|problems| panic!("{problems:?}\n{patched}"));
        prop_assert_eq!(&read.task, &after);
        prop_assert_eq!(read.stated_status, Some(after.status()));
        prop_assert_eq!(without(&read.fields, &WRITTEN), without(&before.fields, &WRITTEN));
        prop_assert_eq!(FrontMatterParts::split(&patched).expect("a task file").body(), sample.body.as_str());
        prop_assert!(patched.starts_with(sample.bom));
        let again = TaskFilePatch::new(&read, &after, vec![]);
        prop_assert!(again.is_empty(), "once is enough: {:?}", again);
    }

    #[test]
    fn patch_of_one_field_changes_only_its_lines(
        sample in sample(), other in task(), nth in 0..19_usize,
    ) {
        let (text, before) = (sample.text(), sample.parsed());
        let mut after = before.task.clone();
        let named = copy_field(&mut after, &other, nth);
        let patched = TaskFilePatch::new(&before, &after, vec![]).apply(&text).expect("a task file");
        let stays = |(entry, _): &&(String, &str)| key(entry) != named[0] && key(entry) != "lease";
        let mut rest = patched.as_str();
        for (entry, _) in sample.entries.iter().filter(stays) {
            let entry = entry.replace('\n', sample.eol);
            let at = rest.find(&entry);
            prop_assert!(at.is_some(), "{:?} is not in its place in\n{}", entry, patched);
            rest = &rest[at.unwrap_or(0) + entry.len()..];
        }
        for comment in ["# a comment: yes", "# status: done"] {
            prop_assert_eq!(patched.matches(comment).count(), text.matches(comment).count());
        }
        prop_assert!(patched.ends_with(&sample.body));
    }

    #[test]
    fn patch_of_the_body_keeps_the_front_matter(
        sample in sample(), replaced in prop::option::of(body()), entries in vec(entry(), 1..4),
    ) {
        let text = sample.text();
        let front = &text[..text.len() - sample.body.len()];
        let mut changes: Vec<BodyChange> = replaced.iter().cloned().map(BodyChange::Replace).collect();
        changes.extend(entries.iter().cloned().map(BodyChange::Append));
        let patched = TaskFilePatch::from_body(changes).apply(&text).expect("a task file");
        prop_assert!(patched.starts_with(front), "{}", patched);
        for entry in &entries {
            let line = entry.line();
            prop_assert!(patched.lines().any(|there| there == line), "{:?} in {}", line, patched);
        }
        prop_assert_eq!(
            parse(&patched, None, None).expect("a task file").fields, sample.parsed().fields
        );
    }
}
