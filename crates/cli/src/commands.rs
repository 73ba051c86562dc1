//! One file a command.

pub(crate) mod acp_agent;
pub(crate) mod agents;
pub(crate) mod answer;
pub(crate) mod approve;
pub(crate) mod beat;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod down;
pub(crate) mod events;
pub(crate) mod export;
pub(crate) mod fleet;
pub(crate) mod import;
pub(crate) mod inbox;
pub(crate) mod init;
pub(crate) mod logs;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod mission;
pub(crate) mod reject;
pub(crate) mod report;
pub(crate) mod schema;
pub(crate) mod script_agent;
pub(crate) mod send;
pub(crate) mod session_end;
pub(crate) mod shim;
pub(crate) mod status;
pub(crate) mod story;
pub(crate) mod task;
pub(crate) mod tick;
pub(crate) mod top;
pub(crate) mod undo;
pub(crate) mod up;
pub(crate) mod webhook_agent;
pub(crate) mod why;

use std::process::ExitCode;

use crate::args::{Args, Command};
use crate::data::Data;
use crate::error::Failure;
use crate::output::Output;

/// Runs a command.
pub(crate) fn run(args: Args, out: &Output) -> Result<ExitCode, Failure> {
    let data = || Data::find(args.data.as_deref());
    match args.command {
        Command::Init(init) => init.run(args.data.as_deref(), out),
        Command::Task(task) => task.run(&data()?, out),
        Command::Approve(approve) => approve.run(&data()?, out),
        Command::Reject(reject) => reject.run(&data()?, out),
        Command::Answer(answer) => answer.run(&data()?, out),
        Command::Inbox(inbox) => inbox.run(&data()?, out),
        Command::Why(why) => why.run(&data()?, out),
        Command::Up(up) => up.run(&data()?, out),
        Command::Down(down) => down.run(&data()?, out),
        Command::Status(status) => status.run(&data()?, out),
        Command::Logs(logs) => logs.run(&data()?, out),
        Command::Agents(agents) => agents.run(&data()?, out),
        Command::Tick(tick) => tick.run(&data()?, out),
        Command::Top(top) => top.run(&data()?, out),
        Command::Undo(undo) => undo.run(&data()?, out),
        Command::Send(send) => send.run(&data()?, out),
        Command::Report(report) => report.run(data, out),
        Command::Beat(beat) => beat.run(data, out),
        Command::Mcp(mcp) => mcp.run(data()?),
        Command::SessionEnd(session_end) => session_end.run(&data()?, out),
        Command::Events(events) => events.run(&data()?, out),
        Command::Mission(mission) => mission.run(&data()?, out),
        Command::Check(check) => check.run(out),
        Command::Schema(schema) => schema.run(out),
        Command::Story(story) => story.run(args.data.as_deref(), out),
        Command::Doctor(doctor) => doctor.run(args.data.as_deref(), out),
        Command::Export(export) => export.run(&data()?, out),
        Command::Fleet(fleet) => fleet.run(&data()?, out),
        Command::Import(import) => import.run(args.data.as_deref(), out),
        Command::Demo(demo) => demo.run(out),
        Command::Completions(completions) => completions.run(out),
        Command::Man(man) => man.run(out),
        Command::Shim(shim) => shim.run(),
        Command::WebhookAgent(agent) => agent.run(&data()?),
        Command::AcpAgent(agent) => agent.run(data()?),
        Command::ScriptAgent(agent) => agent.run(),
    }
}
