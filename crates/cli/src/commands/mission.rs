//! `adjutant mission`: prints the work order of a task, in any dialect.

use std::process::ExitCode;

use adjutant_core::World;
use adjutant_core::protocols::work_order::{self, WorkOrderSource};
use adjutant_model::dialect::ProtocolDialect;
use adjutant_model::relative_path::RelPath;
use adjutant_model::task_origin::TaskOrigin;
use adjutant_model::{AgentId, Task};
use adjutant_process::clock::{Clock, SystemClock};
use adjutant_runs::task_context::TaskContext;
use adjutant_runs::work_order::ReportingMethod;
use adjutant_store::yaml;
use serde_json::{Map, Value, json};

use super::task::not_found;
use crate::data::ProjectData;
use crate::output::error::CommandFailure;
use crate::output::{CommandOutput, clean_lines};

/// Print the work order of a task, in any protocol
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  adjutant mission 042                    the prompt that an agent gets
  adjutant mission 042 --dialect mission  the same as a mission of Agent Protocol v1")]
pub(crate) struct MissionArgs {
    /// The id of the task
    id: String,
    /// The protocol: aof, mission, `new_task` or prompt [default: that of the task, else prompt]
    #[arg(long, value_name = "D", value_parser = dialect)]
    dialect: Option<ProtocolDialect>,
}

/// The agent name in a work order for a task without an agent.
const UNASSIGNED_AGENT: &str = "agent";

impl MissionArgs {
    pub(crate) fn run(
        self,
        data: &ProjectData,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        let id = data.task_id(&self.id)?;
        let world = data.load_world(out)?;
        let attempt = format!("cannot print the work order of {id}");
        let Some(task) = world.task(&id) else { return not_found(data, &id, &attempt) };
        let context = TaskContext::read(&data.folder, task)
            .map_err(|error| {
                CommandFailure::broken(format!("cannot read the files of {id}"), &error)
            })?
            .with_checks(world.policy(), task);
        let dialect = self.dialect.unwrap_or_else(|| original_dialect(task));
        let printed = render_order(&world, task, &context, dialect);
        if out.is_json() {
            out.document(&printed.0)?;
        } else {
            out.line(&clean_lines(printed.1.trim_end_matches('\n')))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the dialect that a task came in, or `Prompt`.
fn original_dialect(task: &Task) -> ProtocolDialect {
    let foreign = task.origin.as_deref();
    if foreign.and_then(TaskOrigin::mission).is_some() {
        ProtocolDialect::Mission
    } else if foreign.and_then(TaskOrigin::new_task).is_some() {
        ProtocolDialect::NewTask
    } else {
        ProtocolDialect::Prompt
    }
}

/// Returns the work order as JSON and as the text that an agent gets.
fn render_order(
    world: &World,
    task: &Task,
    context: &TaskContext,
    dialect: ProtocolDialect,
) -> (Value, String) {
    let file = RelPath::parse("task.md").expect("a good path");
    let agent = task.lease().map(|lease| &lease.agent).or(task.routing.agent.as_ref());
    let answers: Vec<&str> = context.answers.iter().map(|answer| answer.trim()).collect();
    let source = WorkOrderSource {
        task,
        body: &context.body,
        parent: task.parent.as_ref().and_then(|parent| world.task(parent)),
        handoff: context.handoff.as_ref(),
        agent,
        task_file: context.task_file.as_ref().unwrap_or(&file),
        memory: context.memory.as_ref(),
        answers: &answers,
    };
    match dialect {
        ProtocolDialect::Mission => {
            let document = work_order::to_mission(&source).to_map();
            let text = yaml::print(&document);
            (Value::Object(document), text)
        }
        ProtocolDialect::NewTask => as_json(work_order::to_new_task(&source).to_map()),
        ProtocolDialect::Aof => as_json(work_order::to_handoff_request(&source, SystemClock.now())),
        ProtocolDialect::Prompt => {
            let anybody = AgentId::parse(UNASSIGNED_AGENT).expect("a good name");
            let attempt = task.lease().map_or(task.next_attempt(), |lease| lease.attempt);
            let text = context.work_order(
                task,
                agent.unwrap_or(&anybody),
                attempt,
                ReportingMethod::Lines,
            );
            (json!({"taskId": task.id.as_str(), "prompt": text}), text)
        }
    }
}

fn as_json(document: Map<String, Value>) -> (Value, String) {
    let value = Value::Object(document);
    let text = format!("{value:#}");
    (value, text)
}

fn dialect(text: &str) -> Result<ProtocolDialect, String> {
    let all = ProtocolDialect::ALL.map(ProtocolDialect::as_str).join(", ");
    ProtocolDialect::parse(text).ok_or_else(|| format!("must be one of: {all}"))
}
