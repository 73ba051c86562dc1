//! Makes the work order of a run from the task's files, in the dialect of its agent.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use adjutant_core::dialect::Dialect;
use adjutant_core::foreign::Foreign;
use adjutant_core::order::{Source, handoff, mission, new_task};
use adjutant_core::path::RelPath;
use adjutant_core::{Policy, Task, Time};
use adjutant_store::document::task_file;
use adjutant_store::file::Folder;
use adjutant_store::taskfile::{Limit, Limits, parse};
use adjutant_store::yaml;
use serde_json::Value;

use crate::dialect::Forms;
use crate::order::By;
use crate::papers::Papers;
use crate::supervisor::Run;

/// A work order, and the document it stands in.
pub(super) struct Written {
    /// What the agent is given.
    pub(super) text: String,
    /// What its file says.
    pub(super) document: String,
}

/// What a work order is made from.
pub(super) struct Given<'a> {
    pub(super) folder: &'a Folder,
    pub(super) policy: &'a Policy,
    pub(super) run: &'a Run,
    pub(super) task: &'a Task,
    pub(super) parent: Option<&'a Task>,
    /// The folder of the attempt.
    pub(super) attempt: &'a Path,
    /// The folder the report is left in.
    pub(super) report: &'a Path,
    pub(super) now: Time,
    /// How the agent is told to report.
    pub(super) by: By,
}

impl Given<'_> {
    /// The same for an agent that remembers nothing.
    pub(super) fn anew(&self) -> Self {
        let by = if self.by == By::GoOn { By::Tools } else { self.by };
        Self { by, ..*self }
    }

    /// Writes the work order of a run.
    pub(super) fn write(&self, dialect: Dialect) -> io::Result<Written> {
        let papers = Papers::read(self.folder, self.task)?.with_checks(self.policy, self.task);
        let file = RelPath::parse(&task_file(self.task.status(), &self.task.id));
        let file = file.expect("the data folder names it so");
        let answers: Vec<&str> = papers.answers.iter().map(|answer| answer.trim()).collect();
        let source = Source {
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
            Dialect::Mission => self.mission(&source),
            Dialect::NewTask => self.new_task(&source),
            Dialect::Aof => plain(format!("AOF/1 {}\n", Value::Object(handoff(&source, self.now)))),
            Dialect::Prompt => {
                plain(papers.prompt(self.task, &self.run.agent, self.run.attempt, self.by))
            }
        })
    }

    fn mission(&self, source: &Source<'_>) -> Written {
        let document = yaml::print(&mission(source).document());
        Written { text: format!("{}{document}", self.told_in_comments()), document }
    }

    fn new_task(&self, source: &Source<'_>) -> Written {
        let mut task = new_task(source);
        task.constraints_and_rules.get_or_insert_default().push(self.told_in_a_rule());
        plain(format!("{:#}\n", Value::Object(task.document())))
    }

    /// Says where a result is to be left, in comments, so that the whole is still a mission.
    fn told_in_comments(&self) -> String {
        let (order, report) = self.places(Dialect::Mission);
        format!(
            "# Your mission, as Agent Protocol v1 has it. It is also in the file\n# {order}\n\
             # Work in the current folder. When you are done, or cannot go on, leave your result,\n\
             # as that protocol has it, in the file\n# {report}\n\
             # or print it as the last thing on standard output.\n"
        )
    }

    /// Says where an `attempt_completion` is to be left, as JSON has no comments.
    fn told_in_a_rule(&self) -> String {
        let (_, report) = self.places(Dialect::NewTask);
        format!(
            "When you are done, or cannot go on, leave your attempt_completion in the file \
             {report}, or print it as the last thing on standard output."
        )
    }

    /// Returns where the order and the report of a dialect are.
    fn places(&self, dialect: Dialect) -> (String, String) {
        let place = |at: &Path, name: &str| one_line(&at.join(name).to_string_lossy());
        let both =
            |forms: Forms| (place(self.attempt, forms.order), place(self.report, forms.report));
        Forms::of(dialect).map_or_else(Default::default, both)
    }
}

fn plain(text: String) -> Written {
    Written { document: text.clone(), text }
}

/// A line break in the name of a folder would end a comment.
fn one_line(path: &str) -> String {
    path.replace(['\n', '\r'], "\u{fffd}")
}

/// Returns how long the task lets a run take: what its file says, else what its mission says. A
/// file that somebody has spoilt by now is no order.
pub(super) fn limits(folder: &Folder, task: &Task) -> io::Result<Limits> {
    let file = fs::read_to_string(folder.root().join(task_file(task.status(), &task.id)))?;
    let parsed = parse(&file, Some(&task.id), Some(task.status()));
    let limits = parsed.map(|parsed| parsed.limits).map_err(|problems| {
        let each: Vec<String> = problems.iter().map(ToString::to_string).collect();
        io::Error::new(io::ErrorKind::InvalidData, each.join("; "))
    })?;
    Ok(Limits { timeout: limits.timeout.or_else(|| of_mission(task)), ..limits })
}

/// Returns how long a mission lets its runs take; 0 seconds are no limit.
fn of_mission(task: &Task) -> Option<Limit> {
    let mission = task.foreign.as_deref().and_then(Foreign::mission)?;
    Some(match mission.timeout? {
        0 => Limit::Off,
        seconds => Limit::After(Duration::from_secs(seconds)),
    })
}
