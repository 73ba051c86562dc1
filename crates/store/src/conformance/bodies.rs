//! The document of a task: its fields and its body after every kind of change.

use adjutant_core::task::{Review, Task};
use adjutant_core::{Priority, Status};

use super::Harness;
use super::handle::{Handle, reopen};
use super::sample::{agent, completed, created, edited, full_task, id, logged, moved, said, task};
use crate::document::task_file;
use crate::frontmatter::Parts;
use crate::taskfile::{body_text, parse};

const FULL: &str = "---
schemaVersion: 1
id: TASK-2026-02-09-003
title: \"Mend \\\"it\\\": all # of it\"
status: in-progress
priority: high
createdAt: 2026-02-09T20:00:00.000Z
updatedAt: 2026-02-09T20:00:00.000Z
lastTransitionAt: 2026-02-09T20:00:00.000Z
createdBy: human:alice
routing:
  agent: swe
  mode: code
  role: backend
  tags:
    - rust
    - \"no\"
parentId: TASK-2026-02-09-001
dependsOn:
  - TASK-2026-02-09-001
  - TASK-2026-02-09-002
resource: staging
dueBy: 2026-02-10T12:00:00.000Z
lease:
  agent: swe
  acquiredAt: 2026-02-09T20:10:00.000Z
  expiresAt: 2026-02-09T20:15:00.000Z
  renewCount: 3
  attempt: 2
  fence: 7
metadata:
  reviewRequired: false
  delegationDepth: 1
  lastRun:
    agent: old
    attempt: 1
    fence: 6
  reportedBy: old
  reportedFence: 6
  feedback: \"Again:\\nwith tests\"
  openRun:
    agent: swe
    attempt: 2
    fence: 7
  node: mac
  failures:
    - attempt: 1
      reason: stale_heartbeat
    - attempt: 2
      reason: \"exit code 1: \\\"no\\\"\\nlast: line\"
  notBefore: 2026-02-09T20:20:00.000Z
  expiredAt: 2026-02-09T20:05:00.000Z
  expiredReason: \"a: b\"
  blockedBy: dependency
  statusReason: \"waits for: it\"
  answer: \"Yes.\\n- and no\"
  question:
    text: \"Which: a or b?\"
    suggestedResolution: Ask
  permission:
    attempt: 2
    fence: 7
    number: 3
    since: 2026-02-09T20:10:00.000Z
    text: \"Run: \\\"rm -r x\\\"\\nnow\"
    choices:
      - id: \"yes\"
        name: \"yes: so\"
        kind: allow_once
      - id: \"no\"
        name: \"no: so\"
        kind: reject_once
  session:
    agent: swe
    id: c7d4-\"0\"
    node: mac
  parked:
    agent: swe
    until: 2026-02-09T23:00:00.000Z
    reason: \"limit: reached\"
    settings: \"00000000000000fe\"
    node: mac
  usage:
    - day: \"2026-02-09\"
      agent: swe
      inputTokens: 1200
      outputTokens: 30
      cachedTokens: 1000
      costUsd: 0.263805
  budgetUsd: 2.5
  budgetTokens: 100000
  story:
    id: US-005
    step: impl
    attempt: 2
    maxAttempts: 5
    status: failing
    auto: true
    reason: scope_warning
    waitsFor:
      - US-003
    fence: 7
    lastError: \"two: tests fail\"
    node: mini
  mission:
    task_id: T042
    epic_id: \"E005\"
    prd_id: PRD-001
  delegation:
    taskId: API-SPEC-001
---

Do *it*.
";

/// A new task is written with all its fields, and what changes changes where it stands.
pub fn fields_change_where_they_stand(harness: &mut impl Harness) {
    let mut handle = Handle::open(harness);
    let plain = |number| created(task(number, Status::Done), "");
    handle.commit(vec![plain(1), plain(2), created(full_task(3), "Do *it*.\n")]);
    assert_eq!(handle.document(&id(3)).as_deref(), Some(FULL));
    handle.commit(vec![moved(3, Status::InProgress, Status::Review)]);
    let lease = &FULL[FULL.find("lease:").unwrap_or(0)..FULL.find("metadata:").unwrap_or(0)];
    let asked =
        &FULL[FULL.find("  permission:").unwrap_or(0)..FULL.find("  session:").unwrap_or(0)];
    let at_event_4 = "2026-02-09T21:00:04.000Z";
    let reviewed = FULL
        .replace("status: in-progress", "status: review")
        .replace("updatedAt: 2026-02-09T20:00:00.000Z", &format!("updatedAt: {at_event_4}"))
        .replace("TransitionAt: 2026-02-09T20:00:00.000Z", &format!("TransitionAt: {at_event_4}"))
        .replace(lease, "")
        .replace(asked, "")
        .replace(
            "  blockedBy: dependency\n  statusReason: \"waits for: it\"\n",
            "  statusReason: because\n",
        )
        .replace(
            "agent: old\n    attempt: 1\n    fence: 6",
            "agent: swe\n    attempt: 2\n    fence: 7",
        );
    assert_eq!(handle.document(&id(3)), Some(reviewed.clone()));
    let mut other = handle.world.task(&id(3)).expect("it is known").clone();
    other.priority = Priority::Low;
    other.routing.agent = Some(agent("qa"));
    handle.commit(vec![edited(other, &["priority", "routing"], None)]);
    let expected = reviewed
        .replace("priority: high", "priority: low")
        .replace("agent: swe\n  m", "agent: qa\n  m");
    assert_eq!(handle.document(&id(3)), Some(expected));
    reopen(harness, handle);
}

