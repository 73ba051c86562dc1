//! `adjutant story auto`: has agents do the steps of a story until a person is needed.
//!
//! A daemon assigns the steps, like all other work. If none runs, this command acts as the daemon,
//! for this story alone.

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use adjutant_daemon::{
    ConfigSource, DaemonInfo, DaemonLock, DaemonLockError, DaemonOptions, ExitCondition,
    ProjectDaemon,
};
use adjutant_model::story::StoryId;
use adjutant_query::story::configured_agent;
use adjutant_stories::{StoryAutomation, StoryProject};

use super::story_watcher::StoryWatcher;
use super::{StorySelectionArgs, board_sync, print, story, to_failure};
use crate::commands::up;
use crate::data::{ProjectData, this_program};
use crate::output::CommandOutput;
use crate::output::error::{CommandFailure, daemon_failure};

/// Let agents do the steps of a story, until it is done or needs a person
#[derive(Debug, clap::Args)]
#[command(after_help = "\
If a daemon is running, it starts the steps, and continues when this command has ended. Otherwise \
this command is the daemon, for this story alone.
If the command is killed, the agent keeps running, and the next call adopts it.

Examples:
  adjutant story auto US-005                 any configured agent does the steps
  adjutant story auto US-005 --agent claude  this agent does them
  adjutant story auto US-005 --off           start the steps by hand again")]
pub(crate) struct StoryAutoArgs {
    /// The id of the story [default: the only story that is not done]
    #[arg(value_parser = story, conflicts_with = "story")]
    id: Option<StoryId>,
    /// The agent that does the steps [default: any configured agent]
    #[arg(long, value_name = "NAME", conflicts_with = "off")]
    agent: Option<String>,
    /// Start the steps by hand again
    #[arg(long)]
    off: bool,
    #[command(flatten)]
    pub(super) which: StorySelectionArgs,
}

impl StoryAutoArgs {
    pub(crate) fn run(
        self,
        data: Option<&Path>,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        let project = self.which.place.open()?;
        let named = self.id.clone().or_else(|| self.which.named_story());
        let root = project.folder().root();
        if self.off {
            let answer = project
                .set_automation(named.as_ref(), &StoryAutomation::Manual)
                .map_err(to_failure)?;
            let code = print(out, &answer, "cannot switch to starting steps by hand")?;
            board_sync::update_tasks(root, data, out);
            return Ok(code);
        }
        let (status, _) = project.status(named.as_ref()).map_err(to_failure)?;
        let Some(story) = status.state.story else {
            let why = "the project is still being set up and has no story yet";
            return Err(CommandFailure::story_refused(
                "no_story",
                "cannot let agents do the steps",
                why,
            ));
        };
        let data = board_sync::find_data(root, data)?.ok_or_else(|| missing_data_folder(root))?;
        let data = data.with_accepted_config("cannot let agents do the steps", out)?;
        let agent = configured_agent(data.config(), self.agent.as_deref())?;
        project
            .set_automation(Some(&story), &StoryAutomation::Agents(agent))
            .map_err(to_failure)?;
        board_sync::submit_update(&data, out);
        let code = follow_story(&project, &story, &data, out)?;
        // A daemon that was stopped has not always reported the last position.
        board_sync::submit_update(&data, out);
        Ok(code)
    }
}

pub(super) fn missing_data_folder(root: &Path) -> CommandFailure {
    let why = format!("the project in {} has no data folder", root.display());
    CommandFailure::story_refused("no_data_folder", "cannot let agents do the steps", why)
        .with_hint("`adjutant init` creates one, with the agents that are installed")
}

/// Follows the story, driven by the running daemon or by one that is started for it.
fn follow_story(
    project: &StoryProject<'_>,
    story: &StoryId,
    data: &ProjectData,
    out: &CommandOutput,
) -> Result<ExitCode, CommandFailure> {
    // Opening the engine creates the files that the lock needs in a new folder.
    drop(data.open_engine()?);
    let info = DaemonInfo { only: Some(story.to_string()), ..up::own_daemon_info() };
    let mut watcher = StoryWatcher::start(project, story, data, out)?;
    match DaemonLock::take(data.folder.root(), &info) {
        // A daemon for one story alone would become the leader and decide for all nodes.
        Ok(_) if data.is_in_fleet() => Err(CommandFailure::story_refused(
            "no_daemon",
            "cannot let agents do the steps",
            "no daemon is running here, and in a fleet only daemons assign work",
        )
        .with_hint("start one with `adjutant up`; then the story continues")),
        Ok(lock) => run_story_daemon(&lock, story, data, watcher),
        Err(DaemonLockError::Taken(holder))
            if holder.only.as_ref().is_none_or(|it| it == story.as_str()) =>
        {
            watcher.follow(&|| DaemonInfo::find_running(data.folder.root()).is_none())
        }
        Err(error @ DaemonLockError::Taken(_)) => {
            Err(CommandFailure::taken("cannot let agents do the steps", &error)
                .with_hint("`adjutant up` works on several stories at once"))
        }
        Err(error @ DaemonLockError::Io(_)) => Err(up::lock_failure(&error)),
    }
}

/// Runs a daemon for this story alone until the story stops.
fn run_story_daemon(
    lock: &DaemonLock,
    story: &StoryId,
    data: &ProjectData,
    mut watcher: StoryWatcher<'_>,
) -> Result<ExitCode, CommandFailure> {
    let options = DaemonOptions {
        folder: data.folder.clone(),
        config: data.config().clone(),
        config_source: ConfigSource::File,
        program: this_program()?,
        until: ExitCondition::Requested,
        snapshot_interval: None,
        only: Some(story.clone()),
        fleet: None,
    };
    let daemon = ProjectDaemon::start(options, lock).map_err(daemon_failure)?;
    let handle = daemon.handle();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| {
            let followed = watcher.follow(&|| is_over.load(Ordering::SeqCst));
            handle.leave();
            followed
        });
        let left = daemon.run(&mut |_| {});
        is_over.store(true, Ordering::SeqCst);
        let followed = watching.join();
        left.map_err(daemon_failure)?;
        followed.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
