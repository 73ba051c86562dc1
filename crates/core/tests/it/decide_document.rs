//! Decisions on documents of the other dialects: orders create tasks, reports complete them.

use adjutant_core::input::{FoundResult, Input, LeftFile, MessageFacts, TokenOwner};
use adjutant_core::protocols::aof::{self, IncomingText, MessageRefusal};
use adjutant_core::protocols::dialect;
use adjutant_core::schedule::{InboxAction, hold_reasons, inbox};
use adjutant_core::{Decision, World, decide};
use adjutant_model::answer::{FieldProblem, Reason};
use adjutant_model::command::CommandCaller;
use adjutant_model::completion::{WorkOutcome, outcome_transitions};
use adjutant_model::constraints::WorkspaceFacts;
use adjutant_model::dialect::{ProtocolDialect, STATUS_MAPPINGS};
use adjutant_model::document::DocumentKind;
use adjutant_model::event::Event;
use adjutant_model::policy::{AgentPolicy, DelegationDepth, OnExitOk};
use adjutant_model::review::ReviewPolicy;
use adjutant_model::run::RunExit;
use adjutant_model::sandbox_level::SandboxLevel;
use adjutant_model::task::{Task, TaskState};
use adjutant_model::task_origin::mission_id;
use adjutant_model::{Command, Policy, Priority, Status};
use serde_json::{Map, Value, json};

use crate::support::{
    TaskBuilder, after, agent, completion, events, handoff_request, id, message, now, operator,
    task, verdict, world,
};

fn no_yaml(_: &str) -> Result<Map<String, Value>, Vec<FieldProblem>> {
    Err(vec![FieldProblem::new("", "is not read here")])
}

fn read(document: &Value, facts: MessageFacts) -> Input {
    Input::Message { incoming: dialect::read(document.to_string().as_bytes(), &no_yaml), facts }
}

fn send(world: &World, document: &Value) -> Decision {
    send_with(world, document, MessageFacts::default())
}

fn send_with(world: &World, document: &Value, facts: MessageFacts) -> Decision {
    decide(world, &read(document, facts), now())
}

fn by_run(number: u64, fence: u64) -> MessageFacts {
    MessageFacts {
        token: TokenOwner::Run { nonce: None, task: id(number), fence },
        ..MessageFacts::default()
    }
}

fn mission() -> Value {
    json!({
        "version": "1",
        "task_id": "T042",
        "epic_id": "E005",
        "prd_id": "PRD-001",
        "instruction": "# Build it\n\nImplement the user authentication module.\n",
        "context": {"epic_file": "path/to/epic.md", "task_file": "path/to/task.md"},
        "constraints": {"max_files": 1, "no_git_commit": true, "no_new_deps": true},
        "timeout": 600,
    })
}

fn result(status: &str) -> Value {
    json!({
        "version": "1",
        "task_id": "T042",
        "status": status,
        "files_modified": [
            {"path": "src/auth/login.js", "action": "created"},
            {"path": "old.js", "action": "deleted"},
        ],
        "log": [
            {"level": "info", "message": "Built it", "timestamp": "2025-01-15T10:30:00Z"},
            {"level": "tip", "message": "Use bcrypt", "timestamp": "2025-01-15T10:35:00Z"},
            {"level": "warn", "message": "Slow", "timestamp": "2025-01-15T10:36:00Z"},
        ],
        "completed_at": "2025-01-15T10:45:00Z",
    })
}

fn new_task() -> Value {
    json!({
        "taskId": "API-SPEC-001",
        "delegatedToMode": "spec",
        "objective": "Specify the API",
        "context": "JWT",
        "expectedOutputs": [{"path": "docs/api.md"}],
        "acceptanceCriteria": ["All endpoints"],
        "priority": "high",
        "deadlineHint": "2026-02-10T12:00:00Z",
    })
}

fn attempt(result: &str) -> Value {
    json!({
        "taskId": "API-SPEC-001",
        "result": result,
        "summary": "Specified it",
        "outputArtifacts": [{"path": "docs/api.md"}],
    })
}

fn with(mut document: Value, key: &str, value: Value) -> Value {
    document[key] = value;
    document
}

