//! What this node knows of its place among the others.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use adjutant_core::run::Life;
use adjutant_core::schedule::{Heard, RunKey, Start, doer, has_runs, run_of, runs_on, to_look_at};
use adjutant_core::{Effect, NodeId, Task, TaskId, World};
use adjutant_store::{Net, Owed, Store, StoreError, Version, steady};

use super::holder::Holder;
use super::outputs::Outputs;
use super::pact::{Left, Name, Pact, Times, Unfit};
use super::{Me, Question};
use crate::engine::Engine;
use crate::tick::{Lives, jitter};

/// How many answers are remembered, for whoever asks again.
const ANSWERS_MAX: usize = 1024;

/// How long a node leaves it to others to decide whose disk is full.
const REST: Duration = Duration::from_secs(15);

/// Whether this node has the right to decide, by a clock that nobody can set.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gate(Arc<Mutex<Passage>>);

#[derive(Debug, Default)]
struct Passage {
    open_until: Option<Duration>,
    ill_until: Option<Duration>,
}

impl Gate {
    /// Lets decisions through until then.
    pub(crate) fn open_until(&self, until: Duration) {
        lock(&self.0).open_until = Some(until);
    }

    /// Lets nothing through.
    pub(crate) fn close(&self) {
        lock(&self.0).open_until = None;
    }

    /// Says whether decisions go through.
    pub(crate) fn is_open(&self) -> bool {
        lock(&self.0).open_until.is_some_and(|until| steady() < until)
    }

    /// Lets nothing through for a while: this node cannot write down what it decides, and others
    /// may be able to.
    pub(crate) fn fall_ill(&self) {
        *lock(&self.0) = Passage { open_until: None, ill_until: Some(steady() + REST) };
    }

    /// Says whether others are to decide, who can.
    pub(crate) fn is_ill(&self) -> bool {
        lock(&self.0).ill_until.is_some_and(|until| steady() < until)
    }
}

/// Whether this node waits for its runs to end and wants no others, and whether it goes by that.
#[derive(Debug, Default)]
pub(super) struct Leaving {
    pub(super) is_wanted: AtomicBool,
    pub(super) is_said: AtomicBool,
}

/// What this node knows of its place among the others.
pub(crate) struct Member {
    pub(super) net: Arc<dyn Net>,
    pub(super) me: Me,
    /// How long a run may go on of which nothing is heard.
    pub(super) ttl: Duration,
    pub(super) gate: Gate,
    pub(super) pact: Pact,
    /// Why this node can be one of the others no more, until that was told.
    unfit: Mutex<Option<Unfit>>,
    is_unfit: AtomicBool,
    pub(super) leaving: Leaving,
    /// Has it asked at once whether this node has its name, while somebody minds.
    pub(super) doubts: Mutex<Option<Sender<()>>>,
    /// What is asked by this process, counted.
    asked: AtomicU64,
    /// What tells the questions of this process from those of an earlier one.
    start: String,
    /// Until when this node may decide, where it has not said so yet.
    offered: Mutex<Option<Duration>>,
    term: Mutex<Option<Term>>,
    granted: Mutex<Option<Granted>>,
    pub(super) outputs: Mutex<Outputs>,
    /// A question of which it is not known whether it was heard.
    pub(super) open: Mutex<Option<Question>>,
    /// When the node that decides was last greeted, and with which runs.
    pub(super) greeted: Mutex<Option<(Duration, BTreeSet<RunKey>)>>,
}

/// What a node knows while it decides.
struct Term {
    /// The commit it began with: whoever asks again must have seen it.
    version: Version,
    /// Since when: every node is given its time anew.
    since: Duration,
    /// When each node was last heard, and which runs it had.
    heard: BTreeMap<NodeId, (Duration, BTreeSet<RunKey>)>,
    answers: VecDeque<(String, String)>,
}

/// Which runs of this node may go on, and until when.
#[derive(Debug, Clone)]
pub struct Granted {
    /// Until when, by the clock of [`steady`].
    pub until: Duration,
    /// Which.
    pub runs: BTreeSet<RunKey>,
}

