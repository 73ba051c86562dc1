//! Kills a child at every step of an operation and checks the folder it leaves.
//!
//! An operation has one outcome for each answer, and one more: nothing done. Wherever the child is
//! killed, the reopened folder must equal one of these byte for byte, and none earlier than the
//! last answer the child got.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use adjutant_core::World;
use adjutant_engine::Engine;
use adjutant_model::command::InitialStatus;
use adjutant_store::file::{DATA_FOLDER, DataFolder, read_world};
use adjutant_store::{FileStore, Store};
use adjutant_test_support::soak::CaseSample;
use tempfile::TempDir;

use crate::clock::ManualClock;
use crate::crash_child::{NOW, STOP_AFTER_VARIABLE, open_engine, open_or_init_folder};
use crate::folder_operation::FolderOperation;
use crate::paused_child::PausedChild;
use crate::project::{TestProject, add_request};
use crate::seeded_rng::SeededRng;
use crate::snapshot::{FolderSnapshot, fast_temp_folder};
use crate::{audit, power_cut};

/// An operation that needs more steps than this is in an endless loop.
const POINTS_MAX: u32 = 2_000;

/// An operation and all its valid outcomes.
pub struct CrashMatrix {
    operation: &'static FolderOperation,
    child: PathBuf,
    initial_files: FolderSnapshot,
    outcomes: Vec<FolderOutcome>,
}

/// The state of a folder after it was reopened.
#[derive(PartialEq)]
struct FolderOutcome {
    files: FolderSnapshot,
    pending_effects: String,
    world: World,
}

/// A folder for the operation, and an engine that has it open the whole time.
struct CrashScene {
    home: TempDir,
    witness: Option<Engine<FileStore>>,
}

/// When a child is killed.
#[derive(Clone, Copy)]
enum KillTime {
    /// Before, or in the middle of, its n-th step on disk.
    Point(u32),
    /// After its n-th answer, by its own exit.
    Answer(u32),
}

impl CrashMatrix {
    /// Determines the outcomes of an operation by running it up to each answer.
    pub fn for_operation(name: &str, child: &str) -> Self {
        let operation = FolderOperation::by_name(name);
        let template = operation.prepare.map_or_else(FolderSnapshot::default, |given| {
            let project = TestProject::new();
            given(&project);
            FolderSnapshot::of_folder(project.folder().root())
        });
        let mut matrix =
            Self { operation, child: child.into(), initial_files: template, outcomes: vec![] };
        for answers in 0..=operation.answers.len() {
            let outcome = matrix.run_undisturbed(answers);
            matrix.outcomes.push(outcome);
        }
        matrix
    }

    fn run_undisturbed(&self, answers: usize) -> FolderOutcome {
        let scene = self.prepare_scene();
        if answers > 0 {
            let ran = self.run(&scene, self.operation.name, KillTime::Answer(to_u32(answers)));
            assert!(ran.status.success(), "{}: {}", self.operation.name, text(&ran.stderr));
            let lines: Vec<String> = text(&ran.stdout).lines().map(str::to_owned).collect();
            assert_eq!(lines, self.operation.answers[..answers], "{}", self.operation.name);
        }
        self.reopen(scene.home.path(), "undisturbed")
    }

    fn prepare_scene(&self) -> CrashScene {
        let home = fast_temp_folder();
        let root = home.path().join(DATA_FOLDER);
        let mut witness = None;
        if self.operation.prepare.is_some() {
            self.initial_files.write_to(&root);
            let ours = self.initial_files.files.keys().any(|path| path.starts_with("journal/"));
            witness =
                ours.then(|| open_engine(&open_or_init_folder(home.path()), &ManualClock::at(NOW)));
            (self.operation.edit_by_hand)(&root);
        }
        CrashScene { home, witness }
    }

    /// Kills a child at the points of a sample and returns their number.
    pub fn kill_at_points(&self, sample: CaseSample) -> u32 {
        let points = (1..POINTS_MAX).filter(|point| sample.includes(*point));
        for (kills, point) in (0..).zip(points) {
            let scene = self.prepare_scene();
            let ran = self.run(&scene, self.operation.name, KillTime::Point(point));
            self.check(scene, &ran, &format!("killed at {point}"));
            if !was_killed(&ran) {
                return kills;
            }
        }
        panic!("{} never ends", self.operation.name)
    }

