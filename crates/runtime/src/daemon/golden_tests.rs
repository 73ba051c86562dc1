//! Golden files of work orders: what an agent is told, in every dialect and every form.

use std::fs;
use std::path::Path;

use adjutant_core::dialect::Dialect;
use adjutant_core::foreign::Foreign;
use adjutant_core::handoff::Handoff;
use adjutant_core::order::{body_of_mission, body_of_new_task};
use adjutant_core::path::RelPath;
use adjutant_core::task::{State, Task};
use adjutant_core::trials::Failure;
use adjutant_core::{Policy, Priority, Stamp, Status};
use adjutant_store::document::{companion, epic_memory, task_file};
use adjutant_store::file::Folder;
use adjutant_store::taskfile::render;
use adjutant_store::wire::HandoffWire;
use adjutant_store::wire::work::EvidenceWire;
use adjutant_test_support::assert_every_variant;
use adjutant_test_support::golden::GoldenFolder;
use serde_json::json;
use tempfile::TempDir;

use super::EVIDENCE;
use super::orders::Given;
use crate::golden_tests::samples::{agent, alice, evidence, other_task, task as id, time};
use crate::order::By;
use crate::supervisor::Run;

/// A data folder with the files of one task.
struct Desk {
    project: TempDir,
    folder: Folder,
    task: Task,
    attempt: u32,
}

