//! The engine, the single writer: requests in, one commit for all that wait, answers out.

mod decision_redaction;
mod fleet_node;
mod input;
mod leader_gate;
pub mod node_request;
mod repeated_request;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use adjutant_core::input::{FileChange, Input};
use adjutant_core::schedule::{plan, tasks_to_inspect};
use adjutant_core::{Decision, World, decide};
use adjutant_model::request::StoryFacts;
use adjutant_model::run_nonce::RunNonce;
use adjutant_model::{
    Actor, Answer, AnswerVerdict, Effect, NodeId, Policy, RecordedEvent, Task, TaskId,
};
use adjutant_store::{
    CommitBatch, EditScope, EffectId, LoadedStore, PendingEffect, Store, StoreError, StoreUpdate,
    StoreVersion,
};

pub use adjutant_model::request::{EngineAnswer, EngineRequest, Request};
use decision_redaction::redact_decision;
pub use leader_gate::LeaderGate;

use adjutant_config::redact::SecretRedactor;
use adjutant_config::run_token::TokenSecret;
use adjutant_process::clock::Clock;

use crate::message_counter::MessageCounter;
use crate::prepared_request::{PreparedRequest, prepare_all};
use crate::refused_reports::RefusedReports;
use crate::request_inspector::RequestInspector;
use crate::tick::{self, LivenessSource, TickOutcome};
use crate::world_snapshot::WorldSnapshot;

/// How often a commit is retried after a conflict with another writer.
const TRIES_MAX: u32 = 100;

/// The single writer of this process.
pub struct Engine<S> {
    store: S,
    world: World,
    clock: Box<dyn Clock>,
    policy: Arc<Policy>,
    secret: Option<TokenSecret>,
    redactor: SecretRedactor,
    inspector: Option<RequestInspector>,
    /// The data folder whose event log knows the requests that were applied under a key.
    event_log: Option<PathBuf>,
    /// Effects that were performed, but are not yet marked so in a commit.
    performed: BTreeSet<EffectId>,
    rng: Box<dyn FnMut() -> u64 + Send>,
    refusals: RefusedReports,
    floods: MessageCounter,
    /// The read-only copy of the committed world, if it was requested.
    snapshot: Option<WorldSnapshot>,
    /// Whether this node leads; None outside a fleet.
    leader_gate: Option<LeaderGate>,
    /// A turn failed, so until the next turn the world contains changes that were not committed.
    has_uncommitted_changes: bool,
}

impl<S: Store> Engine<S> {
    /// Starts on a store that was just opened, and applies edits made to its files. Of the secrets
    /// of Adjutant, it redacts only run tokens.
    pub fn start(
        store: S,
        loaded: LoadedStore,
        clock: Box<dyn Clock>,
        policy: Policy,
    ) -> Result<Self, StoreError> {
        Self::start_redacting(store, loaded, clock, policy, SecretRedactor::default())
    }

    /// Like [`Engine::start`], and redacts the secrets of the project in everything it commits.
    pub fn start_redacting(
        store: S,
        loaded: LoadedStore,
        clock: Box<dyn Clock>,
        policy: Policy,
        redactor: SecretRedactor,
    ) -> Result<Self, StoreError> {
        let policy = Arc::new(policy);
        let mut engine = Self {
            store,
            world: loaded.world.with_policy(Arc::clone(&policy)),
            clock,
            policy,
            secret: None,
            redactor,
            inspector: None,
            event_log: None,
            performed: BTreeSet::new(),
            rng: Box::new(tick::jitter),
            refusals: RefusedReports::default(),
            floods: MessageCounter::default(),
            snapshot: None,
            leader_gate: None,
            has_uncommitted_changes: false,
        };
        engine.update_file_faults();
        if loaded.adopted_tasks.is_some() || !loaded.edits.is_empty() {
            engine.apply_file_edits(&loaded.edits, loaded.adopted_tasks)?;
        }
        Ok(engine)
    }

    /// Sets the secret that verifies run tokens. Without one, every token is unknown.
    #[must_use]
    pub fn with_secret(mut self, secret: Option<TokenSecret>) -> Self {
        self.secret = secret;
        self
    }

