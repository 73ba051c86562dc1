//! Every move by an operator's command and every move by hand, from every status.

use adjutant_core::input::FileChange;
use adjutant_core::{Decision, Input, World, decide};
use adjutant_model::answer::{Answer, AnswerVerdict, FieldProblem, Reason};
use adjutant_model::command::{CommandCaller, OperatorAction};
use adjutant_model::event::{Event, TransitionCause};
use adjutant_model::{Command, Status, Task};

use crate::support::{
    TaskBuilder, after, agent, check_text, events, id, notified_moves, notify_policy, now,
    operator, task, tasks, verdict, world,
};

fn run(world: &World, command: Command) -> Decision {
    let by = CommandCaller::Operator(operator());
    decide(world, &Input::Command { by, command }, now())
}

fn move_to(to: Status) -> Command {
    let (id, reason) = (id(1), "because".to_owned());
    Command::Move { id, to, reason }
}

fn see(world: &World, seen: Task) -> Decision {
    let change = FileChange::Changed(Box::new(seen));
    decide(world, &Input::FileChanged(change), now())
}

/// Draws a table with a row and a column for each status, in the order of [`Status::ALL`].
fn matrix(cell: impl Fn(Status, Status) -> &'static str) -> String {
    let line = |from: Status| {
        let cells = Status::ALL.map(|to| cell(from, to)).join(" ");
        format!("{from:<11} {cells}\n")
    };
    Status::ALL.map(line).concat()
}

/// Rows: from; columns: to, in the same order. `m` moved, `=` nothing to do, `.` refused.
const MOVES: &str = "
backlog     = m . m . . m .
ready       m = m m . . m m
in-progress . m = m m . m m
blocked     m m . = m . m m
review      . m m m = m m .
done        . . . . . = . .
cancelled   . . . . . . = .
deadletter  . m . . . . m =
";

#[test]
fn operator_moves_follow_the_table() {
    let cell = |from, to| {
        let world = world([task(1, from)]);
        let decision = run(&world, move_to(to));
        let moved = after(&world, &decision);
        let stands = moved.task(&id(1)).map(Task::status);
        match (verdict(&decision).as_str(), events(&decision).as_str()) {
            ("noop", "") if stands == Some(from) => "=",
            ("applied", moved)
                if moved == format!("transitioned({from}->{to})") && stands == Some(to) =>
            {
                "m"
            }
            ("rejected invalid_transition", "refused(task move: invalid_transition)")
                if tasks(&moved) == tasks(&world) =>
            {
                "."
            }
            _ => "?",
        }
    };
    check_text(&matrix(cell), MOVES);
}

#[test]
fn refused_move_names_the_allowed_statuses() {
    let check = |from, to, expected: &str| {
        let decision = run(&world([task(1, from)]), move_to(to));
        let answer = Answer {
            verdict: AnswerVerdict::Rejected,
            reason: Some(Reason::InvalidTransition),
            task: Some(id(1)),
            status: Some(from),
            problems: vec![FieldProblem::new("status", expected)],
            warnings: vec![],
        };
        assert_eq!(decision.answer, answer);
        assert_eq!(decision.effects, []);
    };
    check(
        Status::Backlog,
        Status::Done,
        "a task cannot move from backlog to done; from backlog it can move to: ready, blocked, \
         cancelled",
    );
    check(Status::Done, Status::Ready, "a task that is done cannot be moved");
}

/// Rows: from; columns: to. `n` where the move sends a notice.
const NOTICES: &str = "
backlog     . - . n . . - .
ready       - . - n . . - n
in-progress . - . n n . - n
blocked     - - . . n . - n
review      . - - n . n - .
done        . . . . . . . .
cancelled   . . . . . . . .
deadletter  . - . . . . - .
";

#[test]
fn notice_is_sent_for_moves_into_review_blocked_done_and_deadletter() {
    let cell = |from, to| {
        let world = world([task(1, from)]).with_policy(notify_policy());
        let decision = run(&world, move_to(to));
        let told = [(to, "because".to_owned())];
        match (decision.answer.verdict, notified_moves(&decision).as_slice()) {
            (AnswerVerdict::Applied, []) => "-",
            (AnswerVerdict::Applied, moves) if moves == told => "n",
            (AnswerVerdict::Rejected | AnswerVerdict::Noop, []) => ".",
            _ => "?",
        }
    };
    check_text(&matrix(cell), NOTICES);
}

