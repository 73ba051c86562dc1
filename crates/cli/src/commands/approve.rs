//! `adjutant approve`: accepts work in review.

use std::process::ExitCode;

use adjutant_core::work::Merging;
use adjutant_core::{Command, Event, Verdict};
use adjutant_runtime::Answered;

use super::task::{NOTHING, give, show};
use crate::data::Data;
use crate::error::Failure;
use crate::output::{Output, clean};

/// Accept work that is in review: it is merged where the configuration says so, and done
#[derive(Debug, clap::Args)]
pub(crate) struct Approve {
    /// The task
    id: String,
    /// Anything to say about it, for the record
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    note: String,
}

impl Approve {
    pub(crate) fn run(self, data: &Data, out: &Output) -> Result<ExitCode, Failure> {
        let id = data.task_id(&self.id)?;
        let note = if self.note.is_empty() { "approved".to_owned() } else { self.note };
        let attempt = format!("cannot approve {id}");
        let command = Command::Approve { id: id.clone(), note };
        let answered = give(data, out, &attempt, command)?;
        if asks_for_merge(&answered) {
            data.catch_up()?;
        }
        let said = match data.world(out)?.task(&id).and_then(|task| task.trials.merging()) {
            Some(Merging { waits: Some(waits), .. }) => {
                format!(" (approved; its merge waits: {})", clean(waits))
            }
            Some(Merging { waits: None, .. }) => " (approved; being merged)".to_owned(),
            None if answered.answer.verdict == Verdict::Noop => NOTHING.to_owned(),
            None => String::new(),
        };
        show(data, out, &id, &said)
    }
}

fn asks_for_merge(answered: &Answered) -> bool {
    let mut events = answered.events.iter().map(|event| &event.happened.event);
    events.any(|event| matches!(event, Event::MergeRequested { .. }))
}