impl Desk {
    fn new(task: Task, body: &str) -> Self {
        let project = tempfile::tempdir().expect("a temporary folder");
        let folder = Folder::init(project.path()).expect("a data folder");
        let desk = Self { project, folder, task, attempt: 1 };
        desk.put(&task_file(desk.task.status(), &desk.task.id), &render(&desk.task, body));
        desk
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.folder.root().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    /// Returns the order and, where it is another text, the document that goes with it.
    fn order(&self, dialect: Dialect, by: By, parent: Option<&Task>) -> (String, String) {
        let run = Run { task: id(), agent: agent(), attempt: self.attempt, fence: 3 };
        let attempt = self.folder.root().join(format!("runs/{}/attempts/{}", id(), self.attempt));
        let policy = Policy { checks: vec!["make test".into()], ..Policy::default() };
        let given = Given {
            folder: &self.folder,
            policy: &policy,
            run: &run,
            task: &self.task,
            parent,
            attempt: &attempt,
            report: &attempt,
            now: time(),
            by,
        };
        let written = given.write(dialect).expect("an order");
        (self.mask_path(&written.text), self.mask_path(&written.document))
    }

    /// Replaces the temporary folder, which has another name every time.
    fn mask_path(&self, text: &str) -> String {
        let real = |path: &Path| path.display().to_string();
        text.replace(&real(self.project.path()), "/p")
    }
}

fn task() -> Task {
    let new = Task::new(id(), "Mend the gate", &alice(), time());
    Task { state: State::entered(Status::InProgress), ..new }
}

/// A task that was tried before: with failures, a failed check, feedback and answers.
fn retried(task: Task, body: &str) -> Desk {
    let failure = |attempt, reason: &str| Failure { attempt, reason: reason.into() };
    let mut task = task;
    task.due_by = Some(time());
    task.priority = Priority::High;
    task.feedback = Some("The hinge is on the wrong side.\nTurn it.".into());
    task.trials.failures = vec![failure(1, "exit code 1: no oil"), failure(2, "checks failed")];
    task.trials.answer = Some("Oil is in the shed.".into());
    let mut desk = Desk::new(task, body);
    desk.attempt = 3;
    let inputs = format!("{}/inputs", companion(Status::InProgress, &id()));
    desk.put(&format!("{inputs}/answer-5.md"), "Use the green one.\n");
    desk.put(&format!("{inputs}/answer-12.md"), "Oil is in the shed.\n");
    let found = serde_json::to_string(&EvidenceWire::from(&evidence())).expect("it makes JSON");
    desk.put(&format!("runs/{}/attempts/2/{EVIDENCE}", id()), &found);
    desk
}

fn with_foreign(foreign: Foreign) -> Task {
    Task { foreign: Some(Box::new(foreign)), ..task() }
}

fn mission() -> Foreign {
    let document = json!({
        "version": "1", "task_id": "T1", "epic_id": "E2", "prd_id": "PRD-3",
        "instruction": "Mend the gate.\nThen oil it.",
        "context": {
            "dev_md": "DEV.md", "epic_file": "epics/e2.md", "task_file": "tasks/t1.md",
            "memory": "memory.md", "toolset": "tools.md",
        },
        "constraints": {"max_files": 3, "no_git_commit": true, "no_new_deps": true},
        "timeout": 600,
    });
    Foreign::read(Some(&document), None, None).expect("a mission")
}

fn new_task() -> Foreign {
    let document = json!({
        "taskId": "A-1", "parentTaskId": "A-0", "delegatedToMode": "code",
        "objective": "Mend the gate", "context": "It squeaks",
        "inputs": [{"type": "code", "path": "src/a.rs", "version": "2", "description": "the gate"}],
        "expectedOutputs": [{"type": "report", "path": "out/r.md", "description": "what changed"}],
        "constraintsAndRules": ["no paint"], "acceptanceCriteria": ["it is silent"],
        "priority": "high", "deadlineHint": "soon",
    });
    Foreign::read(None, Some(&document), None).expect("a new task")
}

fn handed_on() -> Desk {
    let path = |text| RelPath::parse(text).expect("a relative path");
    let handoff = Handoff {
        task: id(),
        parent: other_task(),
        from: agent(),
        to: agent(),
        acceptance_criteria: vec!["It is silent".into()],
        expected_outputs: vec![path("out/r.md")],
        context_refs: vec![path("docs/gate.md")],
        constraints: vec!["No paint".into()],
        due_by: Stamp::parse("2026-02-10T12:00:00+02:00").expect("a time"),
    };
    let desk = Desk::new(Task { parent: Some(other_task()), ..task() }, "It squeaks.\n");
    let inputs = format!("{}/inputs", companion(Status::InProgress, &id()));
    let wire = serde_json::to_string(&HandoffWire::from(&handoff)).expect("it makes JSON");
    desk.put(&format!("{inputs}/handoff.json"), &wire);
    desk.put(&format!("{inputs}/handoff.md"), &handoff.markdown());
    desk
}

/// Returns a task of every origin, first and later attempts.
fn desks() -> Vec<(&'static str, Desk)> {
    let body = "It squeaks.\n\nDo not paint it.\n";
    let body_of_mission = body_of_mission(mission().mission().expect("a mission"));
    let body_of_new_task = body_of_new_task(new_task().new_task().expect("a new task"));
    let remembered = Desk::new(with_foreign(mission()), &body_of_mission);
    let epic = mission().epic().expect("an epic").clone();
    remembered.put(&epic_memory(&epic), "# Memory of E2\n\n- Oil helps\n");
    vec![
        ("first-attempt", Desk::new(task(), body)),
        ("later-attempt", retried(task(), body)),
        ("handed-on", handed_on()),
        ("mission", remembered),
        ("mission-later-attempt", retried(with_foreign(mission()), &body_of_mission)),
        ("new-task", Desk::new(with_foreign(new_task()), &body_of_new_task)),
        ("new-task-later-attempt", retried(with_foreign(new_task()), &body_of_new_task)),
    ]
}

#[test]
fn work_orders_match_golden_files() {
    let forms = [
        (By::Command, "command"),
        (By::Lines, "lines"),
        (By::Tools, "tools"),
        (By::Http, "http"),
        (By::GoOn, "resumed"),
    ];
    assert_every_variant!(forms.iter().map(|(by, _)| by), By { Command, Lines, Tools, Http, GoOn });
    let dialects = [Dialect::Aof, Dialect::Mission, Dialect::NewTask, Dialect::Prompt];
    assert_every_variant!(&dialects, Dialect { Aof, Mission, NewTask, Prompt });
    let parent = Task::new(other_task(), "Mend the fence", &alice(), time());
    let mut golden = GoldenFolder::new("work-orders/tasks");
    for (name, desk) in desks() {
        for dialect in dialects {
            let (text, document) = desk.order(dialect, By::Lines, Some(&parent));
            match dialect {
                Dialect::Aof => golden.add(format!("{name}/aof.txt"), text),
                Dialect::NewTask => golden.add(format!("{name}/new_task.json"), text),
                Dialect::Mission => {
                    golden.add(format!("{name}/mission-prompt.yaml"), text);
                    golden.add(format!("{name}/mission.yaml"), document);
                }
                Dialect::Prompt => {}
            }
        }
        for (by, form) in forms {
            let (text, _) = desk.order(Dialect::Prompt, by, None);
            golden.add(format!("{name}/{form}.md"), text);
        }
    }
    golden.check();
}