/// Rows: from; columns: to. `=` edited in place, `h` moved by hand along the table, `A` moved by
/// hand against it.
const HAND_MOVES: &str = "
backlog     = h A h A A h A
ready       h = h h A A h h
in-progress A h = h h A h h
blocked     h h A = h A h h
review      A h h h = h h A
done        A A A A A = A A
cancelled   A A A A A A = A
deadletter  A h A A A A h =
";

#[test]
fn move_by_hand_is_accepted_and_flagged_if_against_the_table() {
    let cell = |from, to| {
        let world = world([task(1, from)]);
        let decision = see(&world, task(1, to));
        let moved = after(&world, &decision);
        assert_eq!(verdict(&decision), "applied");
        assert_eq!(moved.task(&id(1)).map(Task::status), Some(to));
        let Some(happened) = decision.events.first() else {
            return "?";
        };
        match &happened.event {
            Event::TaskEdited { changed, .. } if from == to && *changed == ["body"] => "=",
            event if *event == by_hand(from, to, TransitionCause::ByHand) => "h",
            event if *event == by_hand(from, to, TransitionCause::AgainstTheTable) => "A",
            _ => "?",
        }
    };
    check_text(&matrix(cell), HAND_MOVES);
}

fn by_hand(from: Status, to: Status, manner: TransitionCause) -> Event {
    Event::TaskTransitioned { from, to, reason: "moved by hand".to_owned(), manner }
}

#[test]
fn file_edited_and_moved_at_once_records_both() {
    let world = world([task(1, Status::Ready)]);
    let seen = task(1, Status::Review).routed_to("qa").depth(1);
    let decision = see(&world, seen);
    assert_eq!(
        events(&decision),
        "edited(routing metadata.delegationDepth) transitioned(ready->review)"
    );
    let mut expected = task(1, Status::Review).routed_to("qa").depth(1);
    expected.updated_at = now();
    expected.last_transition_at = now();
    assert_eq!(after(&world, &decision).task(&id(1)), Some(&expected));
}

#[test]
fn move_by_hand_into_progress_ignores_a_lease_in_the_file() {
    let world = world([task(1, Status::Ready)]);
    let decision = see(&world, task(1, Status::InProgress).leased_to("swe", 1));
    assert_eq!(events(&decision), "transitioned(ready->in-progress)");
    let moved = after(&world, &decision);
    assert_eq!(moved.task(&id(1)).and_then(Task::lease), None);
}

#[test]
fn move_by_hand_out_of_progress_ends_the_lease() {
    let world = world([task(1, Status::InProgress).leased_to("swe", 7)]);
    let moved = after(&world, &see(&world, task(1, Status::Done)));
    let moved = moved.task(&id(1)).expect("task 1");
    assert_eq!(moved.lease(), None);
    let last = moved.last_run.as_ref().map(|run| (&run.agent, run.fence));
    assert_eq!(last, Some((&agent("swe"), 7)));
}

#[test]
fn unknown_file_creates_a_task_in_its_folders_status() {
    for status in Status::ALL {
        let world = world([]);
        let decision = see(&world, task(1, status));
        assert_eq!(events(&decision), "created");
        assert_eq!(tasks(&after(&world, &decision)), [task(1, status)]);
    }
}

/// The result of approve, reject, cancel and retry in every status.
const COMMAND_TABLE: &str = "
backlog     approve -> rejected invalid_transition | backlog     | must be review, but is backlog
backlog     reject  -> rejected invalid_transition | backlog     | must be review, but is backlog
backlog     cancel  -> applied                     | cancelled   |
backlog     retry   -> rejected invalid_transition | backlog     | must be deadletter or blocked, but is backlog
ready       approve -> rejected invalid_transition | ready       | must be review, but is ready
ready       reject  -> rejected invalid_transition | ready       | must be review, but is ready
ready       cancel  -> applied                     | cancelled   |
ready       retry   -> rejected invalid_transition | ready       | must be deadletter or blocked, but is ready
in-progress approve -> rejected invalid_transition | in-progress | must be review, but is in-progress
in-progress reject  -> rejected invalid_transition | in-progress | must be review, but is in-progress
in-progress cancel  -> applied                     | cancelled   |
in-progress retry   -> rejected invalid_transition | in-progress | must be deadletter or blocked, but is in-progress
blocked     approve -> rejected invalid_transition | blocked     | must be review, but is blocked
blocked     reject  -> rejected invalid_transition | blocked     | must be review, but is blocked
blocked     cancel  -> applied                     | cancelled   |
blocked     retry   -> applied                     | ready       |
review      approve -> applied                     | done        |
review      reject  -> applied                     | ready       |
review      cancel  -> applied                     | cancelled   |
review      retry   -> rejected invalid_transition | review      | must be deadletter or blocked, but is review
done        approve -> rejected invalid_transition | done        | must be review, but is done
done        reject  -> rejected invalid_transition | done        | must be review, but is done
done        cancel  -> rejected invalid_transition | done        | a task that is done cannot be moved
done        retry   -> rejected invalid_transition | done        | must be deadletter or blocked, but is done
cancelled   approve -> rejected invalid_transition | cancelled   | must be review, but is cancelled
cancelled   reject  -> rejected invalid_transition | cancelled   | must be review, but is cancelled
cancelled   cancel  -> rejected invalid_transition | cancelled   | a task that is cancelled cannot be moved
cancelled   retry   -> rejected invalid_transition | cancelled   | must be deadletter or blocked, but is cancelled
deadletter  approve -> rejected invalid_transition | deadletter  | must be review, but is deadletter
deadletter  reject  -> rejected invalid_transition | deadletter  | must be review, but is deadletter
deadletter  cancel  -> applied                     | cancelled   |
deadletter  retry   -> applied                     | ready       |
";

