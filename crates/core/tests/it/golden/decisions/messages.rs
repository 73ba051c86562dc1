//! Valid messages and documents that cannot be carried out.

use adjutant_core::input::{FilePresence, MessageFacts, TokenOwner};
use adjutant_core::protocols::dialect;
use adjutant_core::{Input, World};
use adjutant_model::answer::FieldProblem;
use adjutant_model::completion::WorkOutcome;
use adjutant_model::constraints::WorkspaceFacts;
use adjutant_model::task_origin::TaskOrigin;
use adjutant_model::{Policy, Status};
use serde_json::{Map, Value, json};

use super::{DecisionCase, one, running};
use crate::support::{
    TaskBuilder, completion, handoff_request, id, message, message_with, status_update, task, world,
};

/// This many earlier messages of one run are too many, even for a report.
const REPORTS_MAX: u64 = 2_000;

fn facts(token: TokenOwner) -> MessageFacts {
    MessageFacts { token, ..MessageFacts::default() }
}

pub(super) fn messages() -> Vec<DecisionCase> {
    let report = || completion(1, "swe", WorkOutcome::Done);
    let run = |fence| facts(TokenOwner::Run { nonce: None, task: id(1), fence });
    let mut unreadable = one(Status::Ready);
    unreadable.set_unreadable(id(1));
    let strict = Policy { require_token: true, ..Policy::default() };
    let escapes = vec!["payload.summaryRef".to_owned(), "payload.deliverables[0]".to_owned()];
    let missing = MessageFacts {
        summary: FilePresence::Missing,
        handoff: FilePresence::Missing,
        ..MessageFacts::default()
    };
    let ours = || world([running()]);
    let stale = world([task(1, Status::Ready).last_run_by("swe", 2)]);
    let reviewed = world([task(1, Status::Review).reported_by("swe").routed_to("swe")]);
    let update = |to| message(&status_update(1, "swe", Some(to)));
    let child = || task(2, Status::Ready);
    let delegate = || message(&handoff_request(2, 1, "swe", "qa"));
    vec![
        ("message on an unknown task", World::default(), message(&report())),
        ("message on an unreadable task", unreadable, message(&report())),
        ("message of another agent", ours(), message(&completion(1, "other", WorkOutcome::Done))),
        ("message without a token", ours().with_policy(strict), message(&report())),
        (
            "message with an unknown token",
            ours(),
            message_with(&report(), facts(TokenOwner::Unknown)),
        ),
        ("message of another task's run", ours(), {
            message_with(&report(), facts(TokenOwner::Run { nonce: None, task: id(2), fence: 1 }))
        }),
        ("printed message without a token", ours(), {
            message_with(&report(), MessageFacts { token_missing: true, ..run(1) })
        }),
        ("message of an earlier run", stale, message_with(&report(), run(1))),
        ("message of a run that floods", ours(), {
            message_with(
                &report(),
                MessageFacts { earlier_messages: REPORTS_MAX, ..MessageFacts::default() },
            )
        }),
        ("message with links that lead outside", ours(), {
            message_with(
                &report(),
                MessageFacts { escaping_paths: escapes, ..MessageFacts::default() },
            )
        }),
        ("completion without its files", ours(), message_with(&report(), missing)),
        ("completion of a closed task", one(Status::Done), message(&report())),
        ("approval of its own work", reviewed, update(Status::Done)),
        ("status update where there is no way", one(Status::Backlog), update(Status::Done)),
        ("delegation of an unknown task", World::default(), delegate()),
        ("delegation from an unknown task", world([child()]), delegate()),
        ("delegation from a closed task", world([task(1, Status::Done), child()]), delegate()),
        ("delegation from a delegated task", world([running().depth(1), child()]), delegate()),
    ]
}

fn no_yaml(_: &str) -> Result<Map<String, Value>, Vec<FieldProblem>> {
    Err(vec![FieldProblem::new("", "is not read here")])
}

fn document(document: &Value, facts: MessageFacts) -> Input {
    Input::Message { incoming: dialect::read(document.to_string().as_bytes(), &no_yaml), facts }
}

pub(super) fn documents() -> Vec<DecisionCase> {
    let mission = json!({
        "version": 1, "task_id": "T042", "epic_id": "E005", "prd_id": "PRD-001",
        "instruction": "Build it", "odd": true,
        "context": {"epic_file": "epic.md", "task_file": "task.md"},
        "constraints": {"max_files": 0, "no_git_commit": true, "no_new_deps": true},
    });
    let order = json!({
        "taskId": "A-1", "parentTaskId": id(1).as_str(), "delegatedToMode": "code",
        "objective": "Build it",
    });
    let mut made = running();
    made.origin = TaskOrigin::read(Some(&mission), None, None).map(Box::new);
    let other = json!({
        "version": "1", "task_id": "T042", "epic_id": "E006", "prd_id": "PRD-001",
        "instruction": "Build another",
        "context": {"epic_file": "epic.md", "task_file": "task.md"},
    });
    let taken = {
        let mut conflict = order.clone();
        conflict["taskId"] = json!(id(1).as_str());
        conflict["parentTaskId"] = json!("A-0");
        conflict
    };
    let breach = WorkspaceFacts {
        files_changed: vec!["src/a.rs".into()],
        commits: 1,
        manifests_changed: vec!["Cargo.toml".into()],
        outputs_missing: vec!["out/r.md".into()],
        unverified_reason: Some("no git".into()),
    };
    let breached = MessageFacts { workspace: Some(breach), ..MessageFacts::default() };
    let by = |task, fence| facts(TokenOwner::Run { nonce: None, task, fence });
    let mut unreadable = World::default();
    unreadable.set_unreadable(id(1));
    vec![
        ("mission that is odd", World::default(), document(&mission, MessageFacts::default())),
        (
            "mission that was another",
            world([made.clone()]),
            document(&other, MessageFacts::default()),
        ),
        (
            "order with the id of a task",
            one(Status::Ready),
            document(&taken, MessageFacts::default()),
        ),
        ("order in an unknown task", World::default(), document(&order, MessageFacts::default())),
        ("order in an unreadable task", unreadable, document(&order, MessageFacts::default())),
        ("order in a delegated task", world([running().depth(1)]), {
            document(&order, MessageFacts::default())
        }),
        ("order of a delegated run", world([running().depth(1)]), {
            document(
                &json!({"taskId": "A-1", "delegatedToMode": "code", "objective": "x"}),
                by(id(1), 1),
            )
        }),
        (
            "order of another task's run",
            world([running(), task(2, Status::Ready).leased_to("qa", 1)]),
            { document(&order, by(id(2), 1)) },
        ),
        ("order of an earlier run", world([running()]), document(&order, by(id(1), 0))),
        (
            "order with an unknown token",
            world([running()]),
            document(&order, facts(TokenOwner::Unknown)),
        ),
        ("completion against the constraints", world([made]), {
            message_with(&completion(1, "swe", WorkOutcome::Done), breached)
        }),
        ("yaml that cannot be read", World::default(), {
            let incoming = dialect::read(b"version: 1\ntask_id: T1\ninstruction: x\n", &no_yaml);
            Input::Message { incoming, facts: MessageFacts::default() }
        }),
    ]
}
