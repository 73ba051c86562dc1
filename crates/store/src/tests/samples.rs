//! Small sample values: ids, times, and the parts of events.

use adjutant_model::completion::{
    CompletionReport, HandoffRef, RunResult, TestReport, WorkOutcome,
};
use adjutant_model::evidence::{CheckResult, DiffStat, WorkEvidence};
use adjutant_model::handoff::TaskHandoff;
use adjutant_model::permission::{ChoiceKind, PermissionChoice, PermissionRequest};
use adjutant_model::relative_path::RelPath;
use adjutant_model::run::RunExit;
use adjutant_model::run_history::AgentQuestion;
use adjutant_model::story::{Step, StepFailReason, StepStatus, StoryHold, StoryId, StoryPosition};
use adjutant_model::usage::{ParkedAgent, TokenUsage};
use adjutant_model::work_log::WorkLogEntry;
use adjutant_model::{AgentId, NodeId, TaskId, Time, Timestamp};

pub(crate) const ATTEMPT: u32 = 2;
pub(crate) const FENCE: u64 = 7;

pub(crate) fn id(number: u32) -> TaskId {
    TaskId::parse(&format!("TASK-2026-02-09-{number:03}")).expect("a task id")
}

pub(crate) fn agent(name: &str) -> AgentId {
    AgentId::parse(name).expect("an agent name")
}

pub(crate) fn node(name: &str) -> NodeId {
    NodeId::parse(name).expect("a node name")
}

pub(crate) fn time(clock: &str) -> Time {
    Time::parse(&format!("2026-02-09T{clock}Z")).expect("a time")
}

/// A time as an agent wrote it, with an offset.
pub(crate) fn stamp() -> Timestamp {
    Timestamp::parse("2026-02-09T23:10:00+02:00").expect("a time")
}

pub(crate) fn path(text: &str) -> RelPath {
    RelPath::parse(text).expect("a relative path")
}

pub(crate) fn story(text: &str) -> StoryId {
    StoryId::parse(text).expect("a story id")
}

pub(crate) fn usage() -> TokenUsage {
    TokenUsage { input: 1200, output: 340, cached: 800, cost: 1_234_567 }
}

pub(crate) fn question(suggestion: Option<&str>) -> AgentQuestion {
    let suggestion = suggestion.map(str::to_owned);
    AgentQuestion { text: "Which database: A or B?".into(), suggestion }
}

pub(crate) fn permission_request(choices: Vec<PermissionChoice>) -> PermissionRequest {
    PermissionRequest {
        attempt: ATTEMPT,
        fence: FENCE,
        number: 3,
        since: time("20:12:00.000"),
        text: "Run `make`".into(),
        choices,
    }
}

/// Returns one choice of every kind.
pub(crate) fn choices() -> Vec<PermissionChoice> {
    let choice = |kind: &ChoiceKind| PermissionChoice {
        id: format!("option-{kind}"),
        name: format!("Option {kind}"),
        kind: *kind,
    };
    ChoiceKind::ALL.iter().map(choice).collect()
}

pub(crate) fn bare_parked() -> ParkedAgent {
    let reason = "not logged in".into();
    ParkedAgent { agent: agent("swe"), until: None, reason, settings: 0x1f, node: None }
}

pub(crate) fn full_parked() -> ParkedAgent {
    ParkedAgent {
        agent: agent("qa"),
        until: Some(time("22:00:00.000")),
        reason: "usage limit reached".into(),
        settings: u64::MAX,
        node: Some(node("mac")),
    }
}

pub(crate) fn exits() -> Vec<RunExit> {
    vec![
        RunExit::Code(0),
        RunExit::Code(-1),
        RunExit::Signal(9),
        RunExit::TimedOut,
        RunExit::Idle,
        RunExit::OverBudget,
        RunExit::Stopped,
        RunExit::Lost,
        RunExit::NotStarted("no such file".into()),
        RunExit::NoWorkspace("no git: at all".into()),
    ]
}