/// Returns a world with the task that a document creates, after a change to the task.
fn made(document: &Value, change: impl FnOnce(Task) -> Task) -> World {
    let empty = world([]);
    let decision = send(&empty, document);
    assert_eq!(verdict(&decision), "applied", "{:?}", decision.answer.problems);
    let made = after(&empty, &decision).tasks().next().expect("a task").clone();
    world([change(Task { id: id(1), ..made })])
}

fn leased(document: &Value) -> World {
    made(document, |task| task.leased_to("swe", 1))
}

fn errors(decision: &Decision) -> Vec<String> {
    decision.answer.problems.iter().map(ToString::to_string).collect()
}

fn reasons(decision: &Decision) -> Vec<String> {
    let moved = decision.events.iter().filter_map(|happened| match &happened.event {
        Event::TaskTransitioned { to, reason, .. } => Some(format!("{to}: {reason}")),
        _ => None,
    });
    moved.collect()
}

#[test]
fn mission_becomes_a_ready_task() {
    let decision = send(&world([]), &mission());
    assert_eq!(events(&decision), "received created");
    let task = after(&world([]), &decision).tasks().next().expect("a task").clone();
    assert_eq!(decision.answer.task.as_ref(), Some(&task.id));
    assert_eq!((task.status(), &*task.title), (Status::Ready, "Build it"));
    assert_eq!((task.priority, task.depth), (Priority::Normal, 0));
    assert_eq!(&*task.created_by, "human:operator");
    let Some(Event::TaskCreated { body, .. }) = decision.events.last().map(|h| &h.event) else {
        panic!("made last");
    };
    let instruction = "# Build it\n\nImplement the user authentication module.\n";
    assert_eq!(body.as_deref(), Some(instruction));
}

#[test]
fn new_task_document_becomes_a_task_for_its_mode() {
    let parent = made(&with(new_task(), "taskId", json!("FEATURE-1")), |task| task);
    let child = with(new_task(), "parentTaskId", json!("FEATURE-1"));
    let decision = send(&parent, &child);
    assert_eq!(events(&decision), "received created");
    let world = after(&parent, &decision);
    let task = world.task(decision.answer.task.as_ref().expect("a task")).expect("it is there");
    assert_eq!((task.parent.as_ref(), task.depth), (Some(&id(1)), 1));
    assert_eq!(task.priority, Priority::High);
    assert_eq!(task.due_by.map(|due| due.to_string()).as_deref(), Some("2026-02-10T12:00:00.000Z"));
    assert_eq!(task.routing.mode.as_deref(), Some("spec"));
    let holds = hold_reasons(&world, &task.id, now());
    assert_eq!(
        holds[0].text,
        "No configured agent has the mode \"spec\"; set it for an agent in adjutant.toml; an \
            agent that runs elsewhere can fetch it with `adjutant mcp --agent spec`."
    );
    let spec = AgentPolicy { mode: Some("spec".into()), ..AgentPolicy::default() };
    let agents = [(agent("claude"), spec)].into();
    let known = world.clone().with_policy(Policy { agents, ..Policy::default() });
    assert_eq!(hold_reasons(&known, &task.id, now()), []);
    let agents = [(agent("spec"), AgentPolicy::default())].into();
    let named = world.clone().with_policy(Policy { agents, ..Policy::default() });
    assert_eq!(
        hold_reasons(&named, &task.id, now()),
        [],
        "an agent without a mode has its name for one"
    );
}

#[test]
fn task_is_found_by_its_foreign_id() {
    let world = made(&mission(), |task| task);
    assert_eq!(world.resolve("T042"), Some(id(1)));
    assert_eq!(world.resolve(id(1).as_str()), Some(id(1)));
    assert_eq!(world.resolve(mission_id(&id(1)).as_str()), Some(id(1)));
    assert_eq!(world.resolve("T043"), None);
    let mut plain = world.clone();
    let removed = adjutant_core::input::FileChange::Removed(id(1));
    let decision = decide(&world, &Input::FileChanged(removed), now());
    crate::support::commit(&mut plain, &decision);
    assert_eq!(plain.resolve("T042"), None);
}

