//! Decides what to do about a shim that does not answer: it was stopped by a signal or a debugger,
//! or it hangs. Until it answers, the supervisor has to do what the shim cannot.

/// How long a working shim may stay silent before a run that should be over is ended without it.
const OVERDUE_SILENCE_MS: u64 = 5_000;
/// The shortest silence that counts as the loss of a run, however short its heartbeats are valid.
const LOST_SILENCE_MS_MIN: u64 = 15_000;

/// What a supervisor has seen of the shim of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShimFacts {
    /// Whether the process is stopped, by a signal or by a debugger.
    pub is_suspended: bool,
    /// How long the shim has been silent while the supervisor listened.
    pub silent_ms: u64,
    /// Whether the operator or the scheduler wants the run to end.
    pub is_stop_requested: bool,
    /// Whether the run has exceeded its time limit.
    pub is_timed_out: bool,
    /// How long ago the supervisor asked the processes of the run to end, if it did.
    pub asked_ms: Option<u64>,
    pub grace_ms: u64,
    /// How long a heartbeat is valid.
    pub ttl_ms: u64,
}

/// What the supervisor does about a shim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShimAction {
    Nothing,
    /// Continue the stopped process.
    Wake,
    /// Ask the processes of the run to end, as the shim would.
    AskToEnd,
    /// Kill the processes of the run, then the shim, and record this end.
    Kill(ShimlessEnd),
}

/// Why a run was ended without its shim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShimlessEnd {
    StopRequested,
    TimedOut,
    /// The shim was silent for so long that the run counts as lost.
    Lost,
}

/// Returns what to do about a shim.
///
/// A stopped shim is woken at once, and then does its duty. A process that stops it again and again
/// keeps it silent, and a silent shim neither sends heartbeats nor enforces a limit.
pub fn shim_action(facts: &ShimFacts) -> ShimAction {
    let rest = if facts.is_suspended { ShimAction::Wake } else { ShimAction::Nothing };
    let (end, patience_ms) = match (facts.is_stop_requested, facts.is_timed_out) {
        (true, _) => (ShimlessEnd::StopRequested, OVERDUE_SILENCE_MS),
        (false, true) => (ShimlessEnd::TimedOut, OVERDUE_SILENCE_MS),
        (false, false) => (ShimlessEnd::Lost, facts.ttl_ms.max(LOST_SILENCE_MS_MIN)),
    };
    match facts.asked_ms {
        _ if facts.silent_ms < patience_ms => rest,
        None => ShimAction::AskToEnd,
        Some(asked_ms) if asked_ms >= facts.grace_ms => ShimAction::Kill(end),
        Some(_) => rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTS: ShimFacts = ShimFacts {
        is_suspended: false,
        silent_ms: 0,
        is_stop_requested: false,
        is_timed_out: false,
        asked_ms: None,
        grace_ms: 10_000,
        ttl_ms: 300_000,
    };

    #[test]
    fn stopped_shim_is_woken_before_it_counts_as_silent() {
        let stopped = ShimFacts { is_suspended: true, ..FACTS };
        assert_eq!(shim_action(&FACTS), ShimAction::Nothing);
        assert_eq!(shim_action(&stopped), ShimAction::Wake);
        let overdue = ShimFacts { is_timed_out: true, silent_ms: 4_999, ..stopped };
        assert_eq!(shim_action(&overdue), ShimAction::Wake);
        let late = ShimFacts { silent_ms: 299_999, ..stopped };
        assert_eq!(shim_action(&late), ShimAction::Wake);
    }

    #[test]
    fn silent_shim_of_overdue_run_is_replaced_after_grace() {
        let silent = ShimFacts { silent_ms: 5_000, is_suspended: true, ..FACTS };
        let timed_out = ShimFacts { is_timed_out: true, ..silent };
        assert_eq!(shim_action(&timed_out), ShimAction::AskToEnd);
        let asked = ShimFacts { asked_ms: Some(9_999), ..timed_out };
        assert_eq!(shim_action(&asked), ShimAction::Wake);
        let over = ShimFacts { asked_ms: Some(10_000), ..timed_out };
        assert_eq!(shim_action(&over), ShimAction::Kill(ShimlessEnd::TimedOut));
        let stopped = ShimFacts { is_stop_requested: true, ..over };
        assert_eq!(shim_action(&stopped), ShimAction::Kill(ShimlessEnd::StopRequested));
        let answers = ShimFacts { silent_ms: 0, is_suspended: false, ..over };
        assert_eq!(shim_action(&answers), ShimAction::Nothing);
    }

    #[test]
    fn silent_shim_loses_its_run_when_heartbeats_are_overdue() {
        let silent = ShimFacts { silent_ms: 300_000, ..FACTS };
        assert_eq!(shim_action(&silent), ShimAction::AskToEnd);
        let asked = ShimFacts { asked_ms: Some(10_000), ..silent };
        assert_eq!(shim_action(&asked), ShimAction::Kill(ShimlessEnd::Lost));
        let short = ShimFacts { silent_ms: 14_999, ttl_ms: 1_000, ..FACTS };
        assert_eq!(shim_action(&short), ShimAction::Nothing);
    }
}
