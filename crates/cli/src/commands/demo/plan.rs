//! The demo's agents, tasks and scripts.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use adjutant_config as config;
use adjutant_engine::EngineRequest;
use adjutant_model::command::{CommandCaller, InitialStatus, NewTask};
use adjutant_model::review::ReviewPolicy;
use adjutant_model::task::TaskRouting;
use adjutant_model::{AgentId, Command, Status, TaskId};
use adjutant_store::document_paths::companion_folder;
use adjutant_store::file::{DATA_FOLDER, DataFolder};

use crate::caller::operator;
use crate::data::{ProjectData, require_accepted};
use crate::output::error::CommandFailure;

/// Timeouts are short, so that a night's work takes seconds.
pub(super) const CONFIG: &str = r#"# The configuration of the demo. All times are short, so that it takes seconds.
[scheduler]
concurrency = 4
poll = "250ms"
attempts_max = 3
backoff = "500ms"
grace = "1s"

[agents.swe-backend]
kind = "script"
script = "crew/swe-backend.yaml"
slots = 2

[agents.swe-docs]
kind = "script"
script = "crew/swe-docs.yaml"
slots = 2

[agents.swe-qa]
kind = "script"
script = "crew/swe-qa.yaml"
slots = 2
idle_timeout = "2s"
"#;

/// A task of the demo and the script of its agent. [`WRITE_OUTPUTS`] stands for the files that an
/// agent leaves with its task, and `$tests` for the id of that task.
struct DemoTask {
    key: &'static str,
    title: &'static str,
    agent: &'static str,
    depends_on: &'static [&'static str],
    review: ReviewPolicy,
    /// The steps of the first attempt, if they differ from `steps`.
    first_steps: &'static [&'static str],
    steps: &'static [&'static str],
    /// The agent that the task is delegated to, if any.
    handed_to: Option<&'static str>,
}

const WRITE_OUTPUTS: &str = "LEAVE";

const DEFAULT_DEMO_TASK: DemoTask = DemoTask {
    key: "",
    title: "",
    agent: "swe-docs",
    depends_on: &[],
    review: ReviewPolicy::NotNeeded,
    first_steps: &[],
    steps: &["work: 800ms", WRITE_OUTPUTS, "report: {outcome: done, notes: All of it.}"],
    handed_to: None,
};

const DEMO_TASKS: [DemoTask; 12] = [
    DemoTask {
        key: "sketch",
        title: "Sketch the users API",
        agent: "swe-backend",
        ..DEFAULT_DEMO_TASK
    },
    DemoTask {
        key: "build",
        title: "Build the users API",
        agent: "swe-backend",
        depends_on: &["sketch"],
        review: ReviewPolicy::Required,
        steps: &[
            "progress: routes are in place",
            "work: 700ms",
            "delegate: {task: $tests, to: swe-qa, criteria: [Every route is tested]}",
            "work: 700ms",
            WRITE_OUTPUTS,
            "adjutant: [report, done, --notes, All criteria met, --tests, 12/12/0]",
        ],
        ..DEFAULT_DEMO_TASK
    },
    DemoTask {
        key: "tests",
        title: "Test the users API",
        agent: "swe-backend",
        depends_on: &["build"],
        steps: &[
            "adjutant: [report, accept]",
            "work: 700ms",
            WRITE_OUTPUTS,
            "adjutant: [report, done, --notes, Every route is tested, --tests, 42/42/0]",
        ],
        handed_to: Some("swe-qa"),
        ..DEFAULT_DEMO_TASK
    },
    DemoTask {
        key: "migrate",
        title: "Write the migrations",
        agent: "swe-backend",
        depends_on: &["sketch"],
        first_steps: &["progress: half of the tables are there", "work: 10m"],
        ..DEFAULT_DEMO_TASK
    },
    DemoTask {
        key: "load",
        title: "Load-test the users API",
        agent: "swe-qa",
        depends_on: &["build"],
        first_steps: &["progress: warming up", "hang"],
        ..DEFAULT_DEMO_TASK
    },
    DemoTask {
        key: "legacy",
        title: "Port the old importer",
        agent: "swe-backend",
        steps: &["work: 200ms", "complain: 'importer.cfg: no such file'", "exit: 1"],
        ..DEFAULT_DEMO_TASK
    },
    DemoTask {
        key: "retire",
        title: "Retire the old importer",
        agent: "swe-backend",
        depends_on: &["legacy"],
        ..DEFAULT_DEMO_TASK
    },
    DemoTask {
        key: "licence",
        title: "Add licence headers",
        first_steps: &[
            "work: 300ms",
            WRITE_OUTPUTS,
            "adjutant: [report, blocked, --blocker, MIT or Apache-2.0?]",
        ],
        ..DEFAULT_DEMO_TASK
    },
    DemoTask { key: "changelog", title: "Tidy the changelog", ..DEFAULT_DEMO_TASK },
    DemoTask { key: "style", title: "Settle the code style", agent: "swe-qa", ..DEFAULT_DEMO_TASK },
    DemoTask {
        key: "guide",
        title: "Write the guide",
        depends_on: &["build"],
        ..DEFAULT_DEMO_TASK
    },
    DemoTask {
        key: "release",
        title: "Publish the release",
        depends_on: &["tests", "migrate", "load", "guide", "licence"],
        ..DEFAULT_DEMO_TASK
    },
];