#[test]
fn repeated_document_is_a_noop_and_a_changed_one_is_refused() {
    for (document, key, other) in [
        (mission(), "timeout", json!(601)),
        (new_task(), "priority", json!("low")),
        (new_task(), "deadlineHint", json!("2 days")),
    ] {
        let known = made(&document, |task| task.leased_to("swe", 1));
        let again = send(&known, &document);
        assert_eq!((verdict(&again), events(&again)), ("noop".into(), "received".into()));
        let changed = send(&known, &with(document.clone(), key, other));
        assert_eq!(verdict(&changed), "rejected task_conflict");
        let task = id(1);
        assert_eq!(
            errors(&changed),
            [format!("{key}: differs from the document that {task} was created from")]
        );
        assert_eq!(crate::support::tasks(&after(&known, &changed)), crate::support::tasks(&known));
    }
    let other = world([task(1, Status::Ready)]);
    let taken = with(new_task(), "taskId", json!(id(1).as_str()));
    assert_eq!(verdict(&send(&other, &taken)), "rejected task_conflict");
}

#[test]
fn child_document_needs_its_parent_and_nests_one_level() {
    let child = with(new_task(), "parentTaskId", json!("FEATURE-1"));
    let orphan = send(&world([]), &child);
    assert_eq!(verdict(&orphan), "rejected parent_not_found");
    assert_eq!(
        events(&orphan),
        "received delegation.rejected(parent_not_found) rejected(parent_not_found)"
    );
    assert_eq!(errors(&orphan), ["parentTaskId: there is no task FEATURE-1"]);
    let nested = with(new_task(), "parentTaskId", json!(id(1).as_str()));
    let deep = world([task(1, Status::Ready).depth(1)]);
    assert_eq!(verdict(&send(&deep, &nested)), "rejected nested_delegation");
    let whole = world([task(1, Status::Ready)]);
    assert_eq!(verdict(&send(&whole, &nested)), "applied");
}

#[test]
fn run_may_create_children_only_of_its_own_task() {
    let two = world([
        task(1, Status::Ready).leased_to("lead", 3),
        task(2, Status::Ready).leased_to("swe", 1),
    ]);
    let child = with(new_task(), "parentTaskId", json!(id(1).as_str()));
    let own = send_with(&two, &child, by_run(1, 3));
    assert_eq!(verdict(&own), "applied");
    let made = after(&two, &own);
    let task = made.task(own.answer.task.as_ref().expect("a task")).expect("there");
    assert_eq!(&*task.created_by, "lead");
    assert_eq!(verdict(&send_with(&two, &child, by_run(2, 1))), "rejected unauthorized_agent");
    assert_eq!(verdict(&send_with(&two, &child, by_run(1, 2))), "rejected stale_run");
    let unknown = MessageFacts { token: TokenOwner::Unknown, ..MessageFacts::default() };
    assert_eq!(verdict(&send_with(&two, &child, unknown)), "rejected unknown_token");
}

#[test]
fn task_created_by_run_is_below_its_task_without_naming_it() {
    let two = world([
        task(1, Status::Ready).leased_to("lead", 3),
        task(2, Status::Ready).depth(1).leased_to("swe", 1),
    ]);
    for document in [mission(), new_task()] {
        let asked = send_with(&two, &document, by_run(1, 3));
        let made = after(&two, &asked);
        let task = made.task(asked.answer.task.as_ref().expect("a task")).expect("there");
        assert_eq!((task.depth, &task.parent), (1, &Some(id(1))), "{document}");
        let deeper = send_with(&two, &document, by_run(2, 1));
        assert_eq!(verdict(&deeper), "rejected nested_delegation", "{document}");
        assert!(events(&deeper).contains("delegation"), "{}", events(&deeper));
    }
}

/// Every result status of every dialect, with a task in every status: the moves follow the table of
/// outcomes and the table of moves, independent of the dialect.
/// A run of task 1 by `swe`, and an agent `fixer` for what it delegates.
fn delegating_world(swe: AgentPolicy, fixer: AgentPolicy) -> World {
    let agents = [(agent("swe"), swe), (agent("fixer"), fixer)].into();
    world([task(1, Status::InProgress).leased_to("swe", 1)])
        .with_policy(Policy { agents, ..Policy::default() })
}

