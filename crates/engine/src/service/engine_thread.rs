//! The engine thread: takes queued calls, performs them, and answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::Instant;

use adjutant_store::{Store, StoreError, StoreVersion};

use super::group_timing::GroupTiming;
use super::served_engine::ServedEngine;
use super::{
    AnnouncedCommits, EngineActivity, EngineCall, EngineError, FleetCall, GROUP_MAX, QueuedRequest,
};
use crate::engine::EngineAnswer;
use crate::engine::node_request::{NodeReply, NodeRequest};

pub(super) struct EngineThread<E> {
    pub(super) served: E,
    /// The version of the engine's last commit, for readers in other threads.
    pub(super) version: Arc<AtomicU64>,
    /// Announced commits that are not followed yet.
    pub(super) announced: Arc<AnnouncedCommits>,
    pub(super) group_timing: GroupTiming,
}

/// Processes the queue in order; adjacent requests form one group with one commit.
pub(super) fn serve<E: ServedEngine>(
    mut serving: EngineThread<E>,
    queue: &Receiver<EngineCall>,
    on_commit: &impl Fn(),
    count: &impl Fn(EngineActivity),
) -> Result<(), StoreError> {
    serving.note_version();
    while let Ok(first) = queue.recv() {
        let before = serving.store_version();
        let mut next = Some(first);
        while let Some(call) = next.take() {
            let (began, version) = (Instant::now(), serving.store_version());
            let ticks = matches!(call, EngineCall::Tick(..));
            next = match call {
                EngineCall::Request(first) => serving.submit_group(first, queue),
                EngineCall::NodeRequest(question, answer) => {
                    serving.answer_group((question, answer), queue)
                }
                other => {
                    serving.handle_call(other);
                    None
                }
            };
            if serving.store_version() != version {
                count(EngineActivity::Committed(began.elapsed()));
            }
            if ticks {
                count(EngineActivity::Ticked);
            }
        }
        if serving.store_version() != before {
            serving.note_version();
            on_commit();
        }
    }
    serving.served.rest()
}

impl<E: ServedEngine> EngineThread<E> {
    fn store_version(&mut self) -> StoreVersion {
        self.served.engine().store().version()
    }

    fn note_version(&mut self) {
        let version = self.store_version();
        self.version.store(version.0, Ordering::Release);
    }

    /// Submits a request with all that wait right behind it. Returns the next call that was taken
    /// from the queue but does not belong to the group.
    fn submit_group(
        &mut self,
        first: QueuedRequest,
        queue: &Receiver<EngineCall>,
    ) -> Option<EngineCall> {
        let (mut requests, mut answers) = (vec![*first.request], vec![first.answer]);
        let (mut after, until) = (None, self.group_timing.deadline());
        while requests.len() < GROUP_MAX {
            match self.group_timing.next_call(queue, requests.len(), until) {
                Some(EngineCall::Request(waiting)) => {
                    requests.push(*waiting.request);
                    answers.push(waiting.answer);
                }
                // An announced commit must not split the group of requests that wait
                // for the next commit.
                Some(EngineCall::FollowAnnounced) => self.follow_announced(),
                Some(other) => {
                    after = Some(other);
                    break;
                }
                None => break,
            }
        }
        let began = Instant::now();
        let answered = self.served.submit(&requests);
        self.group_timing.record(requests.len(), began.elapsed());
        send_answers(answered, &answers);
        after
    }

    /// Answers another node, with all other node requests that wait right behind it, in one commit.
    fn answer_group(
        &mut self,
        (first, answer): (Box<NodeRequest>, SyncSender<NodeReply>),
        queue: &Receiver<EngineCall>,
    ) -> Option<EngineCall> {
        let (mut questions, mut answers) = (vec![*first], vec![answer]);
        let (mut after, until) = (None, self.group_timing.deadline());
        while questions.len() < GROUP_MAX {
            match self.group_timing.next_call(queue, questions.len(), until) {
                Some(EngineCall::NodeRequest(question, answer)) => {
                    questions.push(*question);
                    answers.push(answer);
                }
                Some(EngineCall::FollowAnnounced) => self.follow_announced(),
                Some(other) => {
                    after = Some(other);
                    break;
                }
                None => break,
            }
        }
        let began = Instant::now();
        let replies = self.served.answer_nodes(&questions);
        self.group_timing.record(questions.len(), began.elapsed());
        for (reply, answer) in replies.into_iter().zip(answers) {
            let _ = answer.send(reply);
        }
        after
    }

    /// Applies announced commits, most of which come from the leader.
    fn follow_announced(&mut self) {
        if self.announced.take_target() > self.store_version() {
            self.served.handle_fleet_call(FleetCall::PollCommits);
        }
    }

    /// Performs a call that is not a request. The caller may have gone, and then needs no answer.
    fn handle_call(&mut self, call: EngineCall) {
        match call {
            EngineCall::Request(_) | EngineCall::NodeRequest(..) => {}
            EngineCall::RequestBatch(requests, answer) => {
                drop(answer.send(self.served.submit(&requests).map_err(Arc::new)));
            }
            EngineCall::ReadWorld(read) => {
                read(self.served.engine().committed().map_err(to_engine_error));
            }
            EngineCall::WorldSnapshot(answer) => {
                let engine = self.served.engine();
                let caught_up = engine.committed().map(drop).map_err(to_engine_error);
                drop(answer.send(caught_up.map(|()| engine.world_snapshot())));
            }
            EngineCall::CheckFiles(tasks, answer) => {
                let checked = match tasks {
                    Some(tasks) => self.served.engine().check_task_files(&tasks),
                    None => self.served.engine().check_all_files(),
                };
                drop(answer.send(checked.map_err(Arc::new)));
            }
            EngineCall::Tick(lives, answer) => {
                drop(answer.send(self.served.tick(&lives).map_err(Arc::new)));
            }
            EngineCall::PendingEffects(answer) => {
                drop(answer.send(self.served.effects_to_perform().map_err(to_engine_error)));
            }
            EngineCall::Settle(done) => self.served.engine().settle_later(done),
            EngineCall::FollowAnnounced => self.follow_announced(),
            EngineCall::Fleet(call) => self.served.handle_fleet_call(call),
            EngineCall::SetPolicy(policy) => self.served.engine().set_policy(*policy),
        }
    }
}

fn to_engine_error(error: StoreError) -> EngineError {
    EngineError::Store(Arc::new(error))
}

/// Sends the answers. A caller that no longer waits does not need its answer.
fn send_answers(
    answered: Result<Vec<EngineAnswer>, StoreError>,
    answers: &[SyncSender<Result<EngineAnswer, Arc<StoreError>>>],
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
