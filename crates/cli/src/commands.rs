//! The commands, one file each, and the dispatch to them.

pub(crate) mod acp_agent;
pub(crate) mod agents;
pub(crate) mod answer;
pub(crate) mod approve;
pub(crate) mod args;
pub(crate) mod beat;
pub(crate) mod candidates;
pub(crate) mod check;
pub(crate) mod check_shim;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod down;
pub(crate) mod events;
pub(crate) mod export;
pub(crate) mod fleet;
pub(crate) mod help;
pub(crate) mod import;
pub(crate) mod inbox;
pub(crate) mod init;
pub(crate) mod logs;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod mission;
pub(crate) mod network_forwarder;
pub(crate) mod open;
pub(crate) mod reject;
pub(crate) mod report;
pub(crate) mod sandbox_stage;
pub(crate) mod schema;
pub(crate) mod script_agent;
pub(crate) mod send;
pub(crate) mod session_end;
pub(crate) mod several_tasks;
pub(crate) mod shim;
pub(crate) mod status;
pub(crate) mod story;
pub(crate) mod task;
pub(crate) mod tick;
pub(crate) mod top;
pub(crate) mod trust;
pub(crate) mod undo;
pub(crate) mod up;
pub(crate) mod version;
pub(crate) mod webhook_agent;
pub(crate) mod why;

use std::process::ExitCode;

use crate::commands::args::{Args, CliCommand};
use crate::data::ProjectData;
use crate::output::CommandOutput;
use crate::output::error::{CommandFailure, NO_DATA_FOLDER};

pub(crate) fn run(args: Args, out: &CommandOutput) -> Result<ExitCode, CommandFailure> {
    let data = || ProjectData::find(args.data.as_deref());
    let settled = || data().map(ProjectData::with_settled_sandboxes);
    match args.command {
        CliCommand::Init(init) => init.run(args.data.as_deref(), out),
        CliCommand::Task(task) => task.run(&data()?, out),
        CliCommand::Approve(approve) => approve.run(&data()?, out),
        CliCommand::Reject(reject) => reject.run(&data()?, out),
        CliCommand::Answer(answer) => answer.run(&data()?, out),
        CliCommand::Inbox(inbox) => inbox.run(&data()?, out),
        CliCommand::Why(why) => why.run(&settled()?, out),
        CliCommand::Up(up) => up.run(&settled()?, out),
        CliCommand::Down(down) => down.run(&data()?, out),
        CliCommand::Status(status) => status.run(&data()?, out),
        CliCommand::Open(open) => open.run(&data()?, out),
        CliCommand::Logs(logs) => logs.run(&data()?, out),
        CliCommand::Agents(agents) => agents.run(&settled()?, out),
        CliCommand::Tick(tick) => tick.run(&settled()?, out),
        CliCommand::Top(top) => top.run(&data()?, out),
        CliCommand::Trust(trust) => match ProjectData::find_unaccepted(args.data.as_deref()) {
            // Stories need no data folder.
            Err(failure) if failure.code == NO_DATA_FOLDER && args.data.is_none() => {
                trust.run_without_data(out).map_err(|other| match other.code {
                    "no_project" => failure,
                    _ => other,
                })
            }
            found => trust.run(&found?, out),
        },
        CliCommand::Undo(undo) => undo.run(&data()?, out),
        CliCommand::Send(send) => send.run(data, out),
        CliCommand::Report(report) => report.run(data, out),
        CliCommand::Beat(beat) => beat.run(data, out),
        CliCommand::Mcp(mcp) => mcp.run(data),
        CliCommand::SessionEnd(session_end) => session_end.run(&data()?, out),
        CliCommand::Events(events) => events.run(&data()?, out),
        CliCommand::Mission(mission) => mission.run(&data()?, out),
        CliCommand::Check(check) => check.run(out),
        CliCommand::Schema(schema) => schema.run(out),
        CliCommand::Story(story) => story.run(args.data.as_deref(), out),
        CliCommand::Doctor(doctor) => doctor.run(args.data.as_deref(), out),
        CliCommand::Export(export) => export.run(&data()?, out),
        CliCommand::Fleet(fleet) => fleet.run(&data()?, out),
        CliCommand::Import(import) => import.run(args.data.as_deref(), out),
        CliCommand::Demo(demo) => demo.run(out),
        CliCommand::Completions(completions) => completions.run(out),
        CliCommand::Candidates(candidates) => candidates.run(args.data.as_deref(), out),
        CliCommand::Man(man) => man.run(out),
        CliCommand::Help(help) => help.run(out),
        CliCommand::Version(version) => version.run(out),
        CliCommand::Shim(shim) => shim.run(),
        CliCommand::CheckShim(shim) => shim.run(),
        CliCommand::NetworkForwarder(forwarder) => forwarder.run(out),
        CliCommand::SandboxStage(stage) => stage.run(),
        CliCommand::WebhookAgent(agent) => agent.run(&data()?),
        CliCommand::AcpAgent(agent) => agent.run(data()?),
        CliCommand::ScriptAgent(agent) => agent.run(),
    }
}
