//! The dependency graph between tasks, and the state of each dependency.

use std::collections::{BTreeMap, BTreeSet};

use adjutant_model::status::Status;
use adjutant_model::task::Task;
use adjutant_model::task_id::TaskId;

use crate::world::World;

pub(crate) type TaskLookup<'a, 'w> = &'a dyn Fn(&TaskId) -> Option<&'w Task>;

/// The dependency graph, updated as tasks change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct DependencyGraph {
    /// The tasks that name each task as a dependency.
    dependents: BTreeMap<TaskId, BTreeSet<TaskId>>,
    /// The dependencies of each task when it was last seen, to remove them when the task changes.
    dependencies: BTreeMap<TaskId, Vec<TaskId>>,
    /// The tasks that others depend on and that are done or dead; open tasks are absent.
    finished: BTreeMap<TaskId, DependencyState>,
}

/// The state of one dependency, or of all dependencies of a task together: the highest one counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DependencyState {
    Done,
    /// Not finished, or not known to this world.
    Open,
    /// Cancelled or dead-lettered: tasks that depend on it can never start.
    Dead,
}

impl DependencyState {
    fn from_task(task: Option<&Task>) -> Self {
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

impl DependencyGraph {
    /// Updates the graph for a task that is new, changed or gone. Returns the dependents whose
    /// dependency state may have changed.
    pub(crate) fn update(&mut self, id: &TaskId, task: TaskLookup<'_, '_>) -> Vec<TaskId> {
        // Read before the update: a task may depend on itself.
        let before = self.finished.get(id).copied();
        self.set_dependencies(id, task(id).map_or(&[], |task| &task.depends_on), task);
        self.store_state(id, task(id));
        if self.finished.get(id).copied() == before {
            return vec![];
        }
        self.dependents(id).cloned().collect()
    }

    fn set_dependencies(&mut self, id: &TaskId, names: &[TaskId], task: TaskLookup<'_, '_>) {
        if self.dependencies.get(id).map_or(&[][..], Vec::as_slice) == names {
            return;
        }
        for name in self.dependencies.remove(id).into_iter().flatten() {
            self.remove_dependent(&name, id);
        }
        for name in names {
            self.dependents.entry(name.clone()).or_default().insert(id.clone());
            self.store_state(name, task(name));
        }
        if !names.is_empty() {
            self.dependencies.insert(id.clone(), names.to_vec());
        }
    }

    fn remove_dependent(&mut self, name: &TaskId, by: &TaskId) {
        if let Some(dependents) = self.dependents.get_mut(name) {
            dependents.remove(by);
            if dependents.is_empty() {
                self.dependents.remove(name);
                self.finished.remove(name);
            }
        }
    }

    /// Remembers the state of a task, if any task depends on it.
    fn store_state(&mut self, id: &TaskId, task: Option<&Task>) {
        match DependencyState::from_task(task) {
            standing @ (DependencyState::Done | DependencyState::Dead)
                if self.dependents.contains_key(id) =>
            {
                self.finished.insert(id.clone(), standing);
            }
            DependencyState::Done | DependencyState::Dead | DependencyState::Open => {
                self.finished.remove(id);
            }
        }
    }

    /// Returns the combined state of a task's dependencies: dead if one is dead, done if
    /// all are done.
    pub(crate) fn combined_state(&self, task: &Task) -> DependencyState {
        let each = task.depends_on.iter();
        let stands = |id| self.finished.get(id).copied().unwrap_or(DependencyState::Open);
        each.map(stands).max().unwrap_or(DependencyState::Done)
    }

    pub(crate) fn dependents(&self, id: &TaskId) -> impl Iterator<Item = &TaskId> {
        self.dependents.get(id).into_iter().flatten()
    }
}

/// Returns whether an open task depends on itself through other open tasks. The search does not
/// follow finished tasks, because they hold back no other task.
pub(crate) fn is_in_cycle(world: &World, id: &TaskId) -> bool {
    world.task(id).is_some_and(|task| depends_on_itself(world, task))
}

/// Like [`is_in_cycle`], for a version of the task that need not be in the world yet.
pub(crate) fn depends_on_itself(world: &World, task: &Task) -> bool {
    if DependencyState::from_task(Some(task)) == DependencyState::Done {
        return false;
    }
    let waits = |id| {
        world
            .task(id)
            .filter(|task| DependencyState::from_task(Some(task)) != DependencyState::Done)
    };
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
