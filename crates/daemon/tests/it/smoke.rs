//! One message goes through a real folder and is still there after reopening.

use adjutant_model::command::InitialStatus;
use adjutant_model::{AnswerVerdict, Command, Status};
use adjutant_testkit::TestProject;
use adjutant_testkit::message::completion;
use adjutant_testkit::project::{add_request, message_request, operator_request, task_id_of};

#[test]
fn applied_message_survives_reopening() {
    let project = TestProject::new();
    let mut first = project.open_engine();
    let id =
        task_id_of(&first.submit_one(add_request("Mend it", InitialStatus::Ready)).expect("added"));
    let to = Status::InProgress;
    let moved = operator_request(Command::Move { id: id.clone(), to, reason: "go".into() });
    first.submit_one(moved).expect("moved");
    let answered =
        first.submit_one(message_request(&completion(id.as_str(), "a", "done"))).expect("answered");
    assert_eq!(answered.answer.verdict, AnswerVerdict::Applied);
    first.rest().expect("at rest");
    let world = first.world().clone();
    drop(first);
    assert_eq!(*project.open_engine().world(), world);
    std::fs::remove_file(project.path("journal/index")).expect("an index");
    assert_eq!(*project.open_engine().world(), world);
}
