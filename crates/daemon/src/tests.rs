//! Golden files of work orders, in every dialect and every form.

use std::fs;
use std::path::Path;

use adjutant_core::protocols::work_order::{body_of_mission, body_of_new_task};
use adjutant_model::dialect::ProtocolDialect;
use adjutant_model::handoff::TaskHandoff;
use adjutant_model::relative_path::RelPath;
use adjutant_model::run_history::FailedAttempt;
use adjutant_model::task::{Task, TaskState};
use adjutant_model::task_origin::TaskOrigin;
use adjutant_model::{Policy, Priority, Status, Timestamp};
use adjutant_runs::supervisor::RunRef;
use adjutant_runs::work_order::ReportingMethod;
use adjutant_store::document_paths::{companion_folder, epic_memory_file, task_file};
use adjutant_store::file::DataFolder;
use adjutant_store::taskfile::render;
use adjutant_test_support::assert_every_variant;
use adjutant_test_support::golden::GoldenFolder;
use adjutant_testkit::golden_samples::{agent, alice, evidence, other_task, task as id, time};
use serde_json::json;
use tempfile::TempDir;

use super::EVIDENCE_FILE;
use super::work_orders::WorkOrderWriter;

struct OrderFixture {
    project: TempDir,
    folder: DataFolder,
    task: Task,
    attempt: u32,
}

