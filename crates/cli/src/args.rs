//! The arguments. Their help is the manual.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::commands::{
    acp_agent, agents, answer, approve, beat, check, completions, demo, doctor, down, events,
    export, fleet, import, inbox, init, logs, man, mcp, mission, reject, report, schema,
    script_agent, send, session_end, shim, status, story, task, tick, top, undo, up, webhook_agent,
    why,
};

/// The heading of what every command takes.
const EVERYWHERE: &str = "Options of every command";

/// The staff officer for a crew of coding agents: hands out work, takes reports, keeps the record.
#[derive(Debug, Parser)]
#[command(
    name = "adjutant",
    version,
    disable_help_subcommand = true,
    max_term_width = 100,
    after_help = "Exit codes: 0 done, 1 refused, 2 wrong usage, 3 something broke."
)]
pub(crate) struct Args {
    /// The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]
    #[arg(long, global = true, value_name = "DIR", help_heading = EVERYWHERE)]
    pub(crate) data: Option<PathBuf>,

    /// Print JSON: one document, or one a line where there are many
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Init(init::Init),
    #[command(subcommand)]
    Task(task::Task),
    Approve(approve::Approve),
    Reject(reject::Reject),
    Answer(answer::Answer),
    Inbox(inbox::Inbox),
    Why(why::Why),
    Tick(tick::Tick),
    Undo(undo::Undo),
    Up(up::Up),
    Down(down::Down),
    Status(status::Status),
    Top(top::Top),
    Logs(logs::Logs),
    Agents(agents::Agents),
    Send(send::Send),
    #[command(subcommand)]
    Report(report::Report),
    Beat(beat::Beat),
    Mcp(mcp::Mcp),
    SessionEnd(session_end::SessionEnd),
    Events(events::Events),
    Mission(mission::Mission),
    Check(check::Check),
    Schema(schema::Schema),
    #[command(subcommand)]
    Story(story::Story),
    Doctor(doctor::Doctor),
    Export(export::Export),
    Fleet(fleet::Fleet),
    Import(import::Import),
    Demo(demo::Demo),
    Completions(completions::Completions),
    Man(man::Man),
    Shim(shim::Shim),
    ScriptAgent(script_agent::ScriptAgent),
    AcpAgent(acp_agent::AcpAgent),
    WebhookAgent(webhook_agent::WebhookAgent),
}
