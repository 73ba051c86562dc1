//! A session ends while other requests wait for the same commit.

use adjutant_core::command::Start;
use adjutant_core::{Command, Status, Verdict};
use adjutant_runtime::Request;
use adjutant_testkit::Project;
use adjutant_testkit::message::completion;
use adjutant_testkit::project::{add, id_of, operator, send};

#[test]
fn work_that_starts_in_the_same_commit_has_no_result_yet() {
    let project = Project::new();
    let mut engine = project.engine();
    let id = id_of(&engine.submit_one(add("Mend it", Start::Ready)).expect("added"));
    engine.submit_one(send(&completion(id.as_str(), "a", "done"))).expect("answered");
    let (to, reason) = (Status::InProgress, "go".into());
    let start = operator(Command::Move { id: id.clone(), to, reason });
    let answers = engine.submit(&[start, Request::SessionEnd(None)]).expect("answers");
    let verdicts: Vec<Verdict> = answers.iter().map(|answered| answered.answer.verdict).collect();
    assert_eq!(verdicts, [Verdict::Applied, Verdict::Noop]);
    assert_eq!(project.folders_of(id.as_str()), [Status::InProgress]);
    assert!(project.has(&format!("runs/{id}/attempts/1/run_result.json")));
}