/// Evidence with every field, and a check for every way a command can end.
pub(crate) fn full_evidence() -> WorkEvidence {
    let check = |exit| CheckResult {
        command: "make test".into(),
        exit,
        duration_ms: 1500,
        tail: "2 passed\n".into(),
        log: "checks/1.log".into(),
    };
    WorkEvidence {
        branch: Some("adjutant/task-001".into()),
        base: Some("main".into()),
        commit: Some("0123456789abcdef0123456789abcdef01234567".into()),
        dirty: true,
        changes: Some(DiffStat { files: 1, insertions: 20, deletions: 3 }),
        protected: vec![".ai/step-rules.yaml".into()],
        checks: exits().into_iter().map(check).collect(),
        flaw: Some("the work tree is gone".into()),
        unsettled: true,
    }
}

pub(crate) fn completion(outcome: WorkOutcome) -> CompletionReport {
    CompletionReport {
        outcome,
        summary_ref: path("outputs/summary.md"),
        handoff_ref: HandoffRef,
        deliverables: vec![path("src/a.rs"), path("src/b c.rs")],
        tests: TestReport { total: 3, passed: 2, failed: 1 },
        blockers: vec!["no key".into()],
        notes: "Two of \"three\".\nÜber".into(),
    }
}

pub(crate) fn result(completion: CompletionReport) -> RunResult {
    RunResult { task: id(1), agent: agent("swe"), completed_at: stamp(), completion }
}

pub(crate) fn empty_completion() -> CompletionReport {
    CompletionReport {
        outcome: WorkOutcome::Done,
        summary_ref: path("outputs/summary.md"),
        handoff_ref: HandoffRef,
        deliverables: vec![],
        tests: TestReport::default(),
        blockers: vec![],
        notes: String::new(),
    }
}

pub(crate) fn full_handoff() -> TaskHandoff {
    TaskHandoff {
        task: id(1),
        parent: id(2),
        from: agent("swe"),
        to: agent("qa"),
        acceptance_criteria: vec!["All tests pass".into(), "Two\nlines".into()],
        expected_outputs: vec![path("tests/report.md")],
        context_refs: vec![path("docs/plan.md")],
        constraints: vec!["No new dependencies".into()],
        due_by: stamp(),
    }
}

pub(crate) fn bare_handoff() -> TaskHandoff {
    TaskHandoff {
        task: id(1),
        parent: id(2),
        from: agent("swe"),
        to: agent("qa"),
        acceptance_criteria: vec![],
        expected_outputs: vec![],
        context_refs: vec![],
        constraints: vec![],
        due_by: stamp(),
    }
}

pub(crate) fn full_entry() -> WorkLogEntry {
    WorkLogEntry {
        at: stamp(),
        progress: Some("Core done".into()),
        notes: Some("ETA | tomorrow".into()),
        blockers: vec!["no key".into(), "b".into()],
    }
}

pub(crate) fn bare_entry() -> WorkLogEntry {
    WorkLogEntry { at: stamp(), progress: None, notes: None, blockers: vec![] }
}

pub(crate) fn bare_position() -> StoryPosition {
    StoryPosition {
        story: story("US-005"),
        step: Step::Bdd,
        attempt: 1,
        max_attempts: 3,
        status: StepStatus::Pending,
        reason: None,
        hold: None,
        auto: false,
        unaccepted: false,
        waits_for: vec![],
        fence: None,
        error: None,
        said: None,
        node: None,
    }
}

pub(crate) fn full_position() -> StoryPosition {
    StoryPosition {
        story: story("US-005"),
        step: Step::Impl,
        attempt: ATTEMPT,
        max_attempts: 5,
        status: StepStatus::NeedsHuman,
        reason: Some(StepFailReason::ScopeWarning),
        hold: Some(StoryHold::Stuck),
        auto: true,
        unaccepted: true,
        waits_for: vec![story("US-003"), story("US-004")],
        fence: Some(FENCE),
        error: Some("two tests fail".into()),
        said: None,
        node: Some(node("mini")),
    }
}
