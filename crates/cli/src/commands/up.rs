//! `adjutant up`: the daemon, in the foreground or behind it.

mod detach;
mod server;
mod telemetry;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use adjutant_core::command::Chore;
use adjutant_runtime::config::Listen;
use adjutant_runtime::daemon::{Daemon, Held, Holder, Left, NotHeld, Options, Sight, Until};
use adjutant_runtime::notifier::Flaw;
use adjutant_runtime::{Clock, SystemClock};
use adjutant_store::Net;

use crate::data::{Data, this_program, untidy};
use crate::error::Failure;
use crate::fleet;
use crate::output::Output;
use crate::view::glance::Display;

/// How long to wait before servers that did not answer are asked again.
const AGAIN: Duration = Duration::from_secs(2);

/// Give out work and look after runs, until told to stop
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Ctrl-C once lets the runs there are come to their end, twice stops them.\n\
    `adjutant status` says how it stands, `adjutant down` stops it.\n\
    A daemon that is killed loses nothing: agents go on, and the next one finds them."
)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct Up {
    /// End when there is nothing left to do
    #[arg(long)]
    until_idle: bool,
    /// Let programs and browsers in at this address; port 0 is any that is free, `off` is none
    /// [default: 127.0.0.1:7474, or any port if that is taken]
    #[arg(long, value_name = "ADDR", value_parser = Listen::parse)]
    listen: Option<Listen>,
    /// Wait for another daemon on the folder to end, instead of leaving it the folder
    #[arg(long)]
    wait: bool,
    /// Go on in the background, with `daemon.log` in the data folder, and return when it is up
    #[arg(long, conflicts_with = "wait")]
    detach: bool,
    /// Be the daemon in the background
    #[arg(long, hide = true, conflicts_with = "detach")]
    detached: bool,
}

impl Up {
    pub(crate) fn run(self, data: &Data, out: &Output) -> Result<ExitCode, Failure> {
        data.permit(Chore::Up, "cannot start a daemon", out)?;
        if self.detach {
            return detach::run(data, self.until_idle, self.listen, out);
        }
        if self.detached {
            // It has been a session of its own before if whoever started it saw to that.
            let _ = rustix::process::setsid();
        }
        let held = self.hold(data, out)?;
        let until = if self.until_idle { Until::Idle } else { Until::Told };
        let display = Display::new(out);
        let mut display = if self.detached { display.stamped() } else { display };
        let glances = display.is_live().then_some(Duration::from_secs(1));
        say_who_cannot_be_told(data, out);
        let door = server::find(data, self.listen, until, out)?;
        let place = door.as_ref().map(|door| server::announce(data, door)).transpose()?;
        let (mut daemon, net) = self.patiently(out, || start(data, until, glances, &held))?;
        display.begin(&data.folder);
        telemetry::start(data, &mut daemon)?;
        if let Some(door) = door {
            if let Some(taken) = door.taken() {
                out.warn(&format!("{taken} is taken, by another project perhaps"));
            }
            server::open(data.clone(), door, &mut daemon, net)?;
        }
        if let Some(place) = &place {
            display.listens(place);
        }
        let left = daemon.run(&mut |sight| match sight {
            Sight::Glance(glance) => display.show(glance),
            Sight::Stuck(why) => display.stuck(why),
            Sight::Free => display.free(),
            Sight::Told(letter) => display.told(letter),
        });
        display.end();
        if let Some(place) = place {
            place.remove(data.folder.root());
        }
        say_how_it_left(&left?, out);
        Ok(ExitCode::SUCCESS)
    }

    fn hold(&self, data: &Data, out: &Output) -> Result<Held, Failure> {
        let me = me();
        // The folder may never have been written to.
        drop(self.patiently(out, || data.engine())?);
        let root = data.folder.root();
        let held = if self.wait { Held::wait(root, &me) } else { Held::take(root, &me) };
        held.map_err(|error| failure(&error))
    }
}

impl Up {
    /// Does what needs the servers of a fleet, and tries again where they do not answer: a machine
    /// may be up before its network is. Whoever waits for the end, or for it to be up, is told at
    /// once instead.
    fn patiently<T>(
        &self,
        out: &Output,
        attempt: impl Fn() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut told = false;
        loop {
            match attempt() {
                Err(failure) if failure.is_unreachable() && !self.until_idle && !self.detached => {
                    if !told {
                        let what = failure.message();
                        out.warn(&format!("{what}; it is tried again until they answer"));
                    }
                    told = true;
                    std::thread::sleep(AGAIN);
                }
                done => return done,
            }
        }
    }
}

/// Starts the daemon, and returns the way to the other nodes of a fleet.
fn start(
    data: &Data,
    until: Until,
    glances: Option<Duration>,
    held: &Held,
) -> Result<(Daemon, Option<Arc<dyn Net>>), Failure> {
    let fleet = data.is_shared().then(|| fleet::open_for_daemon(data)).transpose()?;
    let net = fleet.as_ref().map(|fleet| Arc::clone(&fleet.net));
    let options = Options {
        folder: data.folder.clone(),
        config: data.config().clone(),
        program: this_program()?,
        until,
        glances,
        only: None,
        fleet,
    };
    Ok((Daemon::start(options, held)?, net))
}

/// Says who could not be told what they want to be told.
fn say_who_cannot_be_told(data: &Data, out: &Output) {
    for Flaw { rule, text } in data.flaws() {
        out.warn(&format!("nobody is told by the rule {rule} of [[notify]] as it is: {text}"));
    }
}

/// Says what is worth knowing about the end of a daemon.
fn say_how_it_left(left: &Left, out: &Output) {
    if let Some(error) = &left.untidy {
        untidy(error, out);
    }
    match left.runs {
        0 => {}
        1 => out.warn("left; the run that was under way goes on"),
        runs => out.warn(&format!("left; the {runs} runs that were under way go on")),
    }
}

/// Returns this process as the daemon of a folder.
pub(crate) fn me() -> Holder {
    Holder {
        pid: std::process::id(),
        since: SystemClock.now().to_string(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        only: None,
    }
}

pub(crate) fn failure(error: &NotHeld) -> Failure {
    match error {
        NotHeld::Taken(_) => Failure::taken("cannot start a daemon", error)
            .hint("`adjutant down` stops it, `adjutant up --wait` waits for it"),
        NotHeld::Io(_) => Failure::broken("cannot start a daemon", error),
    }
}
