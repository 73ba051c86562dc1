//! The thread of the engine: takes what waits, does it here or has it done where it is decided, and
//! answers.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::Instant;

use adjutant_core::run::Life;
use adjutant_core::{Effect, TaskId};
use adjutant_store::{Owed, Store, StoreError, steady};

use super::gather::Gather;
use super::{Behind, Call, GROUP_MAX, Pulse, Unanswered, Waiting};
use crate::engine::{Answered, Engine, Request};
use crate::fleet::{self, Member, Question, Reply};
use crate::supervisor::was_here;
use crate::tick::Ticked;

/// The engine, and its place in a fleet if it is in one.
pub(super) struct Serving<S> {
    pub(super) engine: Engine<S>,
    pub(super) fleet: Option<(Arc<Member>, PathBuf)>,
    /// The version the engine is at, for who only wants to know.
    pub(super) version: Arc<AtomicU64>,
    /// What was heard of the others and is not yet followed.
    pub(super) behind: Arc<Behind>,
    /// What the last group was like.
    pub(super) gather: Gather,
}

/// Takes whatever waits: requests that stand together as one group, everything in order.
pub(super) fn serve<S: Store>(
    mut serving: Serving<S>,
    queue: &Receiver<Call>,
    tell: &impl Fn(),
    count: &impl Fn(Pulse),
) -> Result<(), StoreError> {
    serving.note_version();
    while let Ok(first) = queue.recv() {
        let before = serving.engine.store().version();
        let mut next = Some(first);
        while let Some(call) = next.take() {
            let (began, version) = (Instant::now(), serving.engine.store().version());
            let ticks = matches!(call, Call::Tick(..));
            next = match call {
                Call::Request(first) => serving.submit_group(first, queue),
                Call::Asked(question, answer) => serving.hear_group((question, answer), queue),
                other => {
                    serving.attend(other);
                    None
                }
            };
            if serving.engine.store().version() != version {
                count(Pulse::Committed(began.elapsed()));
            }
            if ticks {
                count(Pulse::Ticked);
            }
        }
        if serving.engine.store().version() != before {
            serving.note_version();
            tell();
        }
    }
    serving.rest()
}

impl<S: Store> Serving<S> {
    fn note_version(&mut self) {
        self.version.store(self.engine.store().version().0, Ordering::Release);
    }

    /// Submits a request with all that wait right behind it, and returns the call after them, if
    /// it was taken from the queue.
    fn submit_group(&mut self, first: Waiting, queue: &Receiver<Call>) -> Option<Call> {
        let (mut requests, mut answers) = (vec![first.request], vec![first.answer]);
        let (mut after, until) = (None, self.gather.until());
        while requests.len() < GROUP_MAX {
            match self.gather.next(queue, requests.len(), until) {
                Some(Call::Request(waiting)) => {
                    requests.push(waiting.request);
                    answers.push(waiting.answer);
                }
                // Word of the last commit must not keep those apart who wait for the next.
                Some(Call::Follow) => self.follow(),
                Some(other) => {
                    after = Some(other);
                    break;
                }
                None => break,
            }
        }
        let began = Instant::now();
        let answered = self.submit(&requests);
        self.gather.note(requests.len(), began.elapsed());
        reply(answered, &answers);
        after
    }

    /// Answers another node, with all others that wait right behind it, in one commit.
    fn hear_group(
        &mut self,
        (first, answer): (Box<Question>, SyncSender<Reply>),
        queue: &Receiver<Call>,
    ) -> Option<Call> {
        let (mut questions, mut answers) = (vec![*first], vec![answer]);
        let (mut after, until) = (None, self.gather.until());
        while questions.len() < GROUP_MAX {
            match self.gather.next(queue, questions.len(), until) {
                Some(Call::Asked(question, answer)) => {
                    questions.push(*question);
                    answers.push(answer);
                }
                Some(Call::Follow) => self.follow(),
                Some(other) => {
                    after = Some(other);
                    break;
                }
                None => break,
            }
        }
        let began = Instant::now();
        let replies = match &self.fleet {
            Some((member, _)) => fleet::hear(member, &mut self.engine, &questions),
            None => questions.iter().map(|_| Reply::NotDeciding).collect(),
        };
        self.gather.note(questions.len(), began.elapsed());
        for (reply, answer) in replies.into_iter().zip(answers) {
            let _ = answer.send(reply);
        }
        after
    }

