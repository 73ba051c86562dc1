//! What an operator does.

use adjutant_core::command::{Changes, Start};
use adjutant_core::{Command, Priority, Status};
use adjutant_runtime::Request;

use super::Deed;
use super::given::{BLOCKED, READY, REVIEWED, WORKING, id};
use crate::project::{add, operator};

pub(super) const ALL: &[Deed] = &[
    Deed::new("add", |hand| hand.submit(&[add("One more", Start::Ready)]), &["applied"]),
    Deed::new("edit_with_body", |hand| hand.submit(&[edit()]), &["applied"]),
    Deed::new("move_along", |hand| hand.submit(&[start()]), &["applied"]),
    Deed::new("approve", |hand| hand.submit(&[approve()]), &["applied"]),
    Deed::new("reject_archives_the_run", |hand| hand.submit(&[reject()]), &["applied"]),
    Deed::new("cancel", |hand| hand.submit(&[cancel()]), &["applied"]),
    Deed::new("retry_archives_the_run", |hand| hand.submit(&[retry()]), &["applied"]),
    Deed::new("refused_command", |hand| hand.submit(&[refused()]), &["rejected"]),
];

fn edit() -> Request {
    let changes = Changes {
        title: Some("Mend it well".to_owned()),
        priority: Some(Priority::High),
        body: Some("Mend it, and say how.\n".to_owned()),
        ..Changes::default()
    };
    operator(Command::Edit { id: id(WORKING), changes: Box::new(changes) })
}

fn start() -> Request {
    let to = Status::InProgress;
    operator(Command::Move { id: id(READY), to, reason: "start".to_owned() })
}

fn approve() -> Request {
    operator(Command::Approve { id: id(REVIEWED), note: "Well done.".to_owned() })
}

pub(super) fn reject() -> Request {
    operator(Command::Reject { id: id(REVIEWED), reason: "Not like this.".to_owned() })
}

fn cancel() -> Request {
    operator(Command::Cancel { id: id(WORKING), reason: "Nobody wants it.".to_owned() })
}

fn retry() -> Request {
    operator(Command::Retry { id: id(BLOCKED) })
}

fn refused() -> Request {
    operator(Command::Approve { id: id(READY), note: String::new() })
}
