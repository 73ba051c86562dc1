//! Every status with every input: the answer, and the story's state afterwards.

use std::fmt::Write as _;

use adjutant_core::story::{AdvanceResult, StepVerdict, StoryDecision, StoryInput};
use adjutant_model::story::{Step, StepFailReason, StepStatus};

use crate::pipeline::support::{at, decide, ended, failed, line, minute, next};

fn inputs() -> Vec<(&'static str, StoryInput)> {
    let (note, error) = (None, "it crashed".to_owned());
    vec![
        ("next", next()),
        ("next, late", StoryInput::Next { now: minute(60), note: None, open: vec![] }),
        ("onward", StoryInput::NextWithoutDispatch { now: minute(1) }),
        ("stopped", StoryInput::Stopped),
        ("passed", ended(StepVerdict::Pass)),
        ("failed", ended(failed(None))),
        (
            "asked",
            ended(StepVerdict::NeedsHuman {
                reason: Some(StepFailReason::NeedsClarification),
                error: None,
            }),
        ),
        ("unknown", ended(StepVerdict::Unknown)),
        ("approve", StoryInput::Approve { note: None }),
        (
            "reject",
            StoryInput::Reject { reason: Some(StepFailReason::ConstitutionViolation), note: None },
        ),
        ("poll", StoryInput::Poll { now: minute(1) }),
        ("poll, late", StoryInput::Poll { now: minute(60) }),
        ("broke", StoryInput::Failed { now: minute(1), error }),
        ("rollback", StoryInput::Rollback { step: Step::Bdd, note: None }),
        ("rollback to done", StoryInput::Rollback { step: Step::Done, note: None }),
        ("reopen", StoryInput::Reopen { step: Step::Impl, note }),
    ]
}

fn cell(decision: &StoryDecision) -> String {
    match &decision.result {
        AdvanceResult::Refused(refusal) => format!("no: {}", refusal.as_str()),
        said => format!("{}: {}", said.as_str(), line(decision)),
    }
}

fn check(step: Step, expected: &str) {
    let mut table = String::new();
    for status in StepStatus::ALL {
        for (name, input) in inputs() {
            let decision = decide(&at(step, status), &input);
            if matches!(decision.result, AdvanceResult::Refused(_)) {
                assert_eq!(decision.state, at(step, status), "a refusal changes nothing");
            }
            writeln!(table, "{status} | {name} | {}", cell(&decision)).expect("a line");
        }
    }
    let expected: Vec<&str> = expected.trim().lines().map(str::trim).collect();
    assert_eq!(table.lines().collect::<Vec<_>>(), expected, "\n{table}");
}