impl OrderFixture {
    fn new(task: Task, body: &str) -> Self {
        let project = tempfile::tempdir().expect("a temporary folder");
        let folder = DataFolder::init(project.path()).expect("a data folder");
        let desk = Self { project, folder, task, attempt: 1 };
        desk.put(&task_file(desk.task.status(), &desk.task.id), &render(&desk.task, body));
        desk
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.folder.root().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    /// Returns the order and its document, which is the same text in most dialects.
    fn order(
        &self,
        dialect: ProtocolDialect,
        by: ReportingMethod,
        parent: Option<&Task>,
    ) -> (String, String) {
        let run =
            RunRef { nonce: None, task: id(), agent: agent(), attempt: self.attempt, fence: 3 };
        let attempt = self.folder.root().join(format!("runs/{}/attempts/{}", id(), self.attempt));
        let policy = Policy { checks: vec!["make test".into()], ..Policy::default() };
        let given = WorkOrderWriter {
            folder: &self.folder,
            policy: &policy,
            run: &run,
            task: &self.task,
            parent,
            attempt: &attempt,
            report_folder: &attempt,
            now: time(),
            report_method: by,
        };
        let written = given.write_order(dialect).expect("an order");
        (self.mask_path(&written.text), self.mask_path(&written.document))
    }

    /// Replaces the path of the temporary folder, which differs every time.
    fn mask_path(&self, text: &str) -> String {
        let real = |path: &Path| path.display().to_string();
        text.replace(&real(self.project.path()), "/p")
    }
}

fn task() -> Task {
    let new = Task::new(id(), "Mend the gate", &alice(), time());
    Task { state: TaskState::entered(Status::InProgress), ..new }
}

/// A task with earlier attempts: failures, a failed check, feedback and answers.
fn retried(task: Task, body: &str) -> OrderFixture {
    let failure = |attempt, reason: &str| FailedAttempt { attempt, reason: reason.into() };
    let mut task = task;
    task.due_by = Some(time());
    task.priority = Priority::High;
    task.feedback = Some("The hinge is on the wrong side.\nTurn it.".into());
    task.history.failures = vec![failure(1, "exit code 1: no oil"), failure(2, "checks failed")];
    task.history.answer = Some("Oil is in the shed.".into());
    let mut desk = OrderFixture::new(task, body);
    desk.attempt = 3;
    let inputs = format!("{}/inputs", companion_folder(Status::InProgress, &id()));
    desk.put(&format!("{inputs}/answer-5.md"), "Use the green one.\n");
    desk.put(&format!("{inputs}/answer-12.md"), "Oil is in the shed.\n");
    let found = serde_json::to_string(&evidence()).expect("it makes JSON");
    desk.put(&format!("runs/{}/attempts/2/{EVIDENCE_FILE}", id()), &found);
    desk
}

fn with_foreign(foreign: TaskOrigin) -> Task {
    Task { origin: Some(Box::new(foreign)), ..task() }
}

fn mission() -> TaskOrigin {
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
    TaskOrigin::read(Some(&document), None, None).expect("a mission")
}

fn new_task() -> TaskOrigin {
    let document = json!({
        "taskId": "A-1", "parentTaskId": "A-0", "delegatedToMode": "code",
        "objective": "Mend the gate", "context": "It squeaks",
        "inputs": [{"type": "code", "path": "src/a.rs", "version": "2", "description": "the gate"}],
        "expectedOutputs": [{"type": "report", "path": "out/r.md", "description": "what changed"}],
        "constraintsAndRules": ["no paint"], "acceptanceCriteria": ["it is silent"],
        "priority": "high", "deadlineHint": "soon",
    });
    TaskOrigin::read(None, Some(&document), None).expect("a new task")
}

fn handed_on() -> OrderFixture {
    let path = |text| RelPath::parse(text).expect("a relative path");
    let handoff = TaskHandoff {
        task: id(),
        parent: other_task(),
        from: agent(),
        to: agent(),
        acceptance_criteria: vec!["It is silent".into()],
        expected_outputs: vec![path("out/r.md")],
        context_refs: vec![path("docs/gate.md")],
        constraints: vec!["No paint".into()],
        due_by: Timestamp::parse("2026-02-10T12:00:00+02:00").expect("a time"),
    };
    let desk = OrderFixture::new(Task { parent: Some(other_task()), ..task() }, "It squeaks.\n");
    let inputs = format!("{}/inputs", companion_folder(Status::InProgress, &id()));
    let wire = serde_json::to_string(&handoff).expect("it makes JSON");
    desk.put(&format!("{inputs}/handoff.json"), &wire);
    desk.put(&format!("{inputs}/handoff.md"), &handoff.to_markdown());
    desk
}

/// Returns a task of every origin, with first and later attempts.
fn order_fixtures() -> Vec<(&'static str, OrderFixture)> {
    let body = "It squeaks.\n\nDo not paint it.\n";
    let body_of_mission = body_of_mission(mission().mission().expect("a mission"));
    let body_of_new_task = body_of_new_task(new_task().new_task().expect("a new task"));
    let remembered = OrderFixture::new(with_foreign(mission()), &body_of_mission);
    let epic = mission().epic().expect("an epic").clone();
    remembered.put(&epic_memory_file(&epic), "# Memory of E2\n\n- Oil helps\n");
    vec![
        ("first-attempt", OrderFixture::new(task(), body)),
        ("later-attempt", retried(task(), body)),
        ("handed-on", handed_on()),
        ("mission", remembered),
        ("mission-later-attempt", retried(with_foreign(mission()), &body_of_mission)),
        ("new-task", OrderFixture::new(with_foreign(new_task()), &body_of_new_task)),
        ("new-task-later-attempt", retried(with_foreign(new_task()), &body_of_new_task)),
    ]
}

#[test]
fn work_orders_match_golden_files() {
    let forms = [
        (ReportingMethod::Command, "command"),
        (ReportingMethod::Lines, "lines"),
        (ReportingMethod::Tools, "tools"),
        (ReportingMethod::Http, "http"),
        (ReportingMethod::ResumedTools, "resumed"),
    ];
    assert_every_variant!(
        forms.iter().map(|(by, _)| by),
        ReportingMethod { Command, Lines, Tools, Http, ResumedTools }
    );
    let dialects = [
        ProtocolDialect::Aof,
        ProtocolDialect::Mission,
        ProtocolDialect::NewTask,
        ProtocolDialect::Prompt,
    ];
    assert_every_variant!(&dialects, ProtocolDialect { Aof, Mission, NewTask, Prompt });
    let parent = Task::new(other_task(), "Mend the fence", &alice(), time());
    let mut golden = GoldenFolder::new("work-orders/tasks");
    for (name, desk) in order_fixtures() {
        for dialect in dialects {
            let (text, document) = desk.order(dialect, ReportingMethod::Lines, Some(&parent));
            match dialect {
                ProtocolDialect::Aof => golden.add(format!("{name}/aof.txt"), text),
                ProtocolDialect::NewTask => golden.add(format!("{name}/new_task.json"), text),
                ProtocolDialect::Mission => {
                    golden.add(format!("{name}/mission-prompt.yaml"), text);
                    golden.add(format!("{name}/mission.yaml"), document);
                }
                ProtocolDialect::Prompt => {}
            }
        }
        for (by, form) in forms {
            let (text, _) = desk.order(ProtocolDialect::Prompt, by, None);
            golden.add(format!("{name}/{form}.md"), text);
        }
    }
    golden.check();
}
