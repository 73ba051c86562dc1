//! The world as it is committed, for those who only look: nobody waits for a disk to read it.

use std::sync::{Arc, PoisonError, RwLock};

use adjutant_core::{Recorded, TaskId, World};

/// A copy of the world that follows what is committed. Clones show the same.
#[derive(Clone)]
pub struct Mirror(Arc<RwLock<World>>);

impl Mirror {
    /// Shows a world as it is.
    pub(crate) fn of(world: World) -> Self {
        Self(Arc::new(RwLock::new(world)))
    }

    /// Looks at the world. Whoever commits waits for the end of the look, so it must be short.
    pub fn look<T>(&self, look: impl FnOnce(&World) -> T) -> T {
        look(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Shows what was committed, and whose files cannot be read.
    pub(crate) fn follow(&self, events: &[Recorded], unreadable: &[TaskId]) {
        if events.is_empty() && unreadable.is_empty() {
            return;
        }
        let mut world = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for event in events {
            world.apply(event);
        }
        for id in unreadable {
            world.set_unreadable(id.clone());
        }
    }

    /// Shows another world, where too much has changed to be told.
    pub(crate) fn replace(&self, world: World) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = world;
    }
}
