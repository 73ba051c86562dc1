//! A read-only copy of the committed world, so that readers never wait for the disk.

use std::collections::BTreeMap;
use std::sync::Arc;

use adjutant_core::World;
use adjutant_core::world::file_fault::FileFault;
use adjutant_model::{RecordedEvent, TaskId};
use parking_lot::{Mutex, RwLock};

/// A copy of the world that follows commits. Clones share it.
#[derive(Clone)]
pub struct WorldSnapshot {
    world: Arc<RwLock<World>>,
    watchers: Arc<Mutex<Vec<CommitWatcher>>>,
}

type CommitWatcher = Box<dyn Fn(&[RecordedEvent]) + Send>;

impl WorldSnapshot {
    pub fn new(world: World) -> Self {
        Self { world: Arc::new(RwLock::new(world)), watchers: Arc::default() }
    }

    /// Calls `look` with the world. A commit waits until it returns, so it must be short.
    pub fn read<T>(&self, look: impl FnOnce(&World) -> T) -> T {
        look(&self.world.read())
    }

    /// Applies committed events and marks tasks with unreadable files. `committed` is the engine's
    /// world; tasks that are equal in both share memory.
    pub fn apply_commit(&self, committed: &World, events: &[RecordedEvent], unreadable: &[TaskId]) {
        if events.is_empty() && unreadable.is_empty() {
            return;
        }
        let mut world = self.world.write();
        for event in events {
            world.apply(event);
        }
        for id in unreadable {
            world.set_unreadable(id.clone());
        }
        for id in events.iter().filter_map(|event| event.new_event.task.as_ref()) {
            world.share_task(id, committed);
        }
        drop(world);
        let watchers = self.watchers.lock();
        watchers.iter().for_each(|listener| listener(events));
    }

    /// Sets the tasks that are on hold.
    pub fn set_file_faults(&self, faults: BTreeMap<TaskId, FileFault>) {
        self.world.write().set_file_faults(faults);
    }

    /// Calls `listener` with the events of every later commit. It must be fast: the
    /// engine waits for it.
    pub fn on_commit(&self, listener: impl Fn(&[RecordedEvent]) + Send + 'static) {
        self.watchers.lock().push(Box::new(listener));
    }

    /// Replaces the world after a reload or a policy change.
    pub fn replace(&self, world: World) {
        *self.world.write() = world;
    }
}

#[cfg(test)]
mod tests {
    use adjutant_model::event::{NewEvent, TransitionCause};
    use adjutant_model::{Actor, Event, EventId, Status, Task, Time};

    use super::*;

    #[test]
    fn snapshot_shares_memory_with_committed_world() {
        let now = Time::from_millis(0);
        let id = |number| TaskId::numbered(now, number);
        let tasks = [1, 2].map(|number| Task::new(id(number), "Do it", &Actor::System, now));
        let mut world = World::load(tasks, EventId(1));
        let snapshot = WorldSnapshot::new(world.clone());
        let (from, to) = (Status::Backlog, Status::Ready);
        let event = Event::TaskTransitioned {
            from,
            to,
            reason: String::new(),
            manner: TransitionCause::Ruled,
        };
        let new_event = NewEvent { actor: Actor::System, task: Some(id(1)), event };
        let recorded = RecordedEvent { id: EventId(2), at: now, node: None, new_event };
        world.apply(&recorded);
        let before = snapshot.read(|shown| shown.task(&id(1)).map(Task::status));
        assert_eq!(before, Some(Status::Backlog), "what is not committed is not shown");
        snapshot.apply_commit(&world, &[recorded], &[]);
        snapshot.read(|shown| {
            assert_eq!(*shown, world);
            for (shown, held) in shown.tasks().zip(world.tasks()) {
                assert!(std::ptr::eq(shown, held), "{} is held twice", held.id);
            }
        });
    }
}
