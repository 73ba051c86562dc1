//! The answers to messages that runs have sent through their sockets.
//!
//! Such a message reaches the engine through the run's outbox, which makes it count exactly once.
//! Its shim asks for the answer on a connection of its own, before or after the commit.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use adjutant_model::TaskId;
use adjutant_model::request::{EngineAnswer, EngineRequest, MessageOrigin, Request};
use parking_lot::{Condvar, Mutex};

/// The most answers that are kept for shims that have not asked yet.
const ANSWERS_MAX: usize = 128;

/// A message in the outbox of a run whose sender waits for the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AwaitedMessage {
    pub(crate) task: TaskId,
    pub(crate) attempt: u32,
    /// The number of the message in the run.
    pub(crate) seq: u64,
}

impl AwaitedMessage {
    /// Returns the message of a request, if its sender waits.
    pub(crate) fn from_request(request: &EngineRequest) -> Option<Self> {
        let Request::Message { origin, .. } = &request.request else { return None };
        match origin {
            MessageOrigin::RunOutput { task, attempt, seq, from_socket: true, .. } => {
                Some(Self { task: task.clone(), attempt: *attempt, seq: *seq })
            }
            MessageOrigin::RunOutput { .. }
            | MessageOrigin::Outside
            | MessageOrigin::InsideRun { .. }
            | MessageOrigin::RunConnection { .. } => None,
        }
    }
}

/// The latest answers, each until its shim has asked for it.
#[derive(Default)]
pub(crate) struct RunAnswers {
    answers: Mutex<VecDeque<(AwaitedMessage, EngineAnswer)>>,
    posted: Condvar,
}

impl RunAnswers {
    /// Keeps an answer, and drops the oldest if there are too many: its shim says that the message
    /// is kept for later.
    pub(crate) fn post(&self, message: AwaitedMessage, answer: EngineAnswer) {
        let mut answers = self.answers.lock();
        if answers.len() >= ANSWERS_MAX {
            answers.pop_front();
        }
        answers.push_back((message, answer));
        self.posted.notify_all();
    }

    /// Waits for an answer, and returns `None` if there is none in time.
    pub(crate) fn wait(
        &self,
        message: &AwaitedMessage,
        patience: Duration,
    ) -> Option<EngineAnswer> {
        let deadline = Instant::now() + patience;
        let mut answers = self.answers.lock();
        loop {
            if let Some(found) = answers.iter().position(|(known, _)| known == message) {
                return answers.remove(found).map(|(_, answer)| answer);
            }
            if self.posted.wait_until(&mut answers, deadline).timed_out() {
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use adjutant_model::{Answer, AnswerVerdict};

    use super::*;

    fn message(seq: u64) -> AwaitedMessage {
        let task = TaskId::parse("TASK-2026-02-09-001").expect("an id");
        AwaitedMessage { task, attempt: 1, seq }
    }

    fn answer() -> EngineAnswer {
        Answer::plain(AnswerVerdict::Applied).into()
    }

    #[test]
    fn run_answer_is_given_once_before_or_after_its_shim_asks() {
        let answers = RunAnswers::default();
        answers.post(message(1), answer());
        assert_eq!(answers.wait(&message(1), Duration::ZERO), Some(answer()));
        assert_eq!(answers.wait(&message(1), Duration::ZERO), None);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| answers.wait(&message(2), Duration::from_mins(1)));
            answers.post(message(2), answer());
            assert_eq!(waiting.join().expect("it ends"), Some(answer()));
        });
    }

    #[test]
    fn run_answers_are_bounded() {
        let answers = RunAnswers::default();
        for seq in 0..=ANSWERS_MAX as u64 {
            answers.post(message(seq), answer());
        }
        assert_eq!(answers.wait(&message(0), Duration::ZERO), None);
        assert_eq!(answers.wait(&message(1), Duration::ZERO), Some(answer()));
    }
}