    /// Inspects the workspaces of runs that report, before the engine takes its turn to write. With
    /// many callers, the caller inspects instead: see [`crate::EngineHandle`].
    #[must_use]
    pub fn with_inspector(mut self, inspector: RequestInspector) -> Self {
        self.inspector = Some(inspector);
        self
    }

    /// Recognises requests that are repeated under a key by the event log of this data folder.
    #[must_use]
    pub fn with_event_log(mut self, root: &Path) -> Self {
        self.event_log = Some(root.to_owned());
        self
    }

    /// Replaces the source of randomness, so that a simulation can be repeated.
    #[must_use]
    pub fn with_rng(mut self, rng: impl FnMut() -> u64 + Send + 'static) -> Self {
        self.rng = Box::new(rng);
        self
    }

    /// Returns a copy of the committed world that readers can use without waiting for a commit.
    pub fn world_snapshot(&mut self) -> WorldSnapshot {
        let world = &self.world;
        self.snapshot.get_or_insert_with(|| WorldSnapshot::new(world.clone())).clone()
    }

    /// Returns the committed world. After a failed turn, reloads it first.
    pub fn committed(&mut self) -> Result<&World, StoreError> {
        if self.has_uncommitted_changes {
            self.begin_turn()?;
            self.store.end();
        }
        Ok(&self.world)
    }

    /// Returns the world as of the last turn. After a failed turn it may contain changes that were
    /// not committed; see [`Engine::committed`].
    pub fn world(&self) -> &World {
        &self.world
    }

    pub fn redactor(&self) -> &SecretRedactor {
        &self.redactor
    }

    pub fn into_world(self) -> World {
        self.world
    }

    pub fn store(&mut self) -> &mut S {
        &mut self.store
    }

    /// Performs the requests in one commit, and answers when it is durable.
    pub fn submit(&mut self, requests: &[EngineRequest]) -> Result<Vec<EngineAnswer>, StoreError> {
        let prepared = prepare_all(requests.to_vec(), self.inspector.as_ref(), &self.world);
        self.submit_prepared(&prepared)
    }

