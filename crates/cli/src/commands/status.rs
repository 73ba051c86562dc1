//! `adjutant status`: shows whether a daemon runs, its runs, and the number of tasks by status.

use std::process::ExitCode;
use std::time::Duration;

use adjutant_model::Status;
use adjutant_process::clock::{Clock, SystemClock};
use adjutant_query::status::{DaemonStatus, LeasedTask, StatusView};

use crate::data::ProjectData;
use crate::output::error::CommandFailure;
use crate::output::{CommandOutput, TextColour, clean};
use crate::view::daemon_display::format_duration;
use crate::view::work_summary::format_usage;

/// Show whether the daemon is running, the current runs, and the number of tasks by status
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit code: 0 if the daemon is running, 1 if not.

Examples:
  adjutant status")]
pub(crate) struct StatusArgs {}

impl StatusArgs {
    #[expect(clippy::unused_self, reason = "it is called like every other command")]
    pub(crate) fn run(
        self,
        data: &ProjectData,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        let daemon = DaemonStatus::find(data.folder.root());
        let status = StatusView::new(daemon, &data.load_world(out)?);
        if out.is_json() {
            out.document(&status)?;
        } else {
            print(&status, out)?;
        }
        Ok(ExitCode::from(u8::from(!status.daemon.running)))
    }
}

fn print(status: &StatusView, out: &CommandOutput) -> Result<(), CommandFailure> {
    out.line(&daemon_line(&status.daemon, out))?;
    if let Some(url) = &status.daemon.url {
        out.line(&format!("the board is at {}", clean(url)))?;
    }
    if let Some(problem) = &status.config_problem {
        let text = format!(
            "adjutant.toml cannot be used, the daemon keeps its settings: {}",
            clean(problem)
        );
        out.line(&out.paint(TextColour::Red, &text))?;
    }
    if !status.unaccepted_settings.is_empty() {
        let names = clean(&status.unaccepted_settings.join(", "));
        let text = format!("adjutant.toml is not accepted; `adjutant trust` shows it: {names}");
        out.line(&out.paint(TextColour::Red, &text))?;
    }
    if !status.restart_needed.is_empty() {
        out.line(&format!("restart the daemon to apply: {}", status.restart_needed.join(", ")))?;
    }
    for run in &status.runs {
        out.line(&run_line(run))?;
    }
    out.line(&count_line(&status.counts))?;
    for (agent, usage) in &status.today {
        out.line(&format!("{agent} used {} today", format_usage(*usage)))?;
    }
    Ok(())
}

fn daemon_line(daemon: &DaemonStatus, out: &CommandOutput) -> String {
    match daemon {
        DaemonStatus { pid: Some(pid), since: Some(since), version: Some(version), .. } => {
            let since = clean(since);
            let text = format!("a daemon is running: process {pid}, since {since}, {version}");
            out.paint(TextColour::Green, &text)
        }
        _ => out.paint(TextColour::Yellow, "no daemon is running; `adjutant up` starts one"),
    }
}

fn run_line(run: &LeasedTask) -> String {
    let millis = SystemClock.now().as_millis().saturating_sub(run.since.as_millis());
    let since = format_duration(Duration::from_millis(u64::try_from(millis).unwrap_or(0)));
    let title = clean(&run.title);
    let now = if run.checking { " (being checked)" } else { "" };
    let (id, agent, attempt) = (&run.task_id, &run.agent, run.attempt);
    format!("  {since:>6}  {id}  {agent}, attempt {attempt}: {title}{now}")
}

fn count_line(counts: &[(Status, usize)]) -> String {
    let some = counts.iter().filter(|(_, count)| *count > 0);
    let some: Vec<String> = some.map(|(status, count)| format!("{count} {status}")).collect();
    if some.is_empty() { "no tasks".to_owned() } else { some.join(", ") }
}