/// A body is the person's own: whatever is in it, it stays while the task goes its way.
pub fn bodies_are_kept_as_they_are(harness: &mut impl Harness) {
    use Status::{InProgress, Ready, Review as InReview};
    let long = "A long line, again and again.\n".repeat(20_000);
    let bodies = [
        "",
        "One line.\n",
        "No line break at the end",
        "---\nstatus: done\n---\n\n# Fences\n\n---\n",
        "Windows\r\nlines\r\n",
        "Ünïcödé 🦀 \u{2028} and \t tabs\n\n\n",
        "\n\nBlank lines first.\n",
        "```\n## Work Log\n```\n",
        "{\"protocol\":\"aof\"}\n<!-- a comment -->\n",
        &long,
    ];
    let mut handle = Handle::open(harness);
    for (number, body) in (1..).zip(bodies) {
        handle.commit(vec![created(task(number, Ready), body)]);
        handle.commit(vec![moved(number, Ready, InProgress), completed(number, "fine")]);
        handle.commit(vec![moved(number, InProgress, InReview)]);
        handle.commit(said(number));
        let text = handle.document(&id(number)).expect("a document");
        let parts = Parts::split(&text).expect("a task file");
        let broken = body.trim_end_matches(['\r', '\n']);
        let kept = body_text(parts.body());
        assert_eq!(kept.trim_end_matches(['\r', '\n']), broken);
    }
    reopen(harness, handle);
}

/// Only a new body takes the place of the old; the fields stay.
pub fn a_new_body_replaces_the_old(harness: &mut impl Harness) {
    let mut handle = Handle::open(harness);
    let plain = task(1, Status::Ready);
    handle.commit(vec![created(plain.clone(), "Old.\n"), logged(1, "a")]);
    let other = Task { title: "Other".into(), review: Review::NotNeeded, ..plain };
    handle.commit(vec![edited(other.clone(), &["title", "metadata.reviewRequired"], None)]);
    let text = handle.document(&id(1)).expect("a document");
    assert!(text.contains("\n\nOld.\n\n## Work Log\n\n- "), "{text}");
    handle.commit(vec![edited(other.clone(), &["body"], Some("New.\n")), logged(1, "b")]);
    let text = handle.document(&id(1)).expect("a document");
    let (_, body) = text.split_once("\n---\n").expect("front matter");
    let line = "- 2026-02-09T23:05:00+02:00 Progress: b\n";
    assert_eq!(body, format!("\nNew.\n\n## Work Log\n\n{line}"));
    assert_eq!(parse(&text, None, None).expect("a task").task.title, other.title);
    reopen(harness, handle);
}

/// A report adds one line to the work log and leaves everything else alone.
pub fn the_work_log_grows_by_a_line(harness: &mut impl Harness) {
    let mut handle = Handle::open(harness);
    handle.commit(vec![created(task(1, Status::Ready), "Do it.\n\n## Work Log\n\n## After\n")]);
    for _ in 0..2 {
        handle.commit(vec![logged(1, "one\n- two")]);
    }
    handle.commit(vec![logged(1, "x"), logged(1, "y")]);
    let text = handle.document(&id(1)).expect("a document");
    let (_, body) = text.split_once("\n---\n").expect("front matter");
    let at = "- 2026-02-09T23:05:00+02:00 Progress:";
    let expected = format!(
        "\nDo it.\n\n## Work Log\n\n{at} one - two\n{at} one - two\n{at} x\n{at} y\n\n## After\n"
    );
    assert_eq!(body, expected);
    reopen(harness, handle);
}

/// Messages received, refused and warned of are in the record and nowhere else.
pub fn what_is_only_said_changes_no_task(harness: &mut impl Harness) {
    let mut handle = Handle::open(harness);
    handle.commit(vec![created(task(1, Status::Ready), "Do it.\n")]);
    let (before, task) = (handle.document(&id(1)), handle.world.task(&id(1)).cloned());
    let said = said(1);
    let last = 1 + said.len() as u64;
    handle.commit(said);
    assert_eq!(handle.document(&id(1)), before);
    assert_eq!(handle.world.task(&id(1)).cloned(), task);
    assert_eq!(handle.world.last_event().0, last);
    reopen(harness, handle);
}

/// A task whose file a person took away is gone for good, and so is its number.
pub fn a_task_that_was_taken_away_is_gone(harness: &mut impl Harness) {
    let mut handle = Handle::open(harness);
    handle.commit(vec![created(task(1, Status::Ready), ""), created(task(2, Status::Ready), "")]);
    harness.remove(&task_file(Status::Ready, &id(2)));
    handle.commit_removal(2);
    assert_eq!(handle.document(&id(2)), None);
    let now = handle.world.task(&id(1)).expect("the other one").created_at;
    let mut again = reopen(harness, handle);
    assert_eq!(again.world.task(&id(2)), None);
    assert_eq!(again.world.next_id(now), id(3), "no number is given out twice");
    again.commit(vec![created(task(3, Status::Ready), "")]);
    reopen(harness, again);
}