    /// Kills a child at the points of a sample, and then the process that opens the folder next at
    /// each of its points. Returns the number of the latter.
    pub fn kill_next_process_too(&self, sample: CaseSample) -> u32 {
        let mut points = 0;
        for point in (1..POINTS_MAX).filter(|point| sample.includes(*point)) {
            let scene = self.prepare_scene();
            let ran = self.run(&scene, self.operation.name, KillTime::Point(point));
            if !was_killed(&ran) {
                return points;
            }
            let left = FolderSnapshot::of_folder(scene.home.path());
            points += self.kill_next_opening(&left, &ran, point);
        }
        points
    }

    fn kill_next_opening(&self, left: &FolderSnapshot, first: &Output, point: u32) -> u32 {
        for second in 1..POINTS_MAX {
            let scene = CrashScene { home: fast_temp_folder(), witness: None };
            left.write_to(scene.home.path());
            let ran = self.run(&scene, "open", KillTime::Point(second));
            let when = format!("killed at {point}, the next at {second}");
            self.check(scene, first, &when);
            if !was_killed(&ran) {
                return second - 1;
            }
        }
        panic!("opening after {} never ends", self.operation.name)
    }

    /// Pauses a child at these points and returns it at the first, with its project; `None` if it
    /// never got there. Once resumed, it is killed at `die_at`.
    pub fn pause_at(&self, points: &[u32], die_at: Option<u32>) -> Option<(TempDir, PausedChild)> {
        let scene = self.prepare_scene();
        let mut command = self.command(&scene, self.operation.name);
        command.envs(die_at.map(|point| ("ADJUTANT_DIE_AT", point.to_string())));
        let paused = PausedChild::start_and_pause(points, &mut command)?;
        Some((scene.home, paused))
    }

    /// Pauses a child at the points of a sample, reads the folder there, and returns their number.
    pub fn read_at_points(&self, sample: CaseSample) -> u32 {
        let before = read_project(self.prepare_scene().home.path());
        let points = (1..POINTS_MAX).filter(|point| sample.includes(*point));
        for (reads, point) in (0..).zip(points) {
            let Some((home, paused)) = self.pause_at(&[point], None) else { return reads };
            self.expect_readable(&read_project(home.path()), &before, point);
            assert!(paused.resume().success(), "{}", self.operation.name);
        }
        panic!("{} never ends", self.operation.name)
    }

    /// Every task has a state from before, between or after, and no other task exists.
    fn expect_readable(&self, seen: &World, before: &World, point: u32) {
        let after = &self.outcomes[self.outcomes.len() - 1].world;
        let always = before.tasks().filter(|task| after.task(&task.id).is_some());
        let mut missed = always.filter(|task| seen.task(&task.id).is_none());
        assert_eq!(missed.next(), None, "{} read at {point}", self.operation.name);
        for task in seen.tasks() {
            let mut worlds = self.outcomes.iter().map(|outcome| &outcome.world).chain([before]);
            let known = worlds.any(|world| world.task(&task.id) == Some(task));
            assert!(known, "{} read at {point}: {task:?}", self.operation.name);
        }
    }

    /// Runs the operation, cuts the power and opens the result, `times` times. Everything that was
    /// answered is in the journal and must be there afterwards.
    pub fn cut_the_power(&self, rng: &mut SeededRng, times: u32) {
        let scene = self.prepare_scene();
        let root = scene.home.path().join(DATA_FOLDER);
        let before = FolderSnapshot::of_folder(&root);
        let all = to_u32(self.operation.answers.len());
        let ran = self.run(&scene, self.operation.name, KillTime::Answer(all));
        assert!(ran.status.success(), "{}: {}", self.operation.name, text(&ran.stderr));
        let after = FolderSnapshot::of_folder(&root);
        for time in 0..times {
            let home = fast_temp_folder();
            power_cut::cut_power(&before, &after, rng).write_to(&home.path().join(DATA_FOLDER));
            let when = format!("when the power was cut, {time}");
            self.expect_valid_outcome(&self.reopen(home.path(), &when), all as usize, &when);
        }
    }

    fn run(&self, scene: &CrashScene, operation: &str, until: KillTime) -> Output {
        let mut command = self.command(scene, operation);
        match until {
            KillTime::Point(point) => command.env("ADJUTANT_DIE_AT", point.to_string()),
            KillTime::Answer(answer) => command.env(STOP_AFTER_VARIABLE, answer.to_string()),
        };
        command.output().expect("the child starts")
    }

