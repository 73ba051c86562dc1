//! Every move an operator can ask for and every move a person can make by hand, from every status.

use crate::support::{
    Given, after, agent, check_text, events, id, now, operator, task, tasks, told_moves,
    told_of_all, verdict, world,
};
use adjutant_core::answer::{Answer, Problem, Reason, Verdict};
use adjutant_core::command::{Caller, Chore};
use adjutant_core::event::{Event, Manner};
use adjutant_core::input::FileChange;
use adjutant_core::{Command, Decision, Input, Status, Task, World, decide};

fn run(world: &World, command: Command) -> Decision {
    let by = Caller::Operator(operator());
    decide(world, &Input::Command { by, command }, now())
}

fn move_to(to: Status) -> Command {
    let (id, reason) = (id(1), "because".to_owned());
    Command::Move { id, to, reason }
}

fn see(world: &World, seen: Task) -> Decision {
    let change = FileChange::Seen(Box::new(seen));
    decide(world, &Input::File(change), now())
}

/// Draws a table with a row per status and a column per status, in the order of [`Status::ALL`].
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
fn an_operator_moves_a_task_along_the_table_and_nowhere_else() {
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
fn a_refused_move_says_where_the_task_can_go() {
    let check = |from, to, expected: &str| {
        let decision = run(&world([task(1, from)]), move_to(to));
        let answer = Answer {
            verdict: Verdict::Rejected,
            reason: Some(Reason::InvalidTransition),
            task: Some(id(1)),
            status: Some(from),
            problems: vec![Problem::new("status", expected)],
        };
        assert_eq!(decision.answer, answer);
        assert_eq!(decision.effects, []);
    };
    check(
        Status::Backlog,
        Status::Done,
        "no move from backlog to done; from backlog it can go to: ready, blocked, cancelled",
    );
    check(
        Status::Done,
        Status::Ready,
        "no move from done to ready; from done it can go to: nowhere",
    );
}

/// What people are told about, in the table of moves: `n` where a move notifies.
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
fn people_are_told_of_moves_into_review_blocked_done_and_deadletter() {
    let cell = |from, to| {
        let world = world([task(1, from)]).with_policy(told_of_all());
        let decision = run(&world, move_to(to));
        let told = [(to, "because".to_owned())];
        match (decision.answer.verdict, told_moves(&decision).as_slice()) {
            (Verdict::Applied, []) => "-",
            (Verdict::Applied, moves) if moves == told => "n",
            (Verdict::Rejected | Verdict::Noop, []) => ".",
            _ => "?",
        }
    };
    check_text(&matrix(cell), NOTICES);
}

/// Rows: from; columns: to. `=` edited where it lies, `h` moved by hand along the table, `A` moved
/// by hand against it.
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
fn a_move_by_hand_is_taken_and_flagged_where_the_table_has_none() {
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
            event if *event == by_hand(from, to, Manner::ByHand) => "h",
            event if *event == by_hand(from, to, Manner::AgainstTheTable) => "A",
            _ => "?",
        }
    };
    check_text(&matrix(cell), HAND_MOVES);
}

fn by_hand(from: Status, to: Status, manner: Manner) -> Event {
    Event::TaskTransitioned { from, to, reason: "moved by hand".to_owned(), manner }
}

