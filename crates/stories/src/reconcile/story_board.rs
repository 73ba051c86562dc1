//! The stories of a project at one read of their files, compared with the world.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use adjutant_core::World;
use adjutant_core::decide::has_story_news;
use adjutant_engine::engine::Request;
use adjutant_engine::service::{EngineError, EngineHandle};
use adjutant_model::request::StoryFacts;
use adjutant_model::story::StoryId;
use adjutant_model::{Actor, NodeId, Task};
use adjutant_process::clock::SystemClock;

use crate::driver::{StepChecks, StoryError, StoryProject};
use crate::files::{FoundStory, StepRun, StoryFiles, StoryFolder, StoryTrust};

/// The project, the data folder and the poll interval.
#[derive(Debug, Clone)]
pub struct ReconcilerConfig {
    /// The project's folder, which contains the data folder.
    pub home: PathBuf,
    pub data: PathBuf,
    /// How often executors are checked for timeouts.
    pub poll: Duration,
    /// The fleet node; `None` on a single machine.
    pub node: Option<NodeId>,
    /// How the tests and checks of steps are run.
    pub checks: StepChecks,
    /// What is accepted, if not what the operator's record says.
    pub trust: Option<StoryTrust>,
}

impl ReconcilerConfig {
    /// Opens the project. What executors changed is put back first.
    pub(super) fn open_project(&self) -> Result<StoryProject<'static>, StoryError> {
        let folder = StoryFolder::at(&self.home);
        let project = StoryProject::open_with_data(folder, &self.data, &SystemClock)?;
        Ok(project.with_trust(self.trust.clone()))
    }
}

/// Whether executors are checked for timeouts at a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeoutCheck {
    Due,
    NotDue,
}

/// The metadata of each story file; a difference shows a write.
pub(super) type FileSignatures = Vec<FileSignature>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileSignature {
    path: PathBuf,
    inode: u64,
    size: u64,
    /// The time of the last change of the file or its metadata, in nanoseconds.
    changed_at: i128,
}

/// How often one pass reads files that keep changing.
const READS_MAX: u32 = 10;

/// How long a file must have been unchanged until its signature proves that it was not written
/// again: a clock of the file system may stand still for some milliseconds.
const SETTLE_TIME: Duration = Duration::from_millis(50);

/// Returns whether a later write to any of the files is sure to change its signature.
pub(super) fn are_settled(signatures: &FileSignatures, now: SystemTime) -> bool {
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let settled_before = i128::try_from(now.saturating_sub(SETTLE_TIME).as_nanos());
    let settled_before = settled_before.unwrap_or(i128::MAX);
    signatures.iter().all(|signature| signature.changed_at < settled_before)
}

/// The stories at one read. Everything that a pass of the reconciler needs comes from it.
pub(super) struct StoryBoard {
    project: StoryProject<'static>,
    files: StoryFiles,
    facts: Arc<[StoryFacts]>,
    node: Option<NodeId>,
    /// The files' metadata, taken before they were read.
    signatures: FileSignatures,
}

/// A step that a run of Adjutant does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunningStep {
    pub(super) story: StoryId,
    pub(super) run: StepRun,
}

/// What the world lacks, compared with a board.
pub(super) struct BoardDifference {
    pub(super) has_news: bool,
    /// The steps whose runs are over.
    pub(super) ended: Vec<RunningStep>,
}

/// The error of a pass is ignored: the commands that people call report errors in the files.
pub(super) type PassResult = Result<(), Box<dyn std::error::Error>>;

impl StoryBoard {
    /// Reads the files; `None` if the project has none.
    pub(super) fn read(
        config: &ReconcilerConfig,
        check: TimeoutCheck,
    ) -> Result<Option<Self>, StoryError> {
        if !config.home.join(".ai").is_dir() {
            return Ok(None);
        }
        let signatures = file_signatures(&config.home);
        let project = config.open_project()?;
        let files = match check {
            TimeoutCheck::Due => project.poll_stories()?.0,
            TimeoutCheck::NotDue => project.read_stories()?,
        };
        let facts = project.facts(&files, config.node.as_ref()).into();
        Ok(Some(Self { project, files, facts, node: config.node.clone(), signatures }))
    }

