//! `adjutant demo`: shows a crew at work in a temporary folder.
//!
//! The daemon is the real one and the agents are real processes; only their work is scripted.

mod demo_operator;
mod narration;
mod plan;
mod summary;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use adjutant_config::Config;
use adjutant_daemon::{
    ConfigSource, DaemonLock, DaemonOptions, DaemonUpdate, ExitCondition, ProjectDaemon,
};
use adjutant_run_files::trust_record::TrustRecord;
use adjutant_store::file::DataFolder;
use demo_operator::DemoOperator;
use parking_lot::Mutex;
use plan::DemoPlan;
use tempfile::TempDir;

use super::up;
use crate::data::this_program;
use crate::output::error::{CommandFailure, daemon_failure};
use crate::output::{CommandOutput, TextColour};
use crate::view::daemon_display::DaemonDisplay;

/// Watch three scripted agents work on twelve tasks, with failures, in a temporary folder
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  adjutant demo         takes about ten seconds
  adjutant demo --keep  keep the folder, to explore it afterwards")]
pub(crate) struct DemoArgs {
    /// Keep the folder, and print its path
    #[arg(long)]
    keep: bool,
}

impl DemoArgs {
    pub(crate) fn run(self, out: &CommandOutput) -> Result<ExitCode, CommandFailure> {
        let failed = |error| CommandFailure::broken("cannot create a folder for the demo", &error);
        let home = tempfile::Builder::new().prefix("adjutant-demo-").tempdir().map_err(failed)?;
        let folder = DataFolder::init(home.path())?;
        let plan = DemoPlan::create(&folder)?;
        print_text(
            out,
            &out.paint(
                TextColour::Blue,
                "Three agents work on twelve tasks in a temporary folder.",
            ),
        )?;
        print_text(out, "The agents are real processes, but each follows a script.\n")?;
        let took = run_demo(&folder, &plan, out)?;
        let kept = self.keep.then(|| home.path().to_owned());
        let Some(took) = took else {
            // The summary would claim events that have not happened.
            return Err(self.interrupted(home));
        };
        summary::print_summary(&folder, &plan, took, kept.as_deref(), out)?;
        print_text(out, "")?;
        suggest_commands(&plan, kept.as_deref(), out)?;
        if self.keep {
            // Without a state folder, `up` asks for it.
            let _ = TrustRecord::find(folder.root()).and_then(|it| it.accept(plan::CONFIG));
            let _ = home.keep();
        }
        Ok(ExitCode::SUCCESS)
    }

    fn interrupted(&self, home: TempDir) -> CommandFailure {
        let failure = CommandFailure::interrupted("cannot finish the demo", "it was interrupted");
        if !self.keep {
            return failure;
        }
        failure.with_hint(format!("the folder is kept: {}", home.keep().display()))
    }
}

/// Runs the daemon until all tasks have ended and returns how long that took; `None` if the daemon
/// was stopped before.
fn run_demo(
    folder: &DataFolder,
    plan: &DemoPlan,
    out: &CommandOutput,
) -> Result<Option<Duration>, CommandFailure> {
    let held = DaemonLock::take(folder.root(), &up::own_daemon_info())
        .map_err(|error| up::lock_failure(&error))?;
    // Ignore settings in the environment: they are meant for the user's own crew.
    let config = Config::read(plan::CONFIG, std::iter::empty());
    let config = config.map_err(|wrong| CommandFailure::report_usage_error(wrong.message))?;
    let options = DaemonOptions {
        folder: folder.clone(),
        config,
        config_source: ConfigSource::Fixed,
        program: this_program()?,
        until: ExitCondition::Requested,
        snapshot_interval: Some(Duration::from_millis(500)),
        only: None,
        fleet: None,
    };
    let daemon = ProjectDaemon::start(options, &held).map_err(daemon_failure)?;
    let handle = daemon.handle();
    let (seen, display) = (Mutex::new(None), Mutex::new(DaemonDisplay::new(out)));
    let mut show = |update: DaemonUpdate<'_>| match update {
        DaemonUpdate::Status(snapshot) => {
            demo_operator::lock(&display).show_live(snapshot);
            *demo_operator::lock(&seen) = Some(snapshot.clone());
        }
        DaemonUpdate::Stuck(why) => demo_operator::lock(&display).print_stuck(why),
        DaemonUpdate::Recovered => demo_operator::lock(&display).print_resumed(),
        DaemonUpdate::Notice(notice) => demo_operator::lock(&display).print_notice(notice),
        DaemonUpdate::Config(update) => demo_operator::lock(&display).print_config_update(update),
    };
    std::thread::scope(|scope| {
        let running = scope.spawn(|| daemon.run(&mut show));
        let mut director = DemoOperator::new(folder, plan, &seen, &display, out);
        let directed = director.follow_until_done(&|| running.is_finished());
        let stopped = running.is_finished();
        handle.leave();
        let ran = running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        demo_operator::lock(&display).clear();
        ran.map_err(daemon_failure)?;
        directed.map(|took| (!stopped).then_some(took))
    })
}

/// Suggests commands for exploring the folder.
fn suggest_commands(
    plan: &DemoPlan,
    kept: Option<&Path>,
    out: &CommandOutput,
) -> Result<(), CommandFailure> {
    let called = program_name();
    let Some(kept) = kept else {
        return print_text(
            out,
            &format!("`{called} demo --keep` keeps the folder, so that you can explore it."),
        );
    };
    print_text(out, &format!("The folder is kept: {}", kept.display()))?;
    let given_up = plan.id("legacy");
    for command in [
        "task list",
        "inbox",
        &format!("logs {given_up}"),
        &format!("why {}", plan.id("retire")),
        &format!("events --task {given_up}"),
    ] {
        print_text(out, &format!("Try: {called} {command} --data {}", kept.display()))?;
    }
    Ok(())
}

/// Returns how this program was called: a first-time user may not have it on `PATH`.
fn program_name() -> String {
    std::env::args().next().unwrap_or_else(|| "adjutant".to_owned())
}

/// Prints text for a person. With `--json` only events and the summary are printed.
fn print_text(out: &CommandOutput, text: &str) -> Result<(), CommandFailure> {
    if out.is_json() { Ok(()) } else { out.line(text) }
}
