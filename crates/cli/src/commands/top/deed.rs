//! What a person can do from here: a command, and what came of it in a line.

use adjutant_core::{Command, TaskId};
use adjutant_runtime::Request;

use super::state::Said;
use crate::data::{Data, accepted};
use crate::error::Failure;
use crate::output::{Output, clean};

/// Something to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Deed {
    command: Command,
    attempt: String,
    done: String,
}

impl Deed {
    pub(super) fn approve(id: TaskId) -> Self {
        let (attempt, done) = (format!("cannot approve {id}"), format!("{id} is approved"));
        Self { command: Command::Approve { id, note: "approved".to_owned() }, attempt, done }
    }

    pub(super) fn reject(id: TaskId, reason: String) -> Self {
        let (attempt, done) = (format!("cannot reject {id}"), format!("{id} is sent back"));
        Self { command: Command::Reject { id, reason }, attempt, done }
    }

    pub(super) fn answer(id: TaskId, text: String) -> Self {
        let (attempt, done) = (format!("cannot answer {id}"), format!("{id} is answered"));
        Self { command: Command::Answer { id, text }, attempt, done }
    }

    pub(super) fn retry(id: TaskId) -> Self {
        let (attempt, done) = (format!("cannot try {id} again"), format!("{id} is tried again"));
        Self { command: Command::Retry { id }, attempt, done }
    }

    /// Does it, and says what came of it.
    pub(super) fn done(self, data: &Data) -> Said {
        let Self { command, attempt, done } = self;
        match submit(data, command, &attempt) {
            Ok(()) => Said { done: true, text: done },
            Err(failure) => Said { done: false, text: clean(&failure.in_one_line()) },
        }
    }
}

fn submit(data: &Data, command: Command, attempt: &str) -> Result<(), Failure> {
    let by = data.caller();
    let answered = data.submit(Request::Command { by, command }, &Output::new(true))?;
    accepted(answered, attempt).map(drop)
}
