//! Messages on their way: they come late, twice, and from whoever has no right to send them.

use adjutant_core::TaskId;
use adjutant_runtime::Request;
use adjutant_runtime::supervisor::Run;
use adjutant_runtime::token::Secret;

use crate::dice::Dice;
use crate::message::completion;

const MINUTE_MS: i64 = 60_000;

/// A message on its way.
#[derive(Debug, Clone)]
pub(super) struct Letter {
    /// When it comes.
    pub(super) at_ms: i64,
    /// What is asked for by it.
    pub(super) request: Request,
    /// The run it speaks for, if it has the right to.
    pub(super) of: Option<(TaskId, u64)>,
}

/// Sends what a run has to say: soon, late, or twice.
pub(super) fn send(dice: &mut Dice, now_ms: i64, run: &Run, text: &str) -> Vec<Letter> {
    let of = Some((run.task.clone(), run.fence));
    let request = Request::Message(text.as_bytes().to_vec());
    let soon = |dice: &mut Dice| now_ms + dice.between(0, 10_000);
    let late = |dice: &mut Dice| now_ms + dice.between(0, 600 * MINUTE_MS);
    let times = match dice.below(4) {
        0 => vec![late(dice)],
        1 => vec![soon(dice), late(dice)],
        _ => vec![soon(dice)],
    };
    let letter = |at_ms| Letter { at_ms, request: request.clone(), of: of.clone() };
    times.into_iter().map(letter).collect()
}

/// Makes up a message of somebody who has no right to send it.
pub(super) fn forge(dice: &mut Dice, at_ms: i64, run: &Run, secret: &Secret) -> Letter {
    let (task, agent) = (run.task.as_str(), run.agent.as_str());
    let mut report = completion(task, agent, "done");
    let other = TaskId::parse("TASK-2001-01-01-001").expect("a good id");
    let token = match dice.below(4) {
        0 => secret.token(&run.task, run.fence).replace(['0', '1', '2', '3'], "4"),
        1 => secret.token(&other, run.fence),
        2 => format!("{}-00000000000000000000000000000000", run.fence),
        _ => "let me in".to_owned(),
    };
    report["runToken"] = token.into();
    Letter { at_ms, request: Request::Message(report.to_string().into_bytes()), of: None }
}