fn confined() -> AgentPolicy {
    AgentPolicy { sandbox: SandboxLevel::Landlock, ..AgentPolicy::default() }
}

#[test]
fn run_may_create_only_so_many_tasks() {
    let few = AgentPolicy { tasks_max: 2, ..AgentPolicy::default() };
    let mut world = delegating_world(few, AgentPolicy::default());
    for number in 1..=3 {
        let document = with(new_task(), "taskId", json!(format!("SPEC-{number}")));
        let decision = send_with(&world, &document, by_run(1, 1));
        if number <= 2 {
            assert_eq!(verdict(&decision), "applied", "{number}");
        } else {
            assert_eq!(verdict(&decision), "rejected too_many_requests");
            let what = "this run has already created 2 tasks, and `tasks_max` is 2";
            assert_eq!(decision.answer.problems[0].message, what);
            assert_eq!(after(&world, &decision).tasks().count(), 3);
        }
        world = after(&world, &decision);
    }
    // Tasks that the operator creates below the same task do not count.
    let document = with(new_task(), "taskId", json!("SPEC-4"));
    assert_eq!(verdict(&send(&world, &document)), "applied");
}

#[test]
fn delegated_task_runs_only_in_the_sandbox_of_its_parent() {
    let create = |swe, fixer| {
        let start = delegating_world(swe, fixer);
        let document = with(new_task(), "delegatedToMode", json!("fixer"));
        let next = after(&start, &send_with(&start, &document, by_run(1, 1)));
        let child = next.tasks().last().expect("a child").clone();
        assert_eq!(child.parent, Some(id(1)));
        let codes = hold_reasons(&next, &child.id, now()).into_iter().map(|hold| hold.text);
        codes.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(create(AgentPolicy::default(), AgentPolicy::default()), "");
    assert_eq!(create(confined(), confined()), "");
    assert_eq!(create(AgentPolicy::default(), confined()), "");
    let text = create(confined(), AgentPolicy::default());
    let why =
        "No agent that fits has `sandbox = \"landlock\"`, as the run that delegated the task.";
    assert_eq!(text, why);
}

#[test]
fn handed_over_task_inherits_the_sandbox_of_its_parent() {
    let agents = [(agent("swe"), confined()), (agent("qa"), AgentPolicy::default())].into();
    let start = world([
        task(1, Status::InProgress).leased_to("swe", 1),
        task(2, Status::Ready),
        task(3, Status::Ready),
    ])
    .with_policy(Policy {
        agents,
        delegation_depth_max: DelegationDepth(2),
        ..Policy::default()
    });
    let request = handoff_request(2, 1, "swe", "qa");
    let handed = after(&start, &decide(&start, &message(&request), now()));
    let child = handed.task(&id(2)).expect("the child");
    assert_eq!((child.routing.sandbox, child.depth), (SandboxLevel::Landlock, 1));
    assert!(!hold_reasons(&handed, &child.id, now()).is_empty());
    // With a depth of 2, the child may hand over one more level.
    let request = handoff_request(3, 2, "qa", "swe");
    let twice = after(&handed, &decide(&handed, &message(&request), now()));
    let grandchild = twice.task(&id(3)).expect("the grandchild");
    assert_eq!((grandchild.routing.sandbox, grandchild.depth), (SandboxLevel::Landlock, 2));
}

#[test]
fn result_status_leads_to_the_same_moves_in_every_dialect() {
    for row in STATUS_MAPPINGS {
        for status in Status::ALL {
            for review in [ReviewPolicy::Required, ReviewPolicy::NotNeeded] {
                let (order, report) = match row.dialect {
                    ProtocolDialect::Mission => (mission(), result(row.status)),
                    ProtocolDialect::NewTask => (new_task(), attempt(row.status)),
                    ProtocolDialect::Aof | ProtocolDialect::Prompt => (new_task(), Value::Null),
                };
                let given =
                    made(&order, |made| Task { review, ..task(1, status) }.with_origin_of(made));
                let decision = match row.dialect {
                    ProtocolDialect::Aof => {
                        decide(&given, &message(&completion(1, "swe", row.outcome)), now())
                    }
                    _ => send(&given, &report),
                };
                let case = format!("{} {} at {status}", row.dialect, row.status);
                if status.is_closed() {
                    assert_eq!(verdict(&decision), "noop task_closed", "{case}");
                    assert_eq!(reasons(&decision), [""; 0], "{case}");
                    continue;
                }
                let is_document = row.dialect != ProtocolDialect::Aof;
                let is_waiting = matches!(status, Status::Ready | Status::Backlog);
                let (mut at, mut has_skipped) = (status, false);
                if is_document && is_waiting && row.outcome != WorkOutcome::Blocked {
                    // The work is there, so the task is not run again.
                    at = Status::Review;
                } else {
                    for to in outcome_transitions(status, row.outcome, review) {
                        has_skipped |= !at.may_move_to(to);
                        at = if at.may_move_to(to) { to } else { at };
                    }
                }
                let is_refused = has_skipped && is_document;
                let expected = if is_refused { "applied invalid_transition" } else { "applied" };
                assert_eq!(verdict(&decision), expected, "{case}");
                let end = after(&given, &decision).task(&id(1)).expect("there").status();
                assert_eq!(end, at, "{case}");
                assert_eq!(decision.answer.status, Some(at), "{case}");
            }
        }
    }
}

/// Copies the origin of another task.
trait CopyOrigin {
    fn with_origin_of(self, other: Task) -> Task;
}

impl CopyOrigin for Task {
    fn with_origin_of(self, other: Task) -> Task {
        Task { origin: other.origin, ..self }
    }
}

#[test]
fn result_reason_is_taken_from_the_document() {
    let check = |order: Value, report: Value, expected: &[&str]| {
        assert_eq!(reasons(&send(&leased(&order), &report)), expected, "{report}");
    };
    check(mission(), result("completed"), &["review: Built it"]);
    check(mission(), result("failed"), &["blocked: failed: Slow"]);
    check(mission(), result("blocked"), &["blocked: Slow"]);
    let issues = json!([
        {"type": "blocker", "description": "No key"},
        {"type": "concern", "description": "Old library"},
    ]);
    let failed = with(result("failed"), "issues", issues);
    check(mission(), failed, &["blocked: failed: No key; Old library"]);
    check(new_task(), attempt("success"), &["review: Specified it"]);
    check(new_task(), attempt("failure"), &["blocked: failed: Specified it"]);
    check(new_task(), attempt("conflict_detected"), &["blocked: conflict: Specified it"]);
    let asked = ["blocked: clarification needed: Specified it"];
    check(new_task(), attempt("clarification_needed"), &asked);
}

#[test]
fn document_sender_is_the_run_or_else_the_operator() {
    let sender = |facts: MessageFacts| {
        let given = made(&mission(), |task| task.leased_to("swe", 7));
        let decision = send_with(&given, &result("completed"), facts);
        let completed = decision.events.iter().find_map(|happened| match &happened.event {
            Event::TaskCompleted { result, .. } => {
                Some(format!("{} {} {}", happened.actor, result.agent, result.completed_at))
            }
            _ => None,
        });
        completed.unwrap_or_else(|| verdict(&decision))
    };
    let at = "2025-01-15T10:45:00Z";
    assert_eq!(sender(by_run(1, 7)), format!("swe swe {at}"));
    assert_eq!(sender(MessageFacts::default()), format!("human:operator operator {at}"));
    assert_eq!(sender(by_run(2, 7)), "rejected unknown_token");
    assert_eq!(sender(by_run(1, 6)), "rejected stale_run");
}

#[test]
fn stale_run_document_is_salvaged_and_can_be_applied() {
    let given = made(&mission(), |task| task.leased_to("swe", 7));
    let decision = send_with(&given, &result("completed"), by_run(1, 6));
    assert_eq!(events(&decision), "received rejected(stale_run) salvaged(stale_run)");
    let text = decision.events.iter().find_map(|happened| match &happened.event {
        Event::RunSalvaged { text, .. } => text.clone(),
        _ => None,
    });
    let command = Command::ApplySalvage { id: id(1), name: "19-message.json".into(), text };
    let applied =
        decide(&given, &Input::Command { by: CommandCaller::Operator(operator()), command }, now());
    assert_eq!(verdict(&applied), "applied");
    assert_eq!(reasons(&applied), ["review: Built it"]);
}

#[test]
fn second_report_of_a_run_is_a_noop() {
    let given = made(&mission(), |task| task.leased_to("swe", 7));
    let first = send_with(&given, &result("blocked"), by_run(1, 7));
    let reported = after(&given, &first);
    let again = send_with(&reported, &result("completed"), by_run(1, 7));
    assert_eq!((verdict(&again), events(&again)), ("noop".into(), "received".into()));
}

#[test]
fn report_without_required_token_is_refused() {
    let policy = Policy { require_token: true, ..Policy::default() };
    let given = leased(&mission()).with_policy(policy);
    assert_eq!(verdict(&send(&given, &result("completed"))), "rejected token_required");
    assert_eq!(verdict(&send_with(&given, &result("completed"), by_run(1, 1))), "applied");
}

#[test]
fn report_on_unknown_task_is_refused() {
    for document in [result("completed"), attempt("success")] {
        let decision = send(&world([]), &document);
        assert_eq!(verdict(&decision), "rejected task_not_found");
    }
    let bad = with(result("completed"), "log", json!([]));
    let decision = send(&leased(&mission()), &bad);
    assert_eq!(verdict(&decision), "rejected invalid_envelope");
    assert_eq!(decision.answer.task, Some(id(1)), "it is said of which task");
    assert_eq!(decision.answer.status, Some(Status::InProgress));
}

#[test]
fn constraint_breach_turns_success_into_review_and_is_named() {
    let texts = |items: &[&str]| items.iter().map(|item| (*item).to_owned()).collect::<Vec<_>>();
    let seen = WorkspaceFacts {
        files_changed: texts(&["Cargo.lock", "src/a.rs"]),
        commits: 1,
        manifests_changed: texts(&["Cargo.lock"]),
        outputs_missing: vec![],
        unverified_reason: None,
    };
    let facts = MessageFacts { workspace: Some(seen), ..MessageFacts::default() };
    let breach = "review: max_files: 2 files changed, and at most 1 are allowed: Cargo.lock, \
                  src/a.rs; \
                  no_git_commit: a commit was made; no_new_deps: changed Cargo.lock";
    let free = made(&mission(), |task| task.leased_to("swe", 1).review(ReviewPolicy::NotNeeded));
    let decision = send_with(&free, &result("completed"), facts.clone());
    assert_eq!(reasons(&decision), [breach], "not done, though no review is needed");
    assert!(events(&decision).contains("warned(constraint_breached)"));
    let items = inbox(&after(&free, &decision), now());
    assert_eq!(items[0].kind.as_str(), "review");
    let (_, told) = items[0].text.split_once("waits for review: ").expect("it says why");
    assert_eq!(format!("review: {told}"), breach, "whoever is to look at it is told");
    // The dialect of the agent makes no difference.
    let aof = Input::Message {
        incoming: aof::read(completion(1, "swe", WorkOutcome::Done).to_string().as_bytes()),
        facts: facts.clone(),
    };
    assert_eq!(reasons(&decide(&free, &aof, now())), [breach]);
    let failed = send_with(&free, &result("failed"), facts);
    assert_eq!(reasons(&failed), ["blocked: failed: Slow"], "what failed is no success to doubt");
}

#[test]
fn missing_expected_output_needs_review() {
    let seen =
        WorkspaceFacts { outputs_missing: vec!["docs/api.md".into()], ..WorkspaceFacts::default() };
    let facts = MessageFacts { workspace: Some(seen), ..MessageFacts::default() };
    let free = made(&new_task(), |task| task.leased_to("swe", 1).review(ReviewPolicy::NotNeeded));
    let decision = send_with(&free, &attempt("success"), facts);
    assert_eq!(reasons(&decision), ["review: expected output is missing: docs/api.md"]);
    let there =
        MessageFacts { workspace: Some(WorkspaceFacts::default()), ..MessageFacts::default() };
    let decision = send_with(&free, &attempt("success"), there);
    assert_eq!(reasons(&decision), ["review: Specified it", "done: Specified it"]);
}

#[test]
fn result_tips_go_to_the_epic_and_warnings_to_the_work_log() {
    let decision = send(&leased(&mission()), &result("completed"));
    let noted: Vec<String> = decision
        .events
        .iter()
        .filter_map(|happened| match &happened.event {
            Event::EpicNoted { epic, at, text } => Some(format!("{epic} {at} {text}")),
            Event::TaskLogged { entry } => Some(entry.line()),
            _ => None,
        })
        .collect();
    assert_eq!(
        noted,
        ["E005 2025-01-15T10:35:00Z Use bcrypt", "- 2025-01-15T10:36:00Z Notes: warn: Slow"]
    );
}

#[test]
fn question_is_in_inbox_until_answered() {
    let issues = json!([{
        "type": "clarification_needed",
        "description": "Email or security questions?",
        "suggestedResolution": "Ask the owner",
    }]);
    let report = with(attempt("clarification_needed"), "issues_encountered", issues);
    let given = leased(&new_task());
    let asked = after(&given, &send(&given, &report));
    let items = inbox(&asked, now());
    assert_eq!(items.len(), 1);
    assert_eq!(items[0].kind.as_str(), "question");
    assert_eq!(
        items[0].text,
        "Specify the API: Email or security questions? (suggested: Ask the owner)"
    );
    assert_eq!(items[0].actions[0], InboxAction::Answer);
    let command = Command::Answer { id: id(1), text: "Email.".into() };
    let input = Input::Command { by: CommandCaller::Operator(operator()), command };
    let answered = after(&asked, &decide(&asked, &input, now()));
    let task = answered.task(&id(1)).expect("there");
    assert_eq!(task.status(), Status::Ready);
    assert_eq!((task.history.answer.as_deref(), &task.history.question), (Some("Email."), &None));
    let kinds: Vec<&str> = inbox(&answered, now()).iter().map(|item| item.kind.as_str()).collect();
    assert_eq!(kinds, ["held_back"], "only that no configured agent has its mode");
}

#[test]
fn question_with_finished_work_is_in_inbox() {
    let issues = json!([{"type": "question", "description": "Keep the old login?"}]);
    let given = leased(&mission());
    let asked = after(&given, &send(&given, &with(result("completed"), "issues", issues)));
    let kinds: Vec<&str> = inbox(&asked, now()).iter().map(|item| item.kind.as_str()).collect();
    assert_eq!(kinds, ["question", "review"]);
}

/// The facts of a run that changed two files although the limit is one.
fn two_files() -> WorkspaceFacts {
    let files_changed = vec!["a.txt".to_owned(), "b.txt".to_owned()];
    WorkspaceFacts { files_changed, ..WorkspaceFacts::default() }
}

const TWO_FILES: &str =
    "review: max_files: 2 files changed, and at most 1 are allowed: a.txt, b.txt";

fn exited(
    world: &World,
    found: Option<FoundResult>,
    workspace: Option<WorkspaceFacts>,
) -> Decision {
    let (task, exit, tail) = (id(1), RunExit::Code(0), String::new());
    let input = Input::RunExited {
        task,
        fence: 1,
        exit,
        tail,
        found,
        telemetry: Box::default(),
        workspace,
        jitter: 7,
    };
    decide(world, &input, now())
}

#[test]
fn exit_that_means_done_must_meet_the_constraints() {
    let done = AgentPolicy { on_exit_ok: OnExitOk::Done, ..AgentPolicy::default() };
    let policy = || Policy { agents: [(agent("swe"), done.clone())].into(), ..Policy::default() };
    let free = made(&mission(), |task| task.leased_to("swe", 1).review(ReviewPolicy::NotNeeded));
    let free = free.with_policy(policy());
    let kept = exited(&free, None, Some(WorkspaceFacts::default()));
    assert_eq!(reasons(&kept).last().map(|last| last.starts_with("done: ")), Some(true));
    let breached = exited(&free, None, Some(two_files()));
    assert_eq!(reasons(&breached), [TWO_FILES]);
}

#[test]
fn result_file_must_meet_the_constraints() {
    let free = made(&mission(), |task| task.leased_to("swe", 1).review(ReviewPolicy::NotNeeded));
    let mut left = completion(1, "swe", WorkOutcome::Done)["payload"].clone();
    (left["taskId"], left["agentId"]) = (json!(id(1).as_str()), json!("swe"));
    (left["completedAt"], left["handoffRef"]) =
        (json!("2026-02-09T21:10:00.000Z"), json!("outputs/handoff.md"));
    let result = aof::parse_run_result(&id(1), &left).expect("a good result");
    let breached = exited(&free, Some(FoundResult::Result(Box::new(result))), Some(two_files()));
    let said: Vec<String> = reasons(&breached);
    assert!(said.len() == 1 && said[0].starts_with(TWO_FILES), "{said:?}");
}

#[test]
fn refused_result_file_is_salvaged_once() {
    let world = leased(&mission());
    let text = "status: [".to_owned();
    let left = Some(LeftFile { file: "result.yaml".to_owned(), text: text.clone() });
    let refusal = MessageRefusal {
        reason: Reason::InvalidYaml,
        problems: vec![FieldProblem::new("", "line 1")],
        task: Some(id(1)),
        from: None,
        document: Some((DocumentKind::Result, None)),
    };
    let by = |facts: MessageFacts| {
        let input = Input::Message { incoming: IncomingText::Refused(refusal.clone()), facts };
        decide(&world, &input, now())
    };
    let kept = by(MessageFacts { left_file: left.clone(), ..by_run(1, 1) });
    assert!(verdict(&kept).starts_with("rejected"), "{kept:?}");
    assert_eq!(kept.answer.problems.len(), 1);
    let salvaged: Vec<_> = kept
        .events
        .iter()
        .filter_map(|happened| match &happened.event {
            Event::RunSalvaged { file, text, .. } => Some((file.clone(), text.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(salvaged, [("result.yaml".to_owned(), Some(text))]);
    assert_eq!(after(&world, &kept).task(&id(1)).map(Task::status), Some(Status::InProgress));
    let stale =
        send_with(&world, &result("completed"), MessageFacts { left_file: left, ..by_run(1, 0) });
    let count = |event: &Event| matches!(event, Event::RunSalvaged { .. });
    assert_eq!(stale.events.iter().filter(|happened| count(&happened.event)).count(), 1);
    let elsewhere = by(MessageFacts::default());
    assert!(!elsewhere.events.iter().any(|happened| count(&happened.event)));
}

#[test]
fn result_of_a_task_that_nobody_started_is_reviewed() {
    for (document, report) in [(mission(), result("completed")), (new_task(), attempt("success"))] {
        let world = made(&document, |task| task);
        let decision = send(&world, &report);
        assert_eq!(verdict(&decision), "applied");
        assert_eq!(decision.answer.status, Some(Status::Review));
        let reason = "the report came although the task was not started";
        assert!(reasons(&decision).iter().any(|it| it.contains(reason)), "{decision:?}");
    }
}

#[test]
fn report_whose_move_is_skipped_says_invalid_transition() {
    let world = made(&mission(), |task| Task { state: TaskState::Deadletter, ..task });
    let decision = send(&world, &result("completed"));
    assert_eq!(verdict(&decision), "applied invalid_transition");
    assert_eq!(decision.answer.status, Some(Status::Deadletter));
}

#[test]
fn issues_of_a_completed_report_are_in_the_work_log_and_for_the_reviewer() {
    let concern = json!([{"type": "concern", "description": "It is slow"}]);
    let world = leased(&mission());
    let decision = send_with(&world, &with(result("completed"), "issues", concern), by_run(1, 1));
    let logged = decision.events.iter().any(|happened| match &happened.event {
        Event::TaskLogged { entry } => entry.notes.as_deref() == Some("concern: It is slow"),
        _ => false,
    });
    assert!(logged, "{decision:?}");
    assert!(reasons(&decision)[0].contains("concern: It is slow"), "{decision:?}");
}
