//! One writer: requests in, one commit for all that wait, answers out.

mod input;
mod request;
mod shared;

use std::collections::BTreeSet;
use std::sync::Arc;

use adjutant_core::aof::Incoming;
use adjutant_core::constraints::WorkspaceFacts;
use adjutant_core::input::{FileChange, Input, Kept, StoryFacts};
use adjutant_core::schedule::{plan, to_look_at};
use adjutant_core::{
    Actor, Answer, Decision, Effect, Policy, Recorded, Task, TaskId, Verdict, World, decide,
};
use adjutant_store::{
    Batch, Caught, Company, EffectId, Loaded, Owed, Scope, Store, StoreError, Version,
};

pub use request::{Answered, Request};

use crate::clock::Clock;
use crate::eyes::Eyes;
use crate::fleet::Gate;
use crate::floods::Floods;
use crate::mirror::Mirror;
use crate::refusals::Refusals;
use crate::story::desk::{self, StoryTask};
use crate::tick::{self, Lives, Ticked};
use crate::token::Secret;

/// How often a commit is tried again when somebody else was first.
const TRIES_MAX: u32 = 100;

/// The one writer of this process.
pub struct Engine<S> {
    store: S,
    world: World,
    clock: Box<dyn Clock>,
    policy: Arc<Policy>,
    secret: Option<Secret>,
    eyes: Option<Eyes>,
    /// Effects that were done and not told yet.
    done: BTreeSet<EffectId>,
    chance: Box<dyn FnMut() -> u64 + Send>,
    refusals: Refusals,
    floods: Floods,
    /// The world as it is committed, for those who only look.
    mirror: Option<Mirror>,
    /// Whether this process may decide; none where nobody else could.
    gate: Option<Gate>,
    /// Whether nobody else is expected to commit, whatever the gate says.
    alone: bool,
    /// A turn failed, and the world shows what was not committed until the next one begins.
    ahead: bool,
}

impl<S: Store> Engine<S> {
    /// Starts on a store that was just opened, and takes in what people did to its files.
    pub fn start(
        store: S,
        loaded: Loaded,
        clock: Box<dyn Clock>,
        policy: Policy,
    ) -> Result<Self, StoreError> {
        let (world, policy) = (World::default(), Arc::new(policy));
        let (secret, eyes, ahead) = (None, None, false);
        let (done, chance) = (BTreeSet::new(), Box::new(tick::jitter));
        let refusals = Refusals::default();
        let mut engine = Self {
            store,
            world,
            clock,
            policy,
            secret,
            eyes,
            done,
            chance,
            refusals,
            floods: Floods::default(),
            mirror: None,
            gate: None,
            alone: false,
            ahead,
        };
        engine.world = loaded.world.with_policy(Arc::clone(&engine.policy));
        if loaded.adopted.is_some() || !loaded.edits.is_empty() {
            engine.take_in(&loaded.edits, loaded.adopted)?;
        }
        Ok(engine)
    }

    /// Knows the tokens of runs from now on.
    #[must_use]
    pub fn knowing(mut self, secret: Option<Secret>) -> Self {
        self.secret = secret;
        self
    }

    /// Looks at the workspaces of runs that report from now on, before it takes its turn to write.
    /// Where many ask, whoever asks looks instead: see [`crate::Client`].
    #[must_use]
    pub fn seeing(mut self, eyes: Eyes) -> Self {
        self.eyes = Some(eyes);
        self
    }

    /// Takes what is left to chance from here from now on, so that a simulation can be had again.
    #[must_use]
    pub fn chancing(mut self, chance: impl FnMut() -> u64 + Send + 'static) -> Self {
        self.chance = Box::new(chance);
        self
    }

    /// Takes it that nobody else commits from now on: only a commit that is refused tells otherwise.
    #[must_use]
    pub fn alone(mut self) -> Self {
        self.alone = true;
        self
    }

    /// Keeps a copy of the world from now on that shows what is committed, and that others can look
    /// at without waiting for a commit.
    pub fn mirror(&mut self) -> Mirror {
        let world = &self.world;
        self.mirror.get_or_insert_with(|| Mirror::of(world.clone())).clone()
    }

