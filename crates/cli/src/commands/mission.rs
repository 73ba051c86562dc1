//! `adjutant mission`: the work order of a task, in any dialect.

use std::process::ExitCode;

use adjutant_core::dialect::Dialect;
use adjutant_core::foreign::Foreign;
use adjutant_core::order::{self, Source};
use adjutant_core::path::RelPath;
use adjutant_core::{AgentId, Task, World};
use adjutant_runtime::order::By;
use adjutant_runtime::papers::Papers;
use adjutant_runtime::{Clock, SystemClock};
use adjutant_store::yaml;
use serde_json::{Map, Value, json};

use super::task::not_found;
use crate::data::Data;
use crate::error::Failure;
use crate::output::{Output, clean_lines};

/// Print the work order of a task, in any dialect
#[derive(Debug, clap::Args)]
pub(crate) struct Mission {
    /// The task
    id: String,
    /// The dialect: aof, mission, `new_task` or prompt [default: the one it came in, else prompt]
    #[arg(long, value_name = "D", value_parser = dialect)]
    dialect: Option<Dialect>,
}

/// Whom an order is for if nobody is named.
const ANYBODY: &str = "agent";

impl Mission {
    pub(crate) fn run(self, data: &Data, out: &Output) -> Result<ExitCode, Failure> {
        let id = data.task_id(&self.id)?;
        let world = data.world(out)?;
        let attempt = format!("cannot print the work order of {id}");
        let Some(task) = world.task(&id) else { return not_found(data, &id, &attempt) };
        let papers = Papers::read(&data.folder, task)
            .map_err(|error| Failure::broken(format!("cannot read the files of {id}"), &error))?
            .with_checks(world.policy(), task);
        let dialect = self.dialect.unwrap_or_else(|| own(task));
        let printed = print(&world, task, &papers, dialect);
        if out.is_json() {
            out.document(&printed.0)?;
        } else {
            out.line(&clean_lines(printed.1.trim_end_matches('\n')))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the dialect a task came in.
fn own(task: &Task) -> Dialect {
    let foreign = task.foreign.as_deref();
    if foreign.and_then(Foreign::mission).is_some() {
        Dialect::Mission
    } else if foreign.and_then(Foreign::new_task).is_some() {
        Dialect::NewTask
    } else {
        Dialect::Prompt
    }
}

/// Returns the work order, as JSON and as it is given to an agent.
fn print(world: &World, task: &Task, papers: &Papers, dialect: Dialect) -> (Value, String) {
    let file = RelPath::parse("task.md").expect("a good path");
    let agent = task.lease().map(|lease| &lease.agent).or(task.routing.agent.as_ref());
    let answers: Vec<&str> = papers.answers.iter().map(|answer| answer.trim()).collect();
    let source = Source {
        task,
        body: &papers.body,
        parent: task.parent.as_ref().and_then(|parent| world.task(parent)),
        handoff: papers.handoff.as_ref(),
        agent,
        task_file: papers.task_file.as_ref().unwrap_or(&file),
        memory: papers.memory.as_ref(),
        answers: &answers,
    };
    match dialect {
        Dialect::Mission => {
            let document = order::mission(&source).document();
            let text = yaml::print(&document);
            (Value::Object(document), text)
        }
        Dialect::NewTask => as_json(order::new_task(&source).document()),
        Dialect::Aof => as_json(order::handoff(&source, SystemClock.now())),
        Dialect::Prompt => {
            let anybody = AgentId::parse(ANYBODY).expect("a good name");
            let attempt = task.lease().map_or(task.next_attempt(), |lease| lease.attempt);
            let text = papers.prompt(task, agent.unwrap_or(&anybody), attempt, By::Lines);
            (json!({"taskId": task.id.as_str(), "prompt": text}), text)
        }
    }
}

fn as_json(document: Map<String, Value>) -> (Value, String) {
    let value = Value::Object(document);
    let text = format!("{value:#}");
    (value, text)
}

fn dialect(text: &str) -> Result<Dialect, String> {
    let all = Dialect::ALL.map(Dialect::as_str).join(", ");
    Dialect::parse(text).ok_or_else(|| format!("must be one of: {all}"))
}