/// The ids of the demo's tasks, by key.
pub(super) struct DemoPlan {
    ids: BTreeMap<&'static str, TaskId>,
}

impl DemoPlan {
    /// Writes the configuration, the tasks and the scripts into a new folder.
    pub(super) fn create(folder: &DataFolder) -> Result<Self, CommandFailure> {
        let failed = |error| CommandFailure::broken("cannot write the files of the demo", &error);
        fs::write(folder.root().join(config::FILE), CONFIG).map_err(failed)?;
        let mut plan = Self { ids: BTreeMap::new() };
        let mut engine = ProjectData::find(Some(folder.root()))?.open_engine()?;
        for part in &DEMO_TASKS {
            let command = Command::Add(Box::new(plan.task(part)));
            // The folder is the demo's own, so its caller is the operator, even inside a run.
            let by = CommandCaller::Operator(operator());
            let answered = engine.submit_one(EngineRequest::command(by, command))?;
            let answered = require_accepted(answered, "cannot add a task for the demo")?;
            plan.ids.extend(answered.answer.task.map(|id| (part.key, id)));
        }
        engine.rest()?;
        plan.write_scripts(&folder.workspace().join("crew")).map_err(failed)?;
        Ok(plan)
    }

    pub(super) fn id(&self, key: &str) -> &TaskId {
        self.ids.get(key).expect("every task of the plan was added")
    }

    pub(super) fn is_task(&self, id: &str, key: &str) -> bool {
        self.id(key).as_str() == id
    }

    pub(super) fn title(&self, id: &str) -> &'static str {
        DEMO_TASKS.iter().find(|part| self.is_task(id, part.key)).map_or("", |part| part.title)
    }

    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    fn task(&self, part: &DemoTask) -> NewTask {
        NewTask {
            title: part.title.to_owned(),
            routing: TaskRouting {
                agent: AgentId::parse(part.agent).ok(),
                ..TaskRouting::default()
            },
            depends_on: part.depends_on.iter().map(|key| self.id(key).clone()).collect(),
            review: part.review,
            start: InitialStatus::Ready,
            ..NewTask::default()
        }
    }

    fn write_scripts(&self, crew: &Path) -> std::io::Result<()> {
        let mut scripts: BTreeMap<&str, String> = BTreeMap::new();
        for part in &DEMO_TASKS {
            let script = scripts.entry(part.handed_to.unwrap_or(part.agent));
            let script = script.or_insert_with(|| "tasks:\n".to_owned());
            let _ = write!(script, "  # {}\n  {}:\n", part.title, self.id(part.key));
            if !part.first_steps.is_empty() {
                let _ = write!(
                    script,
                    "    attempts:\n      1:\n{}",
                    self.steps_yaml(part, part.first_steps)
                );
            }
            let _ = write!(script, "    steps:\n{}", self.steps_yaml(part, part.steps));
        }
        fs::create_dir_all(crew)?;
        let mut written = scripts.iter();
        written.try_for_each(|(agent, text)| fs::write(crew.join(format!("{agent}.yaml")), text))
    }

    /// Writes steps as entries of a YAML list.
    fn steps_yaml(&self, part: &DemoTask, steps: &[&str]) -> String {
        let own =
            format!("{DATA_FOLDER}/{}", companion_folder(Status::InProgress, self.id(part.key)));
        let file = |name: &str| format!("write: {{path: {own}/outputs/{name}, text: All of it.}}");
        let mut text = String::new();
        for step in steps {
            let written = match *step {
                WRITE_OUTPUTS => vec![file("summary.md"), file("handoff.md")],
                step => {
                    vec![step.replace("$tests", self.ids.get("tests").map_or("", |id| id.as_str()))]
                }
            };
            for step in written {
                let _ = writeln!(text, "        - {step}");
            }
        }
        text
    }
}