impl Member {
    pub(crate) fn new(net: Arc<dyn Net>, me: Me, ttl: Duration, root: &Path) -> Self {
        let start = format!("{:016x}", jitter());
        let holder = Holder::new(root, me.node.clone(), start.clone());
        Self {
            pact: Pact::new(Times::new(ttl, me.term), me.node.clone(), holder),
            unfit: Mutex::default(),
            is_unfit: AtomicBool::new(false),
            leaving: Leaving::default(),
            doubts: Mutex::default(),
            net,
            me,
            ttl,
            gate: Gate::default(),
            asked: AtomicU64::new(0),
            start,
            offered: Mutex::default(),
            term: Mutex::default(),
            granted: Mutex::default(),
            outputs: Mutex::default(),
            open: Mutex::default(),
            greeted: Mutex::default(),
        }
    }

    /// Agrees with the others on what all must be at one about.
    /// Returns whose its name was.
    pub(crate) fn join(&self, world: &World) -> Result<Name, Unfit> {
        self.pact.join(&*self.net, self.left(world))
    }

    /// Keeps a name that was another's, unless that one has runs after all.
    pub(crate) fn keep_name(&self, was: &str, world: &World) -> Result<(), Unfit> {
        self.pact.keep(&*self.net, was, self.left(world))
    }

    fn left(&self, world: &World) -> Left {
        if has_runs(world, &self.me.node) { Left::Runs } else { Left::Nothing }
    }

    /// Says whether this node was seen to have its name after that; if not, it is asked at once, and
    /// the daemon is called when that is known.
    pub(crate) fn had_its_name_after(&self, then: Duration) -> bool {
        let had = self.pact.was_seen_after(then);
        if let Some(doubts) = lock(&self.doubts).as_ref().filter(|_| !had) {
            let _ = doubts.send(());
        }
        had
    }

    /// Looks whether this node still has its name. Says whether it does.
    pub(super) fn look_at_name(&self) -> bool {
        self.has_passed(self.pact.look(&*self.net))
    }

    /// Looks whether this node still goes by the times of the others. Says whether it does.
    pub(super) fn look_at_times(&self) -> bool {
        self.has_passed(self.pact.look_at_times(&*self.net))
    }

    fn has_passed(&self, looked: Result<(), Unfit>) -> bool {
        let fits = looked.is_ok();
        if let Err(unfit) = looked {
            *lock(&self.unfit) = Some(unfit);
            self.is_unfit.store(true, Ordering::Release);
            self.step_down();
        }
        fits
    }

    /// Says whether this node can be one of the others no more.
    pub(super) fn is_unfit(&self) -> bool {
        self.is_unfit.load(Ordering::Acquire)
    }

    /// Fails if this node can be one of the others no more, once.
    pub(crate) fn still_fits(&self) -> Result<(), Unfit> {
        lock(&self.unfit).take().map_or(Ok(()), Err)
    }

    pub(crate) fn node(&self) -> &NodeId {
        &self.me.node
    }

    pub(crate) fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Says whether this node decides, and has said so.
    pub(crate) fn decides(&self) -> bool {
        self.gate.is_open() && lock(&self.term).is_some()
    }

    /// Offers the engine to decide until then, whatever it is at.
    pub(super) fn offer(&self, until: Duration) {
        *lock(&self.offered) = Some(until);
    }

    /// Takes what was offered, if it still holds.
    fn offered(&self) -> Option<Duration> {
        lock(&self.offered).take().filter(|until| steady() < *until)
    }

    /// Begins to decide if that is offered: says so first. Says whether this node decides.
    pub(crate) fn begin<S: Store>(&self, engine: &mut Engine<S>) -> Result<bool, StoreError> {
        if let Some(until) = self.offered() {
            self.gate.open_until(until);
            let began = engine.take_over(&self.me.node);
            if began.is_err() {
                self.gate.close();
            }
            self.take_over(began?);
        }
        Ok(self.decides())
    }

    /// Begins to decide, with a commit that says so.
    fn take_over(&self, version: Version) {
        let (since, heard) = (steady(), BTreeMap::new());
        let answers = VecDeque::new();
        *lock(&self.term) = Some(Term { version, since, heard, answers });
    }

    /// Decides until then, if it does.
    pub(super) fn go_on(&self, until: Duration) {
        if lock(&self.term).is_some() {
            self.gate.open_until(until);
        }
    }

    /// Decides no more.
    pub(crate) fn step_down(&self) {
        self.gate.close();
        *lock(&self.offered) = None;
        *lock(&self.term) = None;
    }

    /// Returns what something is asked under that nobody else asks under.
    pub(super) fn next_question(&self) -> String {
        let count = self.asked.fetch_add(1, Ordering::Relaxed);
        self.question_number(count)
    }