fn review_commands() -> [(&'static str, Command); 4] {
    let (note, reason) = ("fine".to_owned(), "not yet".to_owned());
    let cancel = Command::Cancel { id: id(1), reason: reason.clone() };
    [
        ("approve", Command::Approve { id: id(1), note }),
        ("reject", Command::Reject { id: id(1), reason }),
        ("cancel", cancel),
        ("retry", Command::Retry { id: id(1) }),
    ]
}

#[test]
fn approve_reject_cancel_and_retry_match_the_table() {
    let mut actual = String::new();
    for from in Status::ALL {
        for (name, command) in review_commands() {
            let world = world([task(1, from)]);
            let decision = run(&world, command);
            let to = after(&world, &decision).task(&id(1)).map(Task::status);
            let to = to.expect("task 1");
            let problems: Vec<&str> =
                decision.answer.problems.iter().map(|problem| problem.message.as_str()).collect();
            let (verdict, why) = (verdict(&decision), problems.join("; "));
            let line = format!("{from:<11} {name:<7} -> {verdict:<27} | {to:<11} | {why}");
            actual += line.trim_end();
            actual += "\n";
        }
    }
    check_text(&actual, COMMAND_TABLE);
}

#[test]
fn reject_reason_is_kept_for_the_next_run() {
    let world = world([task(1, Status::Review)]);
    let feedback = |command| {
        let after = after(&world, &run(&world, command));
        after.task(&id(1)).and_then(|task| task.feedback.clone())
    };
    let said: Vec<Option<Box<str>>> =
        review_commands().map(|(_, command)| feedback(command)).into();
    assert_eq!(said, [None, Some("not yet".into()), None, None]);
}

#[test]
fn command_from_inside_a_run_is_refused() {
    let world = world([task(1, Status::Review)]);
    for (_, command) in review_commands().into_iter().chain([("move", move_to(Status::Done))]) {
        let by = CommandCaller::InsideRun(operator());
        let name = command.name();
        let decision = decide(&world, &Input::Command { by, command }, now());
        assert_eq!(verdict(&decision), "rejected operator_only");
        assert_eq!(events(&decision), format!("refused({name}: operator_only)"));
        assert_eq!((&decision.events[0].task, &decision.answer.task), (&Some(id(1)), &Some(id(1))));
    }
}

#[test]
fn doctor_fix_is_refused_inside_a_run() {
    let ask = |by| {
        decide(
            &world([]),
            &Input::Command { by, command: Command::Chore(OperatorAction::Mend) },
            now(),
        )
    };
    let refused = ask(CommandCaller::InsideRun(operator()));
    assert_eq!(verdict(&refused), "rejected operator_only");
    assert_eq!(events(&refused), "refused(doctor --fix: operator_only)");
    let granted = ask(CommandCaller::Operator(operator()));
    assert_eq!((verdict(&granted), events(&granted)), ("applied".into(), String::new()));
}

#[test]
fn command_on_unknown_task_is_refused() {
    let mut without = world([]);
    for (_, command) in review_commands() {
        let decision = run(&without, command);
        assert_eq!(verdict(&decision), "rejected task_not_found");
        assert_eq!((&decision.events[0].task, &decision.answer.task), (&Some(id(1)), &Some(id(1))));
    }
    without.set_unreadable(id(1));
    for (_, command) in review_commands() {
        assert_eq!(verdict(&run(&without, command)), "rejected task_unreadable");
    }
}