    /// Like [`Engine::submit`], for requests that their caller has prepared.
    #[expect(clippy::needless_pass_by_value, reason = "every try reads the requests again")]
    pub(crate) fn submit_prepared<'a>(
        &mut self,
        requests: impl IntoIterator<Item = &'a PreparedRequest> + Clone,
    ) -> Result<Vec<EngineAnswer>, StoreError> {
        self.in_turn(|engine, group| {
            let prepared = requests.clone().into_iter();
            prepared.map(|one| engine.handle(&one.request, &one.incoming, group)).collect()
        })
    }

    pub fn submit_one(
        &mut self,
        request: impl Into<EngineRequest>,
    ) -> Result<EngineAnswer, StoreError> {
        let mut answers = self.submit(&[request.into()])?;
        answers.pop().ok_or(StoreError::Stopped)
    }

    /// Runs the scheduler once: assigns work, and cleans up after runs that are over.
    pub fn tick(&mut self, lives: &dyn LivenessSource) -> Result<TickOutcome, StoreError> {
        self.in_turn(|engine, group| engine.tick_in(lives, group))
    }

    /// Returns what one scheduler run would do, without doing it.
    pub fn tick_dry(&mut self, lives: &dyn LivenessSource) -> Result<TickOutcome, StoreError> {
        self.begin_turn()?;
        let now = self.clock.now();
        let facts = tick::gather_tick_facts(&mut self.store, &self.world, lives, now);
        self.store.end();
        let actions = plan(&self.world, &facts?, now);
        Ok(TickOutcome { now, actions, answered: Answer::plain(AnswerVerdict::Noop).into() })
    }

    fn tick_in(
        &mut self,
        lives: &dyn LivenessSource,
        group: &mut CommitGroup,
    ) -> Result<TickOutcome, StoreError> {
        let now = self.clock.now();
        self.check_tasks(&tasks_to_inspect(&self.world), group)?;
        let mut facts = tick::gather_tick_facts(&mut self.store, &self.world, lives, now)?;
        facts.jitter = (self.rng)();
        facts.nonce = Some(RunNonce::from_random((self.rng)()));
        let mut actions = plan(&self.world, &facts, now);
        // Check the files of the affected tasks again, so that no work is assigned
        // from an outdated file.
        let affected: Vec<TaskId> = actions.iter().map(|action| action.task().clone()).collect();
        if self.check_tasks(&affected, group)? {
            actions = plan(&self.world, &facts, now);
        }
        let answered = self.decide(&Input::Tick { facts }, group);
        Ok(TickOutcome { now, actions, answered })
    }

    /// Checks every task file, and applies edits that people made.
    pub fn check_all_files(&mut self) -> Result<(), StoreError> {
        self.in_turn_ungated(|engine, group| {
            let edits = engine.store.detect_edits(EditScope::All(&engine.world))?;
            engine.apply_edits(edits, group);
            Ok(())
        })
    }

    /// Checks the files of these tasks, and applies edits that people made.
    pub fn check_task_files(&mut self, ids: &[TaskId]) -> Result<(), StoreError> {
        self.in_turn_ungated(|engine, group| engine.check_tasks(ids, group).map(|_| ()))
    }

    /// Records effects as performed; the next commit says so. If that is lost, performing them
    /// again finds them done.
    pub fn settle_later(&mut self, done: Vec<EffectId>) {
        self.performed.extend(done);
    }

    /// Returns the pending effects, ordered by id.
    pub fn pending_effects(&self) -> Vec<PendingEffect> {
        let mut pending = self.store.pending_effects();
        pending.retain(|effect| !self.performed.contains(&effect.id));
        pending
    }

    /// Commits that these effects were performed.
    pub fn settle(&mut self, done: &[EffectId]) -> Result<(), StoreError> {
        self.in_turn(|_, group| {
            group.settled.extend_from_slice(done);
            group.must_settle = true;
            Ok(())
        })
    }

    /// Leaves the store so that it opens quickly and survives a power cut.
    pub fn rest(&mut self) -> Result<(), StoreError> {
        if !self.performed.is_empty() {
            self.settle(&[])?;
        }
        self.with_store(Store::checkpoint)
    }

    /// Calls `work` with the store and the world at the same version, during a turn.
    pub fn with_store<T>(
        &mut self,
        work: impl FnOnce(&mut S, &World) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.begin_turn()?;
        let done = work(&mut self.store, &self.world);
        self.store.end();
        done
    }

    fn apply_file_edits(
        &mut self,
        edits: &[FileChange],
        adopted: Option<u64>,
    ) -> Result<(), StoreError> {
        self.in_turn(|engine, group| {
            // If the world was reloaded, the reload already included and applied these edits.
            if group.update == TurnUpdate::Events {
                engine.apply_edits(edits.to_vec(), group);
                engine.record_adoption(adopted, group);
            }
            Ok(())
        })
    }

    /// Takes the turn to write, decides, and commits. Decides again after a
    /// conflict with another writer.
    fn in_turn<T>(
        &mut self,
        mut work: impl FnMut(&mut Self, &mut CommitGroup) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.in_turn_ungated(|engine, group| {
            engine.ensure_may_decide().and_then(|()| work(engine, group))
        })
    }

    /// Like `in_turn`, but also on followers: only this process can apply edits to the
    /// files of this machine.
    fn in_turn_ungated<T>(
        &mut self,
        mut work: impl FnMut(&mut Self, &mut CommitGroup) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        for _ in 0..TRIES_MAX {
            let mut group = CommitGroup { update: self.begin_turn()?, ..CommitGroup::default() };
            let done = work(self, &mut group).and_then(|done| {
                self.commit(group)?;
                Ok(done)
            });
            if done.is_ok() {
                // The commit stands even if this fails; upkeep is tried again
                // after the next commit.
                let _ = self.store.maintain(&self.world);
            }
            self.store.end();
            self.has_uncommitted_changes = done.is_err();
            match done {
                Err(StoreError::Conflict { .. }) => {}
                other => return other,
            }
        }
        let now = self.store.version();
        Err(StoreError::Conflict { expected: now, now })
    }

    /// Takes the turn, and applies the commits of other processes. Tries again if another node
    /// committed before the edits that were found on the way.
    fn begin_turn(&mut self) -> Result<TurnUpdate, StoreError> {
        for _ in 1..TRIES_MAX {
            match self.try_begin_turn() {
                Err(StoreError::Conflict { .. }) => {}
                begun => return begun,
            }
        }
        self.try_begin_turn()
    }

    fn try_begin_turn(&mut self) -> Result<TurnUpdate, StoreError> {
        let update = self.store.begin();
        let update = self.note_write_failure(update)?;
        let followed = self.apply_update(update);
        self.update_file_faults();
        self.has_uncommitted_changes = followed.is_err();
        if followed.is_err() {
            self.store.end();
        }
        followed
    }

    fn apply_update(&mut self, update: StoreUpdate) -> Result<TurnUpdate, StoreError> {
        match update {
            StoreUpdate::Events(events) => {
                for event in &events {
                    self.world.apply(event);
                }
                self.update_snapshot(|snapshot| snapshot.apply_commit(&self.world, &events, &[]));
                Ok(TurnUpdate::Events)
            }
            StoreUpdate::Reload(loaded) => {
                self.world = loaded.world.with_policy(Arc::clone(&self.policy));
                self.update_snapshot(|snapshot| snapshot.replace(self.world.clone()));
                let mut group = CommitGroup::default();
                self.apply_edits(loaded.edits, &mut group);
                self.record_adoption(loaded.adopted_tasks, &mut group);
                self.commit(group)?;
                Ok(TurnUpdate::Reload)
            }
        }
    }

    /// Takes over from the store which tasks are on hold, because their files cannot be changed.
    fn update_file_faults(&mut self) {
        let faults = self.store.file_faults();
        if faults != *self.world.file_faults() {
            self.update_snapshot(|snapshot| snapshot.set_file_faults(faults.clone()));
            self.world.set_file_faults(faults);
        }
    }

    fn record_adoption(&mut self, adopted: Option<u64>, group: &mut CommitGroup) {
        if let Some(tasks) = adopted {
            self.decide(&Input::FolderAdopted { tasks }, group);
        }
    }

    fn update_snapshot(&self, change: impl FnOnce(&WorldSnapshot)) {
        if let Some(snapshot) = &self.snapshot {
            change(snapshot);
        }
    }

    fn commit(&mut self, group: CommitGroup) -> Result<StoreVersion, StoreError> {
        let is_empty = group.events.is_empty() && group.settled.is_empty();
        if is_empty && !group.must_settle {
            self.update_snapshot(|snapshot| {
                snapshot.apply_commit(&self.world, &[], &group.unreadable);
            });
            return Ok(self.store.version());
        }
        let mut settled = group.settled;
        settled.extend(self.performed.iter().copied());
        let after = group.touched.iter().filter_map(|id| self.world.task(id)).cloned().collect();
        let batch = CommitBatch {
            expected_version: self.store.version(),
            events: group.events,
            tasks_after: after,
            new_effects: group.pending_effects,
            settled_effects: settled,
            answers: group.answers,
        };
        let committed = self.store.commit(&batch);
        let committed = self.note_write_failure(committed)?;
        self.update_file_faults();
        self.update_snapshot(|snapshot| {
            snapshot.apply_commit(&self.world, &batch.events, &group.unreadable);
        });
        self.performed.clear();
        Ok(committed)
    }

    /// Updates the tasks of stories from the project's files.
    fn follow_stories(
        &mut self,
        by: &Actor,
        told: Option<&TaskId>,
        facts: &[StoryFacts],
        group: &mut CommitGroup,
    ) -> Result<EngineAnswer, StoreError> {
        let task = |facts: &StoryFacts| self.world.task_of_story(&facts.position.story);
        let tasks: Vec<TaskId> =
            facts.iter().filter_map(task).map(|task| task.id.clone()).collect();
        self.check_tasks(&tasks, group)?;
        let mut all = EngineAnswer::from(Answer::plain(AnswerVerdict::Noop));
        for facts in facts {
            let input = Input::StoryRead { by: by.clone(), facts: Box::new(facts.clone()) };
            let EngineAnswer { events, effects, .. } = self.decide(&input, group);
            all.events.extend(events);
            all.effects.extend(effects);
        }
        if !all.events.is_empty() || told.is_some() {
            all.answer.verdict = AnswerVerdict::Applied;
        }
        all.answer.task = told.cloned();
        all.answer.status = told.and_then(|id| self.world.task(id)).map(Task::status);
        Ok(all)
    }

    /// Applies edits that people made to these tasks, before anything is decided on them. Returns
    /// whether there were any, or a task was put on hold.
    fn check_tasks(&mut self, ids: &[TaskId], group: &mut CommitGroup) -> Result<bool, StoreError> {
        // A task changed by this group is not yet written, so its file is outdated.
        let unwritten: Vec<TaskId> =
            ids.iter().filter(|id| !group.touched.contains(*id)).cloned().collect();
        let edits = self.store.detect_edits(EditScope::Tasks(&self.world, &unwritten))?;
        let held = self.world.file_faults().len();
        self.update_file_faults();
        let has_changes = !edits.is_empty() || self.world.file_faults().len() != held;
        self.apply_edits(edits, group);
        Ok(has_changes)
    }

    fn apply_edits(&mut self, edits: Vec<FileChange>, group: &mut CommitGroup) {
        for change in edits {
            if let FileChange::Unreadable(id) = &change {
                self.world.set_unreadable(id.clone());
                group.unreadable.push(id.clone());
            }
            self.decide(&Input::FileChanged(change), group);
        }
    }

    /// Decides, and applies the events to the world at once, so that the next request sees them.
    fn decide(&mut self, input: &Input, group: &mut CommitGroup) -> EngineAnswer {
        self.decide_with_effect(input, None, group)
    }

    /// Decides, with one more effect, `first`, before the effects of the decision.
    fn decide_with_effect(
        &mut self,
        input: &Input,
        first: Option<Effect>,
        group: &mut CommitGroup,
    ) -> EngineAnswer {
        let now = self.clock.now();
        let decision = decide(&self.world, input, now);
        let Decision { answer, events, effects } = redact_decision(&self.redactor, decision);
        let mut recorded = Vec::with_capacity(events.len());
        for new_event in events {
            let (id, node) = (self.world.last_event().next(), group.asker.clone());
            let event = RecordedEvent { id, at: now, node, new_event };
            group.touched.extend(event.new_event.task.clone());
            self.world.apply(&event);
            recorded.push(event);
        }
        let event = self.world.last_event();
        let place = |place| EffectId { event, place };
        let effects = first.into_iter().chain(effects);
        let pending = (0..).zip(effects).map(|(n, effect)| PendingEffect { id: place(n), effect });
        let effects: Vec<PendingEffect> = pending.collect();
        group.pending_effects.extend_from_slice(&effects);
        group.events.extend(recorded.iter().cloned());
        EngineAnswer { answer, events: recorded, effects }
    }
}

/// How the store brought the world up to date at the start of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum TurnUpdate {
    /// By the events since the last turn.
    #[default]
    Events,
    /// By reloading the whole world.
    Reload,
}

/// The contents of one commit.
#[derive(Default)]
struct CommitGroup {
    update: TurnUpdate,
    /// The other node whose request is being decided.
    asker: Option<NodeId>,
    events: Vec<RecordedEvent>,
    touched: BTreeSet<TaskId>,
    unreadable: Vec<TaskId>,
    pending_effects: Vec<PendingEffect>,
    settled: Vec<EffectId>,
    /// Answers to other nodes, by the id of their request.
    answers: Vec<(String, String)>,
    /// Whether to commit the performed effects even if nothing else changed.
    must_settle: bool,
}

impl CommitGroup {
    fn has_restarted(&self, id: &TaskId) -> bool {
        let of = |event: &&RecordedEvent| event.new_event.task.as_ref() == Some(id);
        self.events.iter().filter(of).any(|event| event.new_event.event.starts_again())
    }
}
