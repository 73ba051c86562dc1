//! Kills a child at every step of a deed, and sees what is left.
//!
//! A deed has as many outcomes as it has answers, and one more: nothing done. Whatever the child
//! was killed at, the folder must come out as one of these, byte for byte, and no earlier one than
//! what the child was already answered.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use adjutant_core::World;
use adjutant_core::command::Start;
use adjutant_runtime::Engine;
use adjutant_store::file::{DATA_FOLDER, Folder, read_world};
use adjutant_store::{FileStore, Store};
use adjutant_test_support::soak::Sample;
use tempfile::TempDir;

use crate::audit;
use crate::clock::SetClock;
use crate::deed::Deed;
use crate::dice::Dice;
use crate::hand::{NOW, STOP_AFTER, folder, open};
use crate::pause::Paused;
use crate::power;
use crate::project::{Project, add};
use crate::snapshot::{Snapshot, quick_folder};

/// Nothing needs more steps than this; a deed that does goes round in circles.
const POINTS_MAX: u32 = 2_000;

/// A deed, and everything that may come of it.
pub struct Matrix {
    deed: &'static Deed,
    child: PathBuf,
    template: Snapshot,
    outcomes: Vec<Outcome>,
}

/// What a folder holds once it was opened again.
#[derive(PartialEq)]
struct Outcome {
    files: Snapshot,
    owed: String,
    world: World,
}

/// A folder that the deed is done to, and somebody who had it open all the while.
struct Scene {
    home: TempDir,
    witness: Option<Engine<FileStore>>,
}

/// When a child is killed.
#[derive(Clone, Copy)]
enum Until {
    /// Before, or in the middle of, its n-th step on disk.
    Point(u32),
    /// After its n-th answer, by its own will.
    Answer(u32),
}

impl Matrix {
    /// Finds out what may come of a deed, by letting it be done up to each answer.
    pub fn of(name: &str, child: &str) -> Self {
        let deed = Deed::named(name);
        let template = deed.given.map_or_else(Snapshot::default, |given| {
            let project = Project::new();
            given(&project);
            Snapshot::take(project.folder().root())
        });
        let mut matrix = Self { deed, child: child.into(), template, outcomes: vec![] };
        for answers in 0..=deed.answers.len() {
            let outcome = matrix.undisturbed(answers);
            matrix.outcomes.push(outcome);
        }
        matrix
    }

    fn undisturbed(&self, answers: usize) -> Outcome {
        let scene = self.scene();
        if answers > 0 {
            let ran = self.run(&scene, self.deed.name, Until::Answer(as_number(answers)));
            assert!(ran.status.success(), "{}: {}", self.deed.name, text(&ran.stderr));
            let said: Vec<String> = text(&ran.stdout).lines().map(str::to_owned).collect();
            assert_eq!(said, self.deed.answers[..answers], "{}", self.deed.name);
        }
        self.reopen(scene.home.path(), "undisturbed")
    }

    fn scene(&self) -> Scene {
        let home = quick_folder();
        let root = home.path().join(DATA_FOLDER);
        let mut witness = None;
        if self.deed.given.is_some() {
            self.template.write_to(&root);
            let ours = self.template.files.keys().any(|path| path.starts_with("journal/"));
            witness = ours.then(|| open(&folder(home.path()), &SetClock::at(NOW)));
            (self.deed.meddle)(&root);
        }
        Scene { home, witness }
    }

    /// Kills a child at the points of a sample, and returns at how many.
    pub fn kill_at_points(&self, sample: Sample) -> u32 {
        let points = (1..POINTS_MAX).filter(|point| sample.takes(*point));
        for (kills, point) in (0..).zip(points) {
            let scene = self.scene();
            let ran = self.run(&scene, self.deed.name, Until::Point(point));
            self.check(scene, &ran, &format!("killed at {point}"));
            if !died(&ran) {
                return kills;
            }
        }
        panic!("{} never ends", self.deed.name)
    }