    /// Returns the world as it is committed. After a turn that failed it is told anew first.
    pub fn committed(&mut self) -> Result<&World, StoreError> {
        if self.ahead {
            self.begin()?;
            self.store.end();
        }
        Ok(&self.world)
    }

    /// Returns the world as of the last look. After a turn that failed it may show what was not
    /// committed; see [`Engine::committed`].
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Ends, and keeps the world.
    pub fn into_world(self) -> World {
        self.world
    }

    /// Returns the store.
    pub fn store(&mut self) -> &mut S {
        &mut self.store
    }

    /// Does what is asked, in one commit for all, and answers when it is durable.
    pub fn submit(&mut self, requests: &[Request]) -> Result<Vec<Answered>, StoreError> {
        let Some(eyes) = self.eyes.clone() else { return self.submit_seen(requests) };
        let see = |request: &Request| {
            let request = desk::inform(eyes.home(), request.clone(), |id| self.story_task(id));
            eyes.inform(request, |claim| eyes.sight(&claim, &self.world))
        };
        let seen: Vec<Request> = requests.iter().map(see).collect();
        self.submit_seen(&seen)
    }

    fn submit_seen(&mut self, requests: &[Request]) -> Result<Vec<Answered>, StoreError> {
        self.in_turn(|engine, group| {
            let read = input::read_all(requests);
            let handle = |(request, incoming)| {
                group.incoming = incoming;
                engine.handle(request, group)
            };
            requests.iter().zip(read).map(handle).collect()
        })
    }

    /// Does one thing.
    pub fn submit_one(&mut self, request: Request) -> Result<Answered, StoreError> {
        let mut answers = self.submit(&[request])?;
        answers.pop().ok_or(StoreError::Stopped)
    }

    /// Does one tick: gives out work, and clears up what is over.
    pub fn tick(&mut self, lives: &dyn Lives) -> Result<Ticked, StoreError> {
        self.in_turn(|engine, group| engine.tick_in(lives, group))
    }

    /// Returns what one tick would do, and does none of it.
    pub fn tick_dry(&mut self, lives: &dyn Lives) -> Result<Ticked, StoreError> {
        self.begin()?;
        let now = self.clock.now();
        let facts = tick::gather(&mut self.store, &self.world, lives, 0, now);
        self.store.end();
        let actions = plan(&self.world, &facts?, now);
        let answer = Answer::plain(Verdict::Noop);
        Ok(Ticked { now, actions, answered: Answered { answer, events: vec![], owed: vec![] } })
    }

    fn tick_in(&mut self, lives: &dyn Lives, group: &mut Group) -> Result<Ticked, StoreError> {
        let now = self.clock.now();
        self.look_at(&to_look_at(&self.world), group)?;
        let jitter = (self.chance)();
        let facts = tick::gather(&mut self.store, &self.world, lives, jitter, now)?;
        let planned = plan(&self.world, &facts, now);
        // Nothing is given out on the word of a file that somebody has changed since.
        let concerned: Vec<TaskId> = planned.iter().map(|action| action.task().clone()).collect();
        self.look_at(&concerned, group)?;
        let actions = plan(&self.world, &facts, now);
        let answered = self.decide(&Input::Tick { facts }, group);
        Ok(Ticked { now, actions, answered })
    }

    /// Looks at every task file, and takes in what people did to them.
    pub fn look_around(&mut self) -> Result<(), StoreError> {
        self.in_turn_here(|engine, group| {
            let edits = engine.store.edits(Scope::All(&engine.world))?;
            engine.take(edits, group);
            Ok(())
        })
    }

    /// Looks at the files of these tasks, and takes in what people did to them.
    pub fn look_at_files(&mut self, ids: &[TaskId]) -> Result<(), StoreError> {
        self.in_turn_here(|engine, group| engine.look_at(ids, group))
    }

    /// Takes note that effects have been done; the next commit tells. Should that be lost, they
    /// are found done when they are done again.
    pub fn settle_later(&mut self, done: Vec<EffectId>) {
        self.done.extend(done);
    }

