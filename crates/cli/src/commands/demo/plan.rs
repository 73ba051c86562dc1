//! Who is in the crew, what there is to do, and what everybody does about it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use adjutant_core::command::{Caller, NewTask, Start};
use adjutant_core::task::{Review, Routing};
use adjutant_core::{AgentId, Command, Status, TaskId};
use adjutant_runtime::{Request, config};
use adjutant_store::document::companion;
use adjutant_store::file::{DATA_FOLDER, Folder};

use crate::data::{Data, accepted};
use crate::error::Failure;
use crate::person::operator;

/// The configuration of the demo: everything is short, so that a night takes seconds.
pub(super) const CONFIG: &str = r#"# The crew of the demo. Everything is short, so that a night takes seconds.
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

/// A task of the demo, and what its agent does. `LEAVE` stands for the files an agent leaves with
/// its task, and `$key` for the id of a task.
struct Part {
    key: &'static str,
    title: &'static str,
    agent: &'static str,
    after: &'static [&'static str],
    review: Review,
    /// The first attempt, where it is another than the rest.
    first: &'static [&'static str],
    steps: &'static [&'static str],
    /// Who gets it in the end, where that is another than who had it first.
    handed_to: Option<&'static str>,
}

const LEAVE: &str = "LEAVE";

const PLAIN: Part = Part {
    key: "",
    title: "",
    agent: "swe-docs",
    after: &[],
    review: Review::NotNeeded,
    first: &[],
    steps: &["work: 800ms", LEAVE, "report: {outcome: done, notes: All of it.}"],
    handed_to: None,
};

const PARTS: [Part; 12] = [
    Part { key: "sketch", title: "Sketch the users API", agent: "swe-backend", ..PLAIN },
    Part {
        key: "build",
        title: "Build the users API",
        agent: "swe-backend",
        after: &["sketch"],
        review: Review::Required,
        steps: &[
            "progress: routes are in place",
            "work: 700ms",
            "delegate: {task: $tests, to: swe-qa, criteria: [Every route is tested]}",
            "work: 700ms",
            LEAVE,
            "adjutant: [report, done, --notes, All criteria met, --tests, 12/12/0]",
        ],
        ..PLAIN
    },
    Part {
        key: "tests",
        title: "Test the users API",
        agent: "swe-backend",
        after: &["build"],
        steps: &[
            "adjutant: [report, accept]",
            "work: 700ms",
            LEAVE,
            "adjutant: [report, done, --notes, Every route is tested, --tests, 42/42/0]",
        ],
        handed_to: Some("swe-qa"),
        ..PLAIN
    },
    Part {
        key: "migrate",
        title: "Write the migrations",
        agent: "swe-backend",
        after: &["sketch"],
        first: &["progress: half of the tables are there", "work: 10m"],
        ..PLAIN
    },
    Part {
        key: "load",
        title: "Load-test the users API",
        agent: "swe-qa",
        after: &["build"],
        first: &["progress: warming up", "hang"],
        ..PLAIN
    },
    Part {
        key: "legacy",
        title: "Port the old importer",
        agent: "swe-backend",
        steps: &["work: 200ms", "complain: 'importer.cfg: no such file'", "exit: 1"],
        ..PLAIN
    },
    Part {
        key: "retire",
        title: "Retire the old importer",
        agent: "swe-backend",
        after: &["legacy"],
        ..PLAIN
    },
    Part {
        key: "licence",
        title: "Add licence headers",
        first: &[
            "work: 300ms",
            LEAVE,
            "adjutant: [report, blocked, --blocker, MIT or Apache-2.0?]",
        ],
        ..PLAIN
    },
    Part { key: "changelog", title: "Tidy the changelog", ..PLAIN },
    Part { key: "style", title: "Settle the code style", agent: "swe-qa", ..PLAIN },
    Part { key: "guide", title: "Write the guide", after: &["build"], ..PLAIN },
    Part {
        key: "release",
        title: "Publish the release",
        after: &["tests", "migrate", "load", "guide", "licence"],
        ..PLAIN
    },
];

/// The tasks of the demo as they are in its folder.
pub(super) struct Plan {
    ids: BTreeMap<&'static str, TaskId>,
}

impl Plan {
    /// Writes the configuration, the tasks and the scripts into a fresh folder.
    pub(super) fn lay(folder: &Folder) -> Result<Self, Failure> {
        let failed = |error| Failure::broken("cannot write the files of the demo", &error);
        fs::write(folder.root().join(config::FILE), CONFIG).map_err(failed)?;
        let mut plan = Self { ids: BTreeMap::new() };
        let mut engine = Data::find(Some(folder.root()))?.engine()?;
        for part in &PARTS {
            let command = Command::Add(Box::new(plan.task(part)));
            // The folder is the demo's own: whoever plays it is its operator, inside a run as well.
            let by = Caller::Operator(operator());
            let answered = engine.submit_one(Request::Command { by, command })?;
            let answered = accepted(answered, "cannot add a task for the demo")?;
            plan.ids.extend(answered.answer.task.map(|id| (part.key, id)));
        }
        engine.rest()?;
        plan.write_scripts(&folder.workspace().join("crew")).map_err(failed)?;
        Ok(plan)
    }

    /// Returns the id of a task.
    pub(super) fn id(&self, key: &str) -> &TaskId {
        self.ids.get(key).expect("every task of the plan was added")
    }

    /// Says whether a task is this one.
    pub(super) fn is(&self, id: &str, key: &str) -> bool {
        self.id(key).as_str() == id
    }

    /// Returns what a task is called.
    pub(super) fn title(&self, id: &str) -> &'static str {
        PARTS.iter().find(|part| self.is(id, part.key)).map_or("", |part| part.title)
    }

    /// Returns how many tasks there are.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    fn task(&self, part: &Part) -> NewTask {
        NewTask {
            title: part.title.to_owned(),
            routing: Routing { agent: AgentId::parse(part.agent).ok(), ..Routing::default() },
            depends_on: part.after.iter().map(|key| self.id(key).clone()).collect(),
            review: part.review,
            start: Start::Ready,
            ..NewTask::default()
        }
    }

    fn write_scripts(&self, crew: &Path) -> std::io::Result<()> {
        let mut scripts: BTreeMap<&str, String> = BTreeMap::new();
        for part in &PARTS {
            let script = scripts.entry(part.handed_to.unwrap_or(part.agent));
            let script = script.or_insert_with(|| "tasks:\n".to_owned());
            let _ = write!(script, "  # {}\n  {}:\n", part.title, self.id(part.key));
            if !part.first.is_empty() {
                let _ = write!(script, "    attempts:\n      1:\n{}", self.yaml(part, part.first));
            }
            let _ = write!(script, "    steps:\n{}", self.yaml(part, part.steps));
        }
        fs::create_dir_all(crew)?;
        let mut written = scripts.iter();
        written.try_for_each(|(agent, text)| fs::write(crew.join(format!("{agent}.yaml")), text))
    }

    /// Writes steps as entries of a list.
    fn yaml(&self, part: &Part, steps: &[&str]) -> String {
        let own = format!("{DATA_FOLDER}/{}", companion(Status::InProgress, self.id(part.key)));
        let file = |name: &str| format!("write: {{path: {own}/outputs/{name}, text: All of it.}}");
        let mut text = String::new();
        for step in steps {
            let written = match *step {
                LEAVE => vec![file("summary.md"), file("handoff.md")],
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
