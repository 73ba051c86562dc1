//! The command line arguments. Their help texts are the manual.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::commands::{
    acp_agent, agents, answer, approve, beat, candidates, check, check_shim, completions, demo,
    doctor, down, events, export, fleet, help, import, inbox, init, logs, man, mcp, mission,
    network_forwarder, open, reject, report, sandbox_stage, schema, script_agent, send,
    session_end, shim, status, story, task, tick, top, trust, undo, up, version, webhook_agent,
    why,
};

/// The help heading of the global options.
const GLOBAL_OPTIONS_HEADING: &str = "Global options";

/// Supervise a crew of coding agents: assign tasks, run agents, check and merge their work
#[derive(Debug, Parser)]
#[command(
    name = "adjutant",
    version,
    disable_help_subcommand = true,
    max_term_width = 100,
    after_help = "\
Exit codes: 0 success, 1 refused, 2 wrong usage, 3 failure.

Examples:
  adjutant demo                                        watch scripted agents work
  adjutant init                                        create .adjutant in this folder
  adjutant task add \"Fix the login form\" --status ready
  adjutant up                                          start the daemon and the board
  adjutant inbox                                       show what needs you"
)]
pub(crate) struct Args {
    /// The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]
    #[arg(long, global = true, value_name = "DIR", help_heading = GLOBAL_OPTIONS_HEADING)]
    pub(crate) data: Option<PathBuf>,

    /// Print JSON: one document, or one per line for streams
    #[arg(long, global = true, help_heading = GLOBAL_OPTIONS_HEADING)]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    Init(init::InitArgs),
    #[command(subcommand)]
    Task(Box<task::TaskCommand>),
    Approve(approve::ApproveTaskArgs),
    Reject(reject::RejectTaskArgs),
    Answer(answer::AnswerTaskArgs),
    Inbox(inbox::InboxArgs),
    Why(why::WhyArgs),
    Tick(tick::TickArgs),
    Trust(trust::TrustArgs),
    Undo(undo::UndoArgs),
    Up(up::UpArgs),
    Down(down::DownArgs),
    Status(status::StatusArgs),
    Open(open::OpenArgs),
    Top(top::TopArgs),
    Logs(logs::LogsArgs),
    Agents(agents::AgentsArgs),
    Send(send::SendMessageArgs),
    #[command(subcommand)]
    Report(report::ReportCommand),
    Beat(beat::BeatArgs),
    Mcp(mcp::McpArgs),
    SessionEnd(session_end::SessionEndArgs),
    Events(events::EventsArgs),
    Mission(mission::MissionArgs),
    Check(check::CheckArgs),
    Schema(schema::SchemaArgs),
    #[command(subcommand)]
    Story(story::StoryCommand),
    Doctor(doctor::DoctorArgs),
    Export(export::ExportArgs),
    Fleet(fleet::FleetArgs),
    Import(import::ImportArgs),
    Demo(demo::DemoArgs),
    Completions(completions::CompletionsArgs),
    Candidates(candidates::CandidatesArgs),
    Man(man::ManArgs),
    Help(help::HelpArgs),
    Version(version::VersionArgs),
    Shim(shim::ShimArgs),
    CheckShim(check_shim::CheckShimArgs),
    NetworkForwarder(network_forwarder::NetworkForwarderArgs),
    SandboxStage(sandbox_stage::SandboxStageArgs),
    ScriptAgent(script_agent::ScriptAgentArgs),
    AcpAgent(acp_agent::AcpAgentArgs),
    WebhookAgent(webhook_agent::WebhookAgentArgs),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// Returns the lines below `Examples:` in the help of a command.
    fn examples(command: &clap::Command) -> Vec<String> {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let lines = help.split("Examples:\n").nth(1).unwrap_or_default().lines();
        lines.map_while(|line| line.strip_prefix("  ")).map(str::to_owned).collect()
    }

    /// Returns the arguments of an example. A comment starts after two spaces, and a redirection or
    /// a pipe ends the command.
    fn arguments(example: &str) -> Vec<String> {
        let (mut words, mut word, mut is_quoted) = (Vec::new(), String::new(), false);
        for c in example.chars().chain([' ']) {
            match c {
                '"' => is_quoted = !is_quoted,
                ' ' if !is_quoted && word.is_empty() => break,
                ' ' if !is_quoted => words.push(std::mem::take(&mut word)),
                _ => word.push(c),
            }
        }
        words.into_iter().take_while(|word| !["<", ">", "|"].contains(&&**word)).collect()
    }

    fn check(command: &clap::Command, name: &str, problems: &mut Vec<String>) {
        let examples = examples(command);
        let is_own = |example: &String| example.starts_with(name);
        if !examples.iter().any(is_own) {
            problems.push(format!("{name}: the help has no example"));
        }
        for example in examples {
            if let Err(error) = Args::try_parse_from(arguments(&example)) {
                problems.push(format!("{name}: {example}: {error}"));
            }
        }
        for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
            check(inner, &format!("{name} {}", inner.get_name()), problems);
        }
    }

    #[test]
    fn help_of_every_command_has_examples_that_parse() {
        let mut problems = Vec::new();
        check(&Args::command(), "adjutant", &mut problems);
        assert_eq!(problems, Vec::<String>::new());
    }
}