    /// Does what is asked: here, or where it is decided.
    fn submit(&mut self, requests: &[Request]) -> Result<Vec<Answered>, StoreError> {
        let Some((member, root)) = &self.fleet else { return self.engine.submit(requests) };
        if member.decides() {
            match fleet::decide_own(member, &mut self.engine, root, requests) {
                Err(StoreError::Fenced) => {}
                other => return other,
            }
        }
        fleet::forward(member, &mut self.engine, root, requests)
    }

    fn tick(&mut self, lives: &BTreeMap<TaskId, Life>) -> Result<Ticked, StoreError> {
        let Some((member, root)) = &self.fleet else { return self.engine.tick(lives) };
        if !member.decides() {
            return fleet::greet(member, &mut self.engine, lives);
        }
        let now = steady();
        let carried = fleet::carry_own(member, &mut self.engine, root);
        let all = member.lives(lives, self.engine.world(), &self.engine.owed());
        match carried.and_then(|()| self.engine.tick(&all)) {
            // Its time was up in this very moment: another decides, or will.
            Err(StoreError::Fenced) => fleet::greet(member, &mut self.engine, lives),
            Ok(ticked) => {
                member.allow_own(now, self.engine.world());
                Ok(ticked)
            }
            Err(error) => Err(error),
        }
    }

    /// Takes in what was heard of. Most of that comes from whoever decides.
    fn follow(&mut self) {
        if self.behind.begin() > self.engine.store().version() {
            self.look();
        }
    }

    /// Takes in what others committed. What cannot be read now is read the next time.
    fn look(&mut self) {
        let _ = self.engine.follow_others();
    }

    /// Begins to decide. Where that fails it is offered again.
    fn take_over(&mut self) {
        if let Some((member, _)) = &self.fleet {
            let _ = member.begin(&mut self.engine);
        }
    }

    fn owed(&mut self) -> Result<Vec<Owed>, StoreError> {
        self.engine.committed()?;
        let mut owed = self.engine.owed();
        if let Some((member, root)) = &self.fleet {
            let world = self.engine.world();
            owed.retain(|owed| match &owed.effect {
                // Its task may be another's by now. Should that one say it is done, whoever has the
                // messages would never learn that they were taken.
                Effect::NoteTaken { task, attempt, .. } => {
                    let nobodys = || member.decides() && world.task(task).is_none();
                    was_here(root, task, *attempt) || nobodys()
                }
                _ => member.is_mine(owed, world),
            });
        }
        Ok(owed)
    }

    /// Leaves the store at rest. What was done and is not written down is done again, or found
    /// done.
    fn rest(mut self) -> Result<(), StoreError> {
        match self.fleet {
            Some(_) => self.engine.in_step(Store::rest),
            None => self.engine.rest(),
        }
    }

    /// Does what is no request. Who asked may have gone, and then nobody needs the answer.
    fn attend(&mut self, call: Call) {
        match call {
            Call::Request(_) | Call::Asked(..) => {}
            Call::Together(requests, tell) => {
                drop(tell.send(self.submit(&requests).map_err(Arc::new)));
            }
            Call::View(look) => look(self.engine.committed().map_err(unkept)),
            Call::Mirror(tell) => {
                let caught_up = self.engine.committed().map(drop).map_err(unkept);
                drop(tell.send(caught_up.map(|()| self.engine.mirror())));
            }
            Call::Files(tasks, tell) => {
                let looked = match tasks {
                    Some(tasks) => self.engine.look_at_files(&tasks),
                    None => self.engine.look_around(),
                };
                drop(tell.send(looked.map_err(Arc::new)));
            }
            Call::Tick(lives, tell) => drop(tell.send(self.tick(&lives).map_err(Arc::new))),
            Call::Owed(tell) => drop(tell.send(self.owed().map_err(unkept))),
            Call::Settle(done) => self.engine.settle_later(done),
            Call::Follow => self.follow(),
            Call::Look => self.look(),
            Call::TakeOver => self.take_over(),
            // One that fails is kept when it is due again.
            Call::Snapshot => drop(self.engine.in_step(Store::snapshot)),
            Call::GoBy(policy) => self.engine.go_by(*policy),
        }
    }
}

fn unkept(error: StoreError) -> Unanswered {
    Unanswered::Store(Arc::new(error))
}

/// Somebody who no longer waits for the answer does not need it.
fn reply(
    answered: Result<Vec<Answered>, StoreError>,
    answers: &[SyncSender<Result<Answered, Arc<StoreError>>>],
) {
    match answered {
        Ok(all) => {
            for (one, answer) in all.into_iter().zip(answers) {
                let _ = answer.send(Ok(one));
            }
        }
        Err(error) => {
            let error = Arc::new(error);
            for answer in answers {
                let _ = answer.send(Err(Arc::clone(&error)));
            }
        }
    }
}
