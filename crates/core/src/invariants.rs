//! The invariants that hold for every world.

use adjutant_model::status::Status;

use crate::world::World;
use crate::world::task_queue::TaskQueue;

/// Returns every violated invariant, in words.
pub fn find_violations(world: &World) -> Vec<String> {
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
    if *world.queue() != TaskQueue::from_tasks(world.tasks()) {
        broken.push("the queue is not what the tasks make it".to_owned());
    }
    broken
}
