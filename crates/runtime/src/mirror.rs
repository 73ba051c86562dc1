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

    /// Shows what was committed, and whose files cannot be read.
    pub(crate) fn follow(&self, events: &[Recorded], unreadable: &[TaskId]) {
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
