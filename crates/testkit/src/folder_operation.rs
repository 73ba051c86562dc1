//! Every kind of operation on a folder, for tests that interrupt it at each step.

mod commands;
mod messages;
mod people;
mod runs;
mod upkeep;

use std::path::Path;

use crate::audit::EventLogScope;
use crate::crash_child::CrashChild;
use crate::project::TestProject;

/// One kind of operation on a folder.
pub struct FolderOperation {
    pub name: &'static str,
    /// Prepares the project; `None` for a folder that does not exist yet.
    pub prepare: Option<fn(&TestProject)>,
    /// Edits that people make to the files before the operation.
    pub edit_by_hand: fn(&Path),
    pub run: fn(&mut CrashChild),
    /// The expected answers, one for each step.
    pub answers: &'static [&'static str],
    /// The size from which on the journal is cut; `None` for the default.
    pub journal_bytes_max: Option<u64>,
    /// How much of the world the event log covers afterwards.
    pub event_log: EventLogScope,
}

impl FolderOperation {
    const fn new(
        name: &'static str,
        run: fn(&mut CrashChild),
        answers: &'static [&'static str],
    ) -> Self {
        Self {
            name,
            prepare: Some(set_up_project),
            edit_by_hand: |_| {},
            run,
            answers,
            journal_bytes_max: None,
            event_log: EventLogScope::Complete,
        }
    }

    const fn after_hand_edit(self, meddle: fn(&Path)) -> Self {
        Self { edit_by_hand: meddle, ..self }
    }

    const fn with_journal_bytes_max(self, bytes: u64) -> Self {
        Self { journal_bytes_max: Some(bytes), ..self }
    }

    pub fn by_name(name: &str) -> &'static Self {
        let mut all = Self::all();
        all.find(|operation| operation.name == name)
            .unwrap_or_else(|| panic!("there is no operation {name}"))
    }

    pub fn all() -> impl Iterator<Item = &'static Self> {
        [commands::ALL, messages::ALL, people::ALL, runs::ALL, upkeep::ALL].into_iter().flatten()
    }
}

use given::set_up_project;

/// The project that most operations start from.
pub mod given {
    use adjutant_engine::Engine;
    use adjutant_model::command::{InitialStatus, NewTask};
    use adjutant_model::review::ReviewPolicy;
    use adjutant_model::task::TaskRouting;
    use adjutant_model::{AgentId, Command, Status, TaskId};
    use adjutant_store::FileStore;

    use crate::message::completion;
    use crate::project::{TestProject, message_request, operator_request};

    /// In progress, with files in its companion folder.
    pub const IN_PROGRESS_TASK: &str = "TASK-2026-02-09-001";
    /// Ready, without any files.
    pub const READY_TASK: &str = "TASK-2026-02-09-002";
    /// In review, with a result.
    pub const REVIEW_TASK: &str = "TASK-2026-02-09-003";
    /// In progress, and needs no review.
    pub const NO_REVIEW_TASK: &str = "TASK-2026-02-09-004";
    /// Blocked, with a result.
    pub const BLOCKED_TASK: &str = "TASK-2026-02-09-005";
    /// The agent of all tasks.
    pub const AGENT: &str = "swe-backend";

    pub fn id(text: &str) -> TaskId {
        TaskId::parse(text).expect("a good id")
    }

    /// Makes the project and leaves its folder at rest.
    pub fn set_up_project(project: &TestProject) {
        let mut engine = project.open_engine();
        for number in 1..=5 {
            let review = if number == 4 { ReviewPolicy::NotNeeded } else { ReviewPolicy::Required };
            let agent = Some(AgentId::parse(AGENT).expect("a good name"));
            let new = NewTask {
                title: format!("Task {number}"),
                body: "Mend it.\n".to_owned(),
                start: InitialStatus::Ready,
                routing: TaskRouting { agent, ..TaskRouting::default() },
                review,
                ..NewTask::default()
            };
            engine.submit_one(operator_request(Command::Add(Box::new(new)))).expect("added");
        }
        for task in [IN_PROGRESS_TASK, REVIEW_TASK, NO_REVIEW_TASK, BLOCKED_TASK] {
            start_task(&mut engine, task);
        }
        for task in [IN_PROGRESS_TASK, REVIEW_TASK, NO_REVIEW_TASK] {
            project.write(&format!("tasks/in-progress/{task}/outputs/summary.md"), "Done.\n");
        }
        engine
            .submit_one(message_request(&completion(REVIEW_TASK, AGENT, "done")))
            .expect("reported");
        engine
            .submit_one(message_request(&completion(BLOCKED_TASK, AGENT, "blocked")))
            .expect("reported");
        engine.rest().expect("at rest");
    }

    /// Moves a task to in progress.
    pub fn start_task(engine: &mut Engine<FileStore>, task: &str) {
        let (id, to) = (id(task), Status::InProgress);
        let started = operator_request(Command::Move { id, to, reason: "start".into() });
        engine.submit_one(started).expect("started");
    }
}
