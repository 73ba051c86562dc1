//! Who waits for whom, and how those they wait for stand.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::TaskId;
use crate::status::Status;
use crate::task::Task;
use crate::world::World;

/// Finds a task by its id.
pub(super) type Lookup<'a, 'w> = &'a dyn Fn(&TaskId) -> Option<&'w Task>;

/// Who waits for whom. Follows the tasks as they change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Dependencies {
    /// The tasks that name each task as a dependency.
    dependents: BTreeMap<TaskId, BTreeSet<TaskId>>,
    /// What each task names, to be taken out again when it changes.
    named: BTreeMap<TaskId, Vec<TaskId>>,
    /// How each task stands that somebody names, unless it is open.
    settled: BTreeMap<TaskId, Standing>,
}

/// How a dependency stands, and how all of a task's dependencies stand together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Standing {
    /// Done: nobody needs to wait for it.
    Done,
    /// To be done, or not known here.
    Open,
    /// Given up: who waits for it waits in vain.
    Dead,
}

impl Standing {
    fn of(task: Option<&Task>) -> Self {
        match task.map(Task::status) {
            Some(Status::Done) => Self::Done,
            Some(Status::Cancelled | Status::Deadletter) => Self::Dead,
            Some(
                Status::Backlog
                | Status::Ready
                | Status::InProgress
                | Status::Blocked
                | Status::Review,
            )
            | None => Self::Open,
        }
    }
}

impl Dependencies {
    /// Takes note of a task that is new, changed or gone, and returns the tasks for which that
    /// makes a difference.
    pub(super) fn follow(&mut self, id: &TaskId, task: Lookup<'_, '_>) -> Vec<TaskId> {
        // Looked at first: a task may name itself.
        let before = self.settled.get(id).copied();
        self.name(id, task(id).map_or(&[], |task| &task.depends_on), task);
        self.settle(id, task(id));
        if self.settled.get(id).copied() == before {
            return vec![];
        }
        self.dependents(id).cloned().collect()
    }

    fn name(&mut self, id: &TaskId, names: &[TaskId], task: Lookup<'_, '_>) {
        if self.named.get(id).map_or(&[][..], Vec::as_slice) == names {
            return;
        }
        for name in self.named.remove(id).into_iter().flatten() {
            self.forget(&name, id);
        }
        for name in names {
            self.dependents.entry(name.clone()).or_default().insert(id.clone());
            self.settle(name, task(name));
        }
        if !names.is_empty() {
            self.named.insert(id.clone(), names.to_vec());
        }
    }

    fn forget(&mut self, name: &TaskId, by: &TaskId) {
        if let Some(dependents) = self.dependents.get_mut(name) {
            dependents.remove(by);
            if dependents.is_empty() {
                self.dependents.remove(name);
                self.settled.remove(name);
            }
        }
    }

    /// Remembers how a task stands, if somebody wants to know.
    fn settle(&mut self, id: &TaskId, task: Option<&Task>) {
        match Standing::of(task) {
            standing @ (Standing::Done | Standing::Dead) if self.dependents.contains_key(id) => {
                self.settled.insert(id.clone(), standing);
            }
            Standing::Done | Standing::Dead | Standing::Open => {
                self.settled.remove(id);
            }
        }
    }

    /// Returns how the dependencies of a task stand together: dead if one is, done if all are.
    pub(super) fn standing(&self, task: &Task) -> Standing {
        let each = task.depends_on.iter();
        let stands = |id| self.settled.get(id).copied().unwrap_or(Standing::Open);
        each.map(stands).max().unwrap_or(Standing::Done)
    }

    /// Returns the tasks that name this one.
    pub(super) fn dependents(&self, id: &TaskId) -> impl Iterator<Item = &TaskId> {
        self.dependents.get(id).into_iter().flatten()
    }
}

/// Says whether a task waits for itself by way of others, all of them still open. Follows only
/// tasks that are open: what is done holds nobody back.
pub(super) fn cycle(world: &World, id: &TaskId) -> bool {
    world.task(id).is_some_and(|task| waits_for_itself(world, task))
}

/// Says the same of a task that the world may know otherwise.
pub(crate) fn waits_for_itself(world: &World, task: &Task) -> bool {
    if Standing::of(Some(task)) == Standing::Done {
        return false;
    }
    let waits = |id| world.task(id).filter(|task| Standing::of(Some(task)) != Standing::Done);
    let mut seen = BTreeSet::new();
    let mut open: Vec<&TaskId> = task.depends_on.iter().collect();
    while let Some(next) = open.pop() {
        if *next == task.id {
            return true;
        }
        if seen.insert(next)
            && let Some(task) = waits(next)
        {
            open.extend(&task.depends_on);
        }
    }
    false
}
