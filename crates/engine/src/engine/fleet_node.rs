//! The engine's part in a fleet: it follows other nodes' commits, and answers their requests.

use std::sync::Arc;

use adjutant_core::input::Input;
use adjutant_core::protocols::aof::IncomingText;
use adjutant_core::schedule::{foreign_report, may_settle};
use adjutant_model::answer::Reason;
use adjutant_model::request::RefusedAccess;
use adjutant_model::{Actor, NodeId, Policy};
use adjutant_store::replicated_file::ReplicatedFile;
use adjutant_store::{EffectId, FleetStore, PendingEffect, Store, StoreError, StoreVersion};

use super::leader_gate::LeaderGate;
use super::node_request::{NodeRequestRef, answers_to_text};
use super::{CommitGroup, Engine, EngineAnswer, EngineRequest, TRIES_MAX};
use crate::prepared_request::parse_texts;

impl<S: FleetStore> Engine<S> {
    /// Allows decisions only while the gate is open, that is, while this node leads. Then other
    /// nodes rarely commit and announce it, so the store reads their commits only after an
    /// announcement or a refused commit.
    #[must_use]
    pub fn with_gate(mut self, gate: LeaderGate) -> Self {
        let leader = gate.clone();
        self.store.set_leader_check(Box::new(move || leader.is_open()));
        self.leader_gate = Some(gate);
        self
    }

    /// Applies the commits of other nodes.
    pub fn apply_other_commits(&mut self) -> Result<(), StoreError> {
        self.store.expect_other_commits();
        self.begin_turn()?;
        self.store.end();
        Ok(())
    }

    /// Applies the commits of other nodes, at least up to `version`.
    pub fn apply_commits_until(&mut self, version: StoreVersion) -> Result<(), StoreError> {
        for _ in 0..TRIES_MAX {
            if self.store.version() >= version {
                return Ok(());
            }
            self.apply_other_commits()?;
        }
        let now = self.store.version();
        Err(StoreError::Conflict { expected: version, now })
    }

    /// Commits that this node leads now, before it decides anything.
    pub fn take_over(&mut self, node: &NodeId) -> Result<StoreVersion, StoreError> {
        self.in_turn(|engine, group| {
            engine.decide(&Input::LeaderChanged { node: node.clone() }, group);
            Ok(())
        })?;
        Ok(self.store.version())
    }

    /// Performs the requests of several nodes in one commit, which also stores the answers.
    pub fn submit_node_requests(
        &mut self,
        asked: &[NodeRequestRef<'_>],
    ) -> Result<Vec<Vec<EngineAnswer>>, StoreError> {
        // The texts were parsed on the other node, but only what this node parses is trusted.
        let texts: Vec<_> = asked.iter().map(|one| parse_texts(one.requests)).collect();
        self.in_turn(|engine, group| {
            let mut all = Vec::with_capacity(asked.len());
            for (one, texts) in asked.iter().zip(&texts) {
                group.asker = Some(one.node.clone());
                let parsed = one.requests.iter().zip(texts);
                let each =
                    parsed.map(|(request, text)| engine.handle_of(one.node, request, text, group));
                let answers = each.collect::<Result<Vec<EngineAnswer>, StoreError>>()?;
                group.asker = None;
                if answers.iter().any(|answered| !answered.events.is_empty()) {
                    group.answers.push((one.id.to_owned(), answers_to_text(&answers)));
                }
                let pending = engine.store.pending_effects();
                let may =
                    |pending: &PendingEffect| may_settle(&pending.effect, one.node, &engine.world);
                let open = |id: &&EffectId| {
                    pending.iter().any(|pending| pending.id == **id && may(pending))
                };
                group.settled.extend(one.settled.iter().filter(open));
                all.push(answers);
            }
            Ok(all)
        })
    }

    /// Handles the request of a node, unless it reports on a run of another node.
    fn handle_of(
        &mut self,
        node: &NodeId,
        request: &EngineRequest,
        text: &IncomingText,
        group: &mut CommitGroup,
    ) -> Result<EngineAnswer, StoreError> {
        let Some(task) = foreign_report(&self.world, node, &request.request) else {
            return self.handle(request, text, group);
        };
        let refused = RefusedAccess {
            by: Actor::System,
            task: Some(task.clone()),
            reason: Reason::NotYourTask,
            detail: format!("node {node} reports on a run of another node"),
            count: 1,
        };
        Ok(self.decide(&Input::AccessRefused(refused), group))
    }

    /// Commits files that a node's agents left, so that all nodes get them.
    pub fn commit_files(&mut self, files: &[ReplicatedFile], from: &str) -> Result<(), StoreError> {
        for _ in 0..TRIES_MAX {
            self.begin_turn()?;
            let carried =
                self.ensure_may_decide().and_then(|()| self.store.replicate_files(files, from));
            self.store.end();
            match carried {
                Err(StoreError::Conflict { .. }) => {}
                other => return other.map(drop),
            }
        }
        let now = self.store.version();
        Err(StoreError::Conflict { expected: now, now })
    }

    /// Returns the effects performed here that the leader has not yet recorded as performed.
    pub fn unreported_effects(&mut self) -> Vec<EffectId> {
        let pending: Vec<EffectId> =
            self.store.pending_effects().into_iter().map(|pending| pending.id).collect();
        self.performed.retain(|id| pending.contains(id));
        self.performed.iter().copied().collect()
    }
}

impl<S: Store> Engine<S> {
    /// Replaces the policy. Does nothing if it is the same.
    pub fn set_policy(&mut self, policy: Policy) {
        if *self.policy == policy {
            return;
        }
        self.policy = Arc::new(policy);
        let world = std::mem::take(&mut self.world);
        self.world = world.with_policy(Arc::clone(&self.policy));
        self.update_snapshot(|snapshot| snapshot.replace(self.world.clone()));
    }

    /// Stops leading for a while if this node cannot write: other nodes may be able to.
    pub(super) fn note_write_failure<T>(
        &self,
        done: Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if let (Some(gate), Err(StoreError::Full { .. } | StoreError::Stopped)) =
            (&self.leader_gate, &done)
        {
            gate.block_for_write_failure();
        }
        done
    }

    pub(super) fn ensure_may_decide(&self) -> Result<(), StoreError> {
        match &self.leader_gate {
            Some(gate) if !gate.is_open() => Err(StoreError::Fenced),
            Some(_) | None => Ok(()),
        }
    }
}