    /// Kills a child at the points of a sample, and then the process that opens the folder next at
    /// every point of that. Returns how many of these there were.
    pub fn kill_the_next_one_too(&self, sample: Sample) -> u32 {
        let mut points = 0;
        for point in (1..POINTS_MAX).filter(|point| sample.takes(*point)) {
            let scene = self.scene();
            let ran = self.run(&scene, self.deed.name, Until::Point(point));
            if !died(&ran) {
                return points;
            }
            let left = Snapshot::take(scene.home.path());
            points += self.kill_openings_of(&left, &ran, point);
        }
        points
    }

    fn kill_openings_of(&self, left: &Snapshot, first: &Output, point: u32) -> u32 {
        for second in 1..POINTS_MAX {
            let scene = Scene { home: quick_folder(), witness: None };
            left.write_to(scene.home.path());
            let ran = self.run(&scene, "open", Until::Point(second));
            let when = format!("killed at {point}, the next at {second}");
            self.check(scene, first, &when);
            if !died(&ran) {
                return second - 1;
            }
        }
        panic!("opening after {} never ends", self.deed.name)
    }

    /// Has a child stand still at some points, and returns it at the first, with its project; none
    /// if it never came there. When it goes on, it is killed at a later point.
    pub fn paused_at(&self, points: &[u32], die_at: Option<u32>) -> Option<(TempDir, Paused)> {
        let scene = self.scene();
        let mut command = self.command(&scene, self.deed.name);
        command.envs(die_at.map(|point| ("ADJUTANT_DIE_AT", point.to_string())));
        let paused = Paused::at(points, &mut command)?;
        Some((scene.home, paused))
    }

    /// Has a child stand still at the points of a sample, and reads the folder meanwhile. Returns
    /// at how many.
    pub fn read_at_points(&self, sample: Sample) -> u32 {
        let before = read(self.scene().home.path());
        let points = (1..POINTS_MAX).filter(|point| sample.takes(*point));
        for (reads, point) in (0..).zip(points) {
            let Some((home, paused)) = self.paused_at(&[point], None) else { return reads };
            self.expect_readable(&read(home.path()), &before, point);
            assert!(paused.go_on().success(), "{}", self.deed.name);
        }
        panic!("{} never ends", self.deed.name)
    }

    /// Every task is seen as it was before, after or between, and none that never was.
    fn expect_readable(&self, seen: &World, before: &World, point: u32) {
        let after = &self.outcomes[self.outcomes.len() - 1].world;
        let always = before.tasks().filter(|task| after.task(&task.id).is_some());
        let mut missed = always.filter(|task| seen.task(&task.id).is_none());
        assert_eq!(missed.next(), None, "{} read at {point}", self.deed.name);
        for task in seen.tasks() {
            let mut worlds = self.outcomes.iter().map(|outcome| &outcome.world).chain([before]);
            let known = worlds.any(|world| world.task(&task.id) == Some(task));
            assert!(known, "{} read at {point}: {task:?}", self.deed.name);
        }
    }

    /// Lets the deed be done, cuts the power, and opens what that may leave, again and again.
    /// Everything that was answered is in the journal, and is there afterwards.
    pub fn cut_the_power(&self, dice: &mut Dice, times: u32) {
        let scene = self.scene();
        let root = scene.home.path().join(DATA_FOLDER);
        let before = Snapshot::take(&root);
        let all = as_number(self.deed.answers.len());
        let ran = self.run(&scene, self.deed.name, Until::Answer(all));
        assert!(ran.status.success(), "{}: {}", self.deed.name, text(&ran.stderr));
        let after = Snapshot::take(&root);
        for time in 0..times {
            let home = quick_folder();
            power::cut(&before, &after, dice).write_to(&home.path().join(DATA_FOLDER));
            let when = format!("when the power was cut, {time}");
            self.expect_one(&self.reopen(home.path(), &when), all as usize, &when);
        }
    }

    fn run(&self, scene: &Scene, deed: &str, until: Until) -> Output {
        let mut command = self.command(scene, deed);
        match until {
            Until::Point(point) => command.env("ADJUTANT_DIE_AT", point.to_string()),
            Until::Answer(answer) => command.env(STOP_AFTER, answer.to_string()),
        };
        command.output().expect("the child starts")
    }

