//! The wires are connected: a message goes through a real folder and is still there afterwards.

use adjutant_core::command::Start;
use adjutant_core::{Command, Status, Verdict};
use adjutant_testkit::Project;
use adjutant_testkit::message::completion;
use adjutant_testkit::project::{add, id_of, operator, send};

#[test]
fn what_was_applied_is_still_so_after_opening_again() {
    let project = Project::new();
    let mut first = project.engine();
    let id = id_of(&first.submit_one(add("Mend it", Start::Ready)).expect("added"));
    let to = Status::InProgress;
    let moved = operator(Command::Move { id: id.clone(), to, reason: "go".into() });
    first.submit_one(moved).expect("moved");
    let answered = first.submit_one(send(&completion(id.as_str(), "a", "done"))).expect("answered");
    assert_eq!(answered.answer.verdict, Verdict::Applied);
    first.rest().expect("at rest");
    let world = first.world().clone();
    drop(first);
    assert_eq!(*project.engine().world(), world);
    std::fs::remove_file(project.path("journal/index")).expect("an index");
    assert_eq!(*project.engine().world(), world);
}