    pub(super) fn question_number(&self, count: u64) -> String {
        format!("{}/{}-{count}", self.me.node, self.start)
    }

    #[cfg(test)]
    pub(super) fn asked_so_far(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    /// Returns the commit the present term began with.
    pub(super) fn term_began(&self) -> Option<Version> {
        lock(&self.term).as_ref().map(|term| term.version)
    }

    /// Returns what was answered in this term to who asks again.
    pub(super) fn answered(&self, asked: &str) -> Option<String> {
        let term = lock(&self.term);
        let mut answers = term.iter().flat_map(|term| &term.answers);
        answers.find(|(id, _)| id == asked).map(|(_, answer)| answer.clone())
    }

    pub(super) fn remember(&self, asked: String, answer: String) {
        if let Some(term) = &mut *lock(&self.term) {
            if term.answers.len() >= ANSWERS_MAX {
                term.answers.pop_front();
            }
            term.answers.push_back((asked, answer));
        }
    }

    /// Takes note of a node that is there, and of its runs.
    pub(super) fn heard(&self, node: NodeId, runs: BTreeSet<RunKey>) {
        if let Some(term) = &mut *lock(&self.term) {
            term.heard.insert(node, (steady(), runs));
        }
    }

    /// Lets runs of this node go on until then.
    pub(super) fn grant(&self, until: Duration, runs: BTreeSet<RunKey>) {
        *lock(&self.granted) = Some(Granted { until, runs });
    }

    /// Lets all runs of this node go on, where this node decides that.
    pub(crate) fn allow_own(&self, now: Duration, world: &World) {
        self.grant(now + self.ttl, runs_on(world, &self.me.node));
    }

    /// Returns which runs of this node may go on, and until when.
    pub(crate) fn granted(&self) -> Option<Granted> {
        lock(&self.granted).clone()
    }

    /// Says who has to see to an effect: the node that has the last run of its task, else whoever
    /// decides.
    pub(crate) fn is_mine(&self, owed: &Owed, world: &World) -> bool {
        match doer(&owed.effect, world) {
            Some(node) => *node == self.me.node,
            None => self.decides(),
        }
    }

    /// Adds what is known of the runs of other nodes to what this one knows of its own.
    pub(crate) fn lives(
        &self,
        own: &BTreeMap<TaskId, Life>,
        world: &World,
        owed: &[Owed],
    ) -> Everybody {
        let mut lives = own.clone();
        let term = lock(&self.term);
        let Some(term) = &*term else { return Everybody { lives, away: BTreeSet::new() } };
        for id in to_look_at(world) {
            let Some(task) = world.task(&id) else { continue };
            let Some(node) = task.trials.node.as_ref().filter(|node| **node != self.me.node) else {
                continue;
            };
            if let Some(run) = run_of(task) {
                let life = term.heard(node).life(&run, start_of(owed, &run), self.ttl);
                lives.insert(id, life);
            }
        }
        let nodes = world.policy().nodes.keys().filter(|node| **node != self.me.node);
        let away = nodes.filter(|node| term.heard(node).is_silent(self.ttl)).cloned().collect();
        Everybody { lives, away }
    }
}

impl Term {
    /// Returns what was heard of a node, as of now.
    fn heard(&self, node: &NodeId) -> Heard<'_> {
        let ago = |at: Duration| steady().saturating_sub(at);
        match self.heard.get(node) {
            Some((at, runs)) => Heard::Last { ago: ago(*at), runs },
            None => Heard::Never { listening: ago(self.since) },
        }
    }
}

/// What is known of the runs of all nodes, and who is not heard.
pub(crate) struct Everybody {
    lives: BTreeMap<TaskId, Life>,
    away: BTreeSet<NodeId>,
}

impl Lives for Everybody {
    fn life(&self, task: &Task) -> Life {
        self.lives.life(task)
    }

    fn away(&self) -> BTreeSet<NodeId> {
        self.away.clone()
    }
}

/// Says whether a node has yet to start a run.
fn start_of(owed: &[Owed], run: &RunKey) -> Start {
    let starts = |effect: &Effect| matches!(effect, Effect::StartRun { task, fence, .. } if (task, fence) == (&run.0, &run.1));
    if owed.iter().any(|owed| starts(&owed.effect)) { Start::Owed } else { Start::Done }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
