//! A session ends while other requests wait for the same commit.

use adjutant_engine::Request;
use adjutant_model::command::InitialStatus;
use adjutant_model::{AnswerVerdict, Command, Status};
use adjutant_testkit::TestProject;
use adjutant_testkit::message::completion;
use adjutant_testkit::project::{add_request, message_request, operator_request, task_id_of};

#[test]
fn session_end_ignores_old_result_of_run_started_in_same_commit() {
    let project = TestProject::new();
    let mut engine = project.open_engine();
    let id = task_id_of(
        &engine.submit_one(add_request("Mend it", InitialStatus::Ready)).expect("added"),
    );
    engine.submit_one(message_request(&completion(id.as_str(), "a", "done"))).expect("answered");
    let (to, reason) = (Status::InProgress, "go".into());
    let start = operator_request(Command::Move { id: id.clone(), to, reason });
    let answers = engine.submit(&[start, Request::SessionEnd(None).into()]).expect("answers");
    let verdicts: Vec<AnswerVerdict> =
        answers.iter().map(|answered| answered.answer.verdict).collect();
    assert_eq!(verdicts, [AnswerVerdict::Applied, AnswerVerdict::Noop]);
    assert_eq!(project.status_folders_of(id.as_str()), [Status::InProgress]);
    assert!(project.exists(&format!("runs/{id}/attempts/1/run_result.json")));
}