    fn command(&self, scene: &Scene, deed: &str) -> Command {
        let mut command = Command::new(&self.child);
        command.arg(scene.home.path()).arg(deed);
        if let Some(bytes) = self.deed.journal_bytes_max {
            command.env("ADJUTANT_JOURNAL_BYTES_MAX", bytes.to_string());
        }
        command
    }

    fn check(&self, scene: Scene, ran: &Output, when: &str) {
        assert!(died(ran) || ran.status.success(), "{when}: {}", text(&ran.stderr));
        let answered = text(&ran.stdout).lines().count();
        let Some(witness) = scene.witness else {
            self.expect_one(&self.reopen(scene.home.path(), when), answered, when);
            return;
        };
        let copy = quick_folder();
        Snapshot::take(scene.home.path()).write_to(copy.path());
        self.expect_one(&self.reopen(copy.path(), when), answered, when);
        self.check_witness(&folder(scene.home.path()), witness, answered, when);
    }

    /// Who had the folder open all the while comes to the same end as who opens it now.
    fn check_witness(
        &self,
        folder: &Folder,
        mut witness: Engine<FileStore>,
        answered: usize,
        when: &str,
    ) {
        let when = format!("{when}, seen by a witness");
        let looked = witness.look_around().and_then(|()| witness.rest());
        looked.unwrap_or_else(|error| panic!("{}: {error}", self.at(&when)));
        self.expect_one(&outcome(folder.root(), &mut witness), answered, &when);
        self.go_on(folder, &mut witness, &when);
    }

    fn reopen(&self, home: &Path, when: &str) -> Outcome {
        let folder = folder(home);
        let mut engine = open(&folder, &SetClock::at(NOW));
        self.expect_sound(&folder, &engine, when);
        let outcome = outcome(folder.root(), &mut engine);
        self.go_on(&folder, &mut engine, when);
        outcome
    }

    /// Work goes on as if nothing had happened.
    fn go_on(&self, folder: &Folder, engine: &mut Engine<FileStore>, when: &str) {
        let added = engine.submit_one(add("Afterwards", Start::Ready));
        added.unwrap_or_else(|error| panic!("{}: {error}", self.at(when)));
        self.expect_sound(folder, engine, &format!("{when}, then gone on"));
    }

    fn expect_sound(&self, folder: &Folder, engine: &Engine<FileStore>, when: &str) {
        let problems = audit::problems(folder, engine.world(), self.deed.record);
        assert!(problems.is_empty(), "{}: {problems:#?}", self.at(when));
    }

    fn expect_one(&self, outcome: &Outcome, answered: usize, when: &str) {
        if self.outcomes.is_empty() || self.outcomes[answered..].contains(outcome) {
            return;
        }
        let others = self.outcomes.iter().enumerate().map(|(n, other)| {
            let differences = other.files.differences(&outcome.files).join("\n  ");
            format!("not as after answer {n}, owed {}:\n  {differences}", other.owed)
        });
        let others: Vec<String> = others.collect();
        let (at, owed) = (self.at(when), &outcome.owed);
        panic!("{at}, {answered} answered, owed {owed}:\n{}", others.join("\n"));
    }

    fn at(&self, when: &str) -> String {
        format!("{} {when}", self.deed.name)
    }
}

fn outcome(root: &Path, engine: &mut Engine<FileStore>) -> Outcome {
    let mut files = Snapshot::take(root).without("journal/");
    // The file of a day is made before its first line is committed.
    files.files.retain(|path, bytes| !path.starts_with("events/") || !bytes.is_empty());
    let owed = format!("{:?}", engine.store().owed());
    Outcome { files, owed, world: engine.world().clone() }
}

/// Reads the data folder of a project as a reader does.
fn read(home: &Path) -> World {
    read_world(&folder(home)).expect("a reader never fails")
}

/// Says whether a child was killed, and did not end in some other way.
fn died(ran: &Output) -> bool {
    ran.status.signal() == Some(9)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn as_number(count: usize) -> u32 {
    u32::try_from(count).expect("few answers")
}