    /// Returns the effects that are owed, by id.
    pub fn owed(&self) -> Vec<Owed> {
        let mut owed = self.store.owed();
        owed.retain(|one| !self.done.contains(&one.id));
        owed
    }

    /// Marks effects as done.
    pub fn settle(&mut self, done: &[EffectId]) -> Result<(), StoreError> {
        self.in_turn(|_, group| {
            group.settled.extend_from_slice(done);
            group.settles = true;
            Ok(())
        })
    }

    /// Leaves the store so that it opens quickly and survives a power cut.
    pub fn rest(&mut self) -> Result<(), StoreError> {
        if !self.done.is_empty() {
            self.settle(&[])?;
        }
        self.in_step(Store::rest)
    }

    /// Does something with the store at the version the world is at, in turn.
    pub fn in_step<T>(
        &mut self,
        work: impl FnOnce(&mut S, &World) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.begin()?;
        let done = work(&mut self.store, &self.world);
        self.store.end();
        done
    }

    fn take_in(&mut self, edits: &[FileChange], adopted: Option<u64>) -> Result<(), StoreError> {
        self.in_turn(|engine, group| {
            // Where the world was told anew, this was told with it as it is now, and taken in.
            if group.told == Told::News {
                engine.take(edits.to_vec(), group);
                engine.adopt(adopted, group);
            }
            Ok(())
        })
    }

    /// Takes the turn to write, decides, and commits. If somebody else was first, decides again.
    fn in_turn<T>(
        &mut self,
        mut work: impl FnMut(&mut Self, &mut Group) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.in_turn_here(|engine, group| engine.may_decide().and_then(|()| work(engine, group)))
    }

    /// The same for what only this process can take in, whoever decides: what people did to the
    /// files of this machine.
    fn in_turn_here<T>(
        &mut self,
        mut work: impl FnMut(&mut Self, &mut Group) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        for _ in 0..TRIES_MAX {
            let mut group = Group { told: self.begin()?, ..Group::default() };
            let done = work(self, &mut group).and_then(|done| {
                self.commit(group)?;
                Ok(done)
            });
            if done.is_ok() {
                // What is committed is committed; tending is tried again after the next commit.
                let _ = self.store.tend(&self.world);
            }
            self.store.end();
            self.ahead = done.is_err();
            match done {
                Err(StoreError::Conflict { .. }) => {}
                other => return other,
            }
        }
        let now = self.store.version();
        Err(StoreError::Conflict { expected: now, now })
    }

    /// Takes the turn, and takes in what others committed since. While this process decides, others
    /// commit next to nothing, and tell: it asks when it hears of something, or is refused.
    fn begin(&mut self) -> Result<Told, StoreError> {
        let decides = self.gate.as_ref().is_some_and(Gate::is_open);
        let company = if decides || self.alone { Company::Alone } else { Company::Others };
        self.begin_among(company)
    }

    fn begin_among(&mut self, company: Company) -> Result<Told, StoreError> {
        self.store.presume(company);
        let caught = self.store.begin();
        let caught = self.noticed(caught)?;
        let followed = self.follow(caught);
        self.ahead = followed.is_err();
        if followed.is_err() {
            self.store.end();
        }
        followed
    }

    fn follow(&mut self, caught: Caught) -> Result<Told, StoreError> {
        match caught {
            Caught::Events(events) => {
                for event in &events {
                    self.world.apply(event);
                }
                self.reflect(|mirror| mirror.follow(&self.world, &events, &[]));
                Ok(Told::News)
            }
            Caught::Reload(loaded) => {
                self.world = loaded.world.with_policy(Arc::clone(&self.policy));
                self.reflect(|mirror| mirror.replace(self.world.clone()));
                let mut group = Group::default();
                self.take(loaded.edits, &mut group);
                self.adopt(loaded.adopted, &mut group);
                self.commit(group)?;
                Ok(Told::Everything)
            }
        }
    }

    fn adopt(&mut self, adopted: Option<u64>, group: &mut Group) {
        if let Some(tasks) = adopted {
            self.decide(&Input::Adopted { tasks }, group);
        }
    }

    fn reflect(&self, change: impl FnOnce(&Mirror)) {
        if let Some(mirror) = &self.mirror {
            change(mirror);
        }
    }

