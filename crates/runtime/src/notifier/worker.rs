//! Delivers what one rule owes, one letter after the other, in the order of the record.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use adjutant_core::input::Told;
use adjutant_core::notice::{self, Failed, Notice, Rule, Standing, Turn};
use adjutant_store::EffectId;

use super::letter::{Item, Letter};
use super::shared::Shared;
use super::target::{Target, Tried};
use super::{Waiting, notified};
use crate::clock::{Clock, SystemClock};
use crate::tick::jitter;

/// How long to wait before what could not be committed is tried again.
const PAUSE: Duration = Duration::from_millis(500);

pub(super) struct Worker {
    rule: Rule,
    target: Target,
    mark: String,
    shared: Arc<Shared>,
}

/// What is remembered from one letter to the next.
#[derive(Default)]
struct Memory {
    standing: Standing,
    tries: BTreeMap<EffectId, u32>,
    /// What is over and may still be shown as owed.
    over: Vec<EffectId>,
}

impl Worker {
    pub(super) fn new(rule: Rule, target: Target, mark: String, shared: Arc<Shared>) -> Self {
        Self { rule, target, mark, shared }
    }

    pub(super) fn work(&self) {
        self.target.end_strays();
        let mut memory = Memory::default();
        while let Some((look, waiting)) = self.shared.seen(&self.rule.name) {
            let waiting = memory.still(waiting);
            let notices: Vec<Notice> = waiting.iter().map(|(_, notice)| notice.clone()).collect();
            let now = SystemClock.now();
            match notice::next(&self.rule, &notices, memory.standing, now) {
                Turn::Nothing => self.shared.rest(&self.rule.name, look, Duration::MAX),
                Turn::Wait(until) => {
                    let left = until.as_millis().saturating_sub(now.as_millis());
                    let left = Duration::from_millis(u64::try_from(left).unwrap_or(0).max(1));
                    self.shared.rest(&self.rule.name, look, left);
                }
                Turn::Send(places) => {
                    self.shared.begin(&self.rule.name);
                    self.send(&mut memory, &waiting, &notices, &places);
                }
            }
        }
    }

    fn send(&self, memory: &mut Memory, waiting: &Waiting, notices: &[Notice], places: &[usize]) {
        let chosen: Waiting = places.iter().map(|place| waiting[*place].clone()).collect();
        for (id, _) in &chosen {
            *memory.tries.entry(*id).or_default() += 1;
        }
        match self.target.send(&self.letter(&chosen)) {
            Tried::Taken => {
                memory.standing.took();
                self.settle(memory, &chosen, &Told::Sent);
            }
            // The target is well: it is this one that it does not take.
            Tried::Never(why) => self.settle(memory, &chosen, &Told::GivenUp(why)),
            Tried::Later { why, after } => {
                let now = SystemClock.now();
                let asked = after.map(|after| i64::try_from(after.as_millis()).unwrap_or(i64::MAX));
                if memory.standing.failed(&self.rule, asked, jitter(), now) == Failed::GiveUp {
                    let due = notice::due(&self.rule, notices, now);
                    let all: Waiting = due.iter().map(|place| waiting[*place].clone()).collect();
                    self.settle(memory, &all, &Told::GivenUp(why));
                }
            }
        }
    }

    fn letter(&self, chosen: &Waiting) -> Letter {
        let id = |id: &EffectId| format!("{}-{}-{}", self.mark, id.event.0, id.place);
        let item = |(effect, notice): &(EffectId, Notice)| Item::new(id(effect), notice.clone());
        let first = chosen.first().map_or(String::new(), |(effect, _)| id(effect));
        let id = if chosen.len() > 1 { format!("{first}+{}", chosen.len() - 1) } else { first };
        Letter { id, items: chosen.iter().map(item).collect() }
    }

    /// Commits what came of some, and that they are not owed any more. Nothing else is delivered
    /// before that is durable: what is not would be told again.
    fn settle(&self, memory: &mut Memory, some: &Waiting, told: &Told) {
        let request = |(done, of): &(EffectId, Notice)| {
            let tries = memory.tries.get(done).copied().unwrap_or(0);
            notified(*done, &self.rule.name, self.target.word(), of, tries, told.clone())
        };
        let requests: Vec<_> = some.iter().map(request).collect();
        while let Some(client) = self.shared.client() {
            if client.ask_all(requests.clone()).is_ok() {
                break;
            }
            drop(client);
            if self.shared.is_stopped() {
                return;
            }
            thread::sleep(PAUSE);
        }
        for (id, _) in some {
            memory.tries.remove(id);
            memory.over.push(*id);
        }
    }
}

impl Memory {
    /// Returns what is not over of what is shown as owed.
    fn still(&mut self, mut waiting: Waiting) -> Waiting {
        self.over.retain(|over| waiting.iter().any(|(id, _)| id == over));
        waiting.retain(|(id, _)| !self.over.contains(id));
        waiting
    }
}
