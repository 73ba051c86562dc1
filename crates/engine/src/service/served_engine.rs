//! The engine that the engine thread serves: of a single folder, or of a fleet node.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use adjutant_model::run::RunLiveness;
use adjutant_model::{Effect, TaskId};
use adjutant_run_files::run_ref::was_started_here;
use adjutant_store::{FleetStore, PendingEffect, Store, StoreError, monotonic_now};

use super::FleetCall;
use crate::engine::node_request::{NodeReply, NodeRequest};
use crate::engine::{Engine, EngineAnswer};
use crate::fleet::{self, FleetMember};
use crate::prepared_request::PreparedRequest;
use crate::tick::TickOutcome;

pub(super) trait ServedEngine {
    type Store: Store;

    fn engine(&mut self) -> &mut Engine<Self::Store>;

    fn submit(&mut self, requests: &[PreparedRequest]) -> Result<Vec<EngineAnswer>, StoreError>;

    fn tick(&mut self, lives: &BTreeMap<TaskId, RunLiveness>) -> Result<TickOutcome, StoreError>;

    /// Returns the effects that this process has to perform.
    fn effects_to_perform(&mut self) -> Result<Vec<PendingEffect>, StoreError>;

    /// Answers the requests of other nodes, in one commit for all.
    fn answer_nodes(&mut self, questions: &[NodeRequest]) -> Vec<NodeReply>;

    /// Performs a call that only a fleet node gets. If it fails, it is repeated later.
    fn handle_fleet_call(&mut self, call: FleetCall);

    /// Closes the store cleanly.
    fn rest(&mut self) -> Result<(), StoreError>;
}

impl<S: Store> ServedEngine for Engine<S> {
    type Store = S;

    fn engine(&mut self) -> &mut Self {
        self
    }

    fn submit(&mut self, requests: &[PreparedRequest]) -> Result<Vec<EngineAnswer>, StoreError> {
        self.submit_prepared(requests)
    }

    fn tick(&mut self, lives: &BTreeMap<TaskId, RunLiveness>) -> Result<TickOutcome, StoreError> {
        Engine::tick(self, lives)
    }

    fn effects_to_perform(&mut self) -> Result<Vec<PendingEffect>, StoreError> {
        self.committed()?;
        Ok(self.pending_effects())
    }

    fn answer_nodes(&mut self, questions: &[NodeRequest]) -> Vec<NodeReply> {
        questions.iter().map(|_| NodeReply::NotLeader).collect()
    }

    fn handle_fleet_call(&mut self, _: FleetCall) {}

    fn rest(&mut self) -> Result<(), StoreError> {
        Engine::rest(self)
    }
}

/// The engine of a fleet node: it decides while this node leads, and asks the leader otherwise.
pub struct FleetEngine<S> {
    engine: Engine<S>,
    pub(super) member: Arc<FleetMember>,
    /// The data folder.
    root: PathBuf,
}

impl<S: FleetStore> FleetEngine<S> {
    pub fn new(engine: Engine<S>, member: Arc<FleetMember>, root: PathBuf) -> Self {
        Self { engine, member, root }
    }
}

impl<S: FleetStore> ServedEngine for FleetEngine<S> {
    type Store = S;

    fn engine(&mut self) -> &mut Engine<S> {
        &mut self.engine
    }

    fn submit(&mut self, requests: &[PreparedRequest]) -> Result<Vec<EngineAnswer>, StoreError> {
        if self.member.is_leader() {
            match fleet::perform_own(&self.member, &mut self.engine, &self.root, requests) {
                Err(StoreError::Fenced) => {}
                other => return other,
            }
        }
        fleet::forward(&self.member, &mut self.engine, &self.root, requests)
    }

    fn tick(&mut self, lives: &BTreeMap<TaskId, RunLiveness>) -> Result<TickOutcome, StoreError> {
        let Self { engine, member, root } = self;
        if !member.is_leader() {
            return fleet::report_to_leader(member, engine, lives);
        }
        let now = monotonic_now();
        let committed = fleet::commit_own_files(member, engine, root);
        let all = member.fleet_liveness(lives, engine.world(), &engine.pending_effects());
        match committed.and_then(|()| engine.tick(&all)) {
            // The lease expired at this moment: another node leads, or will.
            Err(StoreError::Fenced) => fleet::report_to_leader(member, engine, lives),
            Ok(ticked) => {
                member.grant_own_runs(now, engine.world());
                Ok(ticked)
            }
            Err(error) => Err(error),
        }
    }

    fn effects_to_perform(&mut self) -> Result<Vec<PendingEffect>, StoreError> {
        self.engine.committed()?;
        let (world, member) = (self.engine.world(), &self.member);
        let mut effects = self.engine.pending_effects();
        effects.retain(|pending| match &pending.effect {
            // The task may belong to another node by now. If that node settled the effect, the
            // node with the run's messages would never learn that they were accepted.
            Effect::NoteTaken { task, attempt, .. } => {
                let is_orphaned = || member.is_leader() && world.task(task).is_none();
                was_started_here(&self.root, task, *attempt) || is_orphaned()
            }
            _ => member.is_responsible_for(pending, world),
        });
        Ok(effects)
    }

    fn answer_nodes(&mut self, questions: &[NodeRequest]) -> Vec<NodeReply> {
        fleet::answer_nodes(&self.member, &mut self.engine, questions)
    }

    fn handle_fleet_call(&mut self, call: FleetCall) {
        let _ = match call {
            FleetCall::PollCommits => self.engine.apply_other_commits(),
            FleetCall::TakeOver => self.member.accept_leadership(&mut self.engine).map(drop),
            FleetCall::StoreJoinArchive => self.engine.with_store(FleetStore::store_join_archive),
        };
    }

    /// Effects that are not yet recorded as performed are performed again or found done.
    fn rest(&mut self) -> Result<(), StoreError> {
        self.engine.with_store(Store::checkpoint)
    }
}
