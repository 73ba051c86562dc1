//! What an engine does as one of many: follows the others, and answers them.

use std::sync::Arc;

use adjutant_core::input::Input;
use adjutant_core::{NodeId, Policy};
use adjutant_store::file::Carried;
use adjutant_store::{Company, EffectId, Store, StoreError, Version};

use super::{Answered, Engine, TRIES_MAX};
use crate::fleet::{Asked, Gate, answers_to_text};

impl<S: Store> Engine<S> {
    /// Decides only while it is this node's to decide.
    #[must_use]
    pub(crate) fn gated(mut self, gate: Gate) -> Self {
        self.gate = Some(gate);
        self
    }

    /// Goes by another policy from now on.
    pub(crate) fn go_by(&mut self, policy: Policy) {
        if *self.policy == policy {
            return;
        }
        self.policy = Arc::new(policy);
        let world = std::mem::take(&mut self.world);
        self.world = world.with_policy(Arc::clone(&self.policy));
        self.reflect(|mirror| mirror.replace(self.world.clone()));
    }

    /// Takes in what others committed.
    pub(crate) fn follow_others(&mut self) -> Result<(), StoreError> {
        self.begin_among(Company::Others)?;
        self.store.end();
        Ok(())
    }

    /// Takes in what others committed, up to this version at least.
    pub(crate) fn follow_until(&mut self, version: Version) -> Result<(), StoreError> {
        for _ in 0..TRIES_MAX {
            if self.store.version() >= version {
                return Ok(());
            }
            self.follow_others()?;
        }
        let now = self.store.version();
        Err(StoreError::Conflict { expected: version, now })
    }

    /// Says that this node decides from now on, before it decides anything.
    pub(crate) fn take_over(&mut self, node: &NodeId) -> Result<Version, StoreError> {
        self.in_turn(|engine, group| {
            engine.decide(&Input::TookOver { node: node.clone() }, group);
            Ok(())
        })?;
        Ok(self.store.version())
    }

    /// Does what several others ask for, in one commit that carries what they are answered.
    pub(crate) fn submit_asked(
        &mut self,
        asked: &[Asked<'_>],
    ) -> Result<Vec<Vec<Answered>>, StoreError> {
        self.in_turn(|engine, group| {
            let mut all = Vec::with_capacity(asked.len());
            for one in asked {
                let each = one.requests.iter().map(|request| engine.handle(request, group));
                let answers = each.collect::<Result<Vec<Answered>, StoreError>>()?;
                if answers.iter().any(|answered| !answered.events.is_empty()) {
                    group.answers.push((one.id.to_owned(), answers_to_text(&answers)));
                }
                let owed = engine.store.owed();
                let open = |id: &&EffectId| owed.iter().any(|owed| owed.id == **id);
                group.settled.extend(one.settled.iter().filter(open));
                all.push(answers);
            }
            Ok(all)
        })
    }

    /// Carries what agents of a node left to all others.
    pub(crate) fn carry(&mut self, files: &[Carried], from: &str) -> Result<(), StoreError> {
        for _ in 0..TRIES_MAX {
            self.begin()?;
            let carried = self.may_decide().and_then(|()| self.store.carry(files, from));
            self.store.end();
            match carried {
                Err(StoreError::Conflict { .. }) => {}
                other => return other.map(drop),
            }
        }
        let now = self.store.version();
        Err(StoreError::Conflict { expected: now, now })
    }

    /// Returns what was done here and is owed until whoever decides has written that down.
    pub(crate) fn unsettled(&mut self) -> Vec<EffectId> {
        let owed: Vec<EffectId> = self.store.owed().into_iter().map(|owed| owed.id).collect();
        self.done.retain(|id| owed.contains(id));
        self.done.iter().copied().collect()
    }

    /// Takes note where this node cannot write down what is decided: others may be able to.
    pub(super) fn noticed<T>(&self, done: Result<T, StoreError>) -> Result<T, StoreError> {
        if let (Some(gate), Err(StoreError::Full { .. } | StoreError::Stopped)) =
            (&self.gate, &done)
        {
            gate.fall_ill();
        }
        done
    }

    pub(super) fn may_decide(&self) -> Result<(), StoreError> {
        match &self.gate {
            Some(gate) if !gate.is_open() => Err(StoreError::Fenced),
            Some(_) | None => Ok(()),
        }
    }
}