#[test]
fn a_file_edited_and_moved_at_once_is_both() {
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
fn a_task_moved_into_progress_by_hand_has_no_lease_whatever_its_file_says() {
    let world = world([task(1, Status::Ready)]);
    let decision = see(&world, task(1, Status::InProgress).leased_to("swe", 1));
    assert_eq!(events(&decision), "transitioned(ready->in-progress)");
    let moved = after(&world, &decision);
    assert_eq!(moved.task(&id(1)).and_then(Task::lease), None);
}

#[test]
fn a_task_moved_out_of_progress_by_hand_gives_up_its_lease() {
    let world = world([task(1, Status::InProgress).leased_to("swe", 7)]);
    let moved = after(&world, &see(&world, task(1, Status::Done)));
    let moved = moved.task(&id(1)).expect("task 1");
    assert_eq!(moved.lease(), None);
    let last = moved.last_run.as_ref().map(|run| (&run.agent, run.fence));
    assert_eq!(last, Some((&agent("swe"), 7)));
}

#[test]
fn a_file_that_was_not_known_makes_a_task_where_it_lies() {
    for status in Status::ALL {
        let world = world([]);
        let decision = see(&world, task(1, status));
        assert_eq!(events(&decision), "created");
        assert_eq!(tasks(&after(&world, &decision)), [task(1, status)]);
    }
}

/// What approve, reject, cancel and retry do in every status.
const WISHES: &str = "
backlog     approve -> rejected invalid_transition | backlog     | is backlog, not review
backlog     reject  -> rejected invalid_transition | backlog     | is backlog, not review
backlog     cancel  -> applied                     | cancelled   |
backlog     retry   -> rejected invalid_transition | backlog     | is backlog, not deadletter or blocked
ready       approve -> rejected invalid_transition | ready       | is ready, not review
ready       reject  -> rejected invalid_transition | ready       | is ready, not review
ready       cancel  -> applied                     | cancelled   |
ready       retry   -> rejected invalid_transition | ready       | is ready, not deadletter or blocked
in-progress approve -> rejected invalid_transition | in-progress | is in-progress, not review
in-progress reject  -> rejected invalid_transition | in-progress | is in-progress, not review
in-progress cancel  -> applied                     | cancelled   |
in-progress retry   -> rejected invalid_transition | in-progress | is in-progress, not deadletter or blocked
blocked     approve -> rejected invalid_transition | blocked     | is blocked, not review
blocked     reject  -> rejected invalid_transition | blocked     | is blocked, not review
blocked     cancel  -> applied                     | cancelled   |
blocked     retry   -> applied                     | ready       |
review      approve -> applied                     | done        |
review      reject  -> applied                     | ready       |
review      cancel  -> applied                     | cancelled   |
review      retry   -> rejected invalid_transition | review      | is review, not deadletter or blocked
done        approve -> rejected invalid_transition | done        | is done, not review
done        reject  -> rejected invalid_transition | done        | is done, not review
done        cancel  -> rejected invalid_transition | done        | no move from done to cancelled; from done it can go to: nowhere
done        retry   -> rejected invalid_transition | done        | is done, not deadletter or blocked
cancelled   approve -> rejected invalid_transition | cancelled   | is cancelled, not review
cancelled   reject  -> rejected invalid_transition | cancelled   | is cancelled, not review
cancelled   cancel  -> rejected invalid_transition | cancelled   | no move from cancelled to cancelled; from cancelled it can go to: nowhere
cancelled   retry   -> rejected invalid_transition | cancelled   | is cancelled, not deadletter or blocked
deadletter  approve -> rejected invalid_transition | deadletter  | is deadletter, not review
deadletter  reject  -> rejected invalid_transition | deadletter  | is deadletter, not review
deadletter  cancel  -> applied                     | cancelled   |
deadletter  retry   -> applied                     | ready       |
";

fn wishes() -> [(&'static str, Command); 4] {
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
fn approve_reject_cancel_and_retry_work_where_they_make_sense() {
    let mut actual = String::new();
    for from in Status::ALL {
        for (name, command) in wishes() {
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
    check_text(&actual, WISHES);
}

#[test]
fn what_a_reviewer_says_on_rejecting_is_kept_for_the_next_run() {
    let world = world([task(1, Status::Review)]);
    let feedback = |command| {
        let after = after(&world, &run(&world, command));
        after.task(&id(1)).and_then(|task| task.feedback.clone())
    };
    let said: Vec<Option<Box<str>>> = wishes().map(|(_, command)| feedback(command)).into();
    assert_eq!(said, [None, Some("not yet".into()), None, None]);
}

#[test]
fn a_command_from_inside_a_run_is_refused() {
    let world = world([task(1, Status::Review)]);
    for (_, command) in wishes().into_iter().chain([("move", move_to(Status::Done))]) {
        let by = Caller::InsideRun(operator());
        let name = command.name();
        let decision = decide(&world, &Input::Command { by, command }, now());
        assert_eq!(verdict(&decision), "rejected operator_only");
        assert_eq!(events(&decision), format!("refused({name}: operator_only)"));
        assert_eq!((&decision.events[0].task, &decision.answer.task), (&Some(id(1)), &Some(id(1))));
    }
}

#[test]
fn only_an_operator_may_have_the_folder_mended() {
    let ask = |by| {
        decide(&world([]), &Input::Command { by, command: Command::Chore(Chore::Mend) }, now())
    };
    let refused = ask(Caller::InsideRun(operator()));
    assert_eq!(verdict(&refused), "rejected operator_only");
    assert_eq!(events(&refused), "refused(doctor --fix: operator_only)");
    let granted = ask(Caller::Operator(operator()));
    assert_eq!((verdict(&granted), events(&granted)), ("applied".into(), String::new()));
}

#[test]
fn a_command_on_a_task_that_is_not_there_is_refused() {
    let mut without = world([]);
    for (_, command) in wishes() {
        let decision = run(&without, command);
        assert_eq!(verdict(&decision), "rejected task_not_found");
        assert_eq!((&decision.events[0].task, &decision.answer.task), (&Some(id(1)), &Some(id(1))));
    }
    without.set_unreadable(id(1));
    for (_, command) in wishes() {
        assert_eq!(verdict(&run(&without, command)), "rejected task_unreadable");
    }
}
