//! Messages in transit: they arrive late, twice, or from a forged sender.

use adjutant_config::run_token::TokenSecret;
use adjutant_engine::EngineRequest;
use adjutant_model::TaskId;
use adjutant_runs::supervisor::RunRef;

use crate::message::completion;
use crate::seeded_rng::SeededRng;

const MINUTE_MS: i64 = 60_000;

#[derive(Debug, Clone)]
pub(super) struct MessageInTransit {
    pub(super) at_ms: i64,
    pub(super) request: EngineRequest,
    /// The run it reports for; `None` if it is forged.
    pub(super) run: Option<(TaskId, u64)>,
}

/// Sends a message of a run: soon, late, or twice.
pub(super) fn send_report(
    rng: &mut SeededRng,
    now_ms: i64,
    run: &RunRef,
    text: &str,
) -> Vec<MessageInTransit> {
    let of = Some((run.task.clone(), run.fence));
    let request = EngineRequest::message(text.as_bytes().to_vec());
    let soon = |rng: &mut SeededRng| now_ms + rng.between(0, 10_000);
    let late = |rng: &mut SeededRng| now_ms + rng.between(0, 600 * MINUTE_MS);
    let times = match rng.below(4) {
        0 => vec![late(rng)],
        1 => vec![soon(rng), late(rng)],
        _ => vec![soon(rng)],
    };
    let letter = |at_ms| MessageInTransit { at_ms, request: request.clone(), run: of.clone() };
    times.into_iter().map(letter).collect()
}

/// Makes a message with an invalid token.
pub(super) fn forge_report(
    rng: &mut SeededRng,
    at_ms: i64,
    run: &RunRef,
    secret: &TokenSecret,
) -> MessageInTransit {
    let (task, agent) = (run.task.as_str(), run.agent.as_str());
    let mut report = completion(task, agent, "done");
    let other = TaskId::parse("TASK-2001-01-01-001").expect("a good id");
    let token = match rng.below(4) {
        0 => secret.token(&run.task, run.fence, run.nonce).replace(['0', '1', '2', '3'], "4"),
        1 => secret.token(&other, run.fence, run.nonce),
        2 => format!("{}-00000000000000000000000000000000", run.fence),
        _ => "let me in".to_owned(),
    };
    report["runToken"] = token.into();
    MessageInTransit {
        at_ms,
        request: EngineRequest::message(report.to_string().into_bytes()),
        run: None,
    }
}
