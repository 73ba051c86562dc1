//! Cases about the task document: its fields and body after every kind of change.

use adjutant_model::review::ReviewPolicy;
use adjutant_model::task::Task;
use adjutant_model::{Priority, Status};
use adjutant_store::document_paths::task_file;
use adjutant_store::frontmatter::FrontMatterParts;
use adjutant_store::taskfile::{body_text, parse};

use super::StoreHarness;
use super::handle::{SuiteHandle, reopen};
use super::sample::{
    agent, completed, created, edited, full_task, id, logged, message_events, moved, task,
};

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
  nonce: \"0000000000005eed\"
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
    nonce: \"0000000000005eed\"
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
  refusedHosts:
    - agent: swe
      host: evil.example:443
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

/// A new task is written with all its fields, and a changed field keeps its position.
pub fn changed_fields_keep_their_position(harness: &mut impl StoreHarness) {
    let mut handle = SuiteHandle::open(harness);
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
            "agent: swe\n    attempt: 2\n    fence: 7\n    nonce: \"0000000000005eed\"",
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

/// The body belongs to people: status changes and reports leave it as it is.
pub fn task_body_stays_unchanged(harness: &mut impl StoreHarness) {
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
    let mut handle = SuiteHandle::open(harness);
    for (number, body) in (1..).zip(bodies) {
        handle.commit(vec![created(task(number, Ready), body)]);
        handle.commit(vec![moved(number, Ready, InProgress), completed(number, "fine")]);
        handle.commit(vec![moved(number, InProgress, InReview)]);
        handle.commit(message_events(number));
        let text = handle.document(&id(number)).expect("a document");
        let parts = FrontMatterParts::split(&text).expect("a task file");
        let broken = body.trim_end_matches(['\r', '\n']);
        let kept = body_text(parts.body());
        assert_eq!(kept.trim_end_matches(['\r', '\n']), broken);
    }
    reopen(harness, handle);
}

/// Only an edit with a body replaces the body, work log included; the fields stay.
pub fn edited_body_replaces_the_old(harness: &mut impl StoreHarness) {
    let mut handle = SuiteHandle::open(harness);
    let plain = task(1, Status::Ready);
    handle.commit(vec![created(plain.clone(), "Old.\n"), logged(1, "a")]);
    let other = Task { title: "Other".into(), review: ReviewPolicy::NotNeeded, ..plain };
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

/// A report adds one line to the work log and changes nothing else.
pub fn work_log_gains_one_line_per_report(harness: &mut impl StoreHarness) {
    let mut handle = SuiteHandle::open(harness);
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

/// Events about received, refused and odd messages go into the event log and change no task.
pub fn message_events_change_no_task(harness: &mut impl StoreHarness) {
    let mut handle = SuiteHandle::open(harness);
    handle.commit(vec![created(task(1, Status::Ready), "Do it.\n")]);
    let (before, task) = (handle.document(&id(1)), handle.world.task(&id(1)).cloned());
    let events = message_events(1);
    let last = 1 + events.len() as u64;
    handle.commit(events);
    assert_eq!(handle.document(&id(1)), before);
    assert_eq!(handle.world.task(&id(1)).cloned(), task);
    assert_eq!(handle.world.last_event().0, last);
    reopen(harness, handle);
}

/// A task whose file was removed is gone for good, and its number is never used again.
pub fn removed_task_is_gone_for_good(harness: &mut impl StoreHarness) {
    let mut handle = SuiteHandle::open(harness);
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
