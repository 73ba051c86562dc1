//! What must hold of every world, whatever happened.

use crate::schedule::Queue;
use crate::status::Status;
use crate::world::World;

/// Returns everything about the world that must never be so.
pub fn broken(world: &World) -> Vec<String> {
    let mut broken = Vec::new();
    let listed: usize = Status::ALL.into_iter().map(|status| world.count(status)).sum();
    if listed != world.tasks().len() {
        broken.push(format!("{listed} tasks listed by status, {} known", world.tasks().len()));
    }
    for status in Status::ALL {
        let stray = world.with_status(status).filter(|task| task.status() != status);
        broken.extend(stray.map(|task| format!("{} is listed as {status}", task.id)));
    }
    for task in world.tasks() {
        if world.unreadable().contains(&task.id) {
            broken.push(format!("{} is known and unreadable at once", task.id));
        }
        if let (Some(lease), Some(last)) = (task.lease(), &task.last_run)
            && lease.fence < last.fence
        {
            broken.push(format!("{} is leased under an older fence", task.id));
        }
    }
    if *world.queue() != Queue::of(world.tasks()) {
        broken.push("the queue is not what the tasks make it".to_owned());
    }
    broken
}
