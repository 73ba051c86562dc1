//! A simulated daemon: the crew of the real one, with what surrounds it in a turn.

use adjutant_runtime::crew::{Crew, Give};
use adjutant_runtime::supervisor::Event;
use adjutant_runtime::{Answered, Request, Unanswered};
use adjutant_store::StoreError;

use super::desk::Desk;
use super::machine::Reach;
use super::plug::Plug;
use crate::dice::Dice;

/// The daemon, while it lives.
pub(super) struct Daemon {
    crew: Crew<Desk, Reach>,
    pub(super) desk: Desk,
    reach: Reach,
    pub(super) plug: Plug,
    /// What could not be committed, and is tried again.
    pending: Vec<Event>,
    pub(super) give: Give,
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Everything is done.
    Done,
    /// Something could not be committed, and is to be tried again soon.
    Again,
    /// The daemon has left, or was killed.
    Left,
}

impl Daemon {
    /// Starts, and finds the runs there are.
    pub(super) fn start(desk: Desk, reach: Reach, plug: Plug) -> Option<Self> {
        let mut crew = Crew::new(desk.clone(), reach.clone());
        crew.adopt_all().ok()?;
        Some(Self { crew, desk, reach, plug, pending: vec![], give: Give::Work })
    }

    /// Hears at most so much, and does everything there is to do.
    pub(super) fn turn(&mut self, dice: &mut Dice, hears_max: usize) -> Turn {
        let more = hears_max.saturating_sub(self.pending.len());
        self.pending.extend(std::iter::from_fn(|| self.reach.next_event(dice)).take(more));
        if let Err(error) = self.crew.hear(&self.pending) {
            return again(&error);
        }
        self.pending.clear();
        match self.crew.work(self.give) {
            Ok(()) if self.give == Give::Nothing && self.crew.is_empty() => Turn::Left,
            Ok(()) => Turn::Done,
            Err(error) => again(&error),
        }
    }

    /// Somebody asks through its door.
    pub(super) fn ask(&self, request: Request) -> Result<Answered, Unanswered> {
        let mut answers = adjutant_runtime::crew::Desk::ask(&self.desk, vec![request])?;
        answers.pop().ok_or(Unanswered::Stopped)
    }

    /// Somebody tells it to leave: with what is to end, or when all have ended.
    pub(super) fn leave(&mut self, dice: &mut Dice) {
        self.give = Give::Nothing;
        if dice.once_in(2) {
            let _ = self.crew.stop_all();
        }
    }

    /// Does one tick, as the command does where no daemon is.
    pub(super) fn once(desk: Desk, reach: &Reach, dice: &mut Dice) {
        let mut crew = Crew::new(desk, reach.clone());
        // Whatever goes wrong is found by whoever comes next.
        let _ = crew.once(|| reach.next_event(dice), || {});
    }
}

fn again(error: &Unanswered) -> Turn {
    match error {
        Unanswered::Store(error) if !matches!(**error, StoreError::Stopped) => Turn::Again,
        Unanswered::Store(_) | Unanswered::Stopped => Turn::Left,
    }
}
