//! What came and could not be committed yet, on a full disk say: kept until it can.

use std::collections::BTreeSet;

use adjutant_core::TaskId;

use super::Crew;
use crate::service::{Client, Unanswered};
use crate::supervisor::Event;

/// What is still to be taken in. It stays short: while something waits, no more is let in.
#[derive(Default)]
pub(super) struct Backlog {
    /// What runs did, in order.
    runs: Vec<Event>,
    files: Files,
    /// Whether all runs are still to be stopped.
    stops: bool,
}

/// Files to look at.
#[derive(Default)]
enum Files {
    #[default]
    None,
    Of(BTreeSet<TaskId>),
    All,
}

impl Backlog {
    /// Says whether nothing of what runs did is left.
    pub(super) fn has_heard_all(&self) -> bool {
        self.runs.is_empty()
    }

    /// Returns how much of what runs did is left.
    pub(super) fn heard(&self) -> usize {
        self.runs.len()
    }

    /// Adds what a run did.
    pub(super) fn hear(&mut self, event: Event) {
        self.runs.push(event);
    }

    /// Adds files of tasks that may have changed; none stands for all.
    pub(super) fn look_at(&mut self, tasks: Option<Vec<TaskId>>) {
        self.files = match (std::mem::take(&mut self.files), tasks) {
            (Files::All, _) | (_, None) => Files::All,
            (Files::None, Some(tasks)) => Files::Of(tasks.into_iter().collect()),
            (Files::Of(before), Some(tasks)) => {
                Files::Of(before.into_iter().chain(tasks).collect())
            }
        };
    }

    /// Adds that all runs are to be stopped.
    pub(super) fn stop_all(&mut self) {
        self.stops = true;
    }

    /// Takes in as much as can be.
    pub(super) fn work_off(&mut self, client: &Client, crew: &mut Crew) -> Result<(), Unanswered> {
        if self.stops {
            crew.stop_all()?;
            self.stops = false;
        }
        crew.hear(&self.runs)?;
        self.runs.clear();
        match &self.files {
            Files::None => {}
            Files::Of(tasks) => client.look_at_files(Some(tasks.iter().cloned().collect()))?,
            Files::All => client.look_at_files(None)?,
        }
        self.files = Files::None;
        Ok(())
    }
}
