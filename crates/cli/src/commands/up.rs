//! `adjutant up`: runs the daemon, in the foreground or in the background.

mod detach;
pub(crate) mod server;
mod telemetry;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use adjutant_config::ListenSetting;
use adjutant_daemon::notifier::TargetProblem;
use adjutant_daemon::{
    ConfigSource, DaemonExit, DaemonInfo, DaemonLock, DaemonLockError, DaemonOptions, DaemonUpdate,
    ExitCondition, ProjectDaemon,
};
use adjutant_model::command::OperatorAction;
use adjutant_process::clock::{Clock, SystemClock};
use adjutant_store::FleetNetwork;
use server::ServerRequest;

use crate::data::{ProjectData, this_program};
use crate::fleet_connection;
use crate::folder_writer::warn_untidy;
use crate::output::CommandOutput;
use crate::output::error::{CommandFailure, daemon_failure};
use crate::view::daemon_display::DaemonDisplay;

/// The pause before another attempt to reach the servers of a fleet.
const RETRY_PAUSE: Duration = Duration::from_secs(2);

/// Start the daemon: assign tasks to agents, supervise runs, serve the board
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Press Ctrl-C once to finish current runs and exit, twice to stop them now.
If the daemon is killed, agents keep running and the next `adjutant up` adopts them.

Examples:
  adjutant up               run in this terminal
  adjutant up --detach      run in the background; `adjutant down` stops it
  adjutant up --until-idle  exit when no task can run any more")]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct UpArgs {
    /// Exit when no task can run any more, with a summary
    #[arg(long)]
    until_idle: bool,
    /// Serve the board and the HTTP API at this address; port 0 is any free port, `off` is no server
    /// [default: 127.0.0.1:7474, or any free port if that is in use]
    #[arg(long, value_name = "ADDR", value_parser = ListenSetting::parse)]
    listen: Option<ListenSetting>,
    /// Serve an address that other machines can reach without encryption, because a proxy with TLS
    /// or a private network protects the connections
    #[arg(long)]
    insecure: bool,
    /// Wait for another daemon on this folder to exit, instead of failing
    #[arg(long)]
    wait: bool,
    /// Run in the background, log to `daemon.log` in the data folder, and return when it is up
    #[arg(long, conflicts_with = "wait")]
    detach: bool,
    /// Run as the background process of `--detach`
    #[arg(long, hide = true, conflicts_with = "detach")]
    detached: bool,
}

impl UpArgs {
    pub(crate) fn run(
        self,
        data: &ProjectData,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        data.require_operator(OperatorAction::Up, "cannot start a daemon", out)?;
        let data = &data.with_accepted_config("cannot start a daemon", out)?;
        data.require_git("cannot start a daemon")?;
        data.require_enforceable_limits()?;
        if self.detach {
            return detach::run(data, &self.background_args(), out);
        }
        if self.detached {
            // This fails if the process already leads a session, which is fine.
            let _ = rustix::process::setsid();
        }
        let me = own_daemon_info();
        let held = self.take_lock(data, &me, out)?;
        let until = if self.until_idle { ExitCondition::Idle } else { ExitCondition::Requested };
        let display = DaemonDisplay::new(out);
        let mut display = if self.detached { display.with_timestamps() } else { display };
        let glances = display.is_live().then_some(Duration::from_secs(1));
        warn_about_notify_rules(data, out);
        let asked = ServerRequest { listen: self.listen, insecure: self.insecure, until };
        let bound_server = server::bind_server(data, &asked, &me, out)?;
        let place = bound_server
            .as_ref()
            .map(|bound_server| server::write_address(data, bound_server))
            .transpose()?;
        let (mut daemon, net) =
            self.retry_while_unreachable(out, || start(data, until, glances, &held))?;
        display.print_started(&data.folder);
        display.print_sandboxes(data.config());
        telemetry::start(data, &mut daemon)?;
        if let Some(bound_server) = bound_server {
            if let Some(taken) = bound_server.busy_default() {
                out.warn(&format!("{taken} is in use, perhaps by another project"));
            }
            server::serve(data.clone(), bound_server, &mut daemon, net)?;
        }
        if let Some(place) = &place {
            display.print_address(place);
        }
        let left = daemon.run(&mut |update| match update {
            DaemonUpdate::Status(snapshot) => display.show(snapshot),
            DaemonUpdate::Stuck(why) => display.print_stuck(why),
            DaemonUpdate::Recovered => display.print_resumed(),
            DaemonUpdate::Notice(notice) => display.print_notice(notice),
            DaemonUpdate::Config(update) => display.print_config_update(update),
        });
        display.keep_lines();
        if let Some(place) = place {
            place.remove(data.folder.root());
        }
        let left = left.map_err(daemon_failure)?;
        if let Some(summary) = &left.summary {
            display.print_summary(summary);
        }
        warn_about_exit(&left, out);
        Ok(ExitCode::SUCCESS)
    }