#[test]
#[expect(clippy::too_many_lines, reason = "every cell is a line")]
fn executor_step_answers_every_input() {
    check(
        Step::Impl,
        "
        pending | next | dispatched: impl 1 running
        pending | next, late | dispatched: impl 1 running
        pending | onward | nothing: impl 1 pending
        pending | stopped | no: not_running
        pending | passed | no: not_running
        pending | failed | no: not_running
        pending | asked | no: not_running
        pending | unknown | no: not_running
        pending | approve | no: nothing_waits
        pending | reject | no: nothing_waits
        pending | poll | nothing: impl 1 pending
        pending | poll, late | nothing: impl 1 pending
        pending | broke | no: not_running
        pending | rollback | moved: bdd 1 pending
        pending | rollback to done | no: bad_step
        pending | reopen | no: not_done
        running | next | running: impl 1 running
        running | next, late | timeout: impl 1 timeout
        running | onward | nothing: impl 1 running
        running | stopped | moved: impl 1 pending
        running | passed | recorded: impl 1 pass
        running | failed | recorded: impl 1 failing
        running | asked | recorded: impl 1 needs_human needs_clarification (asked)
        running | unknown | recorded: impl 1 needs_human (no_verdict)
        running | approve | no: still_running
        running | reject | no: still_running
        running | poll | running: impl 1 running
        running | poll, late | timeout: impl 1 timeout
        running | broke | recorded: impl 1 failing
        running | rollback | no: still_running
        running | rollback to done | no: still_running
        running | reopen | no: not_done
        pass | next | dispatched: verify 1 running
        pass | next, late | dispatched: verify 1 running
        pass | onward | moved: verify 1 pending
        pass | stopped | no: not_running
        pass | passed | no: not_running
        pass | failed | no: not_running
        pass | asked | no: not_running
        pass | unknown | no: not_running
        pass | approve | no: nothing_waits
        pass | reject | no: nothing_waits
        pass | poll | nothing: impl 1 pass
        pass | poll, late | nothing: impl 1 pass
        pass | broke | no: not_running
        pass | rollback | moved: bdd 1 pending
        pass | rollback to done | no: bad_step
        pass | reopen | no: not_done
        failing | next | dispatched: impl 2 running
        failing | next, late | dispatched: impl 2 running
        failing | onward | moved: impl 2 pending
        failing | stopped | no: not_running
        failing | passed | no: not_running
        failing | failed | no: not_running
        failing | asked | no: not_running
        failing | unknown | no: not_running
        failing | approve | no: nothing_waits
        failing | reject | no: nothing_waits
        failing | poll | nothing: impl 1 failing
        failing | poll, late | nothing: impl 1 failing
        failing | broke | no: not_running
        failing | rollback | moved: bdd 1 pending
        failing | rollback to done | no: bad_step
        failing | reopen | no: not_done
        needs_human | next | needs_human: impl 1 needs_human
        needs_human | next, late | needs_human: impl 1 needs_human
        needs_human | onward | nothing: impl 1 needs_human
        needs_human | stopped | no: not_running
        needs_human | passed | no: not_running
        needs_human | failed | no: not_running
        needs_human | asked | no: not_running
        needs_human | unknown | no: not_running
        needs_human | approve | moved: impl 2 pending
        needs_human | reject | moved: sdd-delta 1 pending constitution_violation
        needs_human | poll | nothing: impl 1 needs_human
        needs_human | poll, late | nothing: impl 1 needs_human
        needs_human | broke | no: not_running
        needs_human | rollback | moved: bdd 1 pending
        needs_human | rollback to done | no: bad_step
        needs_human | reopen | no: not_done
        timeout | next | timeout: impl 1 timeout
        timeout | next, late | timeout: impl 1 timeout
        timeout | onward | nothing: impl 1 timeout
        timeout | stopped | no: not_running
        timeout | passed | no: too_late
        timeout | failed | no: too_late
        timeout | asked | no: too_late
        timeout | unknown | no: too_late
        timeout | approve | moved: impl 2 pending
        timeout | reject | moved: sdd-delta 1 pending constitution_violation
        timeout | poll | nothing: impl 1 timeout
        timeout | poll, late | nothing: impl 1 timeout
        timeout | broke | no: not_running
        timeout | rollback | moved: bdd 1 pending
        timeout | rollback to done | no: bad_step
        timeout | reopen | no: not_done
        ",
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "every cell is a line")]
fn human_step_answers_every_input() {
    check(
        Step::Review,
        "
        pending | next | needs_human: review 1 needs_human (review)
        pending | next, late | needs_human: review 1 needs_human (review)
        pending | onward | needs_human: review 1 needs_human (review)
        pending | stopped | no: not_running
        pending | passed | no: not_running
        pending | failed | no: not_running
        pending | asked | no: not_running
        pending | unknown | no: not_running
        pending | approve | moved: review 1 pass
        pending | reject | moved: sdd-delta 1 pending constitution_violation
        pending | poll | nothing: review 1 pending
        pending | poll, late | nothing: review 1 pending
        pending | broke | no: not_running
        pending | rollback | moved: bdd 1 pending
        pending | rollback to done | no: bad_step
        pending | reopen | no: not_done
        running | next | needs_human: review 1 needs_human (review)
        running | next, late | needs_human: review 1 needs_human (review)
        running | onward | needs_human: review 1 needs_human (review)
        running | stopped | no: not_running
        running | passed | no: not_running
        running | failed | no: not_running
        running | asked | no: not_running
        running | unknown | no: not_running
        running | approve | moved: review 1 pass
        running | reject | moved: sdd-delta 1 pending constitution_violation
        running | poll | nothing: review 1 running
        running | poll, late | nothing: review 1 running
        running | broke | no: not_running
        running | rollback | moved: bdd 1 pending
        running | rollback to done | no: bad_step
        running | reopen | no: not_done
        pass | next | dispatched: scaffold 1 running
        pass | next, late | dispatched: scaffold 1 running
        pass | onward | moved: scaffold 1 pending
        pass | stopped | no: not_running
        pass | passed | no: not_running
        pass | failed | no: not_running
        pass | asked | no: not_running
        pass | unknown | no: not_running
        pass | approve | no: nothing_waits
        pass | reject | no: nothing_waits
        pass | poll | nothing: review 1 pass
        pass | poll, late | nothing: review 1 pass
        pass | broke | no: not_running
        pass | rollback | moved: bdd 1 pending
        pass | rollback to done | no: bad_step
        pass | reopen | no: not_done
        failing | next | dispatched: bdd 1 running
        failing | next, late | dispatched: bdd 1 running
        failing | onward | moved: bdd 1 pending
        failing | stopped | no: not_running
        failing | passed | no: not_running
        failing | failed | no: not_running
        failing | asked | no: not_running
        failing | unknown | no: not_running
        failing | approve | no: nothing_waits
        failing | reject | no: nothing_waits
        failing | poll | nothing: review 1 failing
        failing | poll, late | nothing: review 1 failing
        failing | broke | no: not_running
        failing | rollback | moved: bdd 1 pending
        failing | rollback to done | no: bad_step
        failing | reopen | no: not_done
        needs_human | next | needs_human: review 1 needs_human
        needs_human | next, late | needs_human: review 1 needs_human
        needs_human | onward | nothing: review 1 needs_human
        needs_human | stopped | no: not_running
        needs_human | passed | no: not_running
        needs_human | failed | no: not_running
        needs_human | asked | no: not_running
        needs_human | unknown | no: not_running
        needs_human | approve | moved: review 1 pass
        needs_human | reject | moved: sdd-delta 1 pending constitution_violation
        needs_human | poll | nothing: review 1 needs_human
        needs_human | poll, late | nothing: review 1 needs_human
        needs_human | broke | no: not_running
        needs_human | rollback | moved: bdd 1 pending
        needs_human | rollback to done | no: bad_step
        needs_human | reopen | no: not_done
        timeout | next | timeout: review 1 timeout
        timeout | next, late | timeout: review 1 timeout
        timeout | onward | nothing: review 1 timeout
        timeout | stopped | no: not_running
        timeout | passed | no: too_late
        timeout | failed | no: too_late
        timeout | asked | no: too_late
        timeout | unknown | no: too_late
        timeout | approve | moved: review 1 pass
        timeout | reject | moved: sdd-delta 1 pending constitution_violation
        timeout | poll | nothing: review 1 timeout
        timeout | poll, late | nothing: review 1 timeout
        timeout | broke | no: not_running
        timeout | rollback | moved: bdd 1 pending
        timeout | rollback to done | no: bad_step
        timeout | reopen | no: not_done
        ",
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "every cell is a line")]
fn done_story_answers_every_input() {
    check(
        Step::Done,
        "
        pending | next | done: done 1 pending
        pending | next, late | done: done 1 pending
        pending | onward | done: done 1 pending
        pending | stopped | no: not_running
        pending | passed | no: not_running
        pending | failed | no: not_running
        pending | asked | no: not_running
        pending | unknown | no: not_running
        pending | approve | no: already_done
        pending | reject | no: already_done
        pending | poll | done: done 1 pending
        pending | poll, late | done: done 1 pending
        pending | broke | no: not_running
        pending | rollback | no: already_done
        pending | rollback to done | no: already_done
        pending | reopen | moved: impl 1 pending
        running | next | done: done 1 running
        running | next, late | done: done 1 running
        running | onward | done: done 1 running
        running | stopped | no: not_running
        running | passed | no: not_running
        running | failed | no: not_running
        running | asked | no: not_running
        running | unknown | no: not_running
        running | approve | no: already_done
        running | reject | no: already_done
        running | poll | done: done 1 running
        running | poll, late | done: done 1 running
        running | broke | no: not_running
        running | rollback | no: already_done
        running | rollback to done | no: already_done
        running | reopen | moved: impl 1 pending
        pass | next | done: done 1 pass
        pass | next, late | done: done 1 pass
        pass | onward | done: done 1 pass
        pass | stopped | no: not_running
        pass | passed | no: not_running
        pass | failed | no: not_running
        pass | asked | no: not_running
        pass | unknown | no: not_running
        pass | approve | no: already_done
        pass | reject | no: already_done
        pass | poll | done: done 1 pass
        pass | poll, late | done: done 1 pass
        pass | broke | no: not_running
        pass | rollback | no: already_done
        pass | rollback to done | no: already_done
        pass | reopen | moved: impl 1 pending
        failing | next | done: done 1 failing
        failing | next, late | done: done 1 failing
        failing | onward | done: done 1 failing
        failing | stopped | no: not_running
        failing | passed | no: not_running
        failing | failed | no: not_running
        failing | asked | no: not_running
        failing | unknown | no: not_running
        failing | approve | no: already_done
        failing | reject | no: already_done
        failing | poll | done: done 1 failing
        failing | poll, late | done: done 1 failing
        failing | broke | no: not_running
        failing | rollback | no: already_done
        failing | rollback to done | no: already_done
        failing | reopen | moved: impl 1 pending
        needs_human | next | done: done 1 needs_human
        needs_human | next, late | done: done 1 needs_human
        needs_human | onward | done: done 1 needs_human
        needs_human | stopped | no: not_running
        needs_human | passed | no: not_running
        needs_human | failed | no: not_running
        needs_human | asked | no: not_running
        needs_human | unknown | no: not_running
        needs_human | approve | no: already_done
        needs_human | reject | no: already_done
        needs_human | poll | done: done 1 needs_human
        needs_human | poll, late | done: done 1 needs_human
        needs_human | broke | no: not_running
        needs_human | rollback | no: already_done
        needs_human | rollback to done | no: already_done
        needs_human | reopen | moved: impl 1 pending
        timeout | next | done: done 1 timeout
        timeout | next, late | done: done 1 timeout
        timeout | onward | done: done 1 timeout
        timeout | stopped | no: not_running
        timeout | passed | no: not_running
        timeout | failed | no: not_running
        timeout | asked | no: not_running
        timeout | unknown | no: not_running
        timeout | approve | no: already_done
        timeout | reject | no: already_done
        timeout | poll | done: done 1 timeout
        timeout | poll, late | done: done 1 timeout
        timeout | broke | no: not_running
        timeout | rollback | no: already_done
        timeout | rollback to done | no: already_done
        timeout | reopen | moved: impl 1 pending
        ",
    );
}
