//! The world as it is committed, for those who only look: nobody waits for a disk to read it.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use adjutant_core::{Recorded, TaskId, World};

/// A copy of the world that follows what is committed. Clones show the same.
#[derive(Clone)]
pub struct Mirror {
    world: Arc<RwLock<World>>,
    watchers: Arc<Mutex<Vec<Watcher>>>,
}

/// Somebody who is told what was committed.
type Watcher = Box<dyn Fn(&[Recorded]) + Send>;

impl Mirror {
    /// Shows a world as it is.
    pub(crate) fn of(world: World) -> Self {
        Self { world: Arc::new(RwLock::new(world)), watchers: Arc::default() }
    }

    /// Looks at the world. Whoever commits waits for the end of the look, so it must be short.
    pub fn look<T>(&self, look: impl FnOnce(&World) -> T) -> T {
        look(&self.world.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Shows what was committed, and whose files cannot be read, as `committed` has it. What is
    /// alike in both is held once.
    pub(crate) fn follow(&self, committed: &World, events: &[Recorded], unreadable: &[TaskId]) {
        if events.is_empty() && unreadable.is_empty() {
            return;
        }
        let mut world = self.world.write().unwrap_or_else(PoisonError::into_inner);
        for event in events {
            world.apply(event);
        }
        for id in unreadable {
            world.set_unreadable(id.clone());
        }
        for id in events.iter().filter_map(|event| event.happened.task.as_ref()) {
            world.share(id, committed);
        }
        drop(world);
        let watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        watchers.iter().for_each(|told| told(events));
    }

    /// Has somebody told of everything that is committed from now on. It must not take long: the
    /// engine waits for it.
    pub fn watch(&self, told: impl Fn(&[Recorded]) + Send + 'static) {
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(told));
    }

    /// Shows another world, where too much has changed to be told.
    pub(crate) fn replace(&self, world: World) {
        *self.world.write().unwrap_or_else(PoisonError::into_inner) = world;
    }
}

#[cfg(test)]
mod tests {
    use adjutant_core::event::{Happened, Manner};
    use adjutant_core::{Actor, Event, EventId, Status, Task, Time};

    use super::*;

    #[test]
    fn what_is_alike_is_held_once() {
        let now = Time::from_millis(0);
        let id = |number| TaskId::numbered(now, number);
        let tasks = [1, 2].map(|number| Task::new(id(number), "Do it", &Actor::System, now));
        let mut world = World::load(tasks, EventId(1));
        let mirror = Mirror::of(world.clone());
        let (from, to) = (Status::Backlog, Status::Ready);
        let event =
            Event::TaskTransitioned { from, to, reason: String::new(), manner: Manner::Ruled };
        let happened = Happened { actor: Actor::System, task: Some(id(1)), event };
        let recorded = Recorded { id: EventId(2), at: now, happened };
        world.apply(&recorded);
        let before = mirror.look(|shown| shown.task(&id(1)).map(Task::status));
        assert_eq!(before, Some(Status::Backlog), "what is not committed is not shown");
        mirror.follow(&world, &[recorded], &[]);
        mirror.look(|shown| {
            assert_eq!(*shown, world);
            for (shown, held) in shown.tasks().zip(world.tasks()) {
                assert!(std::ptr::eq(shown, held), "{} is held twice", held.id);
            }
        });
    }
}