    /// Returns the stories with what the world lacks of them; `None` if the project has none.
    ///
    /// A command may change the files while the comparison waits for the engine, and report the
    /// change itself. Reporting the old facts would then move the task back, so the files are read
    /// again. If they keep changing, the next pass reads them.
    pub(super) fn read_and_compare(
        config: &ReconcilerConfig,
        check: TimeoutCheck,
        mut cached: Option<Self>,
        engine: &EngineHandle,
    ) -> Result<Option<(Self, BoardDifference)>, Box<dyn std::error::Error>> {
        for _ in 0..READS_MAX {
            let board = match cached.take() {
                Some(board) => Some(board),
                None => Self::read(config, check)?,
            };
            let Some(board) = board else { return Ok(None) };
            let difference = board.compare(engine)?;
            let is_current = || board.signatures == file_signatures(&config.home);
            if !difference.has_news || is_current() {
                return Ok(Some((board, difference)));
            }
        }
        Ok(None)
    }

    pub(super) fn compare(&self, engine: &EngineHandle) -> Result<BoardDifference, EngineError> {
        let (facts, steps) = (Arc::clone(&self.facts), self.running_steps());
        engine.view(move |world| BoardDifference {
            has_news: facts.iter().any(|facts| has_story_news(world, facts)),
            ended: steps.into_iter().filter(|step| has_run_ended(world, &step.run)).collect(),
        })
    }

    fn running_steps(&self) -> Vec<RunningStep> {
        let step = |found: &FoundStory| {
            let story = found.file.state.story.clone()?;
            Some(RunningStep { story, run: found.file.step_run()? })
        };
        self.files.found.iter().filter(|found| found.is_busy()).filter_map(step).collect()
    }

    /// Reports the positions to the engine if the world lacks them, then advances automatic
    /// stories and reports the new positions.
    pub(super) fn report_and_advance(
        &mut self,
        has_news: bool,
        engine: &EngineHandle,
    ) -> PassResult {
        if has_news {
            self.report(engine)?;
        }
        if let Some(files) = self.project.advance_automatic(&self.files)? {
            self.facts = self.project.facts(&files, self.node.as_ref()).into();
            self.files = files;
            self.report(engine)?;
        }
        Ok(())
    }

    fn report(&self, engine: &EngineHandle) -> Result<(), EngineError> {
        let facts = self.facts.to_vec();
        engine.ask(Request::Stories { by: Actor::System, told: None, facts }).map(drop)
    }
}

/// Returns whether a run is over. A run keeps its lease until its end was processed.
fn has_run_ended(world: &World, run: &StepRun) -> bool {
    let is_open = |task: &Task| {
        let leased = task.lease().map(|lease| lease.fence);
        let open = task.history.open.as_ref().map(|run| run.fence);
        [leased, open].contains(&Some(run.fence))
    };
    !world.task(&run.task).is_some_and(is_open)
}

/// Returns the present metadata of the files that facts are read from.
pub(super) fn file_signatures(home: &Path) -> FileSignatures {
    let list = |folder: &str| fs::read_dir(home.join(folder)).into_iter().flatten().flatten();
    // The title of a story is the first heading of its scenarios.
    let listed = list(".ai/states").chain(list("docs/bdd")).map(|entry| entry.path());
    let fixed = [".ai/STATE.json", ".ai/step-rules.yaml"].map(|name| home.join(name));
    let mut paths: Vec<PathBuf> = listed.chain(fixed).collect();
    paths.sort();
    let signature = |path: PathBuf| {
        let file = fs::metadata(&path).ok()?;
        let changed_at = i128::from(file.ctime()) * 1_000_000_000 + i128::from(file.ctime_nsec());
        Some(FileSignature { path, inode: file.ino(), size: file.size(), changed_at })
    };
    paths.into_iter().filter_map(signature).collect()
}
