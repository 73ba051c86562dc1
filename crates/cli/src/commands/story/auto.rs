//! `adjutant story auto`: has agents do the steps of a story until a person is asked.
//!
//! The steps are given out by a daemon, as every other work is. Where none runs, this command is one
//! for as long as it takes, for this story alone.

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use adjutant_core::AgentId;
use adjutant_core::pipeline::StoryId;
use adjutant_runtime::daemon::{Daemon, Held, Holder, NotHeld, Options, Until};
use adjutant_runtime::story::{Drive, Project};

use super::watch::Watch;
use super::{Which, board, failure, persons_only, print, story};
use crate::commands::up;
use crate::data::{Data, this_program};
use crate::error::Failure;
use crate::output::Output;

/// Have agents do the steps of a story until a person is asked or it is done
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A daemon that runs goes on with the story afterwards; where none runs, this \
    command is one for the story alone.\n\
    If it is killed, the agent goes on, and the next call finds it."
)]
pub(crate) struct Auto {
    /// The story [default: the one that is not done]
    #[arg(value_parser = story, conflicts_with = "story")]
    id: Option<StoryId>,
    /// The agent that does its steps [default: any of the configuration]
    #[arg(long, value_name = "NAME", conflicts_with = "off")]
    agent: Option<String>,
    /// Have its steps started by hand again
    #[arg(long)]
    off: bool,
    #[command(flatten)]
    pub(super) which: Which,
}

impl Auto {
    pub(crate) fn run(self, data: Option<&Path>, out: &Output) -> Result<ExitCode, Failure> {
        persons_only("cannot go on by itself")?;
        let project = self.which.place.open()?;
        let named = self.id.clone().or_else(|| self.which.story());
        if self.off {
            let answer = project.drive(named.as_ref(), &Drive::ByHand).map_err(failure)?;
            return print(out, &answer, "cannot go on by hand");
        }
        let (status, _) = project.status(named.as_ref()).map_err(failure)?;
        let Some(story) = status.state.story else {
            let why = "the project is being set up, and has no story yet";
            return Err(Failure::story_refused("no_story", "cannot go on by itself", why));
        };
        let found = board::of(&project, data)?.ok_or_else(|| no_board(&project))?;
        let agent = self.agent(&found)?;
        set(&project, &story, agent, data, out)?;
        go(&project, &story, &found, out)
    }

    /// Returns the agent that is named, if the configuration has it.
    fn agent(&self, data: &Data) -> Result<Option<AgentId>, Failure> {
        agent(self.agent.as_deref(), data)
    }
}

/// Returns the agent that is named, if the configuration has it.
pub(super) fn agent(named: Option<&str>, data: &Data) -> Result<Option<AgentId>, Failure> {
    let agents = &data.config().agents;
    let wrong = |message: String| Failure::usage(message).hint("`adjutant agents` lists them");
    match named {
        _ if agents.is_empty() => Err(wrong("there is no agent in the configuration".to_owned())),
        None => Ok(None),
        Some(name) => match AgentId::parse(name) {
            Ok(agent) if agents.contains_key(name) => Ok(Some(agent)),
            _ => Err(wrong(format!("there is no agent {name:?}"))),
        },
    }
}

/// Sets a story to go by itself, on the board too.
pub(super) fn set(
    project: &Project<'_>,
    story: &StoryId,
    agent: Option<AgentId>,
    data: Option<&Path>,
    out: &Output,
) -> Result<(), Failure> {
    project.drive(Some(story), &Drive::Agents(agent)).map_err(failure)?;
    board::follow(project, data, out);
    Ok(())
}

pub(super) fn no_board(project: &Project<'_>) -> Failure {
    let root = project.folder().root().display();
    let why = format!("there is no data folder for the project in {root}");
    Failure::story_refused("no_data_folder", "cannot have agents do the steps", why)
        .hint("`adjutant init` makes one, with the agents there are")
}

/// Shows how the story goes on: by the daemon that runs, or by one that is started for it.
fn go(
    project: &Project<'_>,
    story: &StoryId,
    data: &Data,
    out: &Output,
) -> Result<ExitCode, Failure> {
    // The folder may never have been written to.
    drop(data.engine()?);
    let me = Holder { only: Some(story.to_string()), ..up::me() };
    let mut watch = Watch::begin(project, story, data, out)?;
    match Held::take(data.folder.root(), &me) {
        // What is decided for one story alone would be decided for all nodes.
        Ok(_) if data.is_shared() => Err(Failure::story_refused(
            "no_daemon",
            "cannot go on by itself",
            "no daemon runs here, and in a fleet only daemons give out work",
        )
        .hint("`adjutant up` starts one; the story goes on as soon as it is up")),
        Ok(held) => alone(&held, story, data, watch),
        Err(NotHeld::Taken(holder))
            if holder.only.as_ref().is_none_or(|it| it == story.as_str()) =>
        {
            watch.follow(&|| Holder::of(data.folder.root()).is_none())
        }
        Err(error @ NotHeld::Taken(_)) => Err(Failure::taken("cannot go on by itself", &error)
            .hint("`adjutant up` works on several stories at once")),
        Err(error @ NotHeld::Io(_)) => Err(up::failure(&error)),
    }
}

/// Is the daemon, for this story alone and for as long as it takes.
fn alone(
    held: &Held,
    story: &StoryId,
    data: &Data,
    mut watch: Watch<'_>,
) -> Result<ExitCode, Failure> {
    let options = Options {
        folder: data.folder.clone(),
        config: data.config().clone(),
        program: this_program()?,
        until: Until::Told,
        glances: None,
        only: Some(story.clone()),
        fleet: None,
    };
    let daemon = Daemon::start(options, held)?;
    let handle = daemon.handle();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| {
            let followed = watch.follow(&|| over.load(Ordering::SeqCst));
            handle.leave();
            followed
        });
        let left = daemon.run(&mut |_| {});
        over.store(true, Ordering::SeqCst);
        let followed = watching.join();
        left?;
        followed.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