    fn take_lock(
        &self,
        data: &ProjectData,
        me: &DaemonInfo,
        out: &CommandOutput,
    ) -> Result<DaemonLock, CommandFailure> {
        // Opening the engine creates the files that the lock needs in a new folder.
        drop(self.retry_while_unreachable(out, || data.open_engine())?);
        let root = data.folder.root();
        let held = if self.wait { DaemonLock::wait(root, me) } else { DaemonLock::take(root, me) };
        held.map_err(|error| lock_failure(&error))
    }
}

impl UpArgs {
    /// Returns the options that the background process of `--detach` gets.
    fn background_args(&self) -> Vec<String> {
        let mut args = vec![];
        if self.until_idle {
            args.push("--until-idle".to_owned());
        }
        if self.insecure {
            args.push("--insecure".to_owned());
        }
        match self.listen {
            Some(ListenSetting::At(address)) => {
                args.extend(["--listen".to_owned(), address.to_string()]);
            }
            Some(ListenSetting::Off) => args.extend(["--listen".to_owned(), "off".to_owned()]),
            None => {}
        }
        args
    }

    /// Repeats an attempt while the servers of a fleet do not answer: a machine may be up before
    /// its network. With `--until-idle` or `--detach` the failure is returned at once, because a
    /// caller waits for it.
    fn retry_while_unreachable<T>(
        &self,
        out: &CommandOutput,
        attempt: impl Fn() -> Result<T, CommandFailure>,
    ) -> Result<T, CommandFailure> {
        let mut told = false;
        loop {
            match attempt() {
                Err(failure) if failure.is_unreachable() && !self.until_idle && !self.detached => {
                    if !told {
                        let what = failure.message_with_causes();
                        out.warn(&format!("{what}; retrying until the servers answer"));
                    }
                    told = true;
                    std::thread::sleep(RETRY_PAUSE);
                }
                done => return done,
            }
        }
    }
}

/// Starts the daemon. Also returns the connection to the other nodes of a fleet.
fn start(
    data: &ProjectData,
    until: ExitCondition,
    glances: Option<Duration>,
    held: &DaemonLock,
) -> Result<(ProjectDaemon, Option<Arc<dyn FleetNetwork>>), CommandFailure> {
    let fleet = data
        .is_in_fleet()
        .then(|| fleet_connection::open_for_daemon(&data.folder, data.config()))
        .transpose()?;
    let net = fleet.as_ref().map(|fleet| Arc::clone(&fleet.net));
    let options = DaemonOptions {
        folder: data.folder.clone(),
        config: data.config().clone(),
        config_source: ConfigSource::File,
        program: this_program()?,
        until,
        snapshot_interval: glances,
        only: None,
        fleet,
    };
    Ok((ProjectDaemon::start(options, held).map_err(daemon_failure)?, net))
}

/// Warns about notification rules that cannot work.
fn warn_about_notify_rules(data: &ProjectData, out: &CommandOutput) {
    for TargetProblem { rule, text } in data.notification_problems() {
        out.warn(&format!("the notification rule {rule} cannot work: {text}"));
    }
}

/// Warns about an untidy folder and about runs that continue without the daemon.
fn warn_about_exit(left: &DaemonExit, out: &CommandOutput) {
    if let Some(error) = &left.close_error {
        warn_untidy(error, out);
    }
    match left.runs {
        0 => {}
        1 => out.warn("the daemon has exited; 1 run continues without it"),
        runs => out.warn(&format!("the daemon has exited; {runs} runs continue without it")),
    }
}

/// Returns the description of this process for the daemon lock.
pub(crate) fn own_daemon_info() -> DaemonInfo {
    DaemonInfo {
        pid: std::process::id(),
        since: SystemClock.now().to_string(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        only: None,
    }
}

pub(crate) fn lock_failure(error: &DaemonLockError) -> CommandFailure {
    match error {
        DaemonLockError::Taken(_) => CommandFailure::taken("cannot start a daemon", error)
            .with_hint("`adjutant down` stops it, `adjutant up --wait` waits for it"),
        DaemonLockError::Io(_) => CommandFailure::broken("cannot start a daemon", error),
    }
}
