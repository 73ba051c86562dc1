//! Operations: an operator's commands.

use adjutant_engine::EngineRequest;
use adjutant_model::command::{InitialStatus, TaskChanges};
use adjutant_model::{Command, Priority, Status};

use super::FolderOperation;
use super::given::{BLOCKED_TASK, IN_PROGRESS_TASK, READY_TASK, REVIEW_TASK, id};
use crate::project::{add_request, operator_request};

pub(super) const ALL: &[FolderOperation] = &[
    FolderOperation::new(
        "add",
        |child| child.submit(&[add_request("One more", InitialStatus::Ready)]),
        &["applied"],
    ),
    FolderOperation::new("edit_with_body", |child| child.submit(&[edit()]), &["applied"]),
    FolderOperation::new("move_along", |child| child.submit(&[start()]), &["applied"]),
    FolderOperation::new("approve", |child| child.submit(&[approve()]), &["applied"]),
    FolderOperation::new(
        "reject_archives_the_run",
        |child| child.submit(&[reject()]),
        &["applied"],
    ),
    FolderOperation::new("cancel", |child| child.submit(&[cancel()]), &["applied"]),
    FolderOperation::new("retry_archives_the_run", |child| child.submit(&[retry()]), &["applied"]),
    FolderOperation::new("refused_command", |child| child.submit(&[refused()]), &["rejected"]),
];

fn edit() -> EngineRequest {
    let changes = TaskChanges {
        title: Some("Mend it well".to_owned()),
        priority: Some(Priority::High),
        body: Some("Mend it, and say how.\n".to_owned()),
        ..TaskChanges::default()
    };
    operator_request(Command::Edit { id: id(IN_PROGRESS_TASK), changes: Box::new(changes) })
}

fn start() -> EngineRequest {
    let to = Status::InProgress;
    operator_request(Command::Move { id: id(READY_TASK), to, reason: "start".to_owned() })
}

fn approve() -> EngineRequest {
    operator_request(Command::Approve { id: id(REVIEW_TASK), note: "Well done.".to_owned() })
}

pub(super) fn reject() -> EngineRequest {
    operator_request(Command::Reject { id: id(REVIEW_TASK), reason: "Not like this.".to_owned() })
}

fn cancel() -> EngineRequest {
    operator_request(Command::Cancel {
        id: id(IN_PROGRESS_TASK),
        reason: "Not needed any more.".to_owned(),
    })
}

fn retry() -> EngineRequest {
    operator_request(Command::Retry { id: id(BLOCKED_TASK) })
}

fn refused() -> EngineRequest {
    operator_request(Command::Approve { id: id(READY_TASK), note: String::new() })
}