    fn command(&self, scene: &CrashScene, operation: &str) -> Command {
        let mut command = Command::new(&self.child);
        command.arg(scene.home.path()).arg(operation);
        if let Some(bytes) = self.operation.journal_bytes_max {
            command.env("ADJUTANT_JOURNAL_BYTES_MAX", bytes.to_string());
        }
        command
    }

    fn check(&self, scene: CrashScene, ran: &Output, when: &str) {
        assert!(was_killed(ran) || ran.status.success(), "{when}: {}", text(&ran.stderr));
        let answered = text(&ran.stdout).lines().count();
        let Some(witness) = scene.witness else {
            self.expect_valid_outcome(&self.reopen(scene.home.path(), when), answered, when);
            return;
        };
        let copy = fast_temp_folder();
        FolderSnapshot::of_folder(scene.home.path()).write_to(copy.path());
        self.expect_valid_outcome(&self.reopen(copy.path(), when), answered, when);
        self.check_witness(&open_or_init_folder(scene.home.path()), witness, answered, when);
    }

    /// An engine that had the folder open all the time must see the same outcome.
    fn check_witness(
        &self,
        folder: &DataFolder,
        mut witness: Engine<FileStore>,
        answered: usize,
        when: &str,
    ) {
        let when = format!("{when}, seen by a witness");
        let looked = witness.check_all_files().and_then(|()| witness.rest());
        looked.unwrap_or_else(|error| panic!("{}: {error}", self.describe(&when)));
        self.expect_valid_outcome(&read_outcome(folder.root(), &mut witness), answered, &when);
        self.expect_work_continues(folder, &mut witness, &when);
    }

    fn reopen(&self, home: &Path, when: &str) -> FolderOutcome {
        let folder = open_or_init_folder(home);
        let mut engine = open_engine(&folder, &ManualClock::at(NOW));
        self.expect_sound(&folder, &engine, when);
        let outcome = read_outcome(folder.root(), &mut engine);
        self.expect_work_continues(&folder, &mut engine, when);
        outcome
    }

    /// Checks that the engine still accepts work.
    fn expect_work_continues(
        &self,
        folder: &DataFolder,
        engine: &mut Engine<FileStore>,
        when: &str,
    ) {
        let added = engine.submit_one(add_request("Afterwards", InitialStatus::Ready));
        added.unwrap_or_else(|error| panic!("{}: {error}", self.describe(when)));
        self.expect_sound(folder, engine, &format!("{when}, then gone on"));
    }

    fn expect_sound(&self, folder: &DataFolder, engine: &Engine<FileStore>, when: &str) {
        let problems = audit::find_problems(folder, engine.world(), self.operation.event_log);
        assert!(problems.is_empty(), "{}: {problems:#?}", self.describe(when));
    }

    fn expect_valid_outcome(&self, outcome: &FolderOutcome, answered: usize, when: &str) {
        if self.outcomes.is_empty() || self.outcomes[answered..].contains(outcome) {
            return;
        }
        let others = self.outcomes.iter().enumerate().map(|(n, other)| {
            let differences = other.files.differences(&outcome.files).join("\n  ");
            format!("not as after answer {n}, pending {}:\n  {differences}", other.pending_effects)
        });
        let others: Vec<String> = others.collect();
        let (at, effects) = (self.describe(when), &outcome.pending_effects);
        panic!("{at}, {answered} answered, pending {effects}:\n{}", others.join("\n"));
    }

    fn describe(&self, when: &str) -> String {
        format!("{} {when}", self.operation.name)
    }
}

fn read_outcome(root: &Path, engine: &mut Engine<FileStore>) -> FolderOutcome {
    let mut files = FolderSnapshot::of_folder(root).without("journal/");
    // The file of a day is made before its first line is committed.
    files.files.retain(|path, bytes| !path.starts_with("events/") || !bytes.is_empty());
    let pending_effects = format!("{:?}", engine.store().pending_effects());
    FolderOutcome { files, pending_effects, world: engine.world().clone() }
}

fn read_project(home: &Path) -> World {
    read_world(&open_or_init_folder(home)).expect("a reader never fails")
}

/// Tells whether the child was killed, as opposed to any other exit.
fn was_killed(ran: &Output) -> bool {
    ran.status.signal() == Some(9)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn to_u32(count: usize) -> u32 {
    u32::try_from(count).expect("few answers")
}