    fn commit(&mut self, group: Group) -> Result<Version, StoreError> {
        let says_nothing = group.events.is_empty() && group.settled.is_empty();
        if says_nothing && !group.settles {
            self.reflect(|mirror| mirror.follow(&self.world, &[], &group.unreadable));
            return Ok(self.store.version());
        }
        let mut settled = group.settled;
        settled.extend(self.done.iter().copied());
        let after = group.touched.iter().filter_map(|id| self.world.task(id)).cloned().collect();
        let batch = Batch {
            expect: self.store.version(),
            events: group.events,
            after,
            owed: group.owed,
            settled,
            answers: group.answers,
        };
        let committed = self.store.commit(&batch);
        let committed = self.noticed(committed)?;
        self.reflect(|mirror| mirror.follow(&self.world, &batch.events, &group.unreadable));
        self.done.clear();
        Ok(committed)
    }

    fn handle(&mut self, request: &Request, group: &mut Group) -> Result<Answered, StoreError> {
        match request {
            Request::Tick { lives } => Ok(self.tick_in(lives, group)?.answered),
            Request::Stories { by, told, facts } => {
                self.follow_stories(by, told.as_ref(), facts, group)
            }
            Request::Seen { workspace, of } => self.handle_seen(of, Some(workspace), group),
            Request::Notified { done, .. } => self.handle_notified(*done, request, group),
            Request::Keyed { key, digest, of } => self.handle_keyed(key, digest, of, group),
            other => self.handle_seen(other, None, group),
        }
    }

    /// Handles a request, and writes down in the same commit that it was done. What was refused or
    /// did nothing can be asked for again without harm.
    fn handle_keyed(
        &mut self,
        key: &str,
        digest: &str,
        request: &Request,
        group: &mut Group,
    ) -> Result<Answered, StoreError> {
        let answered = self.handle(request, group)?;
        if answered.answer.verdict == Verdict::Applied {
            let kept = Kept {
                key: key.to_owned(),
                request: digest.to_owned(),
                about: answered.answer.task.clone(),
                events: answered.event_ids().collect(),
            };
            self.decide(&Input::Kept(kept), group);
        }
        Ok(answered)
    }

    /// Writes down what came of a notice, once: what is not owed any more was written down before.
    fn handle_notified(
        &mut self,
        done: EffectId,
        request: &Request,
        group: &mut Group,
    ) -> Result<Answered, StoreError> {
        let owed = self.owed().iter().any(|owed| owed.id == done);
        if !owed || group.settled.contains(&done) {
            let answer = Answer::plain(Verdict::Noop);
            return Ok(Answered { answer, events: vec![], owed: vec![] });
        }
        group.settled.push(done);
        self.handle_seen(request, None, group)
    }

    fn story_task(&self, id: &TaskId) -> Option<StoryTask> {
        story_task(&self.world, id)
    }

    /// Lets the tasks of stories follow what the project's files say.
    fn follow_stories(
        &mut self,
        by: &Actor,
        told: Option<&TaskId>,
        facts: &[StoryFacts],
        group: &mut Group,
    ) -> Result<Answered, StoreError> {
        let task = |facts: &StoryFacts| self.world.story(&facts.position.story);
        let tasks: Vec<TaskId> =
            facts.iter().filter_map(task).map(|task| task.id.clone()).collect();
        self.look_at(&tasks, group)?;
        let answer = Answer::plain(Verdict::Noop);
        let mut all = Answered { answer, events: vec![], owed: vec![] };
        for facts in facts {
            let input = Input::Story { by: by.clone(), facts: Box::new(facts.clone()) };
            let Answered { events, owed, .. } = self.decide(&input, group);
            all.events.extend(events);
            all.owed.extend(owed);
        }
        if !all.events.is_empty() || told.is_some() {
            all.answer.verdict = Verdict::Applied;
        }
        all.answer.task = told.cloned();
        all.answer.status = told.and_then(|id| self.world.task(id)).map(Task::status);
        Ok(all)
    }

