//! Writes the work order of a run from the task's files, in the dialect of its agent.

use std::path::Path;
use std::time::Duration;
use std::{fs, io};

use adjutant_core::protocols::aof::MESSAGE_PREFIX;
use adjutant_core::protocols::work_order::{
    WorkOrderSource, to_handoff_request, to_mission, to_new_task,
};
use adjutant_model::dialect::ProtocolDialect;
use adjutant_model::relative_path::RelPath;
use adjutant_model::task_origin::TaskOrigin;
use adjutant_model::{Policy, Task, Time};
use adjutant_run_files::dialect_files::DialectFiles;
use adjutant_runs::supervisor::RunRef;
use adjutant_runs::task_context::TaskContext;
use adjutant_runs::work_order::ReportingMethod;
use adjutant_store::document_paths::task_file;
use adjutant_store::file::DataFolder;
use adjutant_store::taskfile::{DurationLimit, TaskTimeLimits, parse};
use adjutant_store::yaml;
use serde_json::Value;

pub(super) struct WorkOrderText {
    /// The prompt for the agent.
    pub(super) text: String,
    /// The content of the order's file.
    pub(super) document: String,
}

/// The input of a work order.
pub(super) struct WorkOrderWriter<'a> {
    pub(super) folder: &'a DataFolder,
    pub(super) policy: &'a Policy,
    pub(super) run: &'a RunRef,
    pub(super) task: &'a Task,
    pub(super) parent: Option<&'a Task>,
    pub(super) attempt: &'a Path,
    /// The folder that the agent leaves its report in.
    pub(super) report_folder: &'a Path,
    pub(super) now: Time,
    /// How the agent is told to report.
    pub(super) report_method: ReportingMethod,
}

impl WorkOrderWriter<'_> {
    /// Returns the same input for an agent that starts a new session.
    pub(super) fn for_new_session(&self) -> Self {
        let by = if self.report_method == ReportingMethod::ResumedTools {
            ReportingMethod::Tools
        } else {
            self.report_method
        };
        Self { report_method: by, ..*self }
    }

    pub(super) fn write_order(&self, dialect: ProtocolDialect) -> io::Result<WorkOrderText> {
        let papers = TaskContext::read(self.folder, self.task)?.with_checks(self.policy, self.task);
        let file = RelPath::parse(&task_file(self.task.status(), &self.task.id));
        let file = file.expect("the data folder names it so");
        let answers: Vec<&str> = papers.answers.iter().map(|answer| answer.trim()).collect();
        let source = WorkOrderSource {
            task: self.task,
            body: &papers.body,
            parent: self.parent,
            handoff: papers.handoff.as_ref(),
            agent: Some(&self.run.agent),
            task_file: papers.task_file.as_ref().unwrap_or(&file),
            memory: papers.memory.as_ref(),
            answers: &answers,
        };
        Ok(match dialect {
            ProtocolDialect::Mission => self.mission(&source),
            ProtocolDialect::NewTask => self.new_task(&source),
            ProtocolDialect::Aof => same_document(format!(
                "{MESSAGE_PREFIX}{}\n",
                Value::Object(to_handoff_request(&source, self.now))
            )),
            ProtocolDialect::Prompt => same_document(papers.work_order(
                self.task,
                &self.run.agent,
                self.run.attempt,
                self.report_method,
            )),
        })
    }

    fn mission(&self, source: &WorkOrderSource<'_>) -> WorkOrderText {
        let document = yaml::print(&to_mission(source).to_map());
        WorkOrderText { text: format!("{}{document}", self.report_comments()), document }
    }

    fn new_task(&self, source: &WorkOrderSource<'_>) -> WorkOrderText {
        let mut task = to_new_task(source);
        task.constraints_and_rules.get_or_insert_default().push(self.report_rule());
        same_document(format!("{:#}\n", Value::Object(task.to_map())))
    }

    /// Says in YAML comments where to leave the result, so that the text is still a valid mission.
    fn report_comments(&self) -> String {
        let (order, report) = self.order_and_report_paths(ProtocolDialect::Mission);
        format!(
            "# Your mission, in the format of Agent Protocol v1. It is also in the file\n# {order}\n\
             # Work in the current folder. When you are done or cannot continue, write your\n\
             # result, in the format of that protocol, to the file\n# {report}\n\
             # or print it as the last thing on standard output.\n"
        )
    }

    /// Says in a rule where to leave the `attempt_completion`, because JSON has no comments.
    fn report_rule(&self) -> String {
        let (_, report) = self.order_and_report_paths(ProtocolDialect::NewTask);
        format!(
            "When you are done or cannot continue, write your attempt_completion to the file \
             {report}, or print it as the last thing on standard output."
        )
    }

    /// Returns the paths of the order and of the report in a dialect.
    fn order_and_report_paths(&self, dialect: ProtocolDialect) -> (String, String) {
        let place = |at: &Path, name: &str| replace_line_breaks(&at.join(name).to_string_lossy());
        let both = |forms: DialectFiles| {
            (place(self.attempt, forms.order), place(self.report_folder, forms.report))
        };
        DialectFiles::for_dialect(dialect).map_or_else(Default::default, both)
    }
}

fn same_document(text: String) -> WorkOrderText {
    WorkOrderText { document: text.clone(), text }
}

/// Replaces line breaks, because one in a folder's name would end a comment.
fn replace_line_breaks(path: &str) -> String {
    path.replace(['\n', '\r'], "\u{fffd}")
}

/// Returns the time limits of a run: those of the task file, else those of its mission. Fails if
/// the file has become invalid.
pub(super) fn read_task_limits(folder: &DataFolder, task: &Task) -> io::Result<TaskTimeLimits> {
    let file = fs::read_to_string(folder.root().join(task_file(task.status(), &task.id)))?;
    let parsed = parse(&file, Some(&task.id), Some(task.status()));
    let limits = parsed.map(|parsed| parsed.limits).map_err(|problems| {
        let each: Vec<String> = problems.iter().map(ToString::to_string).collect();
        io::Error::new(io::ErrorKind::InvalidData, each.join("; "))
    })?;
    Ok(TaskTimeLimits { timeout: limits.timeout.or_else(|| mission_timeout(task)), ..limits })
}

/// Returns the timeout of a task's mission; 0 seconds mean no limit.
fn mission_timeout(task: &Task) -> Option<DurationLimit> {
    let mission = task.origin.as_deref().and_then(TaskOrigin::mission)?;
    Some(match mission.timeout? {
        0 => DurationLimit::Off,
        seconds => DurationLimit::After(Duration::from_secs(seconds)),
    })
}
