//! `adjutant demo`: a crew at work, in a folder of its own.
//!
//! The daemon is the real one, and the agents are real processes; only what they do is a script.

mod director;
mod plan;
mod summary;
mod words;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Duration;

use adjutant_runtime::config::Config;
use adjutant_runtime::daemon::{Daemon, Held, Options, Sight, Until};
use adjutant_store::file::Folder;
use tempfile::TempDir;

use super::up;
use crate::data::this_program;
use crate::error::Failure;
use crate::output::{Colour, Output};
use crate::view::glance::Display;
use director::Director;
use plan::Plan;

/// Let a crew of three work on a dozen tasks in a fresh folder, and see what can go wrong
#[derive(Debug, clap::Args)]
pub(crate) struct Demo {
    /// Keep the folder, and say where it is
    #[arg(long)]
    keep: bool,
}

impl Demo {
    pub(crate) fn run(self, out: &Output) -> Result<ExitCode, Failure> {
        let failed = |error| Failure::broken("cannot make a folder for the demo", &error);
        let home = tempfile::Builder::new().prefix("adjutant-demo-").tempdir().map_err(failed)?;
        let folder = Folder::init(home.path())?;
        let plan = Plan::lay(&folder)?;
        say(out, &out.paint(Colour::Blue, "Three agents, a dozen tasks, a fresh folder."))?;
        say(out, "The agents are processes like any other; what they do is a script.\n")?;
        let took = perform(&folder, &plan, out)?;
        let kept = self.keep.then(|| home.path().to_owned());
        let Some(took) = took else {
            // What is told at the end did not all happen.
            return Err(self.interrupted(home));
        };
        summary::tell(&folder, &plan, took, kept.as_deref(), out)?;
        say(out, "")?;
        show_around(&plan, kept.as_deref(), out)?;
        if self.keep {
            let _ = home.keep();
        }
        Ok(ExitCode::SUCCESS)
    }

    fn interrupted(&self, home: TempDir) -> Failure {
        let failure = Failure::interrupted("cannot say how it ends", "the demo was stopped before");
        if !self.keep {
            return failure;
        }
        failure.hint(format!("the folder is kept as it is: {}", home.keep().display()))
    }
}

/// Runs the daemon until everything has come to its end, and returns how long that took; none if
/// somebody stopped it before.
fn perform(folder: &Folder, plan: &Plan, out: &Output) -> Result<Option<Duration>, Failure> {
    let held = Held::take(folder.root(), &up::me()).map_err(|error| up::failure(&error))?;
    // Settings in the environment are for the crew of whoever plays the demo.
    let config = Config::read(plan::CONFIG, std::iter::empty());
    let config = config.map_err(|wrong| Failure::usage(wrong.what))?;
    let options = Options {
        folder: folder.clone(),
        config,
        program: this_program()?,
        until: Until::Told,
        glances: Some(Duration::from_millis(500)),
        only: None,
        fleet: None,
    };
    let daemon = Daemon::start(options, &held)?;
    let handle = daemon.handle();
    let (seen, display) = (Mutex::new(None), Mutex::new(Display::new(out)));
    let mut show = |sight: Sight<'_>| match sight {
        Sight::Glance(glance) => {
            director::lock(&display).show_live(glance);
            *director::lock(&seen) = Some(glance.clone());
        }
        Sight::Stuck(why) => director::lock(&display).stuck(why),
        Sight::Free => director::lock(&display).free(),
        Sight::Told(letter) => director::lock(&display).told(letter),
    };
    std::thread::scope(|scope| {
        let running = scope.spawn(|| daemon.run(&mut show));
        let mut director = Director::new(folder, plan, &seen, &display, out);
        let directed = director.direct(&|| running.is_finished());
        let stopped = running.is_finished();
        handle.leave();
        let ran = running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        director::lock(&display).clear();
        ran?;
        directed.map(|took| (!stopped).then_some(took))
    })
}

/// Names the commands to look around with.
fn show_around(plan: &Plan, kept: Option<&Path>, out: &Output) -> Result<(), Failure> {
    let called = called();
    let Some(kept) = kept else {
        return say(out, &format!("`{called} demo --keep` keeps the folder, to look around in."));
    };
    say(out, &format!("The folder is kept: {}", kept.display()))?;
    let given_up = plan.id("legacy");
    for command in [
        "task list",
        "inbox",
        &format!("logs {given_up}"),
        &format!("why {}", plan.id("retire")),
        &format!("events --task {given_up}"),
    ] {
        say(out, &format!("Look around: {called} {command} --data {}", kept.display()))?;
    }
    Ok(())
}

/// Returns what this program was called as: whoever tries it first has not installed it.
fn called() -> String {
    std::env::args().next().unwrap_or_else(|| "adjutant".to_owned())
}

/// Says something to a person; a program is told only what happened.
fn say(out: &Output, text: &str) -> Result<(), Failure> {
    if out.is_json() { Ok(()) } else { out.line(text) }
}