    /// Handles a request, with what was seen in the workspace of its run.
    fn handle_seen(
        &mut self,
        request: &Request,
        seen: Option<&WorkspaceFacts>,
        group: &mut Group,
    ) -> Result<Answered, StoreError> {
        let mut input = self.input(request, group)?;
        match (&mut input, seen) {
            (Input::Message { facts, .. }, Some(seen)) => facts.workspace = Some(seen.clone()),
            (Input::RunExited { workspace, .. }, Some(seen)) => *workspace = Some(seen.clone()),
            _ => {}
        }
        let note = match request {
            Request::Line { task, attempt, seq, .. } => {
                Some(Effect::NoteTaken { task: task.clone(), attempt: *attempt, seq: *seq })
            }
            _ => None,
        };
        let answered = self.decide_owing(&input, note, group);
        if let Request::Line { task, fence, kind: Some(_), .. } = request {
            self.refusals.note(task, *fence, &answered.answer);
        }
        Ok(answered)
    }

    /// Takes in what people did to these tasks, before anything is decided on them.
    fn look_at(&mut self, ids: &[TaskId], group: &mut Group) -> Result<(), StoreError> {
        // What this group changed and has not written yet is not what the file says.
        let unwritten: Vec<TaskId> =
            ids.iter().filter(|id| !group.touched.contains(*id)).cloned().collect();
        let edits = self.store.edits(Scope::Tasks(&self.world, &unwritten))?;
        self.take(edits, group);
        Ok(())
    }

    fn take(&mut self, edits: Vec<FileChange>, group: &mut Group) {
        for change in edits {
            if let FileChange::Unreadable(id) = &change {
                self.world.set_unreadable(id.clone());
                group.unreadable.push(id.clone());
            }
            self.decide(&Input::File(change), group);
        }
    }

    /// Decides, and lets the world follow at once, so that the next of the group sees it.
    fn decide(&mut self, input: &Input, group: &mut Group) -> Answered {
        self.decide_owing(input, None, group)
    }

    /// Decides, and owes something more than the decision does, before it.
    fn decide_owing(
        &mut self,
        input: &Input,
        first: Option<Effect>,
        group: &mut Group,
    ) -> Answered {
        let now = self.clock.now();
        let Decision { answer, events, effects } = decide(&self.world, input, now);
        let mut recorded = Vec::with_capacity(events.len());
        for happened in events {
            let event = Recorded { id: self.world.last_event().next(), at: now, happened };
            group.touched.extend(event.happened.task.clone());
            self.world.apply(&event);
            recorded.push(event);
        }
        let event = self.world.last_event();
        let place = |place| EffectId { event, place };
        let effects = first.into_iter().chain(effects);
        let owed = (0..).zip(effects).map(|(n, effect)| Owed { id: place(n), effect });
        let owed: Vec<Owed> = owed.collect();
        group.owed.extend_from_slice(&owed);
        group.events.extend(recorded.iter().cloned());
        Answered { answer, events: recorded, owed }
    }
}

/// Says which story a task is, if it is one.
pub(crate) fn story_task(world: &World, id: &TaskId) -> Option<StoryTask> {
    let task = world.task(id)?;
    if task.trials.permit.is_some() {
        return None;
    }
    Some(StoryTask { story: task.story()?.story.clone(), status: task.status() })
}

/// What the store told at the start of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Told {
    /// What others did since.
    #[default]
    News,
    /// The whole world, anew.
    Everything,
}

/// What one commit will hold.
#[derive(Default)]
struct Group {
    told: Told,
    events: Vec<Recorded>,
    touched: BTreeSet<TaskId>,
    /// Tasks whose files were found to be unreadable.
    unreadable: Vec<TaskId>,
    owed: Vec<Owed>,
    settled: Vec<EffectId>,
    /// What others are answered, by what they asked under.
    answers: Vec<(String, String)>,
    /// Whether what was done is told even if nothing else is.
    settles: bool,
    /// What the message says that is handled next, if that was read already.
    incoming: Option<Incoming>,
}

impl Group {
    fn starts_again(&self, id: &TaskId) -> bool {
        let of = |event: &&Recorded| event.happened.task.as_ref() == Some(id);
        self.events.iter().filter(of).any(|event| event.happened.event.starts_again())
    }
}
